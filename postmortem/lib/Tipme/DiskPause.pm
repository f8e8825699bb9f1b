# SPDX-License-Identifier: GPL-2.0-only
# Whether a disk that took long for a request had had nothing to do before: then it had to wake, as
# a disk that stands still to save power does.
package Tipme::DiskPause;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use Tipme::KernelEvents;

my $LONG_NS   = 300_000_000;      # what a disk takes that is awake is less
my $PAUSED_NS = 5_000_000_000;    # no disk goes to sleep sooner and needs so long

# of(PATH, RESOURCES, DISK): of the longest of these stretches in which a thread waited for that
# disk: { pause_ns, took_ns }; undef: it had something to do, or was not slow, or nobody knows
sub of {
	my ($path, $resources, $disk) = @_;
	my ($longest) = sort { $b->{to_ns} - $b->{from_ns} <=> $a->{to_ns} - $a->{from_ns} }
		grep { ($_->{blamed}{disk} // '') eq $disk } @$path;
	return if !$longest;
	my $bio = $resources->disk_wait(@$longest{qw(tid from_ns to_ns)}, 0);
	return if !$bio || !defined $bio->{issued} || !defined $bio->{completed};
	my $took = $bio->{completed} - $bio->{issued};
	return if $took < $LONG_NS;
	my $ep    = $resources->events->episode;
	my $pause = ($ep->manifest->{bundle} // {})->{disk_pause_ns}
		// _idle_before($ep, @$bio{qw(dev issued)});
	return $pause >= $PAUSED_NS ? { pause_ns => $pause, took_ns => $took } : undef;
}

# How long no request of a disk was with it before a time, as far back as is known.
sub _idle_before {
	my ($ep, $dev, $t) = @_;
	my $ev     = Tipme::KernelEvents->load_only($ep, Tipme::KernelEvents::IO);
	my %with   = map  { $_ => 1 } qw(issued completed failed requeued);
	my ($last) = sort { $b <=> $a } map { $_->{first_ns} }
		grep { $_->{source} =~ /^kernel_/ } $ep->coverage;
	return 0 if !defined $last;
	for my $i (@{ $ev->of_kind(Tipme::KernelEvents::IO) }) {
		my $ts = $ev->ts($i);
		last        if $ts >= $t;
		$last = $ts if $ev->io_dev($i) == $dev && $with{ $ev->io_phase($i) // '' } && $ts > $last;
	}
	return $t > $last ? $t - $last : 0;
}

1;
