#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# "No, another moment": what somebody says they meant is what all verbs go by.
use strict;
use warnings;
use Test::More;
use Cpanel::JSON::XS ();
use File::Temp       qw(tempdir);
use FindBin          qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Test::Story;
use Tipme::Test::Verb qw(tipme_in);

my $tmp = tempdir(CLEANUP => 1);
@ENV{qw(TIPME_LIBRARY TIPME_HISTORY LC_ALL TZ)} = ("$tmp/library", "$tmp/history", 'C', 'UTC');
$ENV{HOME} = $tmp;
mkdir "$tmp/library", 0700 or die "$!\n";
my $id  = '20261120-150301-3f2a';
my $dir = "$tmp/library/$id";
my $b =
	Tipme::Test::Story->new(trigger => 4000)->key(1500, 250)->key(2500, 600)->hotkey(3900)->builder;
$b->{id} = $id;
$b->write($dir);

sub tipme { return tipme_in($tmp, @_) }
sub said  { return (tipme(@_))[0] }

like(said('diagnose', $id), qr/after 600 ms/, 'without a word: the worst');
my ($out, $exit) = tipme('diagnose', $id, '--event', 4, '--keep');
is($exit, 0, 'another moment is kept') or diag($out);
like($out, qr/after 250 ms.* You chose this moment\./, '... said so');
like(
	said('diagnose', $id), qr/after 250 ms.* You chose this moment\./,
	'... and the verdict is about it from then on'
);
my $json = Cpanel::JSON::XS->new->decode(said('diagnose', $id, '--json'));
is("$json->{meant} $json->{event}{n}", '1 4', '... in JSON, too');
like(said('diagnose', $id, '--at', '-1.4'), qr/after 600 ms/, '... but where another is asked for');
like(said('list'),                              qr/ 250 ms xterm/, '... the list');
like(said('timeline', $id, '-o', "$tmp/x.svg"), qr/x\.svg/,        '... the picture');
like(
	do { open my $h, '<', "$tmp/x.svg" or die "$!\n"; local $/; <$h> }, qr/250 ms/,
	'... of that moment'
);
like(said('report', $id), qr/after 250 ms/, '... a report');

for my $how ([], ['--all']) {
	my $file = "$tmp/b" . @$how . '.tipme';
	like(said('bundle', $id, '--yes', '-o', $file, @$how), qr/after 250 ms/, "... a bundle @$how");
	like(said('open', $file, '-o', "$file.open"), qr/after 250 ms/, '... and whoever opens it');
}

like(said('diagnose', $id, '--forget'), qr/after 600 ms/, 'forgotten: the worst again');
ok(!-e "$dir/moment.txt", '... nothing is left');
like(said('list'), qr/ 600 ms xterm/, '... nor in the list');

for my $wrong ([qw(--keep)], [qw(--forget --event 4)], [qw(--keep --forget --event 4)]) {
	($out, $exit) = tipme('diagnose', $id, @$wrong);
	is($exit, 64, "@$wrong: not understood");
	like($out, qr/\Atipme: diagnose: --keep goes with --event, --at or --felt/, '... and why');
}
($out, $exit) = tipme('diagnose', $id, '--event', 99, '--keep');
like(
	"$exit $out", qr/\A1 tipme: diagnose: nothing to keep: there is no input event 99/,
	'what is not there cannot be meant'
);

# What is no number, or a link to one, is passed over.
for my $text ("-1\n", "word\n", '1' x 40, '') {
	open my $h, '>', "$dir/moment.txt" or die "$!\n";
	print {$h} $text;
	close $h;
	like(said('diagnose', $id), qr/after 600 ms/, 'no number: ' . length($text) . ' bytes');
}
unlink "$dir/moment.txt";
symlink '/dev/zero', "$dir/moment.txt" or die "$!\n";
like(said('diagnose', $id), qr/after 600 ms/, 'a link');
done_testing;
