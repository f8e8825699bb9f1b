#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Draws the include graph of the C sources, and fails on what docs/architecture.md forbids: an
# include from a folder that is not below, a circle, a header's name that two folders have, a file
# of more than 500 lines without a stated reason, and C that clang-format would lay out otherwise.
#   tests/layout.t          the test
#   tests/layout.t --draw   the graph, for dot (Graphviz)
use strict;
use warnings;
use FindBin;
use Test::More;

my $top     = $ENV{TIPME_SRCDIR} // "$FindBin::Bin/..";
my $LONG    = 500;
my $COLUMNS = 100;                                        # a tab is eight

# From the ground up. A folder includes from folders of lower floors only; those of one floor do not
# know each other.
my @FLOORS = (
	[qw(abi)],
	[qw(abi/chord abi/episode abi/kernel abi/xring)],
	[qw(helper/bpf helper/lib kernel-patch/module postmortem xserver-hooks/src)],
	[
		qw(helper/agent helper/bench helper/cli helper/measure helper/profile helper/source
			helper/workload helper/xclient)
	],
	[qw(gui/model)],
	[qw(gui/src helper/daemon/start)],
	[qw(helper/daemon/house helper/daemon/processes)],
	[qw(helper/daemon/snapshot)],
	[qw(helper/daemon/save)],
	[qw(helper/daemon/trigger)],
	[qw(helper/daemon)],
	[
		qw(abi/episode/t abi/t bench gui/t helper/test kernel-patch/t/culprit tests tests/causes
			tests/desk tests/lab tests/vm tests/vm/drivers xserver-hooks/test)
	],
);
my %floor = map {
	my $n = $_;
	map { $_ => $n } @{ $FLOORS[$n] }
} 0 .. $#FLOORS;
# The exceptions, each with its reason.
my %ALSO = (
	'gui/t > abi/episode/t' =>
		'both make the same episodes of random bytes: one for the reader, one for the window',
	'tests/causes > tests/lab' => 'both report what they did in the same words',
	'tests > tests/lab'        =>
		'one client is compiled twice: with and without what only the laboratory asks of it',
);

my @sources = sort split /\n/,
	qx{cd '$top' && find abi gui helper kernel-patch xserver-hooks postmortem bench tests -name '*.[ch]' -type f};
# What the build leaves in the source tree when it is configured there.
@sources = grep { !m{^abi/generated/|\.skel\.h$|\.mod\.c$|^kernel-patch/built/} } @sources;
cmp_ok(scalar @sources, '>', 200, @sources . ' C sources') if !@ARGV;

sub room { my ($file) = @_; return $file =~ s{/[^/]+$}{}r }
my (%named, %lines, %includes);
for my $file (@sources) {
	push @{ $named{ $file =~ s{.*/}{}r } }, $file if $file =~ /\.h$/;
	open my $in, '<', "$top/$file" or die "$file: $!\n";
	while (my $line = <$in>) {
		$lines{$file} = $.;
		push @{ $includes{$file} }, $1 if $line =~ /^\s*#\s*include\s+"([^"]+)"/;
	}
}

