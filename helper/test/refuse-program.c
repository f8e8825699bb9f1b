// SPDX-License-Identifier: GPL-2.0-only
/*
 * For LD_PRELOAD: a kernel that refuses the tracing programs that TIPME_TEST_REFUSES names, each as
 * NAME:ERRNO, with a space between them.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel is told the begin of a name only. Returns the errno; 0: it may run. */
static int refusal_of(const union bpf_attr *attr)
{
	const char *list = getenv("TIPME_TEST_REFUSES");
	char name[64];
	int err, len;

	for (; list && sscanf(list, " %63[^:]:%d%n", name, &err, &len) == 2; list += len)
		if (!strncmp(attr->prog_name, name, BPF_OBJ_NAME_LEN - 1))
			return err;
	return 0;
}

long syscall(long number, ...)
{
	static long (*real)(long, ...);
	long a[6];
	va_list args;
	int err = 0;

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "syscall");
	if (number == SYS_bpf && a[0] == BPF_PROG_LOAD)
		err = refusal_of((const union bpf_attr *)a[1]);
	if (!err)
		return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	errno = err;
	return -1;
}
