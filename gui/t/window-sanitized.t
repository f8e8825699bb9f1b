#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The window itself under the address and undefined-behaviour sanitizers: it is built with them, and
# the tests that walk through it do so with that one. What is found, also a leak at its end, is in a
# file that this test reads; leaks.supp names what libraries leak.
use strict;
use warnings;
use File::Temp qw(tempdir);
use FindBin    qw($Bin);
use Test::More;

my ($src, $build) = @ENV{qw(TIPME_SRCDIR TIPME_BUILDDIR)};
defined $build or die "TIPME_BUILDDIR is not set: run it by make check\n";
plan skip_all => 'takes ten minutes: set TIPME_TEST_ALL=1' if !$ENV{TIPME_TEST_ALL};
plan skip_all => 'gui/tipme-gui is not built here'         if !-x "$build/gui/tipme-gui";

# Those that start the real program.
my @TESTS = qw(gui/t/window.t gui/t/live.t gui/t/begun-late.t gui/t/double-click.t
	helper/test/agent-window.t gui/t/accessible.t);
my $FLAGS =
	  '-g -O1 -D_GNU_SOURCE -fsanitize=address,undefined -fno-sanitize-recover=undefined '
	. '-fno-omit-frame-pointer';
my $tmp = tempdir('tipme-sanitized-XXXXXX', TMPDIR => 1, CLEANUP => 1);
chmod 0755, $tmp;

# Whoever runs it may write there.
mkdir "$tmp/found" or die "$tmp/found: $!\n";
chmod 01777, "$tmp/found";

sub slurp {
	my ($file) = @_;
	open my $h, '<', $file or die "$file: $!\n";
	local $/;
	return scalar(<$h>) // '';
}

sub spew {
	my ($file, $text) = @_;
	open my $h, '>', $file or die "$file: $!\n";
	print {$h} $text;
	close $h or die "$file: $!\n";
	return;
}

# What the sanitizers are to do stands in the program: tests choose its environment. A test ends it
# by a signal; it then ends as a closed window does, so that leaks are looked for. Each start leaves
# a file.
my $suppressed = join '', map {"\"$_\\n\"\n"} grep {/^leak:/} split /\n/, slurp("$Bin/leaks.supp");
spew("$tmp/options.c", <<"END");
#include <fcntl.h>
#include <glib-unix.h>
#include <gtk/gtk.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
const char *__asan_default_options(void);
const char *__ubsan_default_options(void);
const char *__lsan_default_suppressions(void);
const char *__lsan_default_options(void);
const char *__lsan_default_options(void)
{
	return "print_suppressions=0";
}
const char *__asan_default_options(void)
{
	return "log_path=$tmp/found/asan:exitcode=99:detect_leaks=1:detect_stack_use_after_return=1";
}
const char *__ubsan_default_options(void)
{
	return "log_path=$tmp/found/ubsan:print_stacktrace=1";
}
const char *__lsan_default_suppressions(void)
{
	return $suppressed;
}
static gboolean quit(gpointer data)
{
	GApplication *application = g_application_get_default();
	GList *windows = application ? gtk_application_get_windows(GTK_APPLICATION(application)) : NULL;

	for (; windows; windows = gtk_application_get_windows(GTK_APPLICATION(application)))
		gtk_window_destroy(windows->data);
	if (application)
		g_application_quit(application);
	return G_SOURCE_CONTINUE;
}
__attribute__((constructor)) static void began(void)
{
	char name[200];

	snprintf(name, sizeof(name), "$tmp/found/ran-%d", getpid());
	close(open(name, O_CREAT | O_WRONLY, 0644));
	/* Mesa leaks what it was configured with, and is unloaded before anybody looks. */
	setenv("GDK_DEBUG", "gl-disable", 1);
	g_unix_signal_add(SIGTERM, quit, NULL);
}
END

# The same build folder, with the other window.
mkdir "$tmp/build"     or die "$tmp/build: $!\n";
mkdir "$tmp/build/gui" or die "$tmp/build/gui: $!\n";
for my $dir ('', '/gui') {
	for my $file (glob "$build$dir/*") {
		my ($name) = $file =~ m{([^/]+)$};
		next if $name eq 'gui' || $name eq 'tipme-gui' || $name eq 'tipme';
		symlink $file, "$tmp/build$dir/$name" or die "$name: $!\n";
	}
}
spew(
	"$tmp/build/tipme",
	slurp("$build/tipme") =~ s{^TIPME_BUILDDIR=.*}{TIPME_BUILDDIR='$tmp/build'}mr
);
chmod 0755, "$tmp/build/tipme";

SKIP: {
	spew("$tmp/try.c", 'int main(void) { return 0; }');
	skip 'the compiler has no address sanitizer (Debian: libasan8)', 1
		if system "cc $FLAGS '$tmp/try.c' -o '$tmp/try' 2>/dev/null";
	my $include = join ' ', map {"-I'$_'"} $build, "$src/abi", "$src/abi/generated",
		"$src/gui/model", "$src/helper/lib";
	my $words = join ' ', q(-DTIPME_APP_ID='"io.github.tipme.Tipme"'),
		q(-DTIPME_BINDIR='"/usr/bin"' -DTIPME_LOCALEDIR='"/usr/share/locale"'),
		'-DGDK_VERSION_MIN_REQUIRED=GDK_VERSION_4_8 -DADW_VERSION_MIN_REQUIRED=ADW_VERSION_1_2';
	my @files = (
		"$tmp/options.c",
		map { glob "$src/$_" } 'gui/src/*.c', 'gui/model/*.c', 'abi/episode/*.c',
		'helper/lib/retold.c'
	);
	is built("$FLAGS $include $words", @files), 0, 'the window is built with the sanitizers'
		or BAIL_OUT('it is not built');
	chmod 0755, "$tmp/build/gui/tipme-gui";
	walk($_) for @TESTS;
}
done_testing;

# built(FLAGS, FILES): by a Makefile, two at a time; 0: it is
sub built {
	my ($flags, @files) = @_;
	my $packages = 'gtk4 libadwaita-1 json-c';
	my @objects  = map {"$_.o"} 0 .. $#files;
	spew(
		"$tmp/Makefile",
		"window: @objects\n\tcc $FLAGS @objects \$\$(pkg-config --libs $packages) -lm -o window\n"
			. join '',
		map {"$_.o:\n\tcc $flags \$\$(pkg-config --cflags $packages) -c '$files[$_]' -o $_.o\n"}
			0 .. $#files
	);
	return system "make -s -j2 -C '$tmp' window && mv '$tmp/window' '$tmp/build/gui/tipme-gui'";
}

# walk(TEST): passes with that window, and the sanitizers found nothing
sub walk {
	my ($test) = @_;
SKIP: {
		local $ENV{TIPME_BUILDDIR} = "$tmp/build";
		my $out = qx{perl '$src/$test' 2>&1};
		skip "$test: $1", 3 if $out =~ /^1\.\.0 # SKIP (.*)/m;
		ok !$? && $out !~ /^not ok/m && $out =~ /^ok /m, "$test passes" or diag $out;
		my @ran = glob "$tmp/found/ran-*";
		cmp_ok scalar @ran, '>', 0, "... and started this window, " . @ran . ' times';
		my @found = (glob("$tmp/found/asan.*"), glob "$tmp/found/ubsan.*");
		is scalar @found, 0, '... in which nothing was found';
		diag slurp($_) for @found > 3 ? @found[ 0 .. 2 ] : @found;
		unlink @ran, @found;
	}
	return;
}
