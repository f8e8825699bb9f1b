// SPDX-License-Identifier: GPL-2.0-only
/*
 * kernel.tipme.*: the trigger, which one group may pull and do nothing else, and what root may set.
 * See docs/abi/sysctl-kernel-tipme.
 */
#include <linux/cred.h>
#include <linux/mutex.h>
#include <linux/ratelimit.h>
#include <linux/sysctl.h>

#include "tipme.h"

unsigned int tipme_wakeup_threshold_us;
int tipme_hotkeys = 1;
int tipme_record_key_codes;

/*
 * Three at once are fine, then one a second: who wants more gets -EAGAIN, and the recorder does not
 * hear of it.
 */
static DEFINE_RATELIMIT_STATE(limit, 3 * HZ, 3);

/*
 * Whose members may trigger, root apart; -1: nobody's. The file itself cannot belong to a group:
 * the kernel gives those of kernel.* to root's.
 */
static int trigger_group = -1;

static bool may_trigger(void)
{
	kgid_t group = make_kgid(&init_user_ns, trigger_group);

	return uid_eq(current_fsuid(), GLOBAL_ROOT_UID) ||
	       (trigger_group >= 0 && gid_valid(group) && in_egroup_p(group));
}

/*
 * Whatever is written: it may be written by a server without privileges, so it says no more than
 * "now".
 */
static int trigger_write(TIPME_CTL *table, int write, void *buffer, size_t *len, loff_t *pos)
{
	if (!write || !may_trigger())
		return -EPERM;
	if (!tipme_ring_live())
		return -ENODEV;
	if (!__ratelimit(&limit)) {
		tipme_trigger_refused();
		return -EAGAIN;
	}
	tipme_trigger(TIPME_TRIGGER_SYSCTL, from_kuid(&init_user_ns, current_uid()), 0);
	*pos += *len;
	return 0;
}

/* extra1 is the class. */
static int class_rw(TIPME_CTL *table, int write, void *buffer, size_t *len, loff_t *pos)
{
	u32 bit = BIT((unsigned long)table->extra1);
	int err, value = !!(tipme_classes_on() & bit);
	struct ctl_table number = {
		.procname = table->procname,
		.data = &value,
		.maxlen = sizeof(value),
		.extra1 = SYSCTL_ZERO,
		.extra2 = SYSCTL_ONE,
	};

	err = proc_dointvec_minmax(&number, write, buffer, len, pos);
	if (err || !write)
		return err;
	mutex_lock(&tipme_control);
	err = tipme_classes_set(value ? tipme_classes_on() | bit : tipme_classes_on() & ~bit);
	mutex_unlock(&tipme_control);
	return err;
}

static struct ctl_table settings[] = {
	{ .procname = "trigger", .mode = 0222, .proc_handler = trigger_write },
	{ .procname = "trigger_group",
	  .mode = 0644,
	  .data = &trigger_group,
	  .maxlen = sizeof(int),
	  .extra1 = SYSCTL_NEG_ONE,
	  .proc_handler = proc_dointvec_minmax },
	{ .procname = "hotkeys",
	  .mode = 0644,
	  .data = &tipme_hotkeys,
	  .maxlen = sizeof(int),
	  .extra1 = SYSCTL_ZERO,
	  .extra2 = SYSCTL_TWO,
	  .proc_handler = proc_dointvec_minmax },
	{ .procname = "record_key_codes",
	  .mode = 0644,
	  .data = &tipme_record_key_codes,
	  .maxlen = sizeof(int),
	  .extra1 = SYSCTL_ZERO,
	  .extra2 = SYSCTL_ONE,
	  .proc_handler = proc_dointvec_minmax },
	{ .procname = "wakeup_threshold_us",
	  .mode = 0644,
	  .data = &tipme_wakeup_threshold_us,
	  .maxlen = sizeof(unsigned int),
	  .proc_handler = proc_douintvec },
	TIPME_CTL_END
};

#define CLASS_FILE(file, class)                                                                \
	{                                                                                      \
		.procname = file, .mode = 0644,                                                \
		.extra1 = (void *)(unsigned long)TIPME_CLASS_##class, .proc_handler = class_rw \
	}

static struct ctl_table class_settings[] = { CLASS_FILE("io", IO),
					     CLASS_FILE("lock_contention", LOCK),
					     CLASS_FILE("memory_wait", MEMORY),
					     CLASS_FILE("irq", IRQ),
					     CLASS_FILE("signal", SIGNAL),
					     CLASS_FILE("priority", PRIORITY),
					     CLASS_FILE("cpu_throttle", THROTTLE),
					     CLASS_FILE("migrate", MIGRATE),
					     CLASS_FILE("cpu_frequency", FREQUENCY),
					     CLASS_FILE("cpu_idle", IDLE),
					     CLASS_FILE("input", INPUT),
					     TIPME_CTL_END };

static struct ctl_table_header *settings_header, *class_header;

int tipme_sysctl_init(void)
{
	settings_header = register_sysctl("kernel/tipme", settings);
	if (!settings_header)
		return -ENOMEM;
	class_header = register_sysctl("kernel/tipme/classes", class_settings);
	if (class_header)
		return 0;
	unregister_sysctl_table(settings_header);
	return -ENOMEM;
}

/* Waits for who is inside a handler. */
void tipme_sysctl_exit(void)
{
	unregister_sysctl_table(class_header);
	unregister_sysctl_table(settings_header);
}
