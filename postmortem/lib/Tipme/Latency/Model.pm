# SPDX-License-Identifier: GPL-2.0-only
# A client that is fed in cycles, run for real: what it missed beside what its latencies predict.
# Cota-Robles and Held, OSDI 1999, sections 5.1 and 6.1.
package Tipme::Latency::Model;

use strict;
use warnings;
use Cpanel::JSON::XS         ();
use Tipme::Latency::Underrun qw(slack_ms);
use Tipme::Printable         qw(one_line);
use Tipme::Statistics        qw(poisson_interval);
use Tipme::Words             qw(N__ fill);

our $LIBEXEC = '/usr/libexec/tipme';

# program(): where tipme-latency lies: in the build tree when run from there, else installed
sub program {
	return "$ENV{TIPME_BUILDDIR}/helper/measure/tipme-latency"
		if length($ENV{TIPME_BUILDDIR} // '');
	return ($ENV{TIPME_LIBEXECDIR} // $LIBEXEC) . '/tipme-latency';
}

# run(CLIENT, MODALITY, PRIORITY, SECONDS): (what was found, the result as JSON). Modality: thread
# or deferred. Dies by a sentence.
sub run {
	my ($c, $modality, $priority, $seconds) = @_;
	my $program = program();
	my @us      = map { int(1000 * $_ + 0.5) } @$c{qw(cycle_ms compute_ms)};
	die "client $c->{name}: a cycle of 0.1 ms to 1 s is meant\n"
		if $us[0] < 100 || $us[0] > 1_000_000;
	my $pid = open my $out, '-|', $program, 'model-run', '--buffers', $c->{buffers}, '--cycle',
		$us[0], '--compute', $us[1], '--priority', $priority, '--duration', $seconds,
		$modality eq 'deferred' ? '--deferred' : ()
		or die "$program: $!: install all of tipme\n";
	my $json = do { local $/ = undef; <$out> };
	close $out or die "model: it did not end well\n";
	my $o = eval { Cpanel::JSON::XS->new->utf8->decode($json) };
	die "model: it said nothing that can be read\n"
		if ref $o ne 'HASH' || ref $o->{model} ne 'HASH';
	return (judged($c, $o->{model}), $json);
}

# judged(CLIENT, FOUND): { client, slack_ms, cycles, missed, predicted, both with 95 % intervals of
# the mean (Garwood), agree: whether these overlap }
sub judged {
	my ($c, $m) = @_;
	my @missed = poisson_interval($m->{missed});
	my @late   = poisson_interval($m->{late});
	return {
		client       => $c->{name},     what            => $c->{what},   slack_ms => slack_ms($c),
		priority     => $m->{priority}, cycles          => $m->{cycles}, missed   => $m->{missed},
		missed_least => $missed[0],     missed_most     => $missed[1],
		predicted    => $m->{late},     predicted_least => $late[0], predicted_most => $late[1],
		longest_ms   => $m->{longest_us} / 1000,
		modality     => $m->{modality} // 'thread',
		agree        => $missed[0] <= $late[1] && $late[0] <= $missed[1] ? 1 : 0
	};
}

sub text {
	my ($m) = @_;
	my $who =
		  $m->{modality} eq 'deferred' ? fill(N__('deferred work'))
		: $m->{priority}               ? "SCHED_FIFO $m->{priority}"
		:                                fill(N__('an ordinary thread'));
	my %is = map { $_ => sprintf '%.3g', $m->{$_} }
		qw(missed_least missed_most predicted_least predicted_most);
	my @said = (
		fill(
			N__('{what}, as {who}: slack {slack} ms, {n} cycles; the longest took {longest} ms'),
			what    => one_line($m->{what}), who => $who,
			slack   => sprintf('%.2f', $m->{slack_ms}), n => int $m->{cycles},
			longest => sprintf('%.2f', $m->{longest_ms})
		),
		fill(
			N__('missed     {n}  (a mean of {missed_least} to {missed_most})'),
			%is, n => int $m->{missed}
		),
		fill(
			N__(
				'predicted  {n}  ({predicted_least} to {predicted_most}), by the latencies of the same cycles'
			),
			%is,
			n => int $m->{predicted}
		),
		fill(
			  $m->{agree} ? N__('They agree.')
			: $m->{missed} > $m->{predicted}
			? N__('More are missed: somebody takes the CPU while it computes.')
			: N__('Fewer are missed.')
		)
	);
	return join '', map {"$_\n"} @said;
}

1;
