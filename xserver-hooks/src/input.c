// SPDX-License-Identifier: GPL-2.0-only
/* Input: device events, their delivery to clients, the hot-key. */
#include "config.h"

#include "hooks.h"

#include "evdev.h"
#include "events.h"
#include "link.h"

/* The slave's event whose copy by the master comes next. */
static struct {
	int type;
	uint32_t time_ms;
	int source_id;
	bool repeat;
	bool swallowed;
} last_slave TIPME_HOT_DATA;

/*
 * Whether the event being processed came through our key handler, which has already followed the
 * key.
 */
static bool in_key_handler TIPME_HOT_DATA;

/* The action of a hot-key that is not swallowed, until its device event has its record. */
static uint8_t passing_chord TIPME_HOT_DATA;

/*
 * The keyboard that was typed on last; whether the input thread may know an older layout of it, and
 * since when it knows this one.
 */
static DeviceIntPtr layout_device TIPME_HOT_DATA;
static bool layout_stale TIPME_HOT_DATA;
static uint64_t layout_ns TIPME_HOT_DATA;
#define LAYOUT_AGE_NS 60000000000ULL

/*
 * Device events of late: a client that froze a device gets them when no device event is being
 * processed.
 */
#define RECENT 64
static struct {
	uint32_t time_ms, input_seq;
	uint8_t kind;
} recent[RECENT] TIPME_HOT_TABLE;

static struct {
	uint8_t xi_major, xi_event_base, xkb_major;
} extension TIPME_HOT_DATA;

/* The server has a function for this; a call of it is a line of the caches more. */
static inline bool is_master_device(const DeviceIntRec *dev)
{
	return dev->type == MASTER_POINTER || dev->type == MASTER_KEYBOARD;
}

static TIPME_HOT_INPUT uint8_t kind_of_type(int type)
{
	/* Not with the constants, which are nowhere near. */
	static uint8_t kinds[] TIPME_HOT_TABLE = {
		[TIPME_ET_KEY_PRESS] = TIPME_INPUT_KIND_KEY_PRESS,
		[TIPME_ET_KEY_RELEASE] = TIPME_INPUT_KIND_KEY_RELEASE,
		[TIPME_ET_BUTTON_PRESS] = TIPME_INPUT_KIND_BUTTON_PRESS,
		[TIPME_ET_BUTTON_RELEASE] = TIPME_INPUT_KIND_BUTTON_RELEASE,
		[TIPME_ET_MOTION] = TIPME_INPUT_KIND_MOTION,
		[TIPME_ET_TOUCH_BEGIN] = TIPME_INPUT_KIND_TOUCH,
		[TIPME_ET_TOUCH_UPDATE] = TIPME_INPUT_KIND_TOUCH,
		[TIPME_ET_TOUCH_END] = TIPME_INPUT_KIND_TOUCH,
	};

	return type >= 0 && type < (int)(sizeof(kinds)) && kinds[type] ? kinds[type]
								       : TIPME_INPUT_KIND_OTHER;
}

/* A master's copy of a slave's event is the same event of the person's: it gets the same number. */
static TIPME_HOT_INPUT uint32_t seq_of(const struct tipme_event *ev, bool is_master)
{
	if (is_master && ev->type == last_slave.type && ev->time_ms == last_slave.time_ms &&
	    ev->source_id == last_slave.source_id)
		return tipme_hooks.input_seq;
	last_slave.type = ev->type;
	last_slave.time_ms = ev->time_ms;
	last_slave.source_id = ev->source_id;
	return ++tipme_hooks.input_seq;
}

static void chord_record(uint32_t input_seq, uint8_t action);

static TIPME_HOT_INPUT uint32_t device_record(const struct tipme_event *ev, DeviceIntPtr dev,
					      uint8_t kind)
{
	bool is_master = is_master_device(dev);
	uint32_t seq = seq_of(ev, is_master);
	struct tipme_x_device rec = {
		.ts_ns = tipme_hooks_now_ns(),
		.type = TIPME_X_DEVICE,
		.input_seq = seq,
		.server_ms = ev->time_ms,
		.device = (uint16_t)dev->id,
		.kind = kind,
		.is_master = is_master,
	};

	if (kind == TIPME_INPUT_KIND_MOTION)
		tipme_hooks_join(&tipme_hooks.device[is_master], 1 + (uint64_t)dev->id, &rec);
	else
		tipme_hooks_record(&rec);
	/* The waking that brought a key or a button keeps its record. */
	if (kind != TIPME_INPUT_KIND_MOTION)
		tipme_join_end(&tipme_hooks.idle);
	tipme_grabs_hook(dev);
	recent[seq % RECENT].time_ms = ev->time_ms;
	recent[seq % RECENT].input_seq = seq;
	recent[seq % RECENT].kind = kind;
	return seq;
}

