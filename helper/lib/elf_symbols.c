// SPDX-License-Identifier: GPL-2.0-only
/* Function names and build-id of a program or library. */
#define _GNU_SOURCE
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf_symbols.h"

#define FILE_MAX_BYTES (2ULL << 30)
#define SYMBOLS_MAX 2000000U
#define SEGMENTS_MAX 64U
#define NAME_MAX_CHARS 200

struct symbol {
	uint64_t addr, size;
	uint32_t name; /* where in names */
};

struct segment {
	uint64_t offset, addr, size;
};

struct tipme_elf {
	struct symbol *symbols;
	size_t count, room;
	char *names;
	size_t names_len, names_room;
	struct segment segment[SEGMENTS_MAX];
	unsigned int segments;
	uint64_t bytes;
	int64_t changed_ns;
	char build_id[TIPME_BUILD_ID_CHARS + 1];
};

static int name_add(struct tipme_elf *e, const char *name, uint32_t *at)
{
	size_t n = strnlen(name, NAME_MAX_CHARS);

	if (e->names_len + n + 1 > e->names_room) {
		size_t room = e->names_room ? e->names_room * 2 : 1 << 16;
		char *names = room < UINT32_MAX ? realloc(e->names, room) : NULL;

		if (!names)
			return -ENOMEM;
		e->names = names;
		e->names_room = room;
	}
	*at = (uint32_t)e->names_len;
	memcpy(e->names + e->names_len, name, n);
	e->names[e->names_len + n] = '\0';
	e->names_len += n + 1;
	return 0;
}

static int symbol_add(struct tipme_elf *e, const GElf_Sym *sym, const char *name)
{
	if (e->count == SYMBOLS_MAX)
		return -E2BIG;
	if (e->count == e->room) {
		size_t room = e->room ? e->room * 2 : 1024;
		struct symbol *symbols = realloc(e->symbols, room * sizeof(*symbols));

		if (!symbols)
			return -ENOMEM;
		e->symbols = symbols;
		e->room = room;
	}
	struct symbol *s = &e->symbols[e->count];

	s->addr = sym->st_value;
	s->size = sym->st_size;
	int err = name_add(e, name, &s->name);

	e->count += !err;
	return err;
}

static int table_read(struct tipme_elf *e, Elf *elf, Elf_Scn *section, const GElf_Shdr *head)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t n = data && head->sh_entsize ? data->d_size / head->sh_entsize : 0;
	int err = 0;

	for (size_t i = 0; i < n && i < SYMBOLS_MAX && !err; i++) {
		GElf_Sym sym;
		const char *name;

		if (!gelf_getsym(data, (int)i, &sym) || sym.st_shndx == SHN_UNDEF || !sym.st_value)
			continue;
		if (GELF_ST_TYPE(sym.st_info) != STT_FUNC &&
		    GELF_ST_TYPE(sym.st_info) != STT_GNU_IFUNC)
			continue;
		name = elf_strptr(elf, head->sh_link, sym.st_name);
		if (name && *name)
			err = symbol_add(e, &sym, name);
	}
	return err;
}

static void note_read(struct tipme_elf *e, Elf_Scn *section)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t at = 0, name, desc;
	GElf_Nhdr note;

	while (data && !e->build_id[0] && (at = gelf_getnote(data, at, &note, &name, &desc)) > 0) {
		const unsigned char *id = (const unsigned char *)data->d_buf + desc;

		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
		    memcmp((const char *)data->d_buf + name, "GNU", 4))
			continue;
		for (size_t i = 0; i < note.n_descsz && i < TIPME_BUILD_ID_CHARS / 2; i++)
			snprintf(e->build_id + 2 * i, 3, "%02x", id[i]);
	}
}

static int sections_read(struct tipme_elf *e, Elf *elf)
{
	Elf_Scn *section = NULL;
	int err = 0;

	while (!err && (section = elf_nextscn(elf, section))) {
		GElf_Shdr head;

		if (!gelf_getshdr(section, &head))
			continue;
		if (head.sh_type == SHT_SYMTAB || head.sh_type == SHT_DYNSYM)
			err = table_read(e, elf, section, &head);
		else if (head.sh_type == SHT_NOTE)
			note_read(e, section);
	}
	return err;
}

