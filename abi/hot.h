/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the server executes whenever it wakes, for input, for keys, and for requests lies together
 * each, page after page, and so do the small data: a server that has slept finds nothing of it in
 * the caches, and each page and line that is touched first is time of the person's: a page some 0.3
 * microseconds in a virtual machine, a line 0.1, unless several are asked for at a time. What is
 * seldom needed and large tables of which little is touched lie elsewhere. hot.c has the order.
 */
#ifndef TIPME_HOT_H
#define TIPME_HOT_H

/* Sections of such names have symbols at both ends. */
#define TIPME_HOT_WAKE __attribute__((section("tipme_code_wake")))
#define TIPME_HOT __attribute__((section("tipme_code")))
#define TIPME_HOT_INPUT __attribute__((section("tipme_code_input")))
#define TIPME_HOT_KEY __attribute__((section("tipme_code_key")))
#define TIPME_HOT_REQUEST __attribute__((section("tipme_code_request")))
#define TIPME_HOT_TABLE __attribute__((section("tipme_hot_tables")))
#define TIPME_HOT_DATA __attribute__((section("tipme_hot")))
/*
 * The state of all hooks, which begins in the same page; what there is for each request's opcode
 * and client.
 */
#define TIPME_HOT_STATE __attribute__((section("tipme_state")))
#define TIPME_HOT_CLIENTS __attribute__((section("tipme_clients")))

/*
 * Small ones that belong into such a function: a call of one that lies elsewhere is a page and a
 * line more.
 */
#define TIPME_INLINE inline __attribute__((always_inline))

/* What is seldom called from there, and would lie in between. */
#define TIPME_SELDOM __attribute__((noinline, cold))

#define TIPME_CACHE_LINE 64
#define TIPME_PAGE 4096

/* The beginning and the end of such a section. */
#define TIPME_HOT_SECTION(name)                                    \
	extern const char name##_begin[] __asm__("__start_" #name) \
		__attribute__((visibility("hidden")));             \
	extern const char name##_end[] __asm__("__stop_" #name)    \
		__attribute__((visibility("hidden")))

/*
 * Has the caches fetch it all at once, which takes hardly longer than one line, where one by one,
 * each when it is needed, they are most of what the hooks cost of a key. By reading: what is merely
 * announced as needed was not fetched where that was measured.
 */
static TIPME_INLINE void tipme_hot_fetch(const char *from, const char *to)
{
	for (const char *at = from; at < to; at += TIPME_CACHE_LINE)
		(void)*(const volatile char *)at;
}

/* The same of where it lies: a line of each page. */
static TIPME_INLINE void tipme_hot_find(const char *from, const char *to)
{
	for (const char *at = from; at < to; at += TIPME_PAGE)
		(void)*(const volatile char *)at;
}

#endif
