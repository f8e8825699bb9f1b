#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# At a terminal `tipme bundle` and `tipme report` ask for what only the person can tell: steps, and
# whether the note goes along. Who has said --yes, or is no person, is asked for nothing.
use strict;
use warnings;
use Test::More;
use Cpanel::JSON::XS ();
use File::Temp       qw(tempdir);
use FindBin          qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Bundle;
use Tipme::Test::Files qw(slurp);
use Tipme::Test::Story;

plan skip_all => 'script is not installed' if !grep { -x "$_/script" } split /:/, $ENV{PATH};
my $tmp = tempdir(CLEANUP => 1);
@ENV{qw(TIPME_LIBRARY LC_ALL TIPME_ROOT)} = ("$tmp/library", 'C', "$tmp/root");
mkdir "$tmp/$_", 0700 or die "$!\n" for qw(library root);
my $id = '20261120-150301-3f2a';
my $s  = Tipme::Test::Story->new(trigger => 2000)->key(1000, 400)->hotkey(1900);
$s->daemon('process', pid => 200, start_ns => 1200, exe => "$tmp/prog");
$s->builder->{id} = $id;
$s->builder->write("$tmp/library/$id");
my $NOTE = 'it hung again';
spit("$tmp/library/$id/note.txt", "$NOTE\n");

sub spit {
	my ($file, $text) = @_;
	open my $h, '>', $file or die "$file: $!\n";
	print {$h} $text;
	close $h or die "$file: $!\n";
	return;
}

# at_terminal(LINES typed, COMMAND): (exit status, what was shown); the terminal's end of input is
# behind the lines
sub at_terminal {
	my ($typed, $command) = @_;
	spit("$tmp/typed", $typed);
	my $shown =
		qx(script -qec '$^X "$Bin/../bin/tipme-postmortem" $command' /dev/null < "$tmp/typed" 2>&1);
	return ($? >> 8, $shown =~ s/\s+/ /gr);
}

# sent(FILE): (steps, note) of a bundle
sub sent {
	my ($file) = @_;
	Tipme::Bundle->unpack_to($file, "$file.opened");
	my $steps = Cpanel::JSON::XS->new->decode(slurp("$file.opened/system.json"))->{steps};
	return ($steps, -e "$file.opened/note.txt" ? slurp("$file.opened/note.txt") : undef);
}

my $file = "$tmp/one.tipme";
my ($exit, $shown) = at_terminal("  I typed ls \n\neach day\n\ny\n", "bundle $id -o $file");
is($exit, 0, 'a bundle at a terminal') or diag($shown);
like($shown, qr/What did you do\? .*What did you expect\? .*How often does it happen\? /, 'asked');
like($shown, qr/Your note: "$NOTE" Take it along, with the tags\? \[Y\/n\]/, '... the note shown');
like($shown, qr/left out or replaced:.*Write \S+\? \[y\/N\]/, '... and what goes in, before it is');
my ($steps, $note) = sent($file);
is_deeply($steps, { did => 'I typed ls', often => 'each day' }, 'what was told goes along');
is($note, "$NOTE\n", '... and so does the note, if Enter is all that is said');

$file = "$tmp/two.tipme";
($exit, $shown) = at_terminal("n\ny\n", "bundle $id -o $file --did x --expected x --often x");
is($exit, 0, 'steps that were told') or diag($shown);
unlike($shown, qr/What did you do/, '... are not asked for');
($steps, $note) = sent($file);
is($note, undef, 'a note that was not wanted stays');

($exit, $shown) = at_terminal('', "bundle $id -o $tmp/no.tipme");
is($exit, 1, 'the end of the input: no answer is waited for');
like($shown, qr/not written: you did not agree/, '... and nothing is agreed to');
($exit, $shown) = at_terminal('', "bundle $id -o $tmp/yes.tipme --yes");
is($exit, 0, '--yes') or diag($shown);
unlike($shown, qr/What did you do|Take it along|\[y.N\]/i, '... asks for nothing');
($exit, $shown) = at_terminal("n\n", "bundle $id -o $tmp/piped.tipme | cat");
unlike($shown, qr/What did you do|Take it along/, 'nor is a pipe asked');

($exit, $shown) = at_terminal("\n\n\nn\ny\nn\n", "bundle $id -o $tmp/all.tipme --all");
is($exit, 1, '--all, agreed once');
like(
	$shown, qr/The file tells when each key was pressed, from which text can be guessed/,
	'... what it reveals is said'
);
like($shown, qr/It tells when each key was pressed in these seconds\. Write it all/, '... twice');
ok(!-e "$tmp/$_.tipme", "... and $_ is not written") for qw(all no piped);
($exit, $shown) = at_terminal("\n\n\nn\ny\ny\n", "bundle $id -o $tmp/all.tipme --all");
is($exit, 0, '--all, agreed twice') or diag($shown);
ok(-e "$tmp/all.tipme", '... is written');

($exit, $shown) = at_terminal("\nat once\n\ny\n", "report $id -o $tmp/report.txt");
is($exit, 0, 'a report at a terminal') or diag($shown);
like($shown, qr/What did you do\? \[$NOTE\]/, '... the note is what was done, if no more is said');
like(
	slurp("$tmp/report.txt") =~ s/\s+/ /gr,
	qr/What I did: $NOTE What I expected: at once .*How often: \(please fill in\)/,
	'... it holds what was told'
);
($exit, $shown) = at_terminal('', "report $id");
is($exit, 0, 'a report that is only looked at');
unlike($shown, qr/What did you do/, '... asks for nothing');
done_testing();