static void segments_read(struct tipme_elf *e, Elf *elf)
{
	GElf_Phdr p;
	size_t n;

	if (elf_getphdrnum(elf, &n))
		n = 0;
	for (size_t i = 0; i < n && e->segments < SEGMENTS_MAX; i++)
		if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_LOAD)
			e->segment[e->segments++] =
				(struct segment){ p.p_offset, p.p_vaddr, p.p_filesz };
}

static int by_address(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static int fd_read(struct tipme_elf *e, int fd)
{
	/* read, not mapped: a file that shrinks meanwhile must not kill us */
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	int err = elf && elf_kind(elf) == ELF_K_ELF ? 0 : -ENOEXEC;

	if (!err) {
		segments_read(e, elf);
		err = sections_read(e, elf);
	}
	elf_end(elf);
	if (!err && e->count)
		qsort(e->symbols, e->count, sizeof(*e->symbols), by_address);
	return err;
}

/* Looked at before it is opened: to open a device may do something. */
static int file_open(const char *path)
{
	int look = open(path, O_PATH | O_CLOEXEC | O_NOFOLLOW), fd = -1;
	char again[64];
	struct stat st;

	if (look >= 0 && !fstat(look, &st) && !S_ISREG(st.st_mode))
		errno = ENOEXEC;
	else if (look >= 0) {
		snprintf(again, sizeof(again), "/proc/self/fd/%d", look);
		fd = open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	}
	int err = errno;

	if (look >= 0)
		close(look);
	errno = err;
	return fd;
}

int tipme_elf_open(struct tipme_elf **elf, const char *path)
{
	int fd = file_open(path);
	struct tipme_elf *e;
	struct stat st;
	int err;

	*elf = NULL;
	if (fd < 0)
		return -errno;
	elf_version(EV_CURRENT);
	e = calloc(1, sizeof(*e));
	if (!e)
		err = -ENOMEM;
	else if (fstat(fd, &st) || !S_ISREG(st.st_mode) || (uint64_t)st.st_size > FILE_MAX_BYTES)
		err = -ENOEXEC;
	else
		err = fd_read(e, fd);
	if (!err) {
		e->bytes = (uint64_t)st.st_size;
		e->changed_ns = (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
	}
	close(fd);
	if (err)
		tipme_elf_free(e);
	else
		*elf = e;
	return err;
}

void tipme_elf_free(struct tipme_elf *e)
{
	if (!e)
		return;
	free(e->symbols);
	free(e->names);
	free(e);
}

uint64_t tipme_elf_bytes(const struct tipme_elf *e)
{
	return e->bytes;
}

int64_t tipme_elf_changed_ns(const struct tipme_elf *e)
{
	return e->changed_ns;
}

const char *tipme_elf_build_id(const struct tipme_elf *e)
{
	return e->build_id;
}

/*
 * The last function at or before the address that reaches it; assembly has functions without a
 * size.
 */
static const struct symbol *find(const struct tipme_elf *e, uint64_t addr)
{
	size_t lo = 0, hi = e->count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (e->symbols[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (size_t back = 0; lo && back < 8; lo--, back++) {
		const struct symbol *s = &e->symbols[lo - 1];

		if (addr - s->addr < s->size || (!s->size && !back))
			return s;
	}
	return NULL;
}

int tipme_elf_name(const struct tipme_elf *e, uint64_t offset, char *buf, size_t len)
{
	uint64_t addr = offset;

	for (unsigned int i = 0; i < e->segments; i++)
		if (offset >= e->segment[i].offset &&
		    offset - e->segment[i].offset < e->segment[i].size)
			addr = offset - e->segment[i].offset + e->segment[i].addr;
	const struct symbol *s = find(e, addr);

	if (!s)
		return snprintf(buf, len, "+0x%llx", (unsigned long long)addr);
	return snprintf(buf, len, "%s+0x%llx", e->names + s->name,
			(unsigned long long)(addr - s->addr));
}
