# SPDX-License-Identifier: GPL-2.0-only
# What a fleet gets of a profile: sums by application and kind of input, and no time that is finer
# than a week.
package Tipme::Profile::ForFleet;

use strict;
use warnings;
use Digest::SHA;
use Exporter    qw(import);
use Time::Local qw(timegm_modern);
use Tipme::Profile::File;
use Tipme::Profile::Views qw(limits);

our @EXPORT_OK = qw(counts_of);

# Unit: seconds. A recording writes its file each minute: one that is older has ended.
my $STILL_S = 120;
# Unit: seconds. 1970-01-05 was a Monday.
my ($WEEK_S, $FIRST_S) = (7 * 86_400, 4 * 86_400);

# counts_of(FILE, apps => [ NAME ... ], now => TIME): { profile, week, kernel, version, counts => [
# { application, input, answers, late, waited_ns } ] } of these applications, or all. Dies by a
# sentence.
sub counts_of {
	my ($file, %o) = @_;
	my $p   = Tipme::Profile::File->read($file);
	my $age = ($o{now} // time) - ((stat $file)[9] // 0);
	die "$file: was written just now: end its recording, or wait two minutes\n" if $age < $STILL_S;
	my %wanted = map  { $_ => 1 } @{ $o{apps} // [] };
	my @pairs  = grep { $_->{answered} && (!%wanted || $wanted{ $_->{app} }) } @{ $p->{pairs} };
	die "$file: nothing was answered there"
		. (%wanted ? ' by these applications' : '')
		. ": there is nothing to send\n"
		if !@pairs;
	return {
		# Of the whole file, so that it says nothing about when it began.
		profile => substr(Digest::SHA->new(256)->addfile($file, 'b')->hexdigest, 0, 16),
		week    => _week($file, $p->{began}), kernel => $p->{kernel},
		version => 'tipme ' . $p->{recorder}, counts => [ map { _count($_) } @pairs ]
	};
}

sub _count {
	my ($pair) = @_;
	my (undef, $most_ms) = limits($pair->{kind});
	my $c = $pair->{stage}{response};
	return {
		application => $pair->{app},
		input       => $pair->{kind},
		answers     => $c->count,
		late        => $c->above($most_ms * 1e6),
		waited_ns   => $c->sum_ns
	};
}

sub _week {
	my ($file, $began) = @_;
	my ($y, $m, $d) = $began =~ /\A(20\d\d)-(\d\d)-(\d\d)T/
		or die "$file: says no time when it began\n";
	my $time = eval { timegm_modern(0, 0, 0, $d, $m - 1, $y) };
	die "$file: says no time when it began\n" if !defined $time;
	return int(($time - $FIRST_S) / $WEEK_S);
}

1;