# found(FILE, NAME): the file that an include means; undef: one that the build makes. A name that
# leaves its folder is looked up from there.
sub found {
	my ($file, $name) = @_;
	return 'helper/bpf/kernel_source.bpf.c'   if $name =~ /^kernel_source.*\.skel\.h$/;
	return 'helper/bpf/latency_sampler.bpf.c' if $name eq 'latency_sampler.skel.h';
	return if $name =~ m{^config\.h$|\.skel\.h$|^tipme_(?:records|schema_text|record_names)\.h$};
	my $beside = room($file) . "/$name";
	1 while $beside =~ s{[^/]+/\.\./}{};
	return $beside if defined $lines{$beside};
	# Programs of one top-level folder see its own headers and those of abi.
	my @all =
		grep { m{(?:^|/)\Q$name\E$} && !m{/(?:test|t)/} } @{ $named{ $name =~ s{.*/}{}r } // [] };
	my ($own) = $file =~ m{^([^/]+)};
	for my $in ($own, 'abi', 'helper|kernel-patch|xserver-hooks') {
		my @here = grep {m{^(?:$in)/}} @all;
		return $here[0] if @here == 1;
		last            if @here;
	}
	# A benchmark compiles parts of the hooks as one file.
	my ($source) = grep {m{^xserver-hooks/src/\Q$name\E$}} @sources;
	return $source if $source && $file =~ m{^bench/};
	return "$name: " . (@all ? "ambiguous: @all" : 'not there');
}

my (%arrow, @lost);
for my $file (@sources) {
	for my $name (@{ $includes{$file} // [] }) {
		my $to = found($file, $name) // next;
		if ($to =~ / /) { push @lost, "$file includes $to"; next }
		push @{ $arrow{ room($file) }{ room($to) } }, "$file > $to" if room($to) ne room($file);
	}
}

if (@ARGV && $ARGV[0] eq '--draw') {
	print "digraph tipme {\n\trankdir=BT; node [shape=box];\n";
	for my $floor (@FLOORS) {
		print "\t{ rank=same; ", (
			map {"\"$_\"; "} grep {
				my $room = $_;
				grep { room($_) eq $room } @sources
			} @$floor
			),
			"}\n";
	}
	for my $from (sort keys %arrow) {
		print "\t\"$from\" -> \"$_\";\n" for sort keys %{ $arrow{$from} };
	}
	print "}\n";
	exit 0;
}

is(join("\n", @lost), '', 'each include is found in one place');
my %rooms = map { room($_) => 1 } @sources;
is(
	join(' ', grep { !defined $floor{$_} } sort keys %rooms), '',
	'each folder has its floor: see the table in this test'
) or diag 'docs/architecture.md says what belongs where';
my @up;
for my $from (sort keys %arrow) {
	for my $to (sort keys %{ $arrow{$from} }) {
		next if $ALSO{"$from > $to"} || ($floor{$from} // 0) > ($floor{$to} // 0);
		push @up, @{ $arrow{$from}{$to} };
	}
}
is(join("\n", @up), '', 'no folder includes from one that is not below it');

# Headers, one by one: a circle is hidden by its guards until somebody includes the other end first.
my (%state, @circles);

sub walk {
	my ($file, @path) = @_;
	return if ($state{$file} // '') eq 'done';
	if (($state{$file} // '') eq 'open') { push @circles, join ' > ', @path, $file; return }
	$state{$file} = 'open';
	for my $name (@{ $includes{$file} // [] }) {
		my $to = found($file, $name);
		walk($to, @path, $file) if defined $to && $to =~ /\.h$/ && $to ne $file;
	}
	$state{$file} = 'done';
	return;
}
walk($_) for grep {/\.h$/} @sources;
is(join("\n", @circles), '', 'no headers include each other in a circle');

# What is long says why.
my %reason;
open my $in, '<', "$top/tests/long-files" or die "tests/long-files: $!\n";
while (<$in>) { $reason{$1} = $2 if /^(\S+)\s+(\S.*)$/ && !/^#/ }
for my $file (
	split /\n/,
	qx{cd '$top' && find abi gui helper kernel-patch xserver-hooks postmortem bench tests docs -type f \\( -name '*.p[ml]' -o -name '*.t' \\)}
	)
{
	next if $file =~ m{^abi/generated/};
	open my $f, '<', "$top/$file" or die "$file: $!\n";
	1 while <$f>;
	$lines{$file} = $.;
}
is(
	join(
		"\n", map {"$_ ($lines{$_})"} grep { $lines{$_} > $LONG && !$reason{$_} } sort keys %lines
	),
	'',
	"no file of more than $LONG lines without a reason in tests/long-files"
);
is(
	join("\n", grep { ($lines{$_} // 0) <= $LONG } sort keys %reason), '',
	'no reason for a file that is not so long any more'
);

# How C is laid out. The text of a literal does not count: cutting hides it from a search.
my @laid_out = grep { $_ ne 'helper/lib/words.h' } @sources;    # generated
is(join("\n", map { long_lines($_) } @laid_out), '', "no line of C over $COLUMNS columns");
SKIP: {
	my ($version) = qx{clang-format --version 2>/dev/null} =~ /version (\d+)/;
	skip 'needs clang-format 14, which Debian 12 has: others lay out in other ways', 1
		if ($version // 0) != 14;
	my $said = qx{cd '$top' && clang-format --dry-run -Werror @laid_out 2>&1};
	is($said =~ s/^((?:.*\n){20})(?s:.*)/$1.../r, '', 'clang-format would change nothing');
}
done_testing;

sub long_lines {
	my ($file) = @_;
	my ($number, @long) = (0);
	open my $h, '<', "$top/$file" or die "$file: $!\n";
	while (my $line = <$h>) {
		$number++;
		chomp $line;
		$line =~ s/"(?:\\.|[^"\\])*"/""/g;
		1 while $line =~ s/\A([^\t]*)\t/$1 . ' ' x (8 - length($1) % 8)/e;
		push @long, "$file:$number" if length $line > $COLUMNS;
	}
	return @long;
}
