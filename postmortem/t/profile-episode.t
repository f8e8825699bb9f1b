#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# tipme profile episode: the same keys of the same lengths by an X server and by a Wayland
# compositor; each sum by another route; privacy.
use strict;
use warnings;
use Cpanel::JSON::XS ();
use File::Temp       qw(tempdir);
use FindBin          qw($Bin);
use List::Util       qw(max sum0);
use Test::More;
use lib "$Bin/lib", "$Bin/../lib", "$Bin/../../abi/generated", "$Bin/../../abi/lib";
use Tipme::Diagnosis;
use Tipme::Episode;
use Tipme::Profile::Episode;
use Tipme::Profile::File;
use Tipme::Profile::Live;
use Tipme::Responses qw(responses);
use Tipme::Test::Story;
use Tipme::Test::WaylandStory;

use constant CLIENT => 200;
my $dir = tempdir(CLEANUP => 1);
my @ms  = (4, 30, 6, 180, 5);

for my $class (qw(Tipme::Test::Story Tipme::Test::WaylandStory)) {
	my $story = $class->new(no_usual => 1);
	my $at    = 1000;
	for my $ms (@ms) {
		$story->enter($at)->run(1, $at + 0.25, $at + $ms, CLIENT, 'sleeping')
			->draw($at + $ms - 0.2);
		$at += 400;
	}
	my $name = $class =~ s/.*:://r;
	$story->builder->write("$dir/$name");
	my $file = "$dir/$name.json";
	my $said = qx{$^X $Bin/../bin/tipme-postmortem profile episode $dir/$name -o $file 2>&1};
	is $?,                                    0,     "$name: a profile" or diag $said;
	is sprintf('%o', (stat $file)[2] & 0777), '600', '... its owner\'s alone';
	my $p = Tipme::Profile::File->read($file);
	my @r = grep { $_->{kind} eq 'key_press' && !$_->{hotkey} && defined $_->{response_ns} }
		responses(Tipme::Diagnosis->new(Tipme::Episode->open("$dir/$name")));
	my ($pair) = $p->pairs_of('key');
	is $pair->{answered}, scalar(@ms), '... of all keys';
	is $pair->{stage}{response}->sum_ns, sum0(map { $_->{response_ns} } @r),
		'... that took as long';
	is $pair->{stage}{response}->max_ns, max(map { $_->{response_ns} } @r), '... the longest, too';
	is sum0(map { $pair->{stage}{$_}->sum_ns } qw(read sent drawn finished)),
		$pair->{stage}{response}->sum_ns, '... whose stages add up';
	my ($app) = @{ $p->{apps} };
	is $app->{waiting_ns}, $pair->{stage}{response}->sum_ns,
		'... no two at once: waiting is the sum';
	is $app->{waiting_ns} + $app->{thinking_ns}, $p->{duration_ns}, '... and all else thinking';
	is $p->{rows}[0]{over}[1],                   1,                 '... one over 50 ms';
	my $text = qx{$^X $Bin/../bin/tipme-postmortem profile report $file};
	like $text, qr/^xterm +key +5 +5 +0 /m, '... report reads it';
	open my $h, '<', $file or die;
	unlike do { local $/; <$h> }, qr/entered|deliver|"ns"/, '... no time of a key is in it';
	in_parts("$dir/$name", $p, $name);
}
qx{$^X $Bin/../bin/tipme-postmortem profile episode $dir/nothing 2>&1};
is $? >> 8, 1, 'no episode is refused';
qx{$^X $Bin/../bin/tipme-postmortem profile episode --live soon 2>&1};
is $? >> 8, 64, 'a time that is none is refused';
done_testing;

# The same events, counted in three parts, as `episode --live` does: the second begins in the midst
# of the longest answer, and the last has none.
sub in_parts {
	my ($folder, $whole, $name) = @_;
	my $episode   = Tipme::Episode->open($folder);
	my $diagnosis = Tipme::Diagnosis->new($episode);
	my @events    = responses($diagnosis);
	my @at        = map { $_->{entered_ns} } grep { defined $_->{response_ns} } @events;
	my ($from, $long, $end) = ($at[0], $at[3] + 50e6, $episode->end_ns);
	my $live  = Tipme::Profile::Live->new(now => $from);
	my $began = $from;

	for my $to ($long, $end, $end + 1) {
		my $part = Tipme::Profile::Episode::part(
			$episode, [ $diagnosis->servers ],
			[ $began, $live->{until} ],
			$from, $to, @events
		);
		$live->add({ %$part, to => $to });
		$from = $to;
	}
	my $file = "$folder-parts.json";
	open my $h, '>', $file or die;
	print {$h} Cpanel::JSON::XS->new->encode($live->profile);
	close $h or die;
	my $p = Tipme::Profile::File->read($file);
	is_deeply $p->{pairs}, $whole->{pairs}, "$name, in parts: the same counts";
	is_deeply $p->{rows},  $whole->{rows},  '... in the same minutes';
	is sum0(map { $_->{waiting_ns} } @{ $p->{apps} }),
		sum0(map { $_->{waiting_ns} } @{ $whole->{apps} }), '... and as long waited for';
	is sum0(map { $_->{waiting_ns} + $_->{thinking_ns} } @{ $p->{apps} }), $p->{duration_ns},
		'... all moments add up';
	return;
}
