#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Two threads that wake each other all the time fill the recorder's memory: what was slow before is
# gone, and a verdict of "nothing unusual" says so.
use strict;
use warnings;
use File::Temp qw(tempdir);
use FindBin    qw($Bin);
use Test::More;
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Brought;
use Tipme::Diagnosis;
use Tipme::Episode;
use Tipme::Test::Story;

use constant { MS => 1_000_000, CLIENT => 200, FROM => 2500, TRIGGER => 5000 };

# The records of the kernel begin at FROM ms; one of the two wakes the other each STEP ms.
sub flooded {
	my ($step, %o) = @_;
	my $s = Tipme::Test::Story->new(trigger => TRIGGER, first_ns => FROM * MS, %o);
	$s->builder->thread(850, 'ping', ts_ns => FROM * MS)->thread(860, 'pong', ts_ns => FROM * MS);
	my $at   = FROM + 100;
	my $pair = sub {
		my ($t) = @_;
		$s->wake(1, $t, 860, 850, undef, wakee_cpu => 1)
			->run(1, $t, $t + $step / 2, 860, 'sleeping', prev => 850, next => 850);
	};
	for (; $at < TRIGGER - 500; $at += $step) { $pair->($at) }
	$s->key(TRIGGER - 400, 3);
	return $s->hotkey(TRIGGER)->diagnose(tempdir(CLEANUP => 1) . '/e');
}

my $d = flooded(0.1);
is($d->{verdict}{kind}, 'none', 'a flood of switches, and nothing slow since');
like(
	$d->{verdict}{sentence}, qr/\ANothing unusual: .* Only the last 2\.50 s were recorded\.\z/,
	'... says how far it saw'
);
my ($who) = grep {/filled the memory/} @{ $d->{verdict}{circumstances} };
like(
	$who // '',
	qr/\A"p[io]ng", "p[io]ng" filled the memory of the recorder: it took \d\d000 records a sec/,
	'... and who filled its memory'
);
$d = flooded(20);
like($d->{verdict}{sentence}, qr/ Only the last 2\.50 s were recorded\.\z/, 'a small memory');
ok(!(grep {/filled the memory/} @{ $d->{verdict}{circumstances} }), '... that nobody filled');
$d = flooded(20, first_ns => MS);
unlike($d->{verdict}{sentence}, qr/Only the last/, 'a recorder that has just been started');
done_testing;
