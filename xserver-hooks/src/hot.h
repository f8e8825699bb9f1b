/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is executed whenever the server wakes lies together, and so does what is for input, of which a movement needs little, and what is for requests: a server that has
 * slept finds nothing of it in the caches, and each page and line that is not needed is time of the person's. The small data lie together, too; large tables, of
 * which little is touched, lie elsewhere.
 */
#ifndef TIPME_HOT_H
#define TIPME_HOT_H

/* Sections of such names have symbols at both ends. */
#define TIPME_HOT __attribute__((section("tipme_code")))
#define TIPME_HOT_KEY __attribute__((section("tipme_code_key")))
#define TIPME_HOT_REQUEST __attribute__((section("tipme_code_request")))
#define TIPME_HOT_DATA __attribute__((section("tipme_hot")))

/* What is seldom called from there, and would lie in between. */
#define TIPME_SELDOM __attribute__((noinline, cold))

#define TIPME_CACHE_LINE 64

/* The beginning and the end of such a section. */
#define TIPME_HOT_SECTION(name) \
	extern const char name##_begin[] __asm__("__start_" #name) __attribute__((visibility("hidden"))); \
	extern const char name##_end[] __asm__("__stop_" #name) __attribute__((visibility("hidden")))

/*
 * Has the caches fetch it all at once, which takes hardly longer than one line, where one by one, each when it is needed, they are most of what the hooks cost of a key.
 * By reading: what is merely announced as needed was not fetched where that was measured.
 */
static inline void tipme_hot_fetch(const char *from, const char *to)
{
	for (const char *at = from; at < to; at += TIPME_CACHE_LINE)
		(void)*(const volatile char *)at;
}

#endif
