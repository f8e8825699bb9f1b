// SPDX-License-Identifier: GPL-2.0-only
/*
 * Input devices: when an event enters the kernel (class and device, never which key unless asked),
 * and the hot-keys of the console.
 */
#include <linux/input.h>
#include <linux/kd.h>
#include <linux/kstrtox.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/tty.h>
#include <linux/vt_kern.h>

#include "tipme.h"

/*
 * A filter sees events before all other handlers and may swallow them. It does not see those of a
 * device that somebody has grabbed (EVIOCGRAB): such keys are neither recorded nor taken. It runs
 * with the device's lock held and interrupts off.
 */

struct seen_device {
	struct input_handle handle; /* first: it is what we are called with */
	u16 number; /* eventN; NO_NUMBER: not yet known */
	u8 class;
	bool moved; /* since the last report */
	bool swallowing; /* a hot-key is down: its release and its repetitions belong to it */
	unsigned int swallowed_code;
};

#define NO_NUMBER 65535

static bool recording; /* the class is on */
static bool forbidden; /* Ctrl+Alt+0: not even the times */
static unsigned long modifiers; /* of all keyboards: bits of enum */
enum { LEFT_CTRL, RIGHT_CTRL, LEFT_ALT, RIGHT_ALT };

static u8 class_of(const struct input_dev *dev)
{
	const struct tipme_device_has has = {
		.absolute = test_bit(EV_ABS, dev->evbit),
		.relative = test_bit(EV_REL, dev->evbit),
		.touch = test_bit(BTN_TOUCH, dev->keybit),
		.finger = test_bit(BTN_TOOL_FINGER, dev->keybit),
		.left = test_bit(BTN_LEFT, dev->keybit),
		.a = test_bit(KEY_A, dev->keybit),
		.enter = test_bit(KEY_ENTER, dev->keybit),
	};

	return tipme_rule_device_class(&has);
}

/*
 * evdev's handle of the same device is named eventN. It may come after ours. The list is RCU's, and
 * the caller is inside.
 */
static u16 number_of(struct seen_device *seen)
{
	struct input_handle *other;
	unsigned int number;

	if (likely(seen->number != NO_NUMBER))
		return seen->number;
	list_for_each_entry_rcu(other, &seen->handle.dev->h_list,
				d_node) if (other->name && !strncmp(other->name, "event", 5) &&
					    !kstrtouint(other->name + 5, 10, &number) &&
					    number < NO_NUMBER) seen->number = number;
	return seen->number;
}

static void put(struct seen_device *seen, u8 kind, unsigned int code)
{
	TIPME_NEW_RECORD(tipme_input, TIPME_INPUT, current->pid);

	r.code = READ_ONCE(tipme_record_key_codes) ? code : 0;
	r.device = number_of(seen);
	r.kind = kind;
	r.class = seen->class;
	tipme_record(&r);
}

/* One record a report however many axes moved. */
static void record(struct seen_device *seen, unsigned int type, unsigned int code, int value)
{
	if (type == EV_KEY)
		put(seen, tipme_rule_kind_of_key(code, value), code);
	else if (type == EV_REL || type == EV_ABS)
		seen->moved = true;
	else if (type == EV_SYN && code == SYN_REPORT && seen->moved) {
		seen->moved = false;
		put(seen,
		    seen->class == TIPME_DEVICE_CLASS_TOUCH ? TIPME_INPUT_KIND_TOUCH
							    : TIPME_INPUT_KIND_MOTION,
		    0);
	}
}

/* --- hot-keys --- */

static void modifier_note(unsigned int code, int value)
{
	static const unsigned int code_of[] = { KEY_LEFTCTRL, KEY_RIGHTCTRL, KEY_LEFTALT,
						KEY_RIGHTALT };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(code_of); i++) {
		if (code != code_of[i])
			continue;
		if (value)
			set_bit(i, &modifiers);
		else
			clear_bit(i, &modifiers);
	}
}

static bool chord_is_down(void)
{
	unsigned long m = READ_ONCE(modifiers);

	return m & (BIT(LEFT_CTRL) | BIT(RIGHT_CTRL)) && m & (BIT(LEFT_ALT) | BIT(RIGHT_ALT));
}