/*
 * Arguments: the event that the server is about to process or, of a frozen device, has put aside;
 * its device. Side effects: a record; the deliveries that follow name this event.
 */
TIPME_HOT_INPUT void tipme_input_on_device(CallbackListPtr *list, void *data, void *call)
{
	const DeviceEventInfoRec *info = call;
	const struct tipme_event *ev = (const void *)info->event;
	uint8_t kind;

	if (!tipme_hooks.active || tipme_hooks.no_input)
		return;
	if (!tipme_event_is_sane(ev)) {
		tipme_hooks_disable(
			"this server's input events have another layout than those of xorg-server 21.1");
		return;
	}
	kind = kind_of_type(ev->type);
	/* The server's own repeat of a key comes from a timer, not through our handler. */
	if (ev->type == TIPME_ET_KEY_PRESS &&
	    (in_key_handler ? last_slave.repeat : tipme_hooks.hotkey.held[ev->detail & 255] != 0))
		kind = TIPME_INPUT_KIND_KEY_REPEAT;
	tipme_hooks.cur_input_seq = device_record(ev, info->device, kind);
	if (passing_chord && !is_master_device(info->device)) {
		chord_record(tipme_hooks.cur_input_seq, passing_chord);
		passing_chord = 0;
	}
}

/* ---- delivery ---- */

struct delivery {
	uint8_t kind;
	uint32_t window, time_ms;
};

static uint8_t xi2_kind(int evtype, uint32_t flags)
{
	switch (evtype) {
	case XI_KeyPress:
		return flags & XIKeyRepeat ? TIPME_INPUT_KIND_KEY_REPEAT
					   : TIPME_INPUT_KIND_KEY_PRESS;
	case XI_KeyRelease: return TIPME_INPUT_KIND_KEY_RELEASE;
	case XI_ButtonPress: return TIPME_INPUT_KIND_BUTTON_PRESS;
	case XI_ButtonRelease: return TIPME_INPUT_KIND_BUTTON_RELEASE;
	case XI_Motion: return TIPME_INPUT_KIND_MOTION;
	case XI_TouchBegin:
	case XI_TouchUpdate:
	case XI_TouchEnd: return TIPME_INPUT_KIND_TOUCH;
	}
	return TIPME_INPUT_KIND_OTHER;
}

static __attribute__((noinline)) struct delivery delivery_generic(const xEvent *event)
{
	const xGenericEvent *generic = (const void *)event;
	const xXIDeviceEvent *xi2 = (const void *)event;

	if (!extension.xi_major || generic->extension != extension.xi_major)
		return (struct delivery){ .kind = TIPME_INPUT_KIND_OTHER };
	if (generic->evtype >= XI_KeyPress && generic->evtype <= XI_FocusOut &&
	    generic->evtype != XI_DeviceChanged)
		return (struct delivery){ xi2_kind(xi2->evtype, xi2->flags), (uint32_t)xi2->event,
					  xi2->time };
	if (generic->evtype >= XI_TouchBegin && generic->evtype <= XI_TouchEnd)
		return (struct delivery){ TIPME_INPUT_KIND_TOUCH, (uint32_t)xi2->event, xi2->time };
	return (struct delivery){ .kind = TIPME_INPUT_KIND_OTHER };
}

static TIPME_HOT_KEY bool is_pointer_like(int type)
{
	return (type >= KeyPress && type <= MotionNotify) || type == EnterNotify ||
	       type == LeaveNotify;
}

static TIPME_HOT_KEY struct delivery delivery_of(const xEvent *event)
{
	int type = event->u.u.type & 0x7f;
	int xi1 = type - extension.xi_event_base;
	struct delivery d = { .kind = TIPME_INPUT_KIND_OTHER };

	if (type == GenericEvent)
		return delivery_generic(event);
	/*
	 * Events of the first XInput are laid out like core events: 1 is DeviceKeyPress, 5
	 * DeviceMotionNotify.
	 */
	if (extension.xi_event_base && xi1 >= 1 && xi1 <= 5)
		type = KeyPress + xi1 - 1;
	if (is_pointer_like(type)) {
		d.window = (uint32_t)event->u.keyButtonPointer.event;
		d.time_ms = event->u.keyButtonPointer.time;
		d.kind = type <= MotionNotify ? kind_of_type(type) : TIPME_INPUT_KIND_OTHER;
	} else if (type >= FocusIn && type <= PropertyNotify && type != KeymapNotify) {
		d.window = (uint32_t)event->u.expose.window;
	}
	return d;
}

