/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Between which two moments the machine slept: looked at by the library when it is awake, no
 * records.
 */

struct tipme_suspended tipme_suspends[TIPME_SUSPENDS];
__u32 tipme_suspend_count; /* of those that have begun */

/*
 * To memory (and to a disk) the kernel says "machine_suspend" when its clock stands still already,
 * before and after; to idle it says "timekeeping_freeze" just before it stops the clock, and just
 * after it has started it. Either way only one CPU is awake, and the others do not write here
 * meanwhile.
 */
SEC("tp_btf/suspend_resume")
int BPF_PROG(tipme_suspend, const char *action, int value, bool start)
{
	struct tipme_suspended *s;
	char word[8] = {};

	bpf_probe_read_kernel(word, sizeof(word), action);
	if (__builtin_memcmp(word, "machine_", sizeof(word)) &&
	    __builtin_memcmp(word, "timekeep", sizeof(word)))
		return 0;
	if (start)
		tipme_suspend_count++;
	s = &tipme_suspends[(tipme_suspend_count - 1) % TIPME_SUSPENDS];
	if (start)
		s->from_ns = bpf_ktime_get_ns();
	s->to_ns = start ? 0 : bpf_ktime_get_ns();
	return 0;
}
