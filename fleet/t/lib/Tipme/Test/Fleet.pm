# SPDX-License-Identifier: GPL-2.0-only
# Fleets for tests: rows and bundles drawn from a seed, so that each run has the same.
package Tipme::Test::Fleet;

use strict;
use warnings;
use Cpanel::JSON::XS ();
use Digest::SHA      qw(sha256_hex);
use Exporter         qw(import);
use Tipme::Bundle;
use Tipme::Fleet::Database;
use Tipme::Fleet::Lag qw(signature);

our @EXPORT_OK = qw(machine rows presences counts bundle small_file kill_group $NOW);

# Monday, 2026-06-01, noon (UTC)
our $NOW = 1_780_315_200;
my @CULPRITS = (
	[ 'updatedb',      'disk-io' ],  [ 'cc1',         'cpu-contention' ], [ 'firefox', 'compute' ],
	[ 'gvfsd',         'ipc-wait' ], [ 'Xorg',        'compute' ],
	[ 'tracker-miner', 'disk-io' ],  [ 'soffice.bin', 'compute' ]
);
my @APPLICATIONS = qw(xterm gedit firefox emacs gnome-shell libreoffice);
my @KERNELS      = ('6.1.0-26-amd64', '6.1.0-28-amd64', '6.12.6-amd64');
my @STAGES       = qw(read deliver client answer);

# machine(N): its enrolment id
sub machine { return substr sha256_hex("machine $_[0]"), 0, 32 }

# A small generator of our own: the same numbers with every perl.
sub _draw {
	my ($state) = @_;
	$$state = ($$state * 1_103_515_245 + 12_345) & 0x7fffffff;
	return $$state / 0x80000000;
}

# rows(COUNT, machines => M, weeks => W, seed => S, each => SUB): COUNT rows of `lags`, to SUB one
# by one, or as a list. Half of the weeks have a kernel with half as many lags.
sub rows {
	my ($count, %o) = @_;
	my ($machines, $weeks, $state) = ($o{machines} // 100, $o{weeks} // 26, $o{seed} // 1);
	my @ids = map { machine($_) } 0 .. $machines - 1;
	my @rows;
	for my $n (0 .. $count - 1) {
		my $who  = $CULPRITS[ int(@CULPRITS * _draw(\$state)**2) ];
		my $time = $NOW - int($weeks * 7 * 86_400 * _draw(\$state));
		my %row  = (
			machine     => $ids[ int($machines * _draw(\$state)) ],
			episode     => sprintf('20260101-%06d-%04x', $n % 1e6, $n / 1e6), time => $time,
			week        => Tipme::Fleet::Database::week_of($time),
			application => $APPLICATIONS[ int(@APPLICATIONS * _draw(\$state)) ],
			culprit     => $who->[0], kind => $who->[1],
			function    => _draw(\$state) < 0.5 ? '' : 'do_' . int(8 * _draw(\$state)),
			stage       => $STAGES[ int(@STAGES * _draw(\$state)) ],
			kernel      => $KERNELS[ int(@KERNELS * _draw(\$state)) ],
			hardware    => 'x86_64, ' . 2**int(1 + 4 * _draw(\$state)) . ' CPUs',
			version     => 'tipme 0.1.0', waited_ns => int(1e8 + 2e9 * _draw(\$state)**3),
			usual_ns    => _draw(\$state) < 0.1 ? undef : int(5e6 * _draw(\$state)),
			confidence  => int(100 * _draw(\$state)) / 100,
			sentence    => "$who->[0] made a program wait.",
		);
		$row{signature} = signature(@row{qw(kind culprit function stage)});
		if   ($o{each}) { $o{each}->(\%row) }
		else            { push @rows, \%row }
	}
	return @rows;
}

# presences(machines => M, weeks => W): rows of `presence`, 20 hours a week each
sub presences {
	my (%o) = @_;
	my $last = Tipme::Fleet::Database::week_of($NOW);
	return map {
		my $m = $_;
		map {
			{
				machine => machine($m),   week  => $last - $_, kernel => $KERNELS[ $m % @KERNELS ],
				version => 'tipme 0.1.0', hours => 20
			}
		} 0 .. $o{weeks} - 1
	} 0 .. $o{machines} - 1;
}

# counts(machines => M, weeks => W): rows of `counts`, a profile of three applications each week
sub counts {
	my (%o) = @_;
	my $last = Tipme::Fleet::Database::week_of($NOW);
	my @rows;
	for my $m (0 .. $o{machines} - 1) {
		for my $week (map { $last - $_ } 0 .. $o{weeks} - 1) {
			push @rows,
				{
				machine     => machine($m), profile => substr(sha256_hex("$m $week"), 0, 16),
				time        => Tipme::Fleet::Database::week_time($week),   week  => $week,
				application => $APPLICATIONS[ ($m + $_) % @APPLICATIONS ], input => 'key',
				kernel      => $KERNELS[ $m % @KERNELS ],
				version     => 'tipme 0.1.0', answers => 2000, late => 3 * $_ + $m % @KERNELS,
				waited_ns   => 20_000_000_000 + $m
				} for 0 .. 2;
		}
	}
	return @rows;
}

# bundle(FILE, ROW, manifest => {}, verdict => {}): a bundle as a machine makes it, with that row in
# it
sub bundle {
	my ($file, $row, %o) = @_;
	my @t        = gmtime $row->{time};
	my %manifest = (
		id   => $row->{episode},
		time =>
			sprintf('%04d-%02d-%02dT%02d:%02d:%02dZ', $t[5] + 1900, $t[4] + 1, @t[ 3, 2, 1, 0 ]),
		kernel  => $row->{kernel},
		machine => 'x86_64', cpus => 4, recorder => { version => '0.1.0' },
		fleet   => { name => 'office', machine => $row->{machine} }, %{ $o{manifest} // {} }
	);
	my %verdict = (
		interval => {
			start_ns => 1000, end_ns => 1000 + $row->{waited_ns}, duration_ns => $row->{waited_ns},
			usual_ns => $row->{usual_ns}
		},
		event => {
			client => { comm => $row->{application} },
			stages => [ { name => 'input', ts_ns => 1000 }, { name => 'deliver', ts_ns => 2000 } ]
		},
		verdict => {
			kind       => $row->{kind},       blamed   => { comm => $row->{culprit} },
			confidence => $row->{confidence}, sentence => $row->{sentence}
		},
		%{ $o{verdict} // {} }
	);
	my $json = Cpanel::JSON::XS->new->canonical->utf8;
	Tipme::Bundle->write(
		$file, [ 'manifest.json', $json->encode(\%manifest) ], [ 'schema', 'x' ],
		[ 'verdict.json', $json->encode(\%verdict) ]
	);
	return;
}

# kill_group(PID): a process and all that it has started. They are gone when this returns: one that
# is on its way out still holds its locks. Returns whether one was there.
sub kill_group {
	my ($pid) = @_;
	my $there = kill 'KILL', -$pid;
	waitpid $pid, 0;
	my $until = time + 120;
	select undef, undef, undef, 0.01 while kill(0, -$pid) && time < $until;
	return $there ? 1 : 0;
}

# small_file(FILE, DATA): as `tipme fleet present` and `tipme fleet counts` write it
sub small_file {
	my ($file, $row) = @_;
	open my $out, '>:raw', $file or die "$file: $!\n";
	print {$out} Cpanel::JSON::XS->new->canonical->encode({ %$row, fleet => 'office' });
	close $out or die "$file: $!\n";
	return;
}

1;