static TIPME_HOT_KEY bool kinds_match(uint8_t device, uint8_t delivered)
{
	return device == delivered ||
	       (device == TIPME_INPUT_KIND_KEY_REPEAT && delivered == TIPME_INPUT_KIND_KEY_PRESS);
}

static __attribute__((noinline)) uint32_t recent_seq(const struct delivery *d)
{
	for (uint32_t seq = tipme_hooks.input_seq, i = 0; i < RECENT; i++, seq--)
		if (recent[seq % RECENT].input_seq == seq &&
		    recent[seq % RECENT].time_ms == d->time_ms &&
		    kinds_match(recent[seq % RECENT].kind, d->kind))
			return seq;
	return 0;
}

/* The requests that follow a key or a button are what it is about. */
static TIPME_HOT_KEY void deliver_record(struct tipme_x_group *group,
					 const struct tipme_x_deliver *rec)
{
	if (rec->kind == TIPME_INPUT_KIND_MOTION) {
		tipme_hooks_join(&group->motion, 1 + rec->x_type, rec);
	} else if (rec->kind == TIPME_INPUT_KIND_OTHER && !rec->input_seq) {
		tipme_hooks_join(&group->deliver, 1 + rec->x_type, rec);
	} else {
		tipme_hooks_record(rec);
		tipme_group_fresh(group);
		if (tipme_hooks.resting)
			tipme_damage_flood_end();
	}
}

/*
 * Of no device, and one of a flood of the same: it adds nothing to the record there is. Within a
 * request its beginning is near enough.
 */
static TIPME_HOT_KEY bool is_another_of_flood(struct tipme_x_group *group, int type)
{
	bool by_device = type <= MotionNotify || type == GenericEvent ||
			 (extension.xi_event_base && type > extension.xi_event_base &&
			  type <= extension.xi_event_base + 5);
	uint64_t now_ns;

	if (by_device)
		return false;
	now_ns = tipme_hooks.in_request ? tipme_hooks.request_ns : tipme_hooks_now_ns();
	return tipme_join_flood(&group->deliver, now_ns) &&
	       tipme_join_fits(&group->deliver, 1 + (uint64_t)type, now_ns);
}

/*
 * Arguments: a client and the events that are about to be written to it.
 * Side effects: one record: where there are several events, the others are the first one's
 * valuators.
 */
TIPME_HOT_KEY void tipme_input_on_deliver(CallbackListPtr *list, void *data, void *call)
{
	const EventInfoRec *info = call;
	struct tipme_x_group *group;
	struct delivery d;
	struct tipme_x_deliver rec;
	uint32_t seq = tipme_hooks.cur_input_seq;

	if (!tipme_hooks.active || info->count < 1)
		return;
	group = tipme_group_of(info->client->index);
	if (info->events->u.u.type == X_Error) {
		tipme_output_error(info->client, info->events, tipme_hooks_now_ns());
		return;
	}
	group->written = (uint16_t)info->count;
	if (__builtin_expect((info->events->u.u.type & 0x7f) == tipme_hooks.damage_event, 0)) {
		tipme_frames_told(group, info->events);
		return;
	}
	if (!seq && is_another_of_flood(group, info->events->u.u.type & 0x7f))
		return;
	d = delivery_of(info->events);
	if (tipme_hooks.no_input && d.kind != TIPME_INPUT_KIND_OTHER)
		return;
	if (d.kind != TIPME_INPUT_KIND_OTHER && !seq)
		seq = recent_seq(&d);
	/* Core events do not say that a key repeats; its device event does. */
	if (d.kind == TIPME_INPUT_KIND_KEY_PRESS && recent[seq % RECENT].input_seq == seq &&
	    recent[seq % RECENT].kind == TIPME_INPUT_KIND_KEY_REPEAT)
		d.kind = TIPME_INPUT_KIND_KEY_REPEAT;
	rec = (struct tipme_x_deliver){
		.ts_ns = tipme_hooks_now_ns(),
		.type = TIPME_X_DELIVER,
		.pid = group->pid,
		.window = d.window,
		.input_seq = seq,
		.client = (uint16_t)info->client->index,
		.kind = d.kind,
		.x_type = info->events->u.u.type & 0x7f,
	};
	deliver_record(group, &rec);
	if (rec.x_type == GenericEvent)
		tipme_present_event(info->client, info->events, rec.ts_ns);
}

