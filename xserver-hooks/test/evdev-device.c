/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For machines without input devices: lets a pipe answer the questions that are asked of an event
 * device, so that the real evdev driver and the real libevdev read keys from it in the real input
 * thread. Preloaded into the server.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/input.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

static void set(unsigned char *bits, unsigned n, size_t len)
{
	if (n / 8 < len)
		bits[n / 8] |= (unsigned char)(1 << n % 8);
}

/* A keyboard with the keys 1 to 127 and the wheel of a mouse. */
static int answer_bits(unsigned type, unsigned char *to, size_t len)
{
	memset(to, 0, len);
	if (type == 0) {
		set(to, EV_SYN, len);
		set(to, EV_KEY, len);
	} else if (type == EV_KEY) {
		for (unsigned key = 1; key < 128; key++)
			set(to, key, len);
	}
	return (int)len;
}

static int answer(unsigned long request, void *to)
{
	size_t len = _IOC_SIZE(request);
	unsigned nr = _IOC_NR(request);

	if (request == EVIOCGVERSION)
		return *(int *)to = EV_VERSION, 0;
	if (request == EVIOCGID)
		return *(struct input_id *)to = (struct input_id){ BUS_VIRTUAL, 1, 1, 1 }, 0;
	if (nr == _IOC_NR(EVIOCGNAME(0)))
		return strncpy(to, "pipe", len), 5;
	if (nr >= 0x20 && nr < 0x40 && _IOC_DIR(request) == _IOC_READ)
		return answer_bits(nr - 0x20, to, len);
	if (nr == _IOC_NR(EVIOCGPHYS(0)) || nr == _IOC_NR(EVIOCGUNIQ(0)))
		return errno = ENOENT, -1;
	if (_IOC_DIR(request) == _IOC_READ)
		memset(to, 0, len);
	return 0;
}

int ioctl(int fd, unsigned long request, ...)
{
	static int (*real)(int, unsigned long, void *);
	struct stat st;
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (_IOC_TYPE(request) == 'E' && !fstat(fd, &st) && S_ISFIFO(st.st_mode))
		return answer(request, arg);
	if (!real)
		real = (int (*)(int, unsigned long, void *))dlsym(RTLD_NEXT, "ioctl");
	return real(fd, request, arg);
}
