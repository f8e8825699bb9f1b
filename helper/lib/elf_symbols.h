/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Function names and build-id of a program or library. The file may be anybody's: it is read, never
 * mapped, and limits hold.
 */
#ifndef TIPME_ELF_SYMBOLS_H
#define TIPME_ELF_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#define TIPME_BUILD_ID_CHARS 40

struct tipme_elf;

/* Returns 0, or -errno; -ENOEXEC: not such a file. Free takes NULL. */
int tipme_elf_open(struct tipme_elf **elf, const char *path);
void tipme_elf_free(struct tipme_elf *elf);

/* In hexadecimal; empty if it has none. */
const char *tipme_elf_build_id(const struct tipme_elf *elf);

/*
 * Of the file that was opened: its size, and when it was last changed, or came to be there
 * (CLOCK_REALTIME, ns).
 */
uint64_t tipme_elf_bytes(const struct tipme_elf *elf);
int64_t tipme_elf_changed_ns(const struct tipme_elf *elf);

/*
 * Writes "function+0x12", or "+0x1234" (the address as the file numbers it) where no function is
 * known, for what lies at this offset of the file. Returns the length of the text, as snprintf()
 * does.
 */
int tipme_elf_name(const struct tipme_elf *elf, uint64_t offset, char *buf, size_t len);

#endif
