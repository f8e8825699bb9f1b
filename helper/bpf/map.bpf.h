/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory that programs write and the daemon maps. */
#ifndef TIPME_MAP_BPF_H
#define TIPME_MAP_BPF_H

#define TIPME_MAP(name, size, entries)             \
	struct {                                   \
		__uint(type, BPF_MAP_TYPE_ARRAY);  \
		__uint(map_flags, BPF_F_MMAPABLE); \
		__uint(key_size, sizeof(__u32));   \
		__uint(value_size, size);          \
		__uint(max_entries, entries);      \
	} name SEC(".maps")

#endif
