# SPDX-License-Identifier: GPL-2.0-only
# A diagnosis as a page for people: the verdict, the sum, the stages, the proof.
package Tipme::Report::Text;

use strict;
use warnings;
use Text::Wrap ();
use Tipme::CommandLine qw(table with_commas);
use Tipme::Kinds;
use Tipme::Printable qw(one_line shorten);
use Tipme::Verdict qw(duration_text event_words);

my $WIDTH     = 80;
my $MAX_WIDTH = 98;    # of lines that cannot be wrapped
my $MAX_ROWS  = 8;

my %STAGE = (interrupt => 'its interrupt came', input => 'it entered', read => 'the X server\'s input thread read it', server => 'the X server ran', device => 'the X server began to work on it',
	deliver => 'the X server sent it to the client', client => 'the client ran', request => 'the X server began the first request of the client',
	feedback => 'the screen had changed', free => 'the client could take its next event');

# page(DIAGNOSIS): the text
sub page {
	my ($d) = @_;
	my @part = (_wrap($d->{verdict}{sentence}));
	my $v = $d->{verdict};
	push @part, _wrap($_) for @{ $v->{circumstances} // [] };
	push @part, join '', map { _wrap($_) } $v->{door} ? "Ask: $v->{door}." : (), $v->{next} ? "Next: $v->{next}" : ();
	if ($d->{interval}) { push @part, _sum($d), _threads($d), _stages($d), _places($d), _evidence($d) }
	push @part, _footer($d);
	return join "\n", @part;
}

sub _wrap {
	my ($text) = @_;
	local $Text::Wrap::columns = $WIDTH;
	local $Text::Wrap::huge = 'overflow';
	return Text::Wrap::wrap('', '', one_line($text)) . "\n";
}

sub _ms { return sprintf '%.3f', $_[0] / 1e6 }

sub _share { my ($ns, $all) = @_; return $all ? sprintf '%.1f %%', 100 * $ns / $all : '-' }

# What the interval is made of: these lines add up to it exactly.
sub _sum {
	my ($d) = @_;
	my ($all, $t) = ($d->{interval}{duration_ns}, $d->{totals});
	my @kinds = sort { $t->{kinds}{$b} <=> $t->{kinds}{$a} || $a cmp $b } keys %{ $t->{kinds} };
	my @rows = ([ 'ms', 'share', $d->{interval}{certainty} eq 'open' ? 'where the time went, up to ' . (_until($d))[0] : 'where the time went' ]);
	for my $k (@kinds) { push @rows, [ _ms($t->{kinds}{$k}), _share($t->{kinds}{$k}, $all), Tipme::Kinds::words($k, 'phrase'), _who($t, $k) ] }
	my $line = join '  ', map { my $ns = $t->{states}{$_} // 0; "$_ " . _ms($ns) . ' ms' } qw(running runnable blocked), $t->{states}{unknown} ? 'unknown' : ();
	return table([ map { [ @$_[ 0 .. 1 ], shorten(join('  ', grep { defined && length } @$_[ 2 .. 3 ]), 76) ] } @rows ], 'rrl') . "along the path: $line\n";
}

sub _who {
	my ($t, $kind) = @_;
	my (%ns, %n, %pid);
	for (grep { $_->{kind} eq $kind && defined $_->{comm} } @{ $t->{blamed} }) { my $c = one_line($_->{comm}); $ns{$c} += $_->{ns}; $n{$c}++; $pid{$c} //= $_->{pid} }
	my @c = sort { $ns{$b} <=> $ns{$a} || $a cmp $b } keys %ns;
	my @text = map { $n{$_} > 1 ? "$_ ($n{$_} processes)" : defined $pid{$_} ? "$_ ($pid{$_})" : $_ } @c;
	splice @text, 2, @text, '...' if @text > 2;
	return '- ' . join ', ', @text if @text;
	return '';
}

# What the threads of the path did meanwhile; each line adds up to the interval.
sub _threads {
	my ($d) = @_;
	my @t = sort { $b->{running_ns} + $b->{runnable_ns} <=> $a->{running_ns} + $a->{runnable_ns} || $a->{tid} <=> $b->{tid} } @{ $d->{totals}{threads} };
	my $more = @t > $MAX_ROWS ? @t - $MAX_ROWS : 0;
	splice @t, $MAX_ROWS if $more;
	my @rows = ([ 'running', 'runnable', 'blocked ms', 'interrupts', 'thread' ]);
	for (@t) {
		my $absent = $_->{absent_ns} ? ', there for ' . _ms($d->{interval}{duration_ns} - $_->{absent_ns}) . ' ms' : '';
		push @rows, [ _ms($_->{running_ns}), _ms($_->{runnable_ns}), _ms($_->{blocked_ns}), _ms($_->{irq_ns} + $_->{softirq_ns}), one_line($_->{comm}) . " ($_->{tid})$absent" ];
	}
	return table(\@rows, 'rrrrl') . ($more ? "and $more more threads on the path\n" : '');
}

sub _stages {
	my ($d) = @_;
	return () if !$d->{event};
	my $zero = $d->{interval}{start_ns};
	my @rows = map { [ '+' . _ms($_->{ts_ns} - $zero), 'ms', $STAGE{ $_->{name} } . ($_->{certainty} eq 'exact' ? '' : ' (inferred)') ] } @{ $d->{event}{stages} };
	push @rows, [ '+' . _ms($d->{interval}{end_ns} - $zero), 'ms', join ': ', (_until($d))[ 1, 2 ] ] if $d->{interval}{certainty} eq 'open';
	return "from finger to screen (event $d->{event}{n}, " . event_words($d->{event}{kind}) . ")\n" . table(\@rows, 'rll');
}

# Where an open interval ends: the end, what happens there, and what that means for the answer.
sub _until {
	my ($d) = @_;
	return ('the client\'s end', 'the client closed its connection', 'no answer') if $d->{interval}{gone};
	my $trigger = ($d->{trigger}{kind} // '') eq 'hotkey' ? 'the hot-key' : 'the trigger';
	return ($trigger, $trigger, 'no answer yet');
}

# A latency: its stages, and where its CPU was meanwhile.
sub _places {
	my ($d) = @_;
	my $l = $d->{latency} or return ();
	my $stages = defined $l->{irq_ns} ? 'interrupt ' . _ms($l->{irq_ns}) . ' ms, deferred work ' . _ms($l->{deferred_ns}) . ' ms, thread ' . _ms($l->{thread_ns}) . ' ms' : 'thread ' . _ms($l->{thread_ns}) . ' ms';
	my @p = @{ $l->{places} };
	my $more = @p > $MAX_ROWS ? @p - $MAX_ROWS : 0;
	splice @p, $MAX_ROWS if $more;
	my $table = join '', map { shorten($_, $MAX_WIDTH) . "\n" } split /\n/, table([ map { [ $_->{samples}, _share($_->{samples}, $l->{samples}), one_line($_->{where}) ] } @p ], 'rrl');
	return "stages of the latency: $stages\nwhere CPU $l->{cpu} was until then: " . ($l->{samples} ? "$l->{samples} samples\n$table" : "no samples\n") . ($more ? "and $more more places\n" : '');
}

sub _evidence {
	my ($d) = @_;
	my @rows = map { [ one_line($_->{file}), 'record', $_->{record}, 'at ' . sprintf('%.6f', $_->{ts_ns} / 1e9), one_line($_->{what}) ] } @{ $d->{evidence} };
	my $text = table(\@rows, 'llrll');
	return "evidence\n" . join '', map { shorten($_, $MAX_WIDTH) . "\n" } split /\n/, $text;
}

sub _footer {
	my ($d) = @_;
	my @line;
	push @line, 'sampled each 20 ms: how long threads ran and waited is exact, when is known to 20 ms, who woke them is not known' if $d->{sampled};
	push @line, _confidence($d->{verdict}) if $d->{interval};
	push @line, _lost($d->{lost});
	push @line, "$d->{unknown_records} records of kinds that this program does not know were skipped" if $d->{unknown_records};
	push @line, map { "damage: $_" } @{ $d->{damage} };
	push @line, "$d->{left_out} kernel records before the interval's end were left out: more than fit into memory" if $d->{left_out};
	push @line, sprintf 'the recorder itself: %s records in the interval, %s', with_commas($d->{overhead}{records}),
		defined $d->{overhead}{share} ? sprintf('about %.3f %% of it', 100 * $d->{overhead}{share}) : 'their cost was not measured here' if $d->{overhead};
	return join '', map { one_line($_) . "\n" } @line;
}

sub _confidence {
	my ($v) = @_;
	my $text = sprintf 'confidence %.0f %%', 100 * $v->{confidence};
	return "$text: the share of the interval that rests on exact records" if $v->{confidence} >= $v->{exact};
	return $text . ($v->{second} ? ': another part is nearly as large' : ': what is not exact may belong to another') . sprintf '; %.0f %% rests on exact records', 100 * $v->{exact};
}

sub _lost {
	my ($lost) = @_;
	my ($n, @causes) = (0);
	for my $source (sort keys %$lost) { for (sort keys %{ $lost->{$source} }) { my $c = $lost->{$source}{$_}; $n += $c; push @causes, "$source $_ $c" if $c } }
	return "$n records lost" . (@causes ? ' (' . join(', ', @causes) . ')' : '');
}

1;
