// SPDX-License-Identifier: GPL-2.0-only
/*
 * tipme start --always, tipme stop --for-good: the recorder and the agent, now and at each login.
 * The recorder is the system's service; where no systemd runs it is the person's own, which takes
 * samples. The agent is started by the desktop (XDG autostart).
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "always.h"
#include "message.h"
#include "paths.h"
#include "processes.h"
#include "run.h"
#include "translate.h"

#define SERVICE "tipmed.service"
#define RECORDER_ENTRY "tipme-recorder.desktop"
#define AGENT_ENTRY "tipme-agent.desktop"
#define WAIT_STEP_US 100000
#define WAIT_STEPS 100 /* a recorder that starts answers within this */

static bool systemd_runs(void)
{
	return !access("/run/systemd/system", F_OK);
}

static bool recorder_runs(void)
{
	int fd = tipme_message_connect(tipme_rundir());

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool recorder_comes(void)
{
	for (int i = 0; i < WAIT_STEPS; i++) {
		if (recorder_runs())
			return true;
		usleep(WAIT_STEP_US);
	}
	return false;
}

/*
 * A program of ours, of the build tree where that is used, to be named in a file that outlasts
 * us.
 */
static void own_program(const char *name, const char *in_tree, char *path, size_t cap)
{
	const char *tree = getenv("TIPME_BUILDDIR");

	if (tree && *tree)
		snprintf(path, cap, "%s/%s", tree, in_tree);
	else
		snprintf(path, cap, TIPME_BINDIR "/%s", name);
}

/* --- entries of the desktop's autostart --- */

static int entry_folder(const struct cli_person *person, char *path, size_t cap)
{
	const char *config = getenv("XDG_CONFIG_HOME");
	int n = config && *config == '/'
			? snprintf(path, cap, "%s/autostart", config)
			: snprintf(path, cap, "%s/.config/autostart", person->home);

	return n < 0 || (size_t)n >= cap ? -ENAMETOOLONG : 0;
}

static int folders_make(char *path)
{
	for (char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
		if (slash)
			*slash = '\0';
		int err = mkdir(path, 0700) && errno != EEXIST ? -errno : 0;

		if (slash)
			*slash = '/';
		if (err || !slash)
			return err;
	}
}

/* Beside, then renamed. */
static int entry_write(const struct cli_person *person, const char *name, const char *text)
{
	char folder[PATH_MAX], path[PATH_MAX + 64], beside[PATH_MAX + 72];
	int err = entry_folder(person, folder, sizeof(folder));

	err = err ? err : folders_make(folder);
	if (err)
		return err;
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	snprintf(beside, sizeof(beside), "%s.new", path);
	FILE *file = fopen(beside, "we");

	if (!file)
		return -errno;
	fputs(text, file);
	err = fflush(file) || fsync(fileno(file)) ? -errno : 0;
	if (fclose(file) && !err)
		err = -errno;
	if (!err && rename(beside, path))
		err = -errno;
	if (err)
		unlink(beside);
	return err;
}

static int entry_remove(const struct cli_person *person, const char *name)
{
	char folder[PATH_MAX], path[PATH_MAX + 64];
	int err = entry_folder(person, folder, sizeof(folder));

	if (err)
		return err;
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return unlink(path) && errno != ENOENT ? -errno : 0;
}

/* Of a program and its arguments. */
static int entry_add(const struct cli_person *person, const char *name, const char *title,
		     const char *program, const char *args)
{
	char text[PATH_MAX + 512];

	snprintf(
		text, sizeof(text),
		"[Desktop Entry]\nType=Application\nName=%s\nComment=Written by tipme start --always\nExec=\"%s\"%s\n"
		"Icon=utilities-system-monitor\nTerminal=false\nNoDisplay=true\n",
		title, program, args);
	return entry_write(person, name, text);
}

static bool agent_everywhere(void)
{
	return !access(TIPME_AUTOSTARTDIR "/" AGENT_ENTRY, F_OK) && !getenv("TIPME_BUILDDIR");
}

/* Where the system starts it for everybody, only the person's own veto is taken back. */
static int agent_enable(const struct cli_person *person)
{
	char program[PATH_MAX];

	own_program("tipme-agent", "helper/agent/tipme-agent", program, sizeof(program));
	int err = agent_everywhere() ? entry_remove(person, AGENT_ENTRY)
				     : entry_add(person, AGENT_ENTRY, "tipme agent", program, "");

	if (err)
		return cli_fail(
			_("start: %s/.config/autostart/%s: %s: see to that, then start --always again"),
			person->home, AGENT_ENTRY, strerror(-err));
	/* One that runs on this display already is enough: the second one ends. */
	if ((getenv("DISPLAY") || getenv("WAYLAND_DISPLAY")) && !access(program, X_OK))
		cli_run_aside((const char *const[]){ program, NULL });
	return 0;
}

static int agent_disable(const struct cli_person *person)
{
	char program[PATH_MAX];
	int err =
		agent_everywhere()
			? entry_write(
				  person, AGENT_ENTRY,
				  "[Desktop Entry]\nType=Application\nName=tipme agent\nHidden=true\n")
			: entry_remove(person, AGENT_ENTRY);

	if (err)
		return cli_fail(
			_("stop: %s/.config/autostart/%s: %s: see to that, then stop --for-good again"),
			person->home, AGENT_ENTRY, strerror(-err));
	own_program("tipme-agent", "helper/agent/tipme-agent", program, sizeof(program));
	cli_processes_end(person->uid, program);
	return 0;
}

/* --- the recorder where there is no systemd: the person's own --- */

static int own_recorder_enable(const struct cli_person *person)
{
	char tipme[PATH_MAX];

	own_program("tipme", "tipme", tipme, sizeof(tipme));
	int err = entry_add(person, RECORDER_ENTRY, "tipme recorder", tipme, " start");

	if (err)
		return cli_fail(
			_("start: %s/.config/autostart/%s: %s: see to that, then start --always again"),
			person->home, RECORDER_ENTRY, strerror(-err));
	if (recorder_runs())
		return 0;
	return cli_run_quietly((const char *const[]){ tipme, "start", NULL });
}

static int own_recorder_disable(const struct cli_person *person)
{
	char tipme[PATH_MAX];
	int err = entry_remove(person, RECORDER_ENTRY);

	if (err)
		return cli_fail(
			_("stop: %s/.config/autostart/%s: %s: see to that, then stop --for-good again"),
			person->home, RECORDER_ENTRY, strerror(-err));
	if (!recorder_runs())
		return 0;
	own_program("tipme", "tipme", tipme, sizeof(tipme));
	return cli_run((const char *const[]){ tipme, "stop", NULL });
}

/* --- the verbs --- */

/* systemctl asks for the right itself: on a terminal, or in a window by the desktop's polkit. */
static int service(const char *verb, const char *how, const char *now)
{
	int status = cli_run((const char *const[]){
		"systemctl", "--quiet", how, now ? now : SERVICE, now ? SERVICE : NULL, NULL });

	if (status)
		cli_fail(_("%s: %s: systemctl %s failed (%d): %s"), verb, SERVICE, how, status,
			 geteuid() ? _("do it with sudo, or give polkit the right to ask you")
				   : _("see systemctl status tipmed.service"));
	return status;
}

static void say_recorded(const struct cli_person *person, bool exact)
{
	char library[PATH_MAX];
	const char *named = getenv("TIPME_LIBRARY");

	if (exact && !(named && *named))
		snprintf(library, sizeof(library), "/var/lib/tipme/%u", (unsigned int)person->uid);
	else if (tipme_library(person->uid, library, sizeof(library)))
		return;
	puts(exact ? _("Recording now, and from each login on: the last 40 seconds, in memory only.")
		   : _("Recording now, and from each login on: the last 40 seconds, in memory only, by samples."));
	puts(_("Recorded is which program ran or waited, and for what; that a key was pressed, never which."));
	printf(_("Saved is only what you ask for, by Ctrl+Alt+minus or `tipme snap`, in %s.\n"),
	       library);
	puts(_("To end this, now and for good: tipme stop --for-good"));
}

int cli_start_always(void)
{
	struct cli_person person;

	if (cli_person_find(&person))
		return cli_fail(
			_("start: user %u: has no entry in the list of users: log in as one who has"),
			(unsigned int)geteuid());
	bool exact = systemd_runs();

	if (!exact && !person.uid)
		return cli_fail(
			_("start: no systemd runs here: root has no service to enable: let your init start %s/tipmed --owner auto, or say it as the user who is to be recorded"),
			TIPME_LIBEXECDIR);
	if (exact ? service("start", "enable", "--now")
		  : cli_as_person(&person, own_recorder_enable))
		return TIPME_EXIT_FAILED;
	if (person.uid && cli_as_person(&person, agent_enable))
		return TIPME_EXIT_FAILED;
	say_recorded(&person, exact);
	return TIPME_EXIT_DONE;
}

int cli_stop_for_good(void)
{
	struct cli_person person;

	if (cli_person_find(&person))
		return cli_fail(
			_("stop: user %u: has no entry in the list of users: log in as one who has"),
			(unsigned int)geteuid());
	bool failed = systemd_runs() && service("stop", "disable", "--now");

	if (!systemd_runs() && cli_as_person(&person, own_recorder_disable))
		failed = true;
	if (person.uid && cli_as_person(&person, agent_disable))
		failed = true;
	if (failed)
		return TIPME_EXIT_FAILED;
	puts(_("Recording has ended, also at login. What you saved stays: see tipme list; tipme rm removes it."));
	return TIPME_EXIT_DONE;
}

/* By pkexec as root; the person stays the owner. Without it samples are better than nothing. */
static int start_by_pkexec(void)
{
	char tipmed[PATH_MAX], owner[32];
	const char *tree = getenv("TIPME_BUILDDIR");

	snprintf(tipmed, sizeof(tipmed), "%s", TIPME_LIBEXECDIR "/tipmed");
	if (tree && *tree)
		snprintf(tipmed, sizeof(tipmed), "%s/helper/daemon/tipmed", tree);
	snprintf(owner, sizeof(owner), "%u", (unsigned int)geteuid());
	int status = geteuid() ? cli_run_quietly((const char *const[]){ "pkexec", tipmed, "--owner",
									owner, NULL })
			       : CLI_NOT_THERE;

	/* pkexec's own 127 is a refusal: only where it is missing there is nobody to refuse. */
	if (status == CLI_NOT_THERE && (!geteuid() || !cli_program_there("pkexec")))
		return cli_run_quietly((const char *const[]){ tipmed, NULL });
	if (status)
		return cli_fail(
			_("start: pkexec refused (%d): nobody agreed, or no polkit agent runs in this session: sudo tipme start"),
			status);
	return TIPME_EXIT_DONE;
}

int cli_start_ask(void)
{
	if (recorder_runs())
		return TIPME_EXIT_DONE;
	if (!systemd_runs())
		return start_by_pkexec() ? TIPME_EXIT_FAILED : TIPME_EXIT_DONE;
	if (service("start", "start", NULL))
		return TIPME_EXIT_FAILED;
	if (recorder_comes())
		return TIPME_EXIT_DONE;
	return cli_fail(
		_("start: %s: runs, and does not record for you: it does for who sits at the screen: see systemctl status %s"),
		SERVICE, SERVICE);
}
