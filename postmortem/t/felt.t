#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# What a person said that it was like decides which slow answer is meant, never who made it slow.
use strict;
use warnings;
use Test::More;
use Cpanel::JSON::XS ();
use File::Temp       qw(tempdir);
use FindBin          qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Felt;
use Tipme::Test::Story;
use Tipme::Test::Verb qw(tipme_in);

my $tmp = tempdir(CLEANUP => 1);
@ENV{qw(TIPME_LIBRARY TIPME_HISTORY LC_ALL TZ)} = ("$tmp/library", "$tmp/history", 'C', 'UTC');
$ENV{HOME} = $tmp;
mkdir "$tmp/library", 0700 or die "$!\n";
my $id  = '20261120-150301-3f2a';
my $dir = "$tmp/library/$id";

sub kept {
	my ($story, $name) = @_;
	my $b = $story->builder;
	$b->{id} = $name;
	$b->write("$tmp/library/$name");
	return;
}

# A click is answered after 400 ms, a key after 600.
my $story =
	Tipme::Test::Story->new(trigger => 4000)->key(1500, 250)->enter(2000, kind => 'button_press')
	->run(1, 2000.25, 2400, 200, 'sleeping')->draw(2399.8)->key(2500, 600)->hotkey(3900);
kept($story, $id);

sub tipme { return tipme_in($tmp, @_) }
sub said  { return (tipme('diagnose', @_))[0] }
sub data  { return Cpanel::JSON::XS->new->decode(said(@_, '--json')) }

like(said($id), qr/after 600 ms/, 'without a word: the worst');
like(said($id, qw(--felt click)),  qr/click.* after 400 ms/, 'a click did nothing: the click');
like(said($id, qw(--felt typing)), qr/after 600 ms/,         'typing was slow: the key');
unlike(said($id, qw(--felt typing)), qr/You said/, '... of which no more is said');
my $none = qr/after 600 ms.*You said that a program took long to start\. No slow start was found\./;
like(said($id, qw(--felt start)), $none, 'a start: there is none, which is said; the worst');
like(said($id, qw(--felt test)),  qr/after 600 ms/, 'just a test: the worst');
like(
	said($id, '--felt', 'all,pointer-moved'),
	qr/after 600 ms.*not found that more than one program was slow at once/,
	'everything stood still: one program did'
);
my $felt = data($id, '--felt', 'click,once')->{felt};
is_deeply([ @$felt{qw(what again found)} ], [ 'click', 0, 1 ], 'JSON has it');
is(data($id)->{felt}, undef, '... and not where nobody said anything');
is(
	data($id, '--felt',  'click')->{verdict}{kind},
	data($id, '--event', data($id, '--felt', 'click')->{event}{n})->{verdict}{kind},
	'the verdict is that of the event, whatever was said'
);

my ($out, $exit) = tipme('diagnose', $id, qw(--felt click --keep));
is($exit, 0, 'kept') or diag($out);
like(said($id),          qr/after 400 ms/,  '... and what all verbs go by');
like((tipme('list'))[0], qr/ 400 ms xterm/, '... the list');
for my $how ([], ['--all']) {
	my $file = "$tmp/b@$how.tipme";
	($out) = tipme('bundle', $id, '--yes', '-o', $file, @$how);
	like($out,                                          qr/after 400 ms/, "... a bundle @$how");
	like((tipme('open', $file, '-o', "$file.open"))[0], qr/after 400 ms/, '... and who opens it');
}
tipme('diagnose', $id, qw(--event 4 --keep));
like(said($id), qr/after 250 ms/, 'a moment that was chosen goes before words');
tipme('diagnose', $id, qw(--felt click --keep));
like(said($id),             qr/after 400 ms/, '... until there are newer words');
like(said($id, '--forget'), qr/after 600 ms/, 'forgotten: the worst again');
ok(!-e "$dir/felt.txt", '... nothing is left');

for my $wrong ('', 'slow', 'typing,click', 'pointer-moved,pointer-stood', 'again,once') {
	($out, $exit) = tipme('diagnose', $id, '--felt', $wrong);
	is($exit, 64, "'$wrong': not understood");
	like(
		$out, qr/\Atipme: diagnose: --felt .*: one word for each question: all, click/,
		'... and which are'
	);
}
for my $text ("CLICK\n", "click typing\n", 'x' x 100, '') {
	open my $h, '>', "$dir/felt.txt" or die "$!\n";
	print {$h} $text;
	close $h;
	like(said($id), qr/after 600 ms/, 'no such words: ' . length($text) . ' bytes');
}

# How often it comes.
$story = Tipme::Test::Story->new(trigger => 6000);
$story->key($_, 200) for 1000, 2000, 3000, 4000;
kept($story->hotkey(5900), '20261120-150302-3f2b');
like(
	said('20261120-150302-3f2b', '--felt', 'typing,again'),
	qr/It came 4 times in this episode, every 1\.0 s: /, 'at regular times'
);
$story = Tipme::Test::Story->new(trigger => 6000);
$story->key($_, 200) for 1000, 2000, 4500;
kept($story->hotkey(5900), '20261120-150303-3f2c');
like(
	said('20261120-150303-3f2c', '--felt', 'again'),
	qr/It came 3 times in this episode, at irregular times\./, 'at others'
);
like(said($id, '--felt', 'click,again'), qr/in this episode it came once\./, 'once');
like(
	said('20261120-150302-3f2b', '--felt', 'typing,once'),
	qr/You said that it came once\. It came 4 times in this episode, every 1\.0 s: /,
	'once, but the records say more'
);
unlike(said($id, '--felt', 'click,once'), qr/You said/, 'once, as the records say');

# All CPUs stood still: that it was everything is what the verdict says.
$story = Tipme::Test::Story->new(trigger => 4000)->enter(1000);
$story->kernel(1, 1005 + 10 * $_, 'sample', tid => 200, cpu => 1, period_us => 10_101)
	for 0 .. 3, 54 .. 58;
kept(
	$story->run(1, 1000.25, 1600, 200, 'sleeping')->draw(1599.9)->hotkey(3900),
	'20261120-150304-3f2d'
);
like(said('20261120-150304-3f2d'), qr/no CPU did anything/, 'the machine stood still');
$felt = data('20261120-150304-3f2d', '--felt', 'all,pointer-stood')->{felt};
is_deeply([ @$felt{qw(found words)} ], [ 1, [] ], '... everything did, as the person said');

# What can be meant by "everything stood still".
sub c {
	my ($name, $from, $to, $device, $pid) = @_;
	return {
		name  => $name, from_ns => $from * 1e6, upper => ($to - $from) * 1e6, ended => 1,
		event => { kind => 'key_press', device_ns => $device * 1e6, pid => $pid }
	};
}
my @c = (
	c('alone',  0,    400,  1, 7), c('one', 1000, 1500, 1001, 7), c('other', 1200, 1600, 1201, 8),
	c('unread', 3000, 3600, 3500, 7), c('quick', 5000, 5050, 5001, 8)
);

sub names {
	my (@words) = @_;
	return join ' ', map { $_->{name} } Tipme::Felt::matching(Tipme::Felt::parse("@words"), @c);
}
is(names('all'),                  'one other unread', 'several at once, or input that nobody read');
is(names('all', 'pointer-moved'), 'one other',        '... the pointer moved: input was read');
is(names('all', 'pointer-stood'), 'unread',           '... it stood: it was not');
is(names('click'),                '',                 'no click is there');
done_testing;