/* ---- hot-key ---- */

static uint8_t layout_modifiers(void *arg, uint8_t keycode)
{
	const XkbDescRec *xkb = arg;

	return xkb->map && xkb->map->modmap ? xkb->map->modmap[keycode] : 0;
}

static int layout_level(void *arg, uint8_t keycode, uint32_t keysym)
{
	XkbDescPtr xkb = arg;
	int found = -1;

	if (!xkb->map || keycode < xkb->min_key_code || keycode > xkb->max_key_code)
		return -1;
	for (int group = 0; group < XkbKeyNumGroups(xkb, keycode); group++)
		for (int level = 0; level < XkbKeyGroupWidth(xkb, keycode, group); level++)
			if (XkbKeySymEntry(xkb, keycode, level, group) == keysym &&
			    (found < 0 || level < found))
				found = level;
	return found;
}

static bool has_layout(DeviceIntPtr dev, struct tipme_hotkey_layout *layout)
{
	if (!dev->key || !dev->key->xkbInfo || !dev->key->xkbInfo->desc)
		return false;
	*layout = (struct tipme_hotkey_layout){ layout_modifiers, layout_level,
						dev->key->xkbInfo->desc };
	return true;
}

static void chord_record(uint32_t input_seq, uint8_t action)
{
	struct tipme_x_chord rec = {
		.ts_ns = tipme_hooks_now_ns(),
		.type = TIPME_X_CHORD,
		.action = action,
		.input_seq = input_seq,
	};

	tipme_hooks_record(&rec);
	tipme_hooks.ring.header->chords++;
}

/*
 * The input thread was quicker, perhaps by seconds; what it has asked for is not asked for again.
 */
static void chord_act(uint8_t action, uint32_t time_ms)
{
	if (action == TIPME_CHORD_ACTION_NO_INPUT || action == TIPME_CHORD_ACTION_DEFAULT_INPUT)
		tipme_hooks.no_input = action == TIPME_CHORD_ACTION_NO_INPUT;
	else if (!tipme_evdev_has_fired(action, time_ms))
		tipme_link_trigger(action);
}

static TIPME_SELDOM void layout_is_stale(void)
{
	layout_stale = true;
	tipme_hooks.chores = true;
}

/* Perhaps the hot-key; true: it is, and goes no further. */
static TIPME_SELDOM bool slave_key_asked(const struct tipme_event *ev, DeviceIntPtr dev,
					 bool pressed)
{
	struct tipme_hotkey_layout layout;
	enum tipme_hotkey_answer answer;
	uint32_t seq;

	if (!has_layout(dev, &layout))
		return false;
	answer = tipme_hotkey_feed(&tipme_hooks.hotkey, &layout, (unsigned)dev->id,
				   ev->detail & 255, pressed);
	if (answer == TIPME_HOTKEY_FIRE)
		chord_act(tipme_hooks.hotkey.action, ev->time_ms);
	if (answer == TIPME_HOTKEY_PASS)
		return false;
	if (!tipme_hooks.swallow) {
		passing_chord = answer == TIPME_HOTKEY_FIRE ? tipme_hooks.hotkey.action : 0;
		return false;
	}
	seq = device_record(ev, dev, TIPME_INPUT_KIND_OTHER);
	if (answer == TIPME_HOTKEY_FIRE)
		chord_record(seq, tipme_hooks.hotkey.action);
	return true;
}

/* Follows the key; true: it belongs to the hot-key and goes no further. */
static TIPME_HOT_KEY bool slave_key(const struct tipme_event *ev, DeviceIntPtr dev)
{
	struct tipme_hotkey *hk = &tipme_hooks.hotkey;
	uint8_t keycode = ev->detail & 255;
	bool pressed = ev->type == TIPME_ET_KEY_PRESS;

	last_slave.repeat = pressed && tipme_hotkey_is_down(hk, (unsigned)dev->id, keycode);
	if (dev != layout_device || tipme_hooks.clock.last_ns - layout_ns > LAYOUT_AGE_NS)
		layout_is_stale();
	layout_device = dev;
	if (!tipme_hotkey_passes(hk, pressed))
		return slave_key_asked(ev, dev, pressed);
	tipme_hotkey_follow(hk, (unsigned)dev->id, keycode, pressed);
	return false;
}

/*
 * Arguments: a key event of a slave, then the same of its master.
 * Side effects: passes it to the server as the server would itself, unless it belongs to the
 * hot-key.
 */
