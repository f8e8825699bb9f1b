# SPDX-License-Identifier: GPL-2.0-only
# A scene that was played before, judged again: the kept episode, by the tipme of today, against the
# truth that was written down then.
package Tipme::Desk::Again;
use strict;
use warnings;
use Tipme::Desk::Judge;

# May it be judged again? Not what was void, or has no episode.
sub counts { my ($r) = @_; return $r->{episode} && !$r->{void} && !$r->{skipped} ? 1 : 0 }

# id(RESULT): the folder's name, under which --keep has kept it
sub id { my ($r) = @_; return $r->{episode} =~ s{.*/}{}r }

# judged(RESULT, DATA of `diagnose --json`): a result as it would be written today
sub judged {
	my ($r, $d) = @_;
	my %new = (%$r, verdict => $d->{verdict}, interval => $d->{interval});
	return {
		%new,
		$r->{cause} eq 'quiet'
		? Tipme::Desk::Judge::quiet($d)
		: Tipme::Desk::Judge::compare(\%new, $d)
	};
}

# changed(OLD, NEW): what is another thing now, in words; '' if nothing is
sub changed {
	my ($old, $new) = @_;
	my @words;
	push @words, $new->{right} ? 'now right' : 'NOW WRONG'
		if !$old->{right} != !$new->{right};
	for my $part (qw(kind who interval)) {
		my ($o, $n) = map { $_->{"${part}_right"} } $old, $new;
		push @words, "$part " . ($n ? 'right' : 'wrong') if defined $o && defined $n && !$o != !$n;
	}
	push @words, "$old->{named} became $new->{named}" if $old->{named} ne $new->{named};
	return join ', ', @words;
}

1;
