// SPDX-License-Identifier: GPL-2.0-only
/* Processes that make others wait in ways of which public bug trackers tell; run as root. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/auto_fs4.h>
#include <linux/fuse.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "report.h"

#define NS_PER_MS 1000000LL
#define DOCUMENT 2 /* its inode number */
#define DOCUMENT_BYTES 4096

/* Sleeps for so long, and says so. */
static void take(int64_t ms)
{
	int64_t from = now_ns();

	sleep_ns(ms * NS_PER_MS);
	report_span("serve", (int)getpid(), from, now_ns(), 0);
}

static int reply(int fd, uint64_t unique, int error, const void *body, size_t size)
{
	char message[8192];
	struct fuse_out_header *head = (struct fuse_out_header *)message;

	*head = (struct fuse_out_header){ .len = (uint32_t)(sizeof(*head) + size),
					  .error = error,
					  .unique = unique };
	if (size)
		memcpy(message + sizeof(*head), body, size);
	return write(fd, message, head->len) < 0 ? -errno : 0;
}

static struct fuse_attr attributes(uint64_t inode)
{
	return (struct fuse_attr){
		.ino = inode,
		.nlink = 1,
		.blksize = 4096,
		.mode = inode == DOCUMENT ? S_IFREG | 0644 : S_IFDIR | 0755,
		.size = inode == DOCUMENT ? DOCUMENT_BYTES : 0,
	};
}

static int fuse_answer(int fd, const struct fuse_in_header *in, int64_t ms)
{
	const char *name = (const char *)(in + 1);
	static const char text[DOCUMENT_BYTES] = "text";

	switch (in->opcode) {
	case FUSE_INIT: {
		struct fuse_init_out out = { .major = FUSE_KERNEL_VERSION,
					     .minor = 31,
					     .max_write = 4096 };

		return reply(fd, in->unique, 0, &out, sizeof(out));
	}
	case FUSE_LOOKUP: {
		struct fuse_entry_out out = { .nodeid = DOCUMENT, .attr = attributes(DOCUMENT) };

		if (!strcmp(name, "document"))
			return reply(fd, in->unique, 0, &out, sizeof(out));
		/* What is looked for and not there takes its time, too. */
		take(ms);
		return reply(fd, in->unique, -ENOENT, NULL, 0);
	}
	case FUSE_GETATTR: {
		struct fuse_attr_out out = { .attr = attributes(in->nodeid) };

		return reply(fd, in->unique, 0, &out, sizeof(out));
	}
	case FUSE_OPEN:
	case FUSE_OPENDIR: {
		struct fuse_open_out out = { .fh = 1 };

		/* It is the client's turn that counts. */
		take(ms);
		return reply(fd, in->unique, 0, &out, sizeof(out));
	}
	case FUSE_READ: return reply(fd, in->unique, 0, text, sizeof(text));
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET: return 0;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR: return reply(fd, in->unique, 0, NULL, 0);
	default: return reply(fd, in->unique, -ENOSYS, NULL, 0);
	}
}

/* A file system with one file, whose opening takes so long: sshfs, rclone, gvfs. */
static int run_fuse(const char *dir, int64_t ms)
{
	static char request[FUSE_MIN_READ_BUFFER + 4096];
	char options[128];
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
		 fd);
	if (fd < 0 || mount("stage", dir, "fuse", MS_NOSUID | MS_NODEV, options))
		return -errno;
	report("ready %d\n", (int)getpid());
	for (;;) {
		ssize_t n = read(fd, request, sizeof(request));

		if (n < 0 && errno == ENODEV)
			return 0;
		if (n < 0 && errno != EINTR && errno != ENOENT)
			return -errno;
		if (n > 0)
			fuse_answer(fd, (struct fuse_in_header *)request, ms);
	}
}

