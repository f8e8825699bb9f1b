// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sleeps that people meet and the laboratory has not: a thread waits for a file server, a file
 * system in user space, somebody's permission, a throttled disk. Prints the kernel stack of each.
 *
 * usage: waits DIR [NAME...]: as root; DIR is an empty folder; without names all of them
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/fuse.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <netinet/in.h>
#include <signal.h>
#include <sound/asound.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "deeds_kernel.h"

#define LOOKS 60
#define LOOK_US 50000

static const char *dir;
static char path[512];

static const char *in_dir(const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

/* A server that takes connections and never says a word. */
static int mute_server(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(a);
	int s = socket(AF_INET, SOCK_STREAM, 0);

	if (s < 0 || bind(s, (struct sockaddr *)&a, sizeof(a)) || listen(s, 16) ||
	    getsockname(s, (struct sockaddr *)&a, &length))
		return -errno;
	return ntohs(a.sin_port);
}

static void mount_mute(const char *type, const char *source, const char *options)
{
	char data[256];

	snprintf(data, sizeof(data), options, mute_server());
	if (mount(source, dir, type, 0, data))
		perror(type);
}

static void wait_nfs(void)
{
	mount_mute("nfs4", "127.0.0.1:/x",
		   "addr=127.0.0.1,clientaddr=127.0.0.1,vers=4.2,proto=tcp,port=%d");
}

static void wait_cifs(void)
{
	mount_mute("cifs", "\\\\127.0.0.1\\x",
		   "ip=127.0.0.1,unc=\\\\127.0.0.1\\x,user=x,pass=x,vers=3.0,port=%d");
}

/* The other end answers the first message and then nothing. */
static void wait_fuse(void)
{
	char data[128], buffer[65536];
	struct {
		struct fuse_out_header head;
		struct fuse_init_out init;
	} reply = { .init = { .major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 65536 } };
	int fd = open("/dev/fuse", O_RDWR);
	struct stat st;

	snprintf(data, sizeof(data), "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
	if (mount("waits", dir, "fuse", MS_NOSUID | MS_NODEV, data)) {
		perror("fuse");
		return;
	}
	if (read(fd, buffer, sizeof(buffer)) < 0)
		return;
	reply.head.len = sizeof(reply);
	reply.head.unique = ((struct fuse_in_header *)buffer)->unique;
	if (write(fd, &reply, sizeof(reply)) < 0)
		perror("fuse");
	stat(in_dir("document"), &st);
}

static void wait_fanotify(void)
{
	int fan = fanotify_init(FAN_CLASS_CONTENT, O_RDONLY);
	const char *file = in_dir("asked");
	pid_t child;

	close(open(file, O_CREAT | O_RDWR, 0600));
	if (fanotify_mark(fan, FAN_MARK_ADD, FAN_OPEN_PERM, AT_FDCWD, file)) {
		perror("fanotify");
		return;
	}
	/* Whoever asks is never asked himself. */
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		open(file, O_RDONLY);
		_exit(0);
	}
	printf("of %d\n", child);
	fflush(stdout);
	pause();
}

static void wait_seccomp(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpriority, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = 4, .filter = code };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
		    &program) < 0)
		perror("seccomp");
	syscall(SYS_getpriority, 0, 0);
}

static void wait_userfault(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	char *m = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register range = { .range = { (uintptr_t)m, 4096 },
					 .mode = UFFDIO_REGISTER_MODE_MISSING };

	if (ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range))
		perror("userfaultfd");
	else
		*(volatile char *)m = 1;
}

/* autofs asks whoever mounted it, here us: by a pipe that nobody reads. */
static void wait_autofs(void)
{
	char data[128];
	struct stat st;
	int ends[2];

	if (pipe(ends))
		return;
	snprintf(data, sizeof(data), "fd=%d,pgrp=%d,minproto=5,maxproto=5,indirect", ends[1],
		 getppid());
	setpgid(0, 0);
	if (mount("waits", dir, "autofs", 0, data)) {
		perror("autofs");
		return;
	}
	stat(in_dir("share"), &st);
}

static void wait_uring(void)
{
	char parameters[256] = { 0 };
	int fd = (int)syscall(SYS_io_uring_setup, 4, parameters);

	syscall(SYS_io_uring_enter, fd, 0, 1, 1, NULL, 0);
}

/* The kernel's own freezer; its folder is given by the environment. */
static void wait_frozen(void)
{
	const char *group = getenv("WAITS_GROUP"), *version = getenv("WAITS_GROUP_VERSION");
	char file[300];
	FILE *f;

	if (!group)
		return;
	snprintf(file, sizeof(file), "%s/cgroup.procs", group);
	f = fopen(file, "w");
	if (!f)
		return;
	fprintf(f, "%d\n", getpid());
	fclose(f);
	snprintf(file, sizeof(file), "%s/%s", group,
		 version && *version == '1' ? "freezer.state" : "cgroup.freeze");
	f = fopen(file, "w");
	if (!f)
		return;
	fputs(version && *version == '1' ? "FROZEN\n" : "1\n", f);
	fclose(f);
	pause();
}

static void wait_rcu(void)
{
	for (;;)
		syscall(SYS_membarrier, 1 /* MEMBARRIER_CMD_GLOBAL */, 0, 0);
}

/* More unwritten data than the limit, before a disk that is slow. */
static void wait_dirty(void)
{
	static char block[1 << 20];
	int fd = open(in_dir("copy"), O_CREAT | O_WRONLY, 0600);

	while (write(fd, block, sizeof(block)) > 0)
		;
	perror("dirty");
}

