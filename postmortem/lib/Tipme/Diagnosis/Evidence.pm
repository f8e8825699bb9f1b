# SPDX-License-Identifier: GPL-2.0-only
# The records on which a verdict rests, by file and number.
package Tipme::Diagnosis::Evidence;

use strict;
use warnings;
use Tipme::Reason;
use Tipme::Words qw(N__ fill);

# of(INTERVAL, PATH, VERDICT): [ { what, file, record } ... ]: the event's own, and those of the
# largest stretches that were blamed.
sub of {
	my ($i, $path, $v) = @_;
	my $e  = $i->{event};
	my $x  = $e->{server};
	my @ev = (
		{ what => fill(N__('input event')), %{ $x->evidence($e->{device_record}) } },
		$e->{deliver_record}
		? { what => fill(N__('delivery')), %{ $x->evidence($e->{deliver_record}) } }
		: ()
	);
	push @ev, { what => fill(N__('feedback')), %{ $x->evidence($i->{damage}) } } if $i->{damage};
	return [ @ev, @{ of_path($path, $v) } ];
}

# of_path(PATH, VERDICT): the same without an event
sub of_path {
	my ($path, $v) = @_;
	my @ev;
	my @big = sort {
			   $b->{to_ns} - $b->{from_ns} <=> $a->{to_ns} - $a->{from_ns}
			|| $a->{from_ns} <=> $b->{from_ns}
	} grep { $_->{blamed}{kind} eq $v->{kind} } @$path;
	my %seen;
	for my $p (grep {defined} @big[ 0 .. 4 ]) {
		my @r = grep { !$seen{"$_->{file} $_->{record}"}++ } @{ $p->{evidence} };
		my $what =
			$p->{state} =~ /^(?:running|runnable)$/
			? "$p->{comm} ($p->{tid}) "
			. fill($p->{state} eq 'running' ? N__('running') : N__('runnable'))
			: "$p->{comm} ($p->{tid}) " . Tipme::Reason::words($p->{reason});
		$what .=
			": $p->{blamed}{comm} ($p->{blamed}{tid}) " . Tipme::Reason::words($p->{blamed}{detail})
			if $p->{state} eq 'runnable' && defined $p->{blamed}{tid};
		push @ev, { what => $what, %{ $r[0] } } if @r;
		push @ev, { what => fill(N__('... until')), %{ $r[-1] } } if @r > 1;
	}
	return \@ev;
}

1;
