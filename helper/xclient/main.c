// SPDX-License-Identifier: GPL-2.0-only
/*
 * tipme-x-observer: observes the X server of this session, where it has no hooks. Needs no
 * privilege.
 */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "observer.h"

static const char usage[] =
	"usage: tipme-x-observer [--display DISPLAY] [--ring-kib N]\n"
	"Tells the recorder of this machine what an ordinary client can see of an X server\n"
	"without hooks: input events, whom they went to, what changed on the screen, in\n"
	"milliseconds. The agent of a session starts it where it is needed.\n"
	"\n"
	"  --display DISPLAY   instead of $DISPLAY\n"
	"  --ring-kib N        size of the ring: 32 to 32768 (default 2048)\n"
	"\n"
	"examples:\n"
	"  tipme-x-observer &\n"
	"  tipme-x-observer --display :1 --ring-kib 512\n"
	"  TIPME_RUNDIR=/tmp/run tipme-x-observer\n";

static int fail(int err, const char *why)
{
	fprintf(stderr, "tipme: observing the X server: %s: see `tipme doctor`\n", why);
	/* That nothing is to be done here is no failure. */
	return err == -EEXIST ? 0 : 1;
}

static int run(struct tipme_observer *o)
{
	struct pollfd fds[TIPME_OBSERVER_FDS];
	char why[256] = "";
	int timeout_ms, err;

	while (!(err = tipme_observer_step(o, why, sizeof(why)))) {
		int n = tipme_observer_poll(o, fds, &timeout_ms);

		if (poll(fds, (nfds_t)n, timeout_ms) < 0 && errno != EINTR)
			return fail(-errno, strerror(errno));
	}
	return fail(err, why);
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "display", required_argument, NULL, 'd' },
		{ "ring-kib", required_argument, NULL, 'r' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct tipme_observer_options options = { 0 };
	struct tipme_observer *observer;
	char why[256] = "";

	for (int c; (c = getopt_long(argc, argv, "", longs, NULL)) != -1;) {
		switch (c) {
		case 'd': options.display = optarg; break;
		case 'r': options.ring_kib = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'h': fputs(usage, stdout); return 0;
		default: fputs(usage, stderr); return 64;
		}
	}
	if (optind != argc) {
		fputs(usage, stderr);
		return 64;
	}
	signal(SIGPIPE, SIG_IGN);
	int err = tipme_observer_open(&options, &observer, why, sizeof(why));

	if (err)
		return fail(err, why);
	int status = run(observer);

	tipme_observer_close(observer);
	return status;
}