static void wait_sync(void)
{
	static char block[1 << 20];
	int fd = open(in_dir("saved"), O_CREAT | O_WRONLY, 0600);

	if (write(fd, block, sizeof(block)) < 0)
		perror("sync");
	for (;;)
		fsync(fd);
}

static void any(struct snd_pcm_hw_params *p)
{
	memset(p, 0, sizeof(*p));
	for (unsigned int i = 0; i < sizeof(p->masks) / sizeof(*p->masks); i++)
		memset(&p->masks[i], 0xff, sizeof(p->masks[i]));
	for (unsigned int i = 0; i < sizeof(p->intervals) / sizeof(*p->intervals); i++)
		p->intervals[i].max = UINT32_MAX;
	p->rmask = UINT32_MAX;
}

/* A card of no sound, filled up. */
static void wait_sound(void)
{
	static char block[1 << 20];
	struct snd_pcm_hw_params p;
	int fd = open("/dev/snd/pcmC0D0p", O_RDWR);

	any(&p);
	memset(&p.masks[SNDRV_PCM_HW_PARAM_ACCESS], 0, sizeof(p.masks[0]));
	p.masks[SNDRV_PCM_HW_PARAM_ACCESS].bits[0] = 1U << SNDRV_PCM_ACCESS_RW_INTERLEAVED;
	if (fd < 0 || ioctl(fd, SNDRV_PCM_IOCTL_HW_PARAMS, &p) ||
	    ioctl(fd, SNDRV_PCM_IOCTL_PREPARE)) {
		perror("sound");
		return;
	}
	while (write(fd, block, sizeof(block)) >= 0)
		;
	perror("sound");
}

/* A fence that nobody signals, of a graphics processor that is none: vgem. */
static void wait_fence(void)
{
	const char *card = getenv("WAITS_CARD");
	int fd = open(card ? card : "/dev/dri/card1", O_RDWR);

	if (fd < 0)
		perror("fence");
	else
		lab_fence(fd);
}

static const struct {
	const char *name;
	void (*act)(void);
} waits[] = {
	{ "nfs", wait_nfs },
	{ "cifs", wait_cifs },
	{ "fuse", wait_fuse },
	{ "fanotify", wait_fanotify },
	{ "seccomp", wait_seccomp },
	{ "autofs", wait_autofs },
	{ "userfault", wait_userfault },
	{ "uring", wait_uring },
	{ "frozen", wait_frozen },
	{ "rcu", wait_rcu },
	{ "dirty", wait_dirty },
	{ "sync", wait_sync },
	{ "sound", wait_sound },
	{ "fence", wait_fence },
};

/* The stack of a task, innermost first, as one line like those of an episode. */
static int stack_of(pid_t pid, char *line, size_t size)
{
	char file[64], text[8192], *at = text;
	int fd;
	ssize_t n;
	size_t used = 0;

	snprintf(file, sizeof(file), "/proc/%d/stack", pid);
	fd = open(file, O_RDONLY);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return -1;
	text[n] = 0;
	*line = 0;
	for (char *l; (l = strsep(&at, "\n"));) {
		char *name = strstr(l, "] ");

		if (!name)
			continue;
		name += 2;
		name[strcspn(name, "/ ")] = 0;
		used += (size_t)snprintf(line + used, size - used, "%s%s", used ? ";" : "", name);
		if (used >= size)
			return -1;
	}
	return 0;
}

/* Prints what a task slept in most often, of some looks. */
static void look(const char *name, pid_t pid)
{
	static char line[LOOKS][2048];
	int best = -1, most = 0;

	for (int i = 0; i < LOOKS; i++) {
		usleep(LOOK_US);
		if (stack_of(pid, line[i], sizeof(line[i])))
			line[i][0] = 0;
	}
	for (int i = 0; i < LOOKS; i++) {
		int same = 0;

		for (int k = 0; k < LOOKS && line[i][0]; k++)
			same += !strcmp(line[i], line[k]);
		if (same > most)
			most = same, best = i;
	}
	printf("%s\t%d of %d\t%s\n", name, most, LOOKS, best < 0 ? "no stack" : line[best]);
	fflush(stdout);
}

static void wait_for(const char *name, void (*act)(void))
{
	char said[64] = "";
	int ends[2];
	pid_t pid;

	if (pipe(ends))
		return;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(ends[1], 1);
		act();
		_exit(0);
	}
	close(ends[1]);
	usleep(300000);
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	if (read(ends[0], said, sizeof(said) - 1) < 0)
		said[0] = 0;
	close(ends[0]);
	look(name, !strncmp(said, "of ", 3) ? atoi(said + 3) : pid);
	kill(pid, SIGKILL);
	/* Of what else is mounted there it is the caller who knows. */
	if (!strcmp(name, "fuse") || !strcmp(name, "autofs"))
		umount2(dir, MNT_FORCE | MNT_DETACH);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: waits DIR [NAME...]\n");
		return 64;
	}
	dir = argv[1];
	for (unsigned int i = 0; i < sizeof(waits) / sizeof(*waits); i++) {
		int wanted = argc == 2;

		for (int k = 2; k < argc; k++)
			wanted |= !strcmp(argv[k], waits[i].name);
		if (wanted)
			wait_for(waits[i].name, waits[i].act);
	}
	return 0;
}
