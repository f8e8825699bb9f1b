// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hot-key on keyboards: streams as keyboards send them, through sockets; layouts; losses;
 * keyboards that go.
 */
#include "config.h"

#include <errno.h>
#include <linux/input.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon-tap.h"
#include "evdev_hotkey.h"

static char keyboard_file[] = "/tmp/tipme-keyboard-XXXXXX";

static void layout(const char *text)
{
	FILE *f = fopen(keyboard_file, "w");

	fputs(text, f);
	fclose(f);
}

static struct tipmed_evdev *made(const char *chord, int *keyboard, int keyboards)
{
	struct tipmed_evdev *e;
	char why[200] = "";

	if (tipmed_evdev_new(&e, chord, why, sizeof(why))) {
		printf("Bail out! %s: %s\n", chord, why);
		exit(1);
	}
	for (int i = 0; i < keyboards; i++) {
		int pair[2];

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) ||
		    tipmed_evdev_add(e, pair[0], (unsigned)i))
			exit(1);
		keyboard[i] = pair[1];
	}
	return e;
}

static void send_event(int fd, uint16_t type, uint16_t code, int32_t value)
{
	struct input_event event = { .type = type, .code = code, .value = value };

	if (write(fd, &event, sizeof(event)) != sizeof(event))
		exit(1);
}

static void key(int fd, uint16_t code, int32_t value)
{
	send_event(fd, EV_MSC, MSC_SCAN, code);
	send_event(fd, EV_KEY, code, value);
	send_event(fd, EV_SYN, SYN_REPORT, 0);
}

static void test_chord(void)
{
	int k[2];
	struct tipmed_evdev *e = made("Ctrl+Alt+minus", k, 2);

	key(k[0], KEY_MINUS, 1), key(k[0], KEY_MINUS, 0);
	ok(!tipmed_evdev_take(e), "the key alone is nothing");
	key(k[0], KEY_LEFTCTRL, 1), key(k[0], KEY_LEFTALT, 1), key(k[0], KEY_MINUS, 1);
	ok(tipmed_evdev_take(e), "with Ctrl and Alt it is the hot-key");
	key(k[0], KEY_MINUS, 2), key(k[0], KEY_MINUS, 2);
	ok(!tipmed_evdev_take(e), "that it repeats is not");
	key(k[0], KEY_MINUS, 0), key(k[0], KEY_MINUS, 1);
	ok(tipmed_evdev_take(e), "pressed again it is");
	key(k[0], KEY_MINUS, 0), key(k[0], KEY_LEFTSHIFT, 1), key(k[0], KEY_MINUS, 1);
	ok(!tipmed_evdev_take(e), "with Shift it is another chord");
	key(k[0], KEY_MINUS, 0), key(k[0], KEY_LEFTSHIFT, 0), key(k[0], KEY_LEFTALT, 0),
		key(k[0], KEY_LEFTCTRL, 0), key(k[0], KEY_MINUS, 1);
	ok(!tipmed_evdev_take(e), "modifiers that were let go count no more");
	key(k[0], KEY_MINUS, 0), key(k[0], KEY_RIGHTCTRL, 1), key(k[1], KEY_LEFTALT, 1),
		key(k[0], KEY_MINUS, 1);
	tipmed_evdev_take(e);
	key(k[0], KEY_MINUS, 0), key(k[0], KEY_MINUS, 1);
	ok(tipmed_evdev_take(e), "modifiers may be on another keyboard");
	key(k[0], KEY_MINUS, 0), tipmed_evdev_take(e);
	close(k[1]);
	tipmed_evdev_take(e);
	ok(tipmed_evdev_count(e) == 1, "a keyboard is pulled out");
	key(k[0], KEY_MINUS, 1);
	ok(!tipmed_evdev_take(e), "and its Alt with it");
	tipmed_evdev_free(e);
	close(k[0]);
}

