// SPDX-License-Identifier: GPL-2.0-only
/*
 * The processes that make clients of the laboratory wait; what each of them did goes to the truth
 * file.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef HAVE_GIO
#include <gio/gio.h>
#endif

#include "ask.h"
#include "report.h"

#define NS_PER_MS 1000000LL

struct cause {
	const char *name;
	const char *arg[6];
};

static int64_t number(const struct cause *c, int i)
{
	return c->arg[i] ? atoll(c->arg[i]) : 0;
}

/*
 * Compilers, one after another, `parallel` at a time: each computes for a while in a process of its
 * own. Children have a name of their own.
 */
static int run_storm(const struct cause *c)
{
	int64_t parallel = number(c, 1), life_ns = number(c, 2) * NS_PER_MS, from = number(c, 3),
		until = number(c, 4);
	int64_t alive = 0, all = 0;

	sleep_until_ns(from);
	while (now_ns() < until || alive) {
		while (alive < parallel && now_ns() < until) {
			pid_t pid = fork();

			if (pid < 0)
				return -errno;
			if (!pid) {
				prctl(PR_SET_NAME, c->arg[0]);
				compute_ns(life_ns / 2 + life_ns * (all % 8) / 8);
				_exit(0);
			}
			alive++;
			all++;
		}
		if (wait(NULL) > 0)
			alive--;
	}
	report_span("storm", (int)getpid(), from, now_ns(), all);
	return 0;
}

struct hog {
	pthread_t thread;
	int64_t from, until;
	const char *name;
};

static void *hog_run(void *arg)
{
	struct hog *h = arg;

	prctl(PR_SET_NAME, h->name);
	sleep_until_ns(h->from);
	compute_until_ns(h->until);
	return NULL;
}

static int run_hog(const struct cause *c)
{
	struct hog hogs[64] = { 0 };
	int n = (int)number(c, 0);

	for (int i = 0; i < n && i < 64; i++) {
		hogs[i] = (struct hog){ .from = number(c, 1),
					.until = number(c, 2),
					.name = c->name };
		if (pthread_create(&hogs[i].thread, NULL, hog_run, &hogs[i]))
			return -EAGAIN;
		/* Where the CPUs are named, each thread stays on its own. */
		if (c->arg[3]) {
			cpu_set_t set;

			CPU_ZERO(&set);
			CPU_SET(i, &set);
			pthread_setaffinity_np(hogs[i].thread, sizeof(set), &set);
		}
	}
	for (int i = 0; i < n && i < 64; i++)
		pthread_join(hogs[i].thread, NULL);
	report_span("hog", (int)getpid(), number(c, 1), now_ns(), 0);
	return 0;
}

/* Answers questions: after computing, after sleeping, or after asking somebody else. */
static int run_serve(const struct cause *c)
{
	const char *how = c->arg[1];
	int64_t ns = number(c, 2) * NS_PER_MS;
	int next = !strcmp(how, "ask") ? lab_connect(c->arg[2]) : -1;
	int listener = lab_listen(c->arg[0]);
	char byte;

	if (listener < 0)
		return listener;
	report("ready %d\n", (int)getpid());
	for (;;) {
		int peer = accept(listener, NULL, NULL);

		while (peer >= 0 && read(peer, &byte, 1) == 1) {
			int64_t from = now_ns(), cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);

			if (!strcmp(how, "compute"))
				compute_ns(ns);
			else if (!strcmp(how, "sleep"))
				sleep_ns(ns);
			else if (next >= 0)
				lab_ask(next);
			int64_t to = now_ns();

			cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
			if (write(peer, &byte, 1) != 1)
				break;
			report_span("serve", (int)getpid(), from, to, cpu);
		}
		if (peer >= 0)
			close(peer);
	}
}

/*
 * It had its lock while it was like others; now it is the least of all, also where the kernel
 * groups by session.
 */
static void become_least(void)
{
	FILE *group = fopen("/proc/self/autogroup", "w");

	if (nice(19) == -1)
		report("failed hold nice\n");
	if (group) {
		fputs("19", group);
		fclose(group);
	}
}

/* Keeps a lock on a file from one time to another, computing or asleep. */
static int run_hold(const struct cause *c)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = open(c->arg[1], O_RDWR | O_CLOEXEC);
	bool whole = !strcmp(c->arg[0], "flock");

	if (fd < 0)
		return -errno;
	sleep_until_ns(number(c, 3));
	if (whole ? flock(fd, LOCK_EX) : fcntl(fd, F_SETLKW, &l))
		return -errno;
	int64_t from = now_ns();

	if (!strcmp(c->arg[2], "work")) {
		become_least();
		compute_ns(number(c, 5) * NS_PER_MS);
	} else if (!strcmp(c->arg[2], "compute"))
		compute_until_ns(number(c, 4));
	else
		sleep_until_ns(number(c, 4));
	int64_t to = now_ns();

	l.l_type = F_UNLCK;
	if (whole ? flock(fd, LOCK_UN) : fcntl(fd, F_SETLK, &l))
		return -errno;
	report_span("hold", (int)getpid(), from, to, 0);
	return 0;
}

/* Copies to a disk, past the page cache, so that it asks the disk in its own name. */
static int run_write(const struct cause *c)
{
	size_t chunk = (size_t)number(c, 1);
	int fd = open(c->arg[0], O_RDWR | O_CREAT | O_DIRECT | O_CLOEXEC, 0600);
	char *buffer = aligned_alloc(4096, chunk);

	if (fd < 0 || !buffer)
		return -errno;
	memset(buffer, 'w', chunk);
	sleep_until_ns(number(c, 2));
	int64_t from = now_ns();
	long long count = 0;

	for (; now_ns() < number(c, 3); count++)
		if (pwrite(fd, buffer, chunk, (off_t)(count % 16) * (off_t)chunk) < 0)
			return -errno;
	report_span("write", (int)getpid(), from, now_ns(), count);
	return 0;
}

