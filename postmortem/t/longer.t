#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# A later minor version appends fields: its records are longer than ours. All that looks into raw
# records reads them by their length: the same stories give the same verdicts, sleeps and waits.
use strict;
use warnings;
use Test::More;
use File::Temp qw(tempdir);
use FindBin    qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Columns;
use Tipme::Diagnosis;
use Tipme::Episode;
use Tipme::Kernel;
use Tipme::KernelEvents;
use Tipme::Sleeps;
use Tipme::Stall;
use Tipme::Test::Episode;
use Tipme::Test::Story;

my $tmp   = tempdir(CLEANUP => 1);
my $later = Tipme::Test::Episode::schema_text();
$later =~ s/^format 1\.\d+$/format 1.9/m;
my $n = 0;
for my $kind (qw(sched_switch sched_waking signal fork)) {
	$later =~
		s/(record $kind \d+ .*?)\n\n/$1\n\tu32 later_one : "a later field"\n\tu32 later_two : "and another"\n\n/s
		and $n++;
}
is($n, 4, 'four kinds of records are longer in the later schema');

for my $with ('with the program in C', 'in Perl alone') {
	no warnings 'redefine';
	my $program = \&Tipme::Columns::program;
	local *Tipme::Columns::program = $with =~ /Perl/ ? sub {return} : $program;
SKIP: {
		skip 'tipme-columns was not built', 1 if $with !~ /Perl/ && !defined $program->();
		for my $story (qw(slow stalled stopped)) {
			my ($ours, $theirs) = map { facts($story, $_) } Tipme::Test::Episode::schema_text(),
				$later;
			is_deeply($theirs, $ours, "$story: the same of longer records, $with");
		}
	}
}
like(facts('stalled', $later)->{stall}, qr/^1000 /, 'the stall is found at all');
cmp_ok(facts('slow', $later)->{delays}, '>', 0, '... and a wait for a CPU');
done_testing;

sub facts {
	my ($story, $schema) = @_;
	my $s = Tipme::Test::Story->new(trigger => 3000, schema => $schema, section_records => 30);
	my $b = $s->builder;
	$b->thread(901, 'hog', ts_ns => 6_000_000)->thread(1000, 'slow-one', ts_ns => 6_000_000);
	if ($story eq 'slow') {
		$s->run(1, 999, 1700, 901, 'runnable', preempted => 1, next => 200)->enter(1000);
		$b->switch(1, 1_702_000_000, 200, 901, 'sleeping');
		$s->draw(1701.9);
	}
	if ($story eq 'stalled') {
		delete $b->{rec}{'x-100.rec'};
		$s->wake(0, 1000, 1000, 999, undef)->run(1, 1600, 1650, 1000, 'sleeping');
	}
	$s->kernel(
		0, 900, 'signal', tid => 200, sender_tid => 999, pid => 200, signal => 19,
		context => 'task'
	) if $story eq 'stopped';
	$s->hotkey(2900) if $story ne 'stalled';
	my $dir     = $b->write("$tmp/episode");
	my $ep      = Tipme::Episode->open($dir);
	my $kernel  = Tipme::Kernel->new($ep);
	my $stall   = Tipme::Stall->worst($ep, $kernel->threads);
	my $signals = Tipme::KernelEvents->load_only($ep, Tipme::KernelEvents::SIGNAL);
	my %facts   = (
		sentence => Tipme::Diagnosis->new(Tipme::Episode->open($dir))->run->{verdict}{sentence},
		stall    => $stall
		? "$stall->{tid} $stall->{start_ns} $stall->{end_ns} $stall->{what}"
		: 'none',
		delays => scalar @{ $kernel->run_delays(200) },
		sleeps => join(
			' ',
			map { "$_->{from}-" . ($_->{to} // '') } @{ Tipme::Sleeps->new($ep)->of(200) // [] }
		),
		signals => join(' ', map { join ',', $signals->columns($_) } 0 .. $signals->count - 1),
		damage  => join(' ', $ep->damage),
	);
	system 'rm', '-rf', $dir;
	return \%facts;
}
