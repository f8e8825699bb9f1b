// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records of a display source out of a file of an episode. The file is a stranger's: each length
 * is checked.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile.h"

static int check(const struct tipme_file_header *h, size_t len)
{
	if (len < sizeof(*h) || memcmp(h->magic, "TIPMEREC", 8) ||
	    h->byte_order != TIPME_BYTE_ORDER)
		return -EBADMSG;
	if (h->major != TIPME_FORMAT_MAJOR)
		return -EPROTONOSUPPORT;
	return h->header_len < sizeof(*h) || h->header_len > len ? -EBADMSG : 0;
}

static void each(const unsigned char *at, const unsigned char *end,
		 void (*fn)(void *arg, const struct tipme_head *rec), void *arg)
{
	while ((size_t)(end - at) >= sizeof(struct tipme_head)) {
		struct tipme_head head;

		memcpy(&head, at, sizeof(head));
		size_t len = (size_t)head.len8 * 8;

		if (len < sizeof(head) || len > (size_t)(end - at))
			return;
		/*
		 * Records of display sources have 32 bytes; a shorter one of that type would be
		 * read beyond its end.
		 */
		if (head.type >= TIPME_X_DEVICE && len >= 32)
			fn(arg, (const void *)at);
		at += len;
	}
}

int tipme_profile_replay(const char *file, void (*fn)(void *arg, const struct tipme_head *rec),
			 void *arg, uint32_t *source)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC), err;
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !st.st_size) {
		close(fd);
		return -EBADMSG;
	}
	unsigned char *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);

	err = map == MAP_FAILED ? -errno : check((const void *)map, (size_t)st.st_size);
	close(fd);
	if (!err) {
		const struct tipme_file_header *h = (const void *)map;

		*source = h->source;
		each(map + h->header_len, map + st.st_size, fn, arg);
	}
	if (map != MAP_FAILED)
		munmap(map, (size_t)st.st_size);
	return err;
}