#define RECEIVERS 64
#define GROUP 0xef010101U /* 239.1.1.1 */

/*
 * A socket of the group on loopback; who cannot read keeps what fits and drops the rest, after all
 * the work of receiving it.
 */
static int join_group(union lab_address *a, socklen_t len)
{
	struct ip_mreq m = { .imr_multiaddr.s_addr = htonl(GROUP),
			     .imr_interface.s_addr = htonl(INADDR_LOOPBACK) };
	int one = 1, fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, &a->any, len) || setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &m, sizeof(m)))
		return -errno;
	return 0;
}

/*
 * Sends datagrams over loopback to a group of many sockets: receiving them is softirq time, on the
 * CPU that is named for it.
 */
static int run_datagrams(const struct cause *c)
{
	struct in_addr lo = { .s_addr = htonl(INADDR_LOOPBACK) };
	union lab_address a;
	socklen_t len = lab_address("tcp:9999", &a);
	int err = 0, out = socket(AF_INET, SOCK_DGRAM, 0);
	char packet[64] = { 0 };

	a.inet.sin_addr.s_addr = htonl(GROUP);
	for (int i = 0; i < RECEIVERS && !err; i++)
		err = join_group(&a, len);
	if (err)
		return err;
	if (out < 0 || setsockopt(out, IPPROTO_IP, IP_MULTICAST_IF, &lo, sizeof(lo)) ||
	    connect(out, &a.any, len))
		return -errno;
	sleep_until_ns(number(c, 0));
	int64_t from = now_ns();

	while (now_ns() < number(c, 1))
		if (send(out, packet, sizeof(packet), 0) < 0 && errno != ECONNREFUSED &&
		    errno != ENOBUFS)
			return -errno;
	report_span("datagrams", (int)getpid(), from, now_ns(), 0);
	return 0;
}

#ifdef HAVE_GIO
static const char interface_xml[] =
	"<node><interface name='org.example.Lab'><method name='Ask'/></interface></node>";

static void on_call(GDBusConnection *bus, const char *sender, const char *path,
		    const char *interface, const char *method, GVariant *parameters,
		    GDBusMethodInvocation *call, void *arg)
{
	const struct cause *c = arg;
	int64_t from = now_ns(), cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	(void)bus, (void)sender, (void)path, (void)interface, (void)method, (void)parameters;
	if (!strcmp(c->arg[1], "compute"))
		compute_ns(number(c, 2) * NS_PER_MS);
	else
		sleep_ns(number(c, 2) * NS_PER_MS);
	int64_t to = now_ns();

	cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
	g_dbus_method_invocation_return_value(call, NULL);
	report_span("serve", (int)getpid(), from, to, cpu);
}

static void on_name(GDBusConnection *bus, const char *name, void *arg)
{
	(void)bus, (void)name, (void)arg;
	report("ready %d\n", (int)getpid());
}

static int run_dbus(const struct cause *c)
{
	static const GDBusInterfaceVTable vtable = { .method_call = on_call };
	GDBusNodeInfo *node = g_dbus_node_info_new_for_xml(interface_xml, NULL);
	GDBusConnection *bus = g_bus_get_sync(G_BUS_TYPE_SESSION, NULL, NULL);

	if (!bus || !g_dbus_connection_register_object(bus, "/", node->interfaces[0], &vtable,
						       (void *)c, NULL, NULL))
		return -EIO;
	g_bus_own_name_on_connection(bus, c->arg[0], G_BUS_NAME_OWNER_FLAGS_NONE, on_name, NULL,
				     NULL, NULL);
	g_main_loop_run(g_main_loop_new(NULL, FALSE));
	return 0;
}
#endif

static const struct {
	const char *verb, *usage;
	int least;
	int (*run)(const struct cause *c);
} verbs[] = {
	{ "storm", "CHILD-NAME PARALLEL LIFE-MS FROM UNTIL", 5, run_storm },
	{ "hog", "THREADS FROM UNTIL [pin]", 3, run_hog },
	{ "serve", "ADDRESS compute|sleep|ask MS|ADDRESS", 3, run_serve },
	{ "hold", "flock|fcntl FILE compute|sleep|work FROM UNTIL [MS]", 5, run_hold },
	{ "write", "FILE CHUNK-BYTES FROM UNTIL", 4, run_write },
	{ "datagrams", "FROM UNTIL", 2, run_datagrams },
#ifdef HAVE_GIO
	{ "dbus", "BUS-NAME compute|sleep MS", 3, run_dbus },
#endif
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 2 && i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		struct cause c = { .name = argv[1] };

		if (strcmp(verbs[i].verb, argv[2]) || argc - 3 < verbs[i].least || argc - 3 > 6)
			continue;
		for (int k = 3; k < argc; k++)
			c.arg[k - 3] = argv[k];
		prctl(PR_SET_NAME, c.name);
		int err = verbs[i].run(&c);

		if (err)
			report("failed %s %s\n", argv[2], strerror(-err));
		return err ? 1 : 0;
	}
	fprintf(stderr, "usage: cause NAME VERB ...; times are CLOCK_MONOTONIC ns\n");
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		fprintf(stderr, "  %s %s\n", verbs[i].verb, verbs[i].usage);
	return 64;
}