static TIPME_HOT_KEY void on_key(int screen, InternalEvent *event, DeviceIntPtr dev)
{
	const struct tipme_event *ev = (const void *)event;

	if (tipme_hooks.active && tipme_event_is_sane(ev)) {
		if (!is_master_device(dev))
			last_slave.swallowed = slave_key(ev, dev);
		if (last_slave.swallowed)
			return;
	}
	in_key_handler = true;
	dev->public.processInputProc(event, dev);
	in_key_handler = false;
}

bool tipme_input_concerns(uint8_t major)
{
	return major == X_ChangeKeyboardMapping || major == X_SetModifierMapping ||
	       (major && (major == extension.xkb_major || major == extension.xi_major));
}

/* Arguments: a request that is about to be executed, and may change what keys mean. */
void tipme_input_request(uint8_t major, uint8_t minor)
{
	if (major == X_ChangeKeyboardMapping || major == X_SetModifierMapping ||
	    (major == extension.xkb_major && (minor == X_kbSetMap || minor == X_kbGetKbdByName)) ||
	    (major == extension.xi_major &&
	     (minor == X_ChangeDeviceKeyMapping || minor == X_SetDeviceModifierMapping)))
		layout_is_stale();
}

/*
 * The input thread must not look into the server's layouts, which change under it: it has a table
 * of its own. To make that takes longer than all else that a key costs. So it is made anew only
 * when a request may have changed the layout, when another keyboard is typed on, and once in a
 * while in case that was not all; and when the server has nothing else to do.
 */
void tipme_input_idle(void)
{
	struct tipme_hotkey_layout layout;

	if (!layout_stale)
		return;
	layout_stale = false;
	layout_ns = tipme_hooks.clock.last_ns;
	for (DeviceIntPtr dev = inputInfo.devices; dev; dev = dev->next)
		if (dev == layout_device && has_layout(dev, &layout))
			tipme_evdev_publish(&layout);
}

TIPME_HOT_SECTION(tipme_code_input);
TIPME_HOT_SECTION(tipme_code_key);

/* The first since the server has slept: see hot.h. */
static TIPME_HOT_KEY void key_fetch(void)
{
	tipme_hot_fetch(tipme_code_input_begin, tipme_code_key_end);
	tipme_hooks.key_forgotten = false;
}

static TIPME_SELDOM bool raw_key_asked(const struct tipme_event *ev, DeviceIntPtr dev, bool pressed)
{
	struct tipme_hotkey_layout layout;

	return has_layout(dev, &layout) &&
	       tipme_hotkey_peek(&tipme_hooks.hotkey, &layout, (unsigned)dev->id, ev->detail & 255,
				 pressed) != TIPME_HOTKEY_PASS;
}

/*
 * Raw key events go to all who asked for them, and come first: the hot-key is not for them either.
 */
static TIPME_HOT_KEY void on_raw_key(int screen, InternalEvent *event, DeviceIntPtr dev)
{
	static bool swallowed TIPME_HOT_DATA;
	const struct tipme_event *ev = (const void *)event;
	bool pressed = ev->type == TIPME_ET_RAW_KEY_PRESS;

	if (tipme_hooks.key_forgotten)
		key_fetch();
	if (tipme_hooks.active && tipme_event_is_sane(ev)) {
		if (!is_master_device(dev))
			swallowed = tipme_hooks.swallow &&
				    !tipme_hotkey_passes(&tipme_hooks.hotkey, pressed) &&
				    raw_key_asked(ev, dev, pressed);
		if (swallowed)
			return;
	}
	dev->public.processInputProc(event, dev);
}

void tipme_input_init(void)
{
	ExtensionEntry *xi = CheckExtension("XInputExtension"), *xkb;

	if (xi) {
		extension.xi_major = (uint8_t)xi->base;
		extension.xi_event_base = (uint8_t)xi->eventBase;
	}
	xkb = CheckExtension("XKEYBOARD");
	extension.xkb_major = xkb ? (uint8_t)xkb->base : 0;
	mieqSetHandler(TIPME_ET_KEY_PRESS, on_key);
	mieqSetHandler(TIPME_ET_KEY_RELEASE, on_key);
	mieqSetHandler(TIPME_ET_RAW_KEY_PRESS, on_raw_key);
	mieqSetHandler(TIPME_ET_RAW_KEY_RELEASE, on_raw_key);
	layout_device = inputInfo.keyboard;
	layout_is_stale();
}
