#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# ./runtests --part K/N: all parts together are exactly all tests, each part is the same each time,
# and none takes much longer than another. So are the groups in which ./runtests runs them.
use strict;
use warnings;
use List::Util qw(max sum0);
use Test::More;

my ($SRC, $BUILD) =
	map { $ENV{$_} // die "$_ is not set: run it by make check\n" } qw(TIPME_SRCDIR TIPME_BUILDDIR);
my @tests = do {
	local @ENV{qw(MAKEFLAGS MFLAGS MAKELEVEL)} = ('', '', '');
	split /\n/, qx{make -s --no-print-directory -C "$BUILD" list-tests};
};
my %is_test = map { $_ => 1 } @tests;
cmp_ok scalar @tests, '>', 40, 'tests there are: ' . @tests;
is scalar(keys %is_test), scalar @tests, '... none twice';
ok $is_test{'tests/parts.t'}, '... this one is among them';
my %seconds = map { /^(\d+) (\S+)(?: \d+)?$/ ? ($2 => $1) : () } lines("$SRC/.ci/seconds");
cmp_ok scalar keys %seconds, '>', 20, 'the table is there';
# What is not built here is no test here, but it must be somewhere.
is_deeply [ grep { !$is_test{$_} && !-e "$SRC/$_" && !-e "$SRC/$_.c" } sort keys %seconds ], [],
	'each name in the table is that of a test';

# CONTRIBUTING.md says how many parts have an hour at most.
my $HOURS = 15;
for my $n (1, 2, 3, 4, 7, $HOURS, 40) {
	my @part = map { [ part("$_/$n") ] } 1 .. $n;
	is_deeply [ sort map {@$_} @part ], [ sort @tests ], "$n parts: all tests, and each once";
	is_deeply [ part("$n/$n") ],        $part[-1],       '... the same each time';
	my @sum = map {
		sum0 map { $seconds{$_} // 1 }
			@$_
	} @part;
	my ($all, $longest) = (sum0(@sum), max map { $seconds{$_} // 1 } @tests);
	# No split of whole tests can promise less (that of the longest first stays within a third of
	# the best).
	cmp_ok max(@sum), '<=', max($longest, $all / $n) * 4 / 3 + 1,
		"... the longest takes @{[ max @sum ]} of $all s";
	cmp_ok max(@sum), '<=', 3600, '... an hour at most' if $n == $HOURS;
}
is_deeply [ part('1/1') ], \@tests, 'one part: all, in their order';
# Whatever order they come in, and also those that nobody has timed.
is_deeply [ sort(part('2/3', reverse @tests)) ], [ sort(part('2/3')) ],
	'the order of the list changes nothing';
is scalar(map { part("$_/2", 'a.t', 'b.t', 'c.t') } 1, 2), 3,
	'tests without a time have a part, too';

{
	my %group = map { $_ => [ filter(".ci/group $_") ] } qw(together machines beside alone);
	is_deeply [ sort map {@$_} values %group ], [ sort @tests ], 'groups: all tests, and each once';
	is_deeply [ grep { !m{^tests/vm/} } @{ $group{machines} } ], [],
		'... machines are those of tests/vm';
	for my $pattern (map {/^([^#\s]\S*)/} map { lines("$SRC/.ci/$_") } qw(together alone)) {
		my @source = (glob("$SRC/$pattern"), glob("$SRC/$pattern.c"));
		ok scalar(grep {-e} @source), "... $pattern names tests that there are";
	}
	is_deeply [ sort(filter('.ci/longest')) ], [ sort @tests ], 'the longest first: each once';
	my ($first) = filter('.ci/longest', 'a.t', 'tests/demo.t', 'b.t');
	is $first, 'tests/demo.t', '... in that order';
	filter('.ci/group others');
	is $? >> 8, 64, '... another group is refused';
}

for my $bad ('', '0/3', '4/3', '3', '/', '1/', '/3', '1/0', 'a/b', '-1/3', '1/3/4', '1/100', ' 1/3')
{
	my $said = qx{"$SRC/.ci/part" "$bad" 2>&1 < /dev/null};
	is $? >> 8, 64, "'$bad' is no part";
	like $said, qr/^tipme: part: \Q$bad\E: no part: say which of how many, as in 1\/3$/,
		'... by a sentence';
}
for my $bad ('--part', '--part 4/3', '--all --part', '--part 1/3 --parts', '--every') {
	my $said = qx{"$SRC/runtests" $bad 2>&1};
	is $? >> 8, 64, "runtests $bad: not understood";
	like $said, qr/^usage: .*--part K\/N|no part: say which/m, '... by a sentence';
}
done_testing;

sub lines { my ($file) = @_; open my $h, '<', $file or die "$file: $!\n"; return <$h> }

sub part { my ($which, @list) = @_; return filter(".ci/part $which", @list) }

# What a script of the source makes of a list of tests (all, where none is given).
sub filter {
	my ($script, @list) = @_;
	@list = @tests if !@list;
	my $file = "$BUILD/tests/parts-list.$$";
	open my $h, '>', $file or die "$file: $!\n";
	print {$h} map {"$_\n"} @list;
	close $h or die "$file: $!\n";
	my @out    = split /\n/, qx{cd "$SRC" && ./$script < "$file" 2>/dev/null};
	my $status = $?;
	unlink $file;
	$? = $status;
	return @out;
}
