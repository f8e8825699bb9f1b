# SPDX-License-Identifier: GPL-2.0-only
# tipme latency mttf|compare|schedulability: what follows from a measured distribution.
package Tipme::Command::Latency;

use strict;
use warnings;
use Tipme::CommandLine qw(options print_json table);
use Tipme::Latency::Result;
use Tipme::Latency::Schedule qw(read_tasks schedulability);
use Tipme::Latency::Tails qw(tails worst_level);
use Tipme::Latency::Underrun qw(clients client mttf);
use Tipme::Printable qw(put one_line);

my %HELP = (
	mttf => <<'END',
usage: tipme latency mttf FILE [--client NAME|BUFFERSxCYCLE[:COMPUTE]]... [--stage NAME] [--json]
       tipme latency mttf --clients

How often a client that is fed in cycles would run dry with the latencies of FILE, which
`tipme latency record -o FILE` wrote. A client with N buffers of T ms that computes for C ms has a
slack of (N-1)T - C; each latency above it is an underrun. Without --client: all known ones.

  tipme latency mttf night.json
  tipme latency mttf night.json --client audio-128 --client 3x6:1.5
  tipme latency mttf night.json --stage total_high --json
END
	compare => <<'END',
usage: tipme latency compare A B [--stage NAME] [--over RATIO] [--json]

How many times more often a latency of B is above each level than one of A, with 95 % intervals.
Exit status 2: at some level it is more than RATIO times, by the whole interval (--over).

  tipme latency compare before.json after.json
  tipme latency compare before.json after.json --stage total_high
  tipme latency compare before.json after.json --over 2
END
	schedulability => <<'END',
usage: tipme latency schedulability FILE TASKS [--once-in TIME] [--stage NAME] [--json]

Whether the tasks of TASKS (a line each: NAME PERIOD_MS COMPUTE_MS [DEADLINE_MS [BUFFERS]]) meet
their deadlines, by rate-monotonic priorities, if each may be late once in TIME (10min, 1h, 1d;
usually 1h). Exit status 2: one does not.

  tipme latency schedulability night.json modem.tasks
  tipme latency schedulability night.json modem.tasks --once-in 1d
  tipme latency schedulability night.json modem.tasks --json
END
);

my $USAGE_ERROR = 64;
my $OVER = 2;
my %SECONDS = (s => 1, min => 60, h => 3600, d => 86400);