/* Who is asked before a file is opened, and takes its time: a virus scanner. */
static int run_fanotify(const char *file, int64_t ms)
{
	int fan = fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC, O_RDONLY | O_CLOEXEC);
	struct fanotify_event_metadata event;

	if (fan < 0 || fanotify_mark(fan, FAN_MARK_ADD, FAN_OPEN_PERM, AT_FDCWD, file))
		return -errno;
	report("ready %d\n", (int)getpid());
	while (read(fan, &event, sizeof(event)) == (ssize_t)sizeof(event)) {
		struct fanotify_response answer = { .fd = event.fd, .response = FAN_ALLOW };

		take(ms);
		if (write(fan, &answer, sizeof(answer)) < 0)
			return -errno;
		close(event.fd);
	}
	return 0;
}

/* Who mounts a folder when somebody looks into it; the share is away, and that takes its time. */
static int run_autofs(const char *dir, int64_t ms)
{
	char options[128];
	union autofs_v5_packet_union packet;
	int ends[2];

	if (pipe(ends))
		return -errno;
	snprintf(options, sizeof(options), "fd=%d,pgrp=%d,minproto=5,maxproto=5,indirect", ends[1],
		 getpgrp());
	if (mount("stage", dir, "autofs", 0, options))
		return -errno;
	int root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	close(ends[1]);
	report("ready %d\n", (int)getpid());
	while (read(ends[0], &packet, sizeof(packet)) > 0) {
		take(ms);
		ioctl(root, AUTOFS_IOC_FAIL, packet.v5_packet.wait_queue_token);
	}
	return 0;
}

static int pass(int to, int fd)
{
	char byte = 0, room[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec io = { &byte, 1 };
	struct msghdr m = {
		.msg_iov = &io, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	return sendmsg(to, &m, 0) == 1 ? 0 : -errno;
}

/*
 * A network of its own, with one cable whose other end nobody listens at: what is sent to
 * 198.51.100.9 arrives, and no answer comes, as from a server that is away. Whoever connects to the
 * socket and writes 'u' or 't' gets a UDP or TCP socket there.
 */
static int run_mute(const char *path, int64_t ms)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int door = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)ms;
	if (door < 0 || strlen(path) >= sizeof(at.sun_path) || unshare(CLONE_NEWNET))
		return -errno;
	if (system("ip link add v0 type veth peer name v1 && ip link set v0 up && "
		   "ip link set v1 up && ip addr add 198.51.100.1/24 dev v0 && "
		   "ip neigh add 198.51.100.9 lladdr 02:00:00:00:00:09 dev v0 nud permanent"))
		return -ENODEV;
	strcpy(at.sun_path, path);
	if (bind(door, (struct sockaddr *)&at, sizeof(at)) || chmod(path, 0666) || listen(door, 4))
		return -errno;
	report("ready %d\n", (int)getpid());
	for (;;) {
		int fd = accept4(door, NULL, NULL, SOCK_CLOEXEC);
		char how;

		if (fd < 0)
			return -errno;
		if (read(fd, &how, 1) == 1) {
			int s = socket(AF_INET, how == 'u' ? SOCK_DGRAM : SOCK_STREAM, 0);

			pass(fd, s);
			close(s);
		}
		close(fd);
	}
}

static const struct {
	const char *verb, *usage;
	int (*run)(const char *path, int64_t ms);
} verbs[] = {
	{ "fuse", "FOLDER MS", run_fuse },
	{ "fanotify", "FILE MS", run_fanotify },
	{ "autofs", "FOLDER MS", run_autofs },
	{ "mute", "SOCKET MS", run_mute },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 5 && i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (strcmp(verbs[i].verb, argv[2]))
			continue;
		prctl(PR_SET_NAME, argv[1]);
		int err = verbs[i].run(argv[3], atoll(argv[4]));

		if (err)
			report("failed %s %s\n", argv[2], strerror(-err));
		return err ? 1 : 0;
	}
	fprintf(stderr,
		"usage: stage NAME fuse|autofs FOLDER MS, or stage NAME fanotify FILE MS, or "
		"stage NAME mute SOCKET MS\n");
	return 64;
}
