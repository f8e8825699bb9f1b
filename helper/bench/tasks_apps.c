// SPDX-License-Identifier: GPL-2.0-only
/* Programs as tasks: a first window, and the applications of section 5 of the paper. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "task.h"

struct app {
	char *path;
	char *argv[12];
};

/* Takes the words of a command and one path of its own. Returns 0 or -ENOMEM. */
static int command(struct tipme_task_run *r, char *path, const char *const words[])
{
	struct app *a = calloc(1, sizeof(*a));
	unsigned int n = 0;

	r->state = a;
	if (!a || !path) {
		free(path);
		return -ENOMEM;
	}
	a->path = path;
	for (; words[n] && n + 2 < sizeof(a->argv) / sizeof(a->argv[0]); n++)
		a->argv[n] = (char *)(words[n][0] == '%' ? path : words[n]);
	return 0;
}

static char *joined(const char *folder, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

static int run_app(struct tipme_task_run *r)
{
	struct app *a = r->state;
	int pid = tipme_task_spawn(a->argv, NULL);

	return pid < 0 ? pid : tipme_task_wait(pid);
}

/* Once, untimed, so that what is missing is said before anything is timed. */
static int try_app(struct tipme_task_run *r, const char *package)
{
	int err = run_app(r);

	return !err || err == -EINTR ? err
				     : tipme_task_fail(r, -ENOTSUP, "%s does not run: install %s",
						       ((struct app *)r->state)->argv[0], package);
}

static void finish_app(struct tipme_task_run *r)
{
	struct app *a = r->state;

	if (a)
		free(a->path);
	free(a);
}

/* --- a GTK window, and a tour of Tk's widgets --- */

static int needs_display(struct tipme_task_run *r)
{
	return getenv("DISPLAY") ? 0 : tipme_task_fail(r, -ENOTSUP, "there is no X server");
}

static int prepare_spawn(struct tipme_task_run *r)
{
	int err = needs_display(r);

	err = err ? err
		  : command(r, joined(r->programs, "tipme-bench-gtk"),
			    (const char *const[]){ "%", NULL });
	return err ? err : try_app(r, "all of tipme, built with GTK 4");
}

static int prepare_tk(struct tipme_task_run *r)
{
	int err = needs_display(r);

	if (!err && !r->more[0])
		return tipme_task_fail(r, -ENOTSUP, "its script is not named");
	err = err ? err
		  : command(r, strdup(r->more[0]), (const char *const[]){ "wish", "%", NULL });
	return err ? err : try_app(r, "tk");
}

/* --- Ghostscript: 13 pages of text, curves and grey pictures, drawn by a program --- */

#define PAGES 13

static const char page_program[] =
	"/Times-Roman findfont 10 scalefont setfont\n"
	"0 1 54 { dup 13 mul 40 add 50 exch moveto\n"
	"  (The measured performance of a page that nobody will read, line ) show\n"
	"  3 string cvs show ( of fifty-five on this page.) show } for\n"
	"0 1 60 { 6 mul 0.3 setlinewidth newpath 300 400 moveto\n"
	"  dup 200 add 300 2 index 500 exch 350 550 curveto stroke pop } for\n"
	"gsave 350 60 translate 200 200 scale\n"
	"128 128 8 [128 0 0 128 0 0] { 128 string 0 1 127 { 2 copy dup 37 mul 255 and put pop } for }\n"
	"image grestore\n"
	"showpage\n";

static int write_pages(const char *path)
{
	FILE *out = fopen(path, "we");

	if (!out)
		return -errno;
	fputs("%!PS-Adobe-3.0\n", out);
	for (int i = 0; i < PAGES; i++)
		fputs(page_program, out);
	return fclose(out) ? -errno : 0;
}

static int prepare_ghostscript(struct tipme_task_run *r)
{
	static const char *const words[] = {
		"gs",	   "-q",   "-dNOPAUSE",	      "-dBATCH",
		"-dSAFER", "-r72", "-sDEVICE=ppmraw", "-sOutputFile=/dev/null",
		"%",	   NULL
	};
	int err = command(r, joined(r->folder, "pages.ps"), words);

	err = err ? err : write_pages(((struct app *)r->state)->path);
	return err ? err : try_app(r, "ghostscript");
}

const struct tipme_task tipme_tasks_apps[] = {
	{ .name = "spawn",
	  .what = "a GTK program, from exec to its first picture",
	  .unit = "program",
	  .references = 1,
	  .repeats = 4,
	  .prepare = prepare_spawn,
	  .run = run_app,
	  .finish = finish_app },
	{ .name = "app-ghostscript",
	  .what = "Ghostscript draws 13 pages",
	  .unit = "page",
	  .references = PAGES,
	  .repeats = 2,
	  .disk_bytes = 1 << 20,
	  .prepare = prepare_ghostscript,
	  .run = run_app,
	  .finish = finish_app },
	{ .name = "app-tk",
	  .what = "a tour of Tk's widgets",
	  .unit = "tour",
	  .references = 1,
	  .repeats = 2,
	  .prepare = prepare_tk,
	  .run = run_app,
	  .finish = finish_app },
	{ 0 },
};
