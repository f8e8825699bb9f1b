/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When an input device tells the kernel of an event: kind and class of device, never which key. The
 * input core is called in whatever context the driver has, often an interrupt. It drops what
 * changes nothing, and so do we; keys that it repeats itself do not come through here.
 */

#define TIPME_EV_SYN 0
#define TIPME_EV_KEY 1
#define TIPME_EV_REL 2
#define TIPME_EV_ABS 3

#define TIPME_KEY_A 30
#define TIPME_KEY_ENTER 28
#define TIPME_BTN_LEFT 0x110
#define TIPME_BTN_TOOL_FINGER 0x145
#define TIPME_BTN_TOUCH 0x14a
#define TIPME_KEY_LAST 0x2ff

#define TIPME_DEVICE_UNKNOWN 65535 /* eventN is not looked for */

/*
 * Devices that have moved since their last report, by their address. Two that meet in one place
 * cost a motion.
 */
#define TIPME_INPUT_MOVED 64 /* a power of two */
static __u64 tipme_input_moved[TIPME_INPUT_MOVED];

#define TIPME_BIT_OF(words, n) ((words)[(n) / 64] >> ((n) % 64) & 1)

static __always_inline __u8 tipme_input_class(const struct input_dev *dev)
{
	struct tipme_device_has has = {
		.absolute = dev->evbit[0] >> TIPME_EV_ABS & 1,
		.relative = dev->evbit[0] >> TIPME_EV_REL & 1,
		.touch = TIPME_BIT_OF(dev->keybit, TIPME_BTN_TOUCH),
		.finger = TIPME_BIT_OF(dev->keybit, TIPME_BTN_TOOL_FINGER),
		.left = TIPME_BIT_OF(dev->keybit, TIPME_BTN_LEFT),
		.a = TIPME_BIT_OF(dev->keybit, TIPME_KEY_A),
		.enter = TIPME_BIT_OF(dev->keybit, TIPME_KEY_ENTER),
	};

	return tipme_rule_device_class(&has);
}

static __always_inline int tipme_input_put(const struct input_dev *dev, __u8 kind, __u8 class)
{
	TIPME_RECORD(tipme_input, TIPME_INPUT, tipme_current_tid());
	if (r) {
		r->code = 0;
		r->device = TIPME_DEVICE_UNKNOWN;
		r->kind = kind;
		r->class = class;
		r->pad0 = 0;
	}
	return tipme_record_end(c, (void *)r, false, gen);
}

/* Is it down already, as the input core remembers it? */
static __always_inline bool tipme_input_is_down(const struct input_dev *dev, __u32 code)
{
	unsigned long word = 0;

	if (code > TIPME_KEY_LAST)
		return false;
	bpf_probe_read_kernel(&word, sizeof(word), &dev->key[code / 64]);
	return word >> code % 64 & 1;
}

SEC("fentry/input_event")
int BPF_PROG(tipme_input_event, struct input_dev *dev, unsigned int type, unsigned int code,
	     int value)
{
	__u32 place = (__u64)dev >> 8 & (TIPME_INPUT_MOVED - 1);
	__u8 class;

	if (type == TIPME_EV_REL || type == TIPME_EV_ABS) {
		tipme_input_moved[place] = (__u64)dev;
		return 0;
	}
	if (type == TIPME_EV_KEY && (value == 2 || tipme_input_is_down(dev, code) != !!value))
		return tipme_input_put(dev, tipme_rule_kind_of_key(code, value),
				       tipme_input_class(dev));
	if (type != TIPME_EV_SYN || code || tipme_input_moved[place] != (__u64)dev)
		return 0;
	tipme_input_moved[place] = 0;
	class = tipme_input_class(dev);
	return tipme_input_put(dev,
			       class == TIPME_DEVICE_CLASS_TOUCH ? TIPME_INPUT_KIND_TOUCH
								 : TIPME_INPUT_KIND_MOTION,
			       class);
}