static unsigned int action_of(unsigned int code)
{
	switch (code) {
	case KEY_EQUAL: /* where + is, without shift */
	case KEY_KPPLUS: return TIPME_CHORD_ACTION_START;
	case KEY_MINUS:
	case KEY_KPMINUS: return TIPME_CHORD_ACTION_SNAPSHOT;
	case KEY_0: return TIPME_CHORD_ACTION_NO_INPUT;
	case KEY_1: return TIPME_CHORD_ACTION_DEFAULT_INPUT;
	}
	return 0;
}

/*
 * A server or compositor that draws on the screen traps its own chords, and must see them to know
 * that they are none of its events; so the kernel takes them on text consoles, unless told to take
 * them everywhere.
 */
static bool hotkeys_are_ours(void)
{
	int mode = READ_ONCE(tipme_hotkeys);

#ifdef CONFIG_VT
	const struct vc_data *vc = vc_cons[fg_console].d;

	if (mode == 1)
		return !vc || vc->vc_mode == KD_TEXT;
#endif
	return mode == 2;
}

static void act(unsigned int action)
{
	if (action == TIPME_CHORD_ACTION_NO_INPUT)
		WRITE_ONCE(forbidden, true);
	if (action == TIPME_CHORD_ACTION_DEFAULT_INPUT)
		WRITE_ONCE(forbidden, false);
	tipme_trigger(TIPME_TRIGGER_KEY, action, 0);
}

/* Returns true if the event is a hot-key's, and nobody else's. */
static bool hotkey(struct seen_device *seen, unsigned int code, int value)
{
	unsigned int action;

	if (seen->swallowing && code == seen->swallowed_code) {
		seen->swallowing = value;
		return true;
	}
	modifier_note(code, value);
	action = value == 1 && chord_is_down() && tipme_ring_live() && hotkeys_are_ours()
			 ? action_of(code)
			 : 0;
	if (!action)
		return false;
	seen->swallowing = true;
	seen->swallowed_code = code;
	act(action);
	return true;
}

static bool on_event(struct input_handle *handle, unsigned int type, unsigned int code, int value)
{
	struct seen_device *seen = container_of(handle, struct seen_device, handle);

	if (type == EV_KEY && hotkey(seen, code, value))
		return true;
	if (READ_ONCE(recording) && !READ_ONCE(forbidden))
		record(seen, type, code, value);
	return false;
}

/* --- devices come and go --- */

static int connect(struct input_handler *handler, struct input_dev *dev,
		   const struct input_device_id *id)
{
	struct seen_device *seen = kzalloc(sizeof(*seen), GFP_KERNEL);
	int err;

	if (!seen)
		return -ENOMEM;
	seen->handle.dev = dev;
	seen->handle.handler = handler;
	seen->handle.name = "tipme";
	seen->number = NO_NUMBER;
	seen->class = class_of(dev);
	err = input_register_handle(&seen->handle);
	if (err)
		goto err_free;
	err = input_open_device(&seen->handle); /* a handle that is not open is told nothing */
	if (err)
		goto err_unregister;
	return 0;

err_unregister:
	input_unregister_handle(&seen->handle);
err_free:
	kfree(seen);
	return err;
}

/* After input_close_device() nobody is in our filter: it waits for an RCU grace period. */
static void disconnect(struct input_handle *handle)
{
	input_close_device(handle);
	input_unregister_handle(handle);
	kfree(container_of(handle, struct seen_device, handle));
}

/*
 * Keyboards, pointers, touch screens; not switches, sensors and joysticks, which would have to be
 * kept awake.
 */
static bool match(struct input_handler *handler, struct input_dev *dev)
{
	return class_of(dev) != TIPME_DEVICE_CLASS_OTHER;
}

static const struct input_device_id ids[] = {
	{ .flags = INPUT_DEVICE_ID_MATCH_EVBIT, .evbit = { BIT_MASK(EV_KEY) } },
	{},
};

static struct input_handler handler = {
	.filter = on_event,
	.match = match,
	.connect = connect,
	.disconnect = disconnect,
	.name = "tipme",
	.id_table = ids,
};

void tipme_input_class(bool on)
{
	WRITE_ONCE(recording, on);
}

int tipme_input_init(void)
{
	return input_register_handler(&handler);
}

void tipme_input_exit(void)
{
	input_unregister_handler(&handler);
}
