// SPDX-License-Identifier: GPL-2.0-only
/*
 * The process that parses strangers' files: it finds what the parser finds, may do nothing else,
 * and nobody waits for it.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "clock.h"
#include "daemon-tap.h"
#include "elf_reader.h"

#define OFFSETS 2000U
#define NOBODY 65534
/* A hang is what takes longer. */
#define PATIENCE_NS (60 * TIPME_NS_PER_S)

static uint64_t patience(void)
{
	return tipme_clock_ns() + PATIENCE_NS;
}

/* The process with this name whose parent is `parent`; 0: none. */
static pid_t child_of(pid_t parent, const char *name)
{
	DIR *dir = opendir("/proc");
	pid_t found = 0;

	for (struct dirent *e; dir && !found && (e = readdir(dir));) {
		char path[300], comm[32] = "";
		int pid = atoi(e->d_name), ppid = 0;

		snprintf(path, sizeof(path), "/proc/%d/stat", pid);
		FILE *f = pid > 0 ? fopen(path, "re") : NULL;

		if (f && fscanf(f, "%*d (%31[^)]) %*c %d", comm, &ppid) == 2 && ppid == parent &&
		    !strcmp(comm, name))
			found = pid;
		if (f)
			fclose(f);
	}
	if (dir)
		closedir(dir);
	return found;
}

static unsigned long long status_of(pid_t pid, const char *what, int base)
{
	char path[64], line[256];
	unsigned long long value = ~0ULL;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	FILE *f = fopen(path, "re");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, what, strlen(what)))
			value = strtoull(line + strlen(what), NULL, base);
	if (f)
		fclose(f);
	return value;
}

static void test_names(const char *path)
{
	static uint64_t offsets[OFFSETS];
	struct tipmed_elf_answer a;
	struct tipme_elf *elf;
	unsigned int wrong = 0, named = 0;

	for (unsigned int i = 0; i < OFFSETS; i++)
		offsets[i] = i * 1000;
	int err = tipmed_elf_reader_ask(path, offsets, OFFSETS, patience(), &a);

	ok(!err && !tipme_elf_open(&elf, path), "a program is read");
	for (unsigned int i = 0; !err && i < OFFSETS; i++) {
		char name[256];

		tipme_elf_name(elf, offsets[i], name, sizeof(name));
		wrong += strcmp(name, a.name[i]) != 0;
		named += name[0] != '+';
	}
	ok(!err && !wrong && named,
	   "of %u addresses each has the name that the parser gives it, %u that of a function",
	   OFFSETS, named);
	ok(!err && a.bytes == tipme_elf_bytes(elf) && a.changed_ns == tipme_elf_changed_ns(elf) &&
		   !strcmp(a.build_id, tipme_elf_build_id(elf)),
	   "size, time and build-id, too");
	tipmed_elf_answer_free(&a);
	if (!err)
		tipme_elf_free(elf);
}

static void test_refused(void)
{
	struct tipmed_elf_answer a;

	ok(tipmed_elf_reader_ask("/etc/passwd", NULL, 0, patience(), &a) == -ENOEXEC && !a.text,
	   "a text is none");
	ok(tipmed_elf_reader_ask("/nowhere", NULL, 0, patience(), &a) == -ENOENT,
	   "nor is what is not there");
	ok(tipmed_elf_reader_ask("/dev/null", NULL, 0, patience(), &a) == -ENOEXEC,
	   "a device is not opened");
	ok(getuid() || tipmed_elf_reader_ask("/etc/shadow", NULL, 0, patience(), &a) == -EACCES,
	   "what the owner may not read is not read");
}

static void test_rights(pid_t forker, pid_t reader)
{
	ok(reader > 0 && !status_of(reader, "CapEff:", 16) && !status_of(reader, "CapPrm:", 16),
	   "the reader has no capability");
	ok(status_of(reader, "NoNewPrivs:", 10) == 1, "... and no way to new ones");
	ok(status_of(forker, "CapEff:", 16) == 0, "neither has who forks it");
	ok(getuid() || status_of(reader, "Uid:", 10) == NOBODY,
	   "it has the user id of the library's owner");
#ifdef HAVE_SECCOMP
	ok(status_of(reader, "Seccomp:", 10) == 2, "its system calls are filtered");
#endif
}

/* As one does that waits for a disk which does not answer. */
static void test_hanging(const char *path, pid_t forker, pid_t reader)
{
	struct tipmed_elf_answer a;
	uint64_t offset = 0;

	kill(reader, SIGSTOP);
	ok(tipmed_elf_reader_ask(path, &offset, 1, tipme_clock_ns() + 100000000, &a) ==
			   -ETIMEDOUT &&
		   !a.text,
	   "one that does not answer is not waited for");
	ok(!tipmed_elf_reader_ask(path, &offset, 1, patience(), &a),
	   "the next question is answered by another");
	tipmed_elf_answer_free(&a);
	ok(child_of(forker, "tipmed-elf") != reader && kill(reader, 0),
	   "the one that hung has gone");
	kill(child_of(forker, "tipmed-elf"), SIGKILL);
	int err = tipmed_elf_reader_ask(path, &offset, 1, patience(), &a);

	ok(err == -EPIPE || err == -ECONNRESET, "one that a file has killed gives no answer");
	ok(!tipmed_elf_reader_ask(path, &offset, 1, patience(), &a),
	   "... and harms nobody but that file");
	tipmed_elf_answer_free(&a);
}

/* A file system in user space that its owner does not serve: who looks into it waits for ever. */
static int dead_filesystem(const char *dir)
{
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	char how[128];

	snprintf(how, sizeof(how), "fd=%d,rootmode=40755,user_id=0,group_id=0,allow_other", fd);
	if (fd < 0 || mount("tipme-test", dir, "fuse", MS_NOSUID | MS_NODEV, how)) {
		int err = -errno;

		if (fd >= 0)
			close(fd);
		return err;
	}
	return fd;
}

static void test_dead_filesystem(const char *path)
{
	char dir[] = "/tmp/tipme-fuse-XXXXXX", file[64];
	struct tipmed_elf_answer a;
	uint64_t offset = 0;
	int fd = mkdtemp(dir) ? dead_filesystem(dir) : -errno;

	if (fd < 0) {
		printf("ok %d # SKIP no file system in user space can be mounted here: %s\n",
		       ++tap_done, strerror(-fd));
		rmdir(dir);
		return;
	}
	snprintf(file, sizeof(file), "%s/program", dir);
	ok(tipmed_elf_reader_ask(file, &offset, 1, tipme_clock_ns() + 100000000, &a) ==
			   -ETIMEDOUT &&
		   !a.text,
	   "a file system that does not answer is not waited for");
	ok(!tipmed_elf_reader_ask(path, &offset, 1, patience(), &a),
	   "... and harms no file of others");
	tipmed_elf_answer_free(&a);
	umount2(dir, MNT_FORCE | MNT_DETACH);
	close(fd);
	rmdir(dir);
}

int main(void)
{
	const char *path = "/usr/bin/perl";
	struct tipmed_file_owner owner = { getuid() ? getuid() : NOBODY,
					   getuid() ? getgid() : NOBODY };

	/* What is mounted here is nobody else's. */
	int own = !unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);

	if (tipmed_elf_reader_start(&owner))
		return 99;
	test_names(path);
	test_refused();
	pid_t forker = child_of(getpid(), "tipmed-symbols"),
	      reader = child_of(forker, "tipmed-elf");

	test_rights(forker, reader);
	test_hanging(path, forker, reader);
	if (own)
		test_dead_filesystem(path);
	return tap_end();
}
