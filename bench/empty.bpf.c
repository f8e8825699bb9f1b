// SPDX-License-Identifier: GPL-2.0-only
/* Programs that do nothing on the tracepoints of the scheduler: what any BPF recorder costs at least. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

SEC("tp_btf/sched_switch") int empty_switch(void *ctx) { return 0; }
SEC("tp_btf/sched_waking") int empty_waking(void *ctx) { return 0; }
