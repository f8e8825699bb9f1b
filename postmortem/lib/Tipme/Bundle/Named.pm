# SPDX-License-Identifier: GPL-2.0-only
# The processes that keep their names in a bundle: those that the verdict is about. All others are
# numbers, and so is who had no more than a small share of the interval.
package Tipme::Bundle::Named;

use strict;
use warnings;

my $SMALL = 0.02;    # of the interval

# of(EPISODE, DATA of its diagnosis, THREADS): ({ pid => 1 }: the processes that keep their names;
# what the verdict and its path say, in words)
sub of {
	my ($ep, $d, $t) = @_;
	my $blamed = $d->{verdict}{blamed} // {};
	my %ns;
	$ns{ $_->{pid} } += $_->{ns} for grep { $_->{pid} } @{ $d->{totals}{blamed} };
	$ns{ $_->[0] }   += $_->[1]  for map {
		my $p = $_;
		map { [ $_, $p->{to_ns} - $p->{from_ns} ] } grep {$_} $p->{pid}, $p->{blamed}{pid}
	} @{ $d->{path} };
	my $least = $d->{interval} ? $SMALL * $d->{interval}{duration_ns} : 0;
	my @large = grep { $ns{$_} >= $least } keys %ns;
	my %pid   = map  { $_ => 1 } grep {defined} @large, @{ $blamed->{pids} // [] }, $blamed->{pid},
		(map { ($_->{client} // {})->{pid}, $_->{server}{pid} } $d->{event} // ()),
		map { $_->{server_pid} } @{ $ep->manifest->{sources} };
	# Who started those who are blamed (then, or at the end), and who let them go on, is named in
	# the verdict, too.
	my $end = ($d->{interval} // {})->{end_ns} // $ep->trigger_ns;
	for my $pid (@large) { my ($up) = $t->ancestors($pid, $end); $pid{ $up->[0] } = 1 if $up }
	$pid{ $_->{parent} } = 1
		for grep { $_->{parent} && $pid{ $_->{pid} // 0 } }
		map { ($_->{blamed}, @{ $_->{among} // [] }) } @{ $d->{path} };
	my @said = map {
		[
			$_->{to_ns} - $_->{from_ns}, grep {defined} $_->{reason},
			map { $_->{detail} } $_->{blamed}, @{ $_->{among} // [] }
		]
	} @{ $d->{path} };
	my $said = join "\n", grep {defined} $d->{verdict}{sentence},
		map { @$_[ 1 .. $#$_ ] } @said;
	$pid{$_} = 1 for map {/\(pid (\d+)\)/g} $d->{verdict}{sentence} // '',
		map { @$_[ 1 .. $#$_ ] } grep { $_->[0] >= $least } @said;
	$pid{ $_->[0] } = 1
		for map { $t->ancestors($_, $ep->trigger_ns) } ($d->{verdict}{blamed} // {})->{pid} // ();
	my $r = $ep->manifest->{recorder};
	$pid{$_} =
		1
		for ref $r eq 'HASH'
		? grep { defined && !ref } $r->{pid}, @{ ref $r->{agents} eq 'ARRAY' ? $r->{agents} : [] }
		: ();
	return (\%pid, $said);
}

1;
