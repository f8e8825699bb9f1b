# SPDX-License-Identifier: GPL-2.0-only
# Where the threads of a path stood: the stacks of its longest sleeps, and those that most samples
# have while it ran.
package Tipme::Stacks;

use strict;
use warnings;
use Tipme::Functions;
use Tipme::Printable qw(one_line);
use Tipme::Verdict   qw(duration_text);
use Tipme::Words     qw(N__ fill);

my $MOST   = 4;       # stacks that are told
my $FRAMES = 24;      # of a stack that are told; the recorder takes more of none
my $SHARE  = 0.02;    # of the interval, or of the samples: less is not told

# of(DIAGNOSIS, DATA): { who, what (words: how long, how many samples), frames [ texts, innermost
# first ] }, the heaviest first; nothing where no stack is known
sub of {
	my ($diagnosis, $d) = @_;
	my $states = $diagnosis->judged_on                 or return;
	my $all    = ($d->{interval} // {})->{duration_ns} or return;
	my (%of, $samples);
	my $functions =
		Tipme::Functions->new(resources => $states->resources, threads => $diagnosis->threads);
	for my $p (grep { $_->{tid} } @{ $d->{path} }) {
		my $who = one_line($p->{comm} // '?') . " ($p->{tid})";
		if ($p->{state} eq 'running') {
			for my $s ($states->resources->samples(@$p{qw(tid from_ns to_ns)})) {
				my @f = map { _frame($_) } grep { $_ ne "?\t?" } $functions->frames($s);
				next if !@f;
				my $x = $of{ join "\n", $who, @f } //= { who => $who, frames => \@f };
				$x->{samples}++;
				$samples++;
				$x->{us} += $s->{us};
			}
			next;
		}
		next if $p->{state} eq 'runnable';
		my $i     = $states->before($p->{tid}, $p->{to_ns}) or next;
		my $stack = $diagnosis->threads->stack($i->{stack_id}) // next;
		my @f     = split /;/, $stack;
		my $x     = $of{ join "\n", 'slept', $who, @f } //= { who => $who, frames => \@f };
		$x->{ns} += $p->{to_ns} - $p->{from_ns};
	}
	my @top = sort { _weight($b) <=> _weight($a) || $a->{who} cmp $b->{who} }
		grep { _weight($_) >= $SHARE * $all } values %of;
	splice @top, $MOST if @top > $MOST;
	for my $x (@top) {
		$x->{what} =
			defined $x->{ns}
			? fill(N__('slept for {time}'), time => duration_text($x->{ns}))
			: fill(N__('ran: {n} of {of} samples'), n => $x->{samples}, of => $samples);
		splice @{ $x->{frames} }, $FRAMES if @{ $x->{frames} } > $FRAMES;
		@{ $x->{frames} } = map { one_line($_) } @{ $x->{frames} };
	}
	return @top;
}

sub _weight { my ($x) = @_; return $x->{ns} // 1000 * $x->{us} }

sub _frame { my ($function, $module) = split /\t/, $_[0]; return "$function ($module)" }

1;