static void test_loss(void)
{
	int k;
	struct tipmed_evdev *e = made("Ctrl+Alt+minus", &k, 1);

	key(k, KEY_LEFTCTRL, 1), key(k, KEY_LEFTALT, 1);
	send_event(k, EV_SYN, SYN_DROPPED, 0);
	send_event(k, EV_KEY, KEY_MINUS, 1);
	ok(!tipmed_evdev_take(e), "what stands between a loss and the next report is not believed");
	send_event(k, EV_SYN, SYN_REPORT, 0);
	key(k, KEY_MINUS, 0), key(k, KEY_MINUS, 1);
	/* A socket cannot say what is down, so nothing is. */
	ok(!tipmed_evdev_take(e), "and modifiers that the device does not confirm are up");
	key(k, KEY_MINUS, 0), key(k, KEY_LEFTCTRL, 1), key(k, KEY_LEFTALT, 1), key(k, KEY_MINUS, 1);
	ok(tipmed_evdev_take(e), "then it goes on");
	tipmed_evdev_free(e);
	close(k);
}

static bool pressed(const char *text, const char *chord, uint16_t code, bool shift)
{
	int k;

	layout(text);
	struct tipmed_evdev *e = made(chord, &k, 1);

	if (shift)
		key(k, KEY_LEFTSHIFT, 1);
	key(k, KEY_LEFTCTRL, 1), key(k, KEY_LEFTALT, 1), key(k, code, 1);
	bool fired = tipmed_evdev_take(e);

	tipmed_evdev_free(e);
	close(k);
	return fired;
}

static void test_layouts(void)
{
	ok(pressed("XKBLAYOUT=\"de\"\n", "Ctrl+Alt+minus", KEY_SLASH, false),
	   "de: minus lies where us has slash");
	ok(!pressed("XKBLAYOUT=\"de\"\n", "Ctrl+Alt+minus", KEY_MINUS, false),
	   "de: and not where us has it");
	ok(pressed("XKBLAYOUT=fr\n", "Ctrl+Alt+minus", KEY_6, false), "fr: on the 6");
	ok(pressed("XKBLAYOUT='us'\nXKBVARIANT='dvorak'\n", "Ctrl+Alt+minus", KEY_APOSTROPHE,
		   false),
	   "dvorak: on the apostrophe");
	ok(pressed("XKBLAYOUT=\"us,ru\"\n", "Ctrl+Alt+minus", KEY_MINUS, false),
	   "us,ru: where both have it");
	ok(pressed("XKBLAYOUT=\"us\"\n", "Ctrl+Alt+plus", KEY_EQUAL, true),
	   "us: plus is typed with Shift, which is no part of the chord");
	ok(pressed("XKBLAYOUT=\"nowhere\"\n", "Ctrl+Alt+minus", KEY_MINUS, false),
	   "a layout that is not there: the standard one");
	ok(!pressed("XKBLAYOUT=\"us\"\n", "none", KEY_MINUS, false), "no hot-key, no trigger");
}

static void test_any_bytes(void)
{
	int k;
	unsigned fired = 0;

	layout("");
	struct tipmed_evdev *e = made("Ctrl+Alt+minus", &k, 1);

	srand(1);
	for (int i = 0; i < 20000; i++) {
		send_event(k, (uint16_t)(rand() % 5 ? EV_KEY : rand()),
			   (uint16_t)(rand() % 3 ? rand() % 130 : rand()), rand() % 4 - 1);
		fired += tipmed_evdev_take(e);
	}
	ok(tipmed_evdev_count(e) == 1, "20000 random events do no harm (%u were the chord)", fired);
	close(k);
	ok(!tipmed_evdev_take(e) && !tipmed_evdev_count(e), "its end is noticed");
	tipmed_evdev_free(e);
}

static void test_refusals(void)
{
	struct tipmed_evdev *e;
	char why[200] = "";
	unsigned refused;

	ok(tipmed_evdev_new(&e, "Ctrl+Alt+nonsense", why, sizeof(why)) == -EINVAL &&
		   strstr(why, "no such key"),
	   "what is no chord is refused by a sentence: %s", why);
	if (tipmed_evdev_new(&e, "Ctrl+Alt+minus", why, sizeof(why)))
		return;
	ok(tipmed_evdev_open(e, "/nowhere", &refused) == -ENOENT,
	   "a machine without keyboards is said so");
	tipmed_evdev_free(e);
}

int main(void)
{
	int fd = mkstemp(keyboard_file);

	close(fd);
	setenv("TIPME_KEYBOARD_FILE", keyboard_file, 1);
	test_chord();
	test_loss();
	test_layouts();
	test_any_bytes();
	test_refusals();
	unlink(keyboard_file);
	return tap_end();
}
