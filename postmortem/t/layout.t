#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# How Perl is written here: no line over 100 columns (a tab is four). What perltidy and perlcritic
# ask for: tidy.t.
# Each number that a module of the engine or a verb goes by says what it counts, or why it is so
# large: in its line or above it.
# Modules of the engine know each other in one direction.
# A literal or pattern that begins its line may be longer, and so may a here-document: cutting
# changes them.
use strict;
use warnings;
use Test::More;
use FindBin qw($Bin);
use lib "$Bin/../../tests/lib";
use Tipme::PerlFiles qw(perl_files);

my $COLUMNS = 100;
# A class that loads the one that extends it, since it says which of the two an episode needs.
my %EXTENDED = ('Tipme::DisplaySource::X11' => 'Tipme::DisplaySource::Observed');
my ($root)   = grep { defined && -e "$_/.perlcriticrc" } $ENV{TIPME_SRCDIR}, "$Bin/../..";

my @sources = perl_files($root);
cmp_ok(scalar @sources, '>', 300, @sources . ' files of Perl');
is(join("\n", map { long_lines($_) } sort @sources), '', "no line over $COLUMNS columns");
my @engine = grep {m{^postmortem/lib/Tipme/}} sort @sources;
is(join("\n", map { bare_numbers($_) } @engine), '', 'each number says what it counts');
is(join("\n", missing(@engine)),                 '', 'what is called with its package is there');
is(join("\n", circles(known_by(@engine))),       '', 'no modules know each other in a circle');
is_deeply(
	[ circles({ a => ['b'], b => [qw(c d)], c => ['a'], d => [] }) ], ['a > b > c > a'],
	'a circle is seen'
);
done_testing();

sub lines_of {
	my ($name) = @_;
	open my $in, '<', "$root/$name" or die "$name: $!\n";
	chomp(my @lines = <$in>);
	return @lines;
}

# Constants of a file without a comment, as NAME:NUMBER; what converts units needs none.
sub bare_numbers {
	my ($name) = @_;
	my @lines = lines_of($name);
	my @bare;
	for my $n (grep { $lines[$_] =~ /^(?:my|our) \$[A-Z][A-Z_0-9]*\s*=\s*[-0-9\$]/ } 0 .. $#lines) {
		next if $lines[$n]             =~ /^\w+ \$(?:NS_PER_\w+|MS|VERSION|USAGE_ERROR)\b/;
		next if $n && $lines[ $n - 1 ] =~ /^\s*#/;
		my $end = $n;
		$end++ while $lines[$end] !~ /;/ && $end < $#lines;
		push @bare, "$name:" . ($n + 1) if !grep {/#/} @lines[ $n .. $end ];
	}
	return @bare;
}

# What files call, or hand on, as PACKAGE::NAME, though none of them has it: Perl says so only when
# it comes there. Packages of others are not looked at.
sub missing {
	my (%of, %call);
	for my $name (@_) {
		my ($package, $line) = '';
		open my $in, '<', "$root/$name" or die "$name: $!\n";
		while ($line = <$in>) {
			next if $line =~ /^\s*#/;
			$package                  = $1 if $line =~ /^\s*package ([\w:]+)/;
			$of{ $1 // $package }{$2} = 1  if $line =~ /^\s*sub (?:([\w:]+)::)?(\w+)/;
			push @{ $call{$1}{$2} }, "$name:$.: $1::$2"
				while $line =~ /\b(Tipme(?:::[A-Z]\w*)*)::([a-z_]\w*)\b(?!::)/g;
		}
	}
	return map {
		my $p = $_;
		map { @{ $call{$p}{$_} } } grep { !$of{$p}{$_} } sort keys %{ $call{$p} }
	} grep { $of{$_} } sort keys %call;
}

# { module => [ those that it loads, inherits from, or calls by name ] }
sub known_by {
	my %text = map {
		_package($_) => join "\n",
			grep { !/^\s*#/ } lines_of($_)
	} @_;
	my %knows;
	for my $package (keys %text) {
		my %to = map { $_ => 1 } grep { $text{$_} && $_ ne $package } (
			$text{$package} =~ /\b(?:use|require)\s+(Tipme::[\w:]+)/g,
			(map {/Tipme::[\w:]+/g} $text{$package} =~ /^use parent\b([^;]*);/mg),
			$text{$package} =~ /\b(Tipme(?:::[A-Z]\w*)+)(?=::[a-z_]|->)/g
		);
		delete $to{ $EXTENDED{$package} // '' };
		$knows{$package} = [ sort keys %to ];
	}
	return \%knows;
}

sub _package {
	my ($name) = @_;
	return 'Tipme::' . $name =~ s{.*/lib/Tipme/|\.pm$}{}gr =~ s{/}{::}gr;
}

# The circles of { name => [ names ] }, each as it is met first.
sub circles {
	my ($knows) = @_;
	my (%state, @found, $walk);
	$walk = sub {
		my ($name, @path) = @_;
		return if ($state{$name} // '') eq 'done';
		if ($state{$name}) {
			shift @path while $path[0] ne $name;
			push @found, join ' > ', @path, $name;
			return;
		}
		$state{$name} = 'open';
		$walk->($_, @path, $name) for @{ $knows->{$name} };
		$state{$name} = 'done';
		return;
	};
	$walk->($_) for sort keys %$knows;
	return @found;
}

# The lines of a file that are too long, as NAME:NUMBER.
sub long_lines {
	my ($name) = @_;
	my ($number, $until, @long) = (0);
	for my $line (lines_of($name)) {
		$number++;
		if (defined $until) { undef $until if $line =~ /^\s*\Q$until\E$/; next }
		$until = $1 if $line =~ /<<~?["']?([A-Za-z_]\w*)/;
		next if $line =~ m{^\s*(?:[.,?:] ?)?(?:q[qrx]?\W|[ms][/\{]|["'/])};
		1 while $line =~ s/\A([^\t]*)\t/$1 . ' ' x (4 - length($1) % 4)/e;
		push @long, "$name:$number" if length $line > $COLUMNS;
	}
	return @long;
}
