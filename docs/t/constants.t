#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# docs/constants.md has each number that the programs in Perl go by, with its value, a unit and a
# source, and none that they do not have. What Linux, the format, the X protocol or people give has
# one value wherever it stands. Why a number is so large stands in its file (postmortem/t/layout.t).
use strict;
use warnings;
use File::Find;
use FindBin qw($Bin);
use Test::More;

my $root   = $ENV{TIPME_SRCDIR} // "$Bin/../..";
my $PAGE   = 'docs/constants.md';
my $LEFT   = qr/\A(?:NS_PER_\w+|MS|VERSION|USAGE_ERROR|STRICT)\z/;
my $GIVEN  = qr/\AWhat /;
my $CHOSEN = 'Rules of the engine';

my %code;
for my $folder (qw(postmortem/lib/Tipme fleet/lib/Tipme)) {
	find({ no_chdir => 1, wanted => sub { numbers($_, $folder) if /\.pm\z/ } }, "$root/$folder");
}
cmp_ok(scalar keys %code, '>', 300, keys(%code) . ' numbers in the code');
my (%page, %given, @without, $heading);
my $method = slurp('docs/method.md');
for (split /\n/, slurp($PAGE)) {
	$heading = $1 if /^## (.*)/;
	my ($where, $name, $value, $unit, $source) =
		/^\| (\S+) \| `(\w+)` \| (.*?) \| (.*?) \| (.*?) \|$/
		or next;
	fail("$where $name is there once") if exists $page{"$where $name"};
	$page{"$where $name"} = $value;
	push @without, "$where $name" if $unit eq '' || $source eq '';
	$given{"$name in $heading"}{ eval $value } = 1
		if $heading =~ $GIVEN && $value =~ /\A[\dx_a-f]+\z/;
	push @without, "$where $name: method.md has no section '$source'"
		if $heading eq $CHOSEN && $method !~ /^##+ \Q$source\E(?: \(|$)/m;
}
is(join("\n", grep { !exists $page{$_} } sort keys %code), '', "$PAGE has each number");
is(join("\n", grep { !exists $code{$_} } sort keys %page), '', '... and no other');
is(
	join(
		"\n", map {"$_ is $code{$_}, not $page{$_}"}
			grep { exists $page{$_} && $page{$_} ne $code{$_} } sort keys %code
	),
	'',
	'... with its value'
);
is(join("\n", @without), '', '... a unit and a source');
is(
	join("\n", grep { keys %{ $given{$_} } > 1 } sort keys %given),
	'', 'what is given has one value everywhere'
);
done_testing;

# numbers(FILE, FOLDER): the constants of a file go to %code
sub numbers {
	my ($file, $folder) = @_;
	my $where  = substr($file, 1 + length "$root/$folder") =~ s/\.pm\z//r =~ s{/}{::}gr;
	my $text   = slurp(substr $file, 1 + length $root);
	my $value  = qr/([-0-9\$][^;#]*?)\s*(?:#[^\n]*\n[^;]*)?;/;
	my $number = qr/^(?:my|our) \$([A-Z][A-Z_0-9]*)\s*=\s*$value/m;
	while ($text =~ /$number/g) {
		my ($name, $is) = ($1, $2);
		$code{"$where $name"} = $is =~ s/\s+/ /gr if $name !~ $LEFT;
	}
	return;
}

sub slurp {
	my ($name) = @_;
	open my $in, '<', "$root/$name" or die "$name: $!\n";
	local $/ = undef;
	return scalar <$in>;
}
