#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# What ./quickstart and ./runtests make as root, in a clone of an ordinary user, is that user's when
# they have ended.
use strict;
use warnings;
use File::Path qw(make_path);
use File::Temp qw(tempdir);
use Test::More;

my $SRC = $ENV{TIPME_SRCDIR} // die "TIPME_SRCDIR is not set: run it by make check\n";
plan skip_all => 'not root: files of another user are wanted' if $>;
my ($user,  $group)  = (getpwnam 'nobody')[ 2, 3 ];
my ($other, $others) = (getpwnam 'daemon')[ 2, 3 ];
local $ENV{TIPME_TEST_VM} = 0;
for my $command (qw(quickstart runtests)) {
	my $top = clone($user, $group);
	system "'$top/$command' > '$top/said' 2>&1 < /dev/null";
	isnt $?, 0, "$command, whose build fails";
	ok -e "$top/build/made", '... in the build';
	is join(' ', strangers($top)), 'daemon', '... leaves nothing of root behind';
	is((stat '/etc/passwd')[4], 0, '... what a link leads to is still its own');
}
my $top = clone(0, 0);
chown $user, $group, "$top/theirs";
system "'$top/quickstart' > /dev/null 2>&1 < /dev/null";
is join(' ', strangers($top)), 'daemon theirs', 'in a clone of root nothing changes';
done_testing;

# A folder with the two commands, whose packages are there and whose build fails; it has a file of
# somebody else, too.
sub clone {
	my ($uid, $gid) = @_;
	my $dir = tempdir(CLEANUP => 1);
	make_path("$dir/.ci");
	system('cp', "$SRC/quickstart", "$SRC/runtests", $dir) == 0
		&& system('cp', "$SRC/.ci/functions", "$dir/.ci") == 0
		or die "$dir: not copied\n";
	write_file("$dir/.ci/packages", "build dpkg\n");
	write_file(
		"$dir/configure",
		"#!/bin/sh\nmkdir inner; : > inner/made; : > made; ln -s /etc/passwd link; exit 1\n"
	);
	write_file("$dir/$_", '') for qw(daemon theirs);
	chmod 0755, "$dir/configure";
	system('chown', '-R', "$uid:$gid", $dir) == 0 or die "$dir: not given away\n";
	chown $other, $others, "$dir/daemon" or die "$dir: $!\n";
	return $dir;
}

# Files below a folder that are not of its owner
sub strangers {
	my ($dir) = @_;
	my $owner = (stat $dir)[4];
	return sort map {s{^\Q$dir\E/}{}r}
		split /\n/, qx{find "$dir" ! -user $owner};
}

sub write_file {
	my ($file, $text) = @_;
	open my $out, '>', $file or die "$file: $!\n";
	print {$out} $text;
	close $out or die "$file: $!\n";
	return;
}
