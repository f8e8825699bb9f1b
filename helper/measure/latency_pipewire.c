// SPDX-License-Identifier: GPL-2.0-only
/*
 * PipeWire lets its devices go on past the end of what it has written, so the kernel knows of no
 * underrun. It says in its log which program did not deliver in its cycle, and when a device has
 * run dry all the same.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "latency_pipewire.h"

#define NEAR_NS (60 * TIPME_NS_PER_S)
#define LONGEST_CYCLE_NS (10 * TIPME_NS_PER_S)
#define MOST_JSON (1 << 20)

/* A time of the monotonic clock as PipeWire and the journal write it; else now. */
static uint64_t stamp_ns(uint64_t ns, uint64_t now_ns)
{
	return ns && ns <= now_ns && now_ns - ns < NEAR_NS ? ns : now_ns;
}

/* "[ 1234.567890]" of the journal. What PipeWire writes itself is of a clock that nobody steers. */
static uint64_t line_ns(const char *line)
{
	uint64_t s;
	unsigned int us;
	int end;

	end = 0;
	if (sscanf(line, "[ %" SCNu64 ".%6u]%n", &s, &us, &end) != 2 || !end)
		return 0;
	return s * TIPME_NS_PER_S + us * 1000ULL;
}

/* "name-51": what stands behind the last dash. */
static uint32_t node_of(const char *line, const char *end)
{
	const char *dash = end;

	while (dash > line && *dash != '-')
		dash--;
	return *dash == '-' ? (uint32_t)strtoul(dash + 1, NULL, 10) : 0;
}

bool tipme_pipewire_read(const char *line, uint64_t now_ns, struct tipme_pipewire_xrun *x)
{
	const char *slow = strstr(line, ") client too slow! rate:"),
		   *dry = strstr(line, ") XRun! rate:"), *said = slow ? slow : dry, *time;
	unsigned int frames, rate;

	if (!said || sscanf(strchr(said, ':') + 1, "%u/%u", &frames, &rate) != 2 || !rate)
		return false;
	time = dry ? strstr(dry, " time:") : NULL;
	*x = (struct tipme_pipewire_xrun){
		.at_ns = stamp_ns(line_ns(line), now_ns),
		.cycle_ns = frames * TIPME_NS_PER_S / rate,
		.node = node_of(line, said),
		.client = slow,
	};
	if (time)
		x->at_ns = stamp_ns(strtoull(time + 6, NULL, 10) * 1000, x->at_ns);
	/* "host pipewire[1234]: " */
	if (strstr(line, "]: ") && strstr(line, "]: ") < said) {
		const char *open = strstr(line, "]: ");

		while (open > line && *open != '[')
			open--;
		x->writer = (uint32_t)strtoul(open + 1, NULL, 10);
	}
	return x->node && x->cycle_ns && x->cycle_ns < LONGEST_CYCLE_NS;
}

static int follow_journal(struct tipme_pipewire *p)
{
	int fd[2];

	if (pipe2(fd, O_CLOEXEC | O_NONBLOCK))
		return -errno;
	p->reader = fork();
	if (!p->reader) {
		dup2(fd[1], STDOUT_FILENO);
		fcntl(STDOUT_FILENO, F_SETFL, 0);
		execlp("journalctl", "journalctl", "--user", "--follow", "--lines=0", "--quiet",
		       "--output=short-monotonic", "--identifier=pipewire", (char *)NULL);
		_exit(127);
	}
	close(fd[1]);
	p->fd = fd[0];
	return p->reader < 0 ? -errno : 0;
}

int tipme_pipewire_open(struct tipme_pipewire *p, const char *log)
{
	int err = 0;

	*p = (struct tipme_pipewire){ .fd = -1 };
	if (!log)
		return 0;
	if (!strcmp(log, "journal")) {
		err = follow_journal(p);
	} else {
		p->fd = open(log, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (p->fd < 0)
			err = -errno;
		else
			lseek(p->fd, 0, SEEK_END);
	}
	if (!err)
		return 0;
	fprintf(stderr,
		"tipme: latency: --pipewire %s: %s: say journal, or the file that PIPEWIRE_LOG names\n",
		log, strerror(-err));
	tipme_pipewire_close(p);
	return err;
}

void tipme_pipewire_close(struct tipme_pipewire *p)
{
	if (p->fd >= 0)
		close(p->fd);
	if (p->reader > 0) {
		kill(p->reader, SIGTERM);
		waitpid(p->reader, NULL, 0);
	}
	*p = (struct tipme_pipewire){ .fd = -1 };
}

/* Takes one line out of what has been read; returns whether there was one. */
static bool take_line(struct tipme_pipewire *p, char *line)
{
	char *end = memchr(p->line, '\n', p->have);
	size_t len;

	if (!end && p->have == sizeof(p->line)) {
		p->too_long = true;
		p->have = 0;
	}
	if (!end)
		return false;
	len = (size_t)(end - p->line);
	memcpy(line, p->line, len);
	line[p->too_long ? 0 : len] = '\0';
	p->too_long = false;
	p->have -= len + 1;
	memmove(p->line, end + 1, p->have);
	return true;
}

bool tipme_pipewire_next(struct tipme_pipewire *p, struct tipme_pipewire_xrun *x)
{
	char line[sizeof(p->line)];
	ssize_t n;

	if (p->fd < 0)
		return false;
	while (true) {
		while (take_line(p, line))
			if (tipme_pipewire_read(line, tipme_clock_ns(), x))
				return true;
		n = read(p->fd, p->line + p->have, sizeof(p->line) - p->have);
		if (n <= 0)
			return false;
		p->have += (size_t)n;
	}
}

/* What pw-dump prints has objects of that serial number, too. */
static struct json_object *object_of(struct json_object *list, uint32_t id)
{
	size_t n = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
	struct json_object *number;

	for (size_t i = 0; i < n; i++) {
		struct json_object *o = json_object_array_get_idx(list, i);

		if (json_object_object_get_ex(o, "id", &number) &&
		    json_object_get_int64(number) == id)
			return o;
	}
	return NULL;
}

/* A number among the properties of an object. */
static uint32_t property_in(struct json_object *list, uint32_t id, const char *name)
{
	struct json_object *o = object_of(list, id);
	const char *const way[] = { "info", "props", name };

	for (size_t i = 0; i < sizeof(way) / sizeof(way[0]); i++)
		if (!o || !json_object_object_get_ex(o, way[i], &o))
			return 0;
	return (uint32_t)json_object_get_int64(o);
}

/* ... of object `id`; 0: it has none. */
static uint32_t property(uint32_t id, const char *name)
{
	char command[64];
	char *text = calloc(1, MOST_JSON);
	struct json_object *list;
	uint32_t value = 0;
	FILE *f;

	snprintf(command, sizeof(command), "pw-dump %" PRIu32 " 2>/dev/null", id);
	f = text ? popen(command, "re") : NULL;
	if (f) {
		if (fread(text, 1, MOST_JSON - 1, f)) {
			list = json_tokener_parse(text);
			value = property_in(list, id, name);
			json_object_put(list);
		}
		pclose(f);
	}
	free(text);
	return value;
}

/* A node names its client, and that its process, unless the node does. */
uint32_t tipme_pipewire_process(uint32_t node)
{
	uint32_t pid = property(node, "application.process.id"), client;

	if (pid)
		return pid;
	client = property(node, "client.id");
	return client ? property(client, "application.process.id") : 0;
}