sub run {
	my ($class, $what, @args) = @_;
	my $do = $class->can('_' . ($what // ''));
	if (!$do || !$HELP{$what}) { print STDERR "tipme: latency: mttf, compare or schedulability is meant: see tipme latency --help\n"; return $USAGE_ERROR }
	return $do->(@args);
}

sub _mttf {
	my (@args) = @_;
	my ($o, $exit) = options(\@args, $HELP{mttf}, 1, 'client=s@', 'clients', 'stage=s', 'json');
	return $exit if !$o;
	if ($o->{clients}) { put(table([ [ 'name', 'slack, ms', 'what it is' ], map { [ $_->{name}, sprintf('%.2f', Tipme::Latency::Underrun::slack_ms($_)), $_->{what} ] } clients() ], 'lrl')); return 0 }
	my $r = _result('mttf', @args) // return $USAGE_ERROR;
	my $stage = $r->stage($o->{stage});
	my @rows = map { mttf($r, $stage, $_) } $o->{client} ? map { client($_) } @{ $o->{client} } : clients();
	if ($o->{json}) { print_json({ file => $r->{file}, stage => $stage, clients => [ map { _mttf_json($_) } @rows ] }); return 0 }
	put(_about($r, $stage) . "\n" . table([ [ 'client', 'slack, ms', 'late', 'underrun once in', '95 % interval', 'a day' ], map { _mttf_row($_) } @rows ], 'lrrrll'));
	put("\nThe interval holds where latencies are independent; those of one long stall are not.\n");
	return 0;
}

sub _result {
	my ($verb, $file) = @_;
	return Tipme::Latency::Result->read($file) if defined $file;
	print STDERR "tipme: latency $verb: name a result of `tipme latency record -o FILE`\n";
	return;
}

sub _about {
	my ($r, $stage) = @_;
	return sprintf "%s: %s, %d latencies in %s; mean %.1f us, longest %.1f us\n", one_line($r->{file}), $stage, $r->count($stage), _time($r->{duration_s}), $r->mean_us($stage), $r->max_us($stage);
}

sub _mttf_row {
	my ($m) = @_;
	my $once = defined $m->{mttf_s} ? _time($m->{mttf_s}) : 'not seen';
	my $range = (defined $m->{most_s} ? _time($m->{least_s}) . ' to ' . _time($m->{most_s}) : 'more than ' . _time($m->{least_s}));
	my $day = defined $m->{mttf_s} ? sprintf '%.3g', $m->{per_day} : sprintf 'under %.3g', $m->{most_per_day};
	return [ $m->{client}{name}, sprintf('%.2f', $m->{slack_ms}), $m->{late}, $once, $range, $day ];
}

sub _mttf_json { my ($m) = @_; return { %$m, client => { %{ $m->{client} } } } }

sub _compare {
	my (@args) = @_;
	my ($o, $exit) = options(\@args, $HELP{compare}, 2, 'stage=s', 'over=s', 'json');
	return $exit if !$o;
	my $over = $o->{over};
	if (defined $over && $over !~ /\A[0-9]{1,9}(?:\.[0-9]{1,9})?\z/) { print STDERR "tipme: latency compare: --over $over: a ratio is meant, as in 2\n"; return $USAGE_ERROR }
	if (@args < 2) { print STDERR "tipme: latency compare: name two results of `tipme latency record -o FILE`\n"; return $USAGE_ERROR }
	my ($a, $b) = map { Tipme::Latency::Result->read($_) } @args;
	my $stage = $b->stage($a->stage($o->{stage}));
	my @rows = tails($a, $b, $stage);
	my $says = _sentence(worst_level(@rows));
	if ($o->{json}) { print_json({ a => $a->{file}, b => $b->{file}, stage => $stage, levels => \@rows, sentence => $says }) }
	else {
		put("$says\n\nA " . _about($a, $stage) . 'B ' . _about($b, $stage) . "\n"
				. table([ [ 'above', 'A an hour', 'B an hour', 'B to A', '95 % interval' ], map { _tail_row($_) } @rows ], 'rrrrl'));
	}
	return defined $over && (grep { $_->{least} > $over } @rows) ? $OVER : 0;
}

sub _sentence {
	my ($r) = @_;
	return 'No level tells the two apart.' if !$r;
	my $level = _time($r->{level_us} / 1e6);
	return sprintf 'Latencies above %s are %s times more frequent in B (%s).', $level, _times($r->{ratio}), _range(@$r{qw(least most)}) if $r->{least} > 1;
	return sprintf 'Latencies above %s are %s times less frequent in B (%s).', $level, _times($r->{ratio} ? 1 / $r->{ratio} : undef), _range(1 / $r->{most}, $r->{least} ? 1 / $r->{least} : undef);
}

sub _times { my ($n) = @_; return defined $n ? _plain($n) : 'many' }
sub _range { my ($least, $most) = @_; return _plain($least) . (defined $most ? ' to ' . _plain($most) : ' or more') }

# Three digits, without an exponent.
sub _plain { my ($n) = @_; return $n >= 1000 ? sprintf '%.0f', $n : sprintf '%.3g', $n }

sub _tail_row {
	my ($r) = @_;
	return [ _time($r->{level_us} / 1e6), (map { _plain($_) } @$r{qw(a_per_h b_per_h)}), _times($r->{ratio}), _range(@$r{qw(least most)}) ];
}

sub _schedulability {
	my (@args) = @_;
	my ($o, $exit) = options(\@args, $HELP{schedulability}, 2, 'once-in=s', 'stage=s', 'json');
	return $exit if !$o;
	my ($n, $unit) = ($o->{'once-in'} // '1h') =~ /\A([0-9]{1,6})(s|min|h|d)\z/;
	if (!$n) { print STDERR "tipme: latency schedulability: --once-in $o->{'once-in'}: a time is meant, as in 10min, 1h, 1d\n"; return $USAGE_ERROR }
	if (@args < 2) { print STDERR "tipme: latency schedulability: name a result of `tipme latency record -o FILE` and a file of tasks\n"; return $USAGE_ERROR }
	my $r = Tipme::Latency::Result->read($args[0]);
	my $stage = $r->stage($o->{stage});
	my $seconds = $n * $SECONDS{$unit};
	my $worst = $r->level($stage, 1 / $seconds)
		// die sprintf "%s: it watched for %s; what happens once in %s takes at least that long: record for longer, or say --once-in\n", $r->{file}, _time($r->watched_s($stage)), _time($seconds);
	my $s = schedulability($worst, $r->mean_us($stage), read_tasks($args[1]));
	if ($o->{json}) { print_json({ %$s, stage => $stage, worst_us => $worst, once_in_s => $seconds }) }
	else {
		put(_about($r, $stage) . sprintf "exceeded once in %s: %s\n", _time($seconds), _time($worst / 1e6));
		put(sprintf "load %.1f %% of a CPU; without latencies: Liu and Layland %.1f %%, hyperbolic %.3f (2 is the bound)\n\n", 100 * $s->{load}, 100 * $s->{liu_layland}, $s->{hyperbolic});
		put(table([ [ 'task', 'pseudo worst case', 'response', 'deadline', '' ], map { _task_row($_) } @{ $s->{tasks} } ], 'lrrrl'));
	}
	return $s->{meets} ? 0 : $OVER;
}

sub _task_row {
	my ($t) = @_;
	return [ one_line($t->{name}), (map { defined $_ ? _time($_ / 1e6) : '-' } @$t{qw(blocking_us response_us deadline_us)}), $t->{meets} ? 'meets it' : 'misses it' ];
}

# Seconds as a person reads them.
sub _time {
	my ($s) = @_;
	return sprintf '%.3g us', $s * 1e6 if $s < 1e-3;
	return sprintf '%.4g ms', $s * 1e3 if $s < 1;
	return sprintf '%.3g s', $s if $s < 120;
	return sprintf '%.3g min', $s / 60 if $s < 7200;
	return sprintf '%.3g h', $s / 3600 if $s < 172_800;
	return sprintf '%.3g days', $s / 86400;
}

1;
