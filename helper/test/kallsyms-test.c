// SPDX-License-Identifier: GPL-2.0-only
/* Names of kernel addresses, from symbol tables of our own making. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kallsyms.h"

static int tests, failures;

static void ok(int good, const char *what)
{
	failures += !good;
	printf("%s %d - %s\n", good ? "ok" : "not ok", ++tests, what);
}

static void put(char *path, const char *text)
{
	int fd = mkstemp(path);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		abort();
	close(fd);
}

static int load(struct tipme_kallsyms **ks, const char *text, const char *modules)
{
	char path[] = "/tmp/kallsyms-test-XXXXXX", modules_path[] = "/tmp/kallsyms-test-XXXXXX";
	int err;

	put(path, text);
	put(modules_path, modules);
	err = tipme_kallsyms_load(ks, path, modules_path);
	unlink(path);
	unlink(modules_path);
	return err;
}

static void is_name(const struct tipme_kallsyms *ks, uint64_t addr, const char *want,
		    const char *what)
{
	char name[128];

	tipme_kallsyms_name(ks, addr, name, sizeof(name));
	ok(!strcmp(name, want), what);
	if (strcmp(name, want))
		printf("# got %s, wanted %s\n", name, want);
}

int main(void)
{
	struct tipme_kallsyms *ks;
	char name[128];

	ok(load(&ks,
		"ffffffff81001000 T second\nffffffff81000000 t alias\nffffffff81000000 T first\n"
		"ffffffff81001800 D data\nffffffffc0000000 t hook\t[mod]\n"
		"ffffffffc0100000 t bpf_prog_0123456789abcdef_tipme_exit\t[bpf]\n",
		"mod 16384 2 other,another, Live 0xffffffffc0000000\n") == 0,
	   "a table loads");
	is_name(ks, 0xffffffff81000000, "first+0x0", "of several names the global one");
	is_name(ks, 0xffffffff81000fff, "first+0xfff", "the last byte before the next symbol");
	is_name(ks, 0xffffffff81001900, "second+0x900", "data is no function");
	is_name(ks, 0xffffffffc0000010, "hook+0x10 [mod]", "a module's function");
	is_name(ks, 0xffffffffc0003fff, "hook+0x3fff [mod]", "its last byte");
	is_name(ks, 0xffffffffc0004000, "?",
		"behind it: a module that has gone since, or has come");
	is_name(ks, 0xffffffffc0100008, "bpf_prog_tipme_exit+0x8 [bpf]",
		"a tracing program, without its checksum");
	is_name(ks, 0xffffffff80ffffff, "?", "before the first symbol");
	is_name(ks, 0xffffffff90000000, "?", "far behind a symbol");
	is_name(NULL, 0xffffffff81000000, "?", "no table");
	tipme_kallsyms_function(ks, 0x81001000, name, sizeof(name));
	ok(!strcmp(name, "second"), "a function by the low half of its address");
	tipme_kallsyms_function(ks, 0x81001001, name, sizeof(name));
	ok(!strcmp(name, "?"), "the middle of a function is no function");
	tipme_kallsyms_free(ks);
	ok(load(&ks, "0000000000000000 T first\n0000000000000000 T second\n", "") == -EACCES,
	   "hidden addresses");
	ok(load(&ks, "nothing of the kind\n", "") == -ENODATA, "no table at all");
	ok(tipme_kallsyms_load(&ks, "/nonexistent", NULL) == -ENOENT && !ks, "no file");
	tipme_kallsyms_free(NULL);
	printf("1..%d\n", tests);
	return failures != 0;
}
