// SPDX-License-Identifier: GPL-2.0-only
/* Verbs of tipme, run beside the main loop. */
#include "config.h"

#include <stdbool.h>
#include <unistd.h>

#include "verb.h"

struct run {
	agent_verb_done done;
	void *arg;
};

#define IN_TREE "/helper/agent/"

/* The build tree that this program was started from, or NULL: it is installed. */
static char *own_tree(void)
{
	char *self = g_file_read_link("/proc/self/exe", NULL);
	char *at = self ? g_strrstr(self, IN_TREE) : NULL;

	if (at)
		*at = '\0';
	else
		g_clear_pointer(&self, g_free);
	return self;
}

char *agent_program_path(const char *folder, const char *name, const char *installed)
{
	const char *named = g_getenv("TIPME_BUILDDIR");
	char *tree = named && *named ? g_strdup(named) : own_tree();
	char *path = tree ? g_build_filename(tree, folder, name, NULL)
			  : g_build_filename(installed, name, NULL);

	g_free(tree);
	return path;
}

/* With what is left over of the CPUs: beside busy programs that is little. */
static void become_nice(gpointer arg)
{
	if (nice(10) < 0)
		return;
}

static void on_end(GObject *object, GAsyncResult *result, gpointer arg)
{
	GSubprocess *process = G_SUBPROCESS(object);
	struct run *run = arg;
	char *out = NULL, *err = NULL;
	GError *error = NULL;
	bool good = g_subprocess_communicate_utf8_finish(process, result, &out, &err, &error);

	if (good)
		run->done(run->arg,
			  g_subprocess_get_if_exited(process)
				  ? g_subprocess_get_exit_status(process)
				  : -1,
			  out ? out : "", err ? err : "");
	else if (!g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
		run->done(run->arg, -1, "", error->message);
	g_clear_error(&error);
	g_free(out);
	g_free(err);
	g_free(run);
}

static void verb_run(const char *const *args, const char *cwd, GSpawnChildSetupFunc setup,
		     GCancellable *cancel, agent_verb_done done, void *arg)
{
	char *program = agent_program_path(".", "tipme", TIPME_BINDIR);
	GSubprocessLauncher *launcher = g_subprocess_launcher_new(G_SUBPROCESS_FLAGS_STDOUT_PIPE |
								  G_SUBPROCESS_FLAGS_STDERR_PIPE);
	GPtrArray *argv = g_ptr_array_new();
	GError *error = NULL;

	g_ptr_array_add(argv, program);
	for (; *args; args++)
		g_ptr_array_add(argv, (void *)*args);
	g_ptr_array_add(argv, NULL);
	if (cwd)
		g_subprocess_launcher_set_cwd(launcher, cwd);
	g_subprocess_launcher_set_child_setup(launcher, setup, NULL, NULL);
	GSubprocess *process =
		g_subprocess_launcher_spawnv(launcher, (const char *const *)argv->pdata, &error);

	if (process) {
		struct run *run = g_new(struct run, 1);

		*run = (struct run){ done, arg };
		g_subprocess_communicate_utf8_async(process, NULL, cancel, on_end, run);
		g_object_unref(process);
	} else {
		done(arg, -1, "", error->message);
		g_error_free(error);
	}
	g_ptr_array_free(argv, TRUE);
	g_object_unref(launcher);
	g_free(program);
}

void agent_verb_run(const char *const *args, const char *cwd, GCancellable *cancel,
		    agent_verb_done done, void *arg)
{
	verb_run(args, cwd, NULL, cancel, done, arg);
}

void agent_verb_run_aside(const char *const *args, agent_verb_done done, void *arg)
{
	verb_run(args, NULL, become_nice, NULL, done, arg);
}

bool agent_window_there(void)
{
	char *program = agent_program_path("gui", "tipme-gui", TIPME_LIBEXECDIR);
	bool there = g_file_test(program, G_FILE_TEST_IS_EXECUTABLE);

	g_free(program);
	return there;
}

bool agent_window_start(const char *path)
{
	char *tipme = agent_program_path(".", "tipme", TIPME_BINDIR);
	char *argv[] = { tipme, (char *)"gui", (char *)path, NULL };
	bool good = agent_window_there() &&
		    g_spawn_async("/", argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, NULL, NULL);

	g_free(tipme);
	return good;
}
