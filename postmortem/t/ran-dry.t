#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Episodes that a stream of sound has triggered which ran dry: who kept the thread that feeds it.
use strict;
use warnings;
use File::Temp ();
use FindBin    qw($Bin);
use Test::More;
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::RanDry;
use Tipme::Report::JSON;
use Tipme::Report::Text;
use Tipme::Test::Judge qw(judged);
use Tipme::Test::Story;

use constant { MS => 1_000_000, PLAYER => 710, HOG => 700 };
my $WORDS = 'underrun of pcmC0D0p at 3.960000 s, buffer 85.000 ms, thread ' . PLAYER;

# The player writes until 3870 and is woken for the next period at 3880. HOG has its CPU until 3990;
# at 3960 the buffer is empty.
sub story {
	my ($text, %o) = @_;
	my $s = Tipme::Test::Story->new(
		manifest => { trigger => { kind => 'kernel', ns => 4000 * MS, text => $text } });
	$s->builder->thread(PLAYER, 'player', ts_ns => 900 * MS)
		->thread(HOG, 'hog', ts_ns => 900 * MS, %o);
	$s->run(1, 3860, 3870, PLAYER, 'sleeping');
	$s->run(1, 3871, 3990, HOG, 'runnable', preempted => 1, next => PLAYER);
	$s->wake(1, 3880, PLAYER, HOG, undef, context => 'hardirq', wakee_cpu => 1);
	$s->builder->switch(1, Tipme::Test::Story::ns(3991), PLAYER, 0, 'sleeping');
	return $s;
}

my $d = judged('a hog', story($WORDS), 'cpu-contention', 'hog', 0.93, 0.95);
is($d->{interval}{end_ns},      3960 * MS, 'up to the underrun');
is($d->{interval}{duration_ns}, 85 * MS,   'from when the buffer was full at the latest');
like(
	$d->{verdict}{sentence},
	qr/^player \(pid 710\) did not serve its sound buffer of 85 ms in time: for 80 ms \(94 %\) /,
	'the sentence says of what'
);
is_deeply(
	$d->{underrun}, { stream => 'pcmC0D0p', tid => PLAYER, buffer_ns => 85 * MS },
	'the stream'
);
is_deeply(Tipme::Report::JSON::data($d)->{underrun}, $d->{underrun}, '... in JSON, too');
like(Tipme::Report::Text::page($d), qr/did not serve its sound buffer/, '... and on the page');

$d = judged(
	'a cycle of a sound server', story($WORDS =~ s/pcmC0D0p/pipewire-57/r),
	'cpu-contention', 'hog', 0.93, 0.95
);
is($d->{underrun}{stream}, 'pipewire-57', '... which numbers its nodes');

my $dir = File::Temp->newdir;
for my $text (
	'underrun of pcmC0D0p at 3.96 s, buffer 85.000 ms, thread 710',
	'underrun of pcmC0D0p at 9.960000 s, buffer 85.000 ms, thread 710',
	'underrun of pcmC0D0p at 3.960000 s, buffer 0.000 ms, thread 710',
	"my $WORDS", 'underrun'
	)
{
	is(story($text)->diagnose("$dir/x")->{underrun}, undef, "no such stream: $text");
}
is(Tipme::RanDry::words($WORDS),      $WORDS, 'its words are nobody\'s own');
is(Tipme::RanDry::words("my $WORDS"), '',     '... those of a user are');
done_testing;
