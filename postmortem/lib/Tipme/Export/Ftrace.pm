# SPDX-License-Identifier: GPL-2.0-only
# Export as the text that ftrace prints of its events: scheduling and wake-ups, which is what ftrace
# has of all this.
package Tipme::Export::Ftrace;

use strict;
use warnings;
use Encode           ();
use Tipme::Printable qw(one_line);

my %LETTER = (
	runnable => 'R', sleeping => 'S', disk_sleep => 'D', stopped => 'T', traced    => 't',
	dead     => 'X', parked   => 'P', idle       => 'I', frozen  => 'D', lock_wait => 'D'
);

sub new { my ($class, %o) = @_; return bless { %o, on => {} }, $class }

sub begin {
	my ($self) = @_;
	$self->{out}->(
		"# tracer: nop\n#\n#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n#              | |         |   |||||     |         |\n"
	);
}

# comm(TID, TIME): a name without the characters that divide fields
sub comm {
	my ($self, $tid, $t) = @_;
	return 'swapper' if !$tid;
	return Encode::encode(
		'UTF-8',
		one_line($self->{threads}->at($tid, $t)->{comm}) =~ s/[\s=]/_/gr
	);
}

sub record {
	my ($self, $name, $f, $where) = @_;
	return 0 if $where->{source} !~ /^kernel/;
	my ($t, $cpu) = @$where{qw(ts cpu)};
	my $text;
	if ($name eq 'sched_switch') {
		my $state =
			$f->{prev_preempted}
			? 'R+'
			: $LETTER{ $self->{episode}->record->name_of('task_state', $f->{prev_state}) } // 'R';
		$text = sprintf
			'sched_switch: prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s ==> next_comm=%s next_pid=%d next_prio=%d',
			$self->comm($f->{tid}, $t), $f->{tid}, $f->{prev_prio}, $state,
			$self->comm($f->{next_tid}, $t), $f->{next_tid}, $f->{next_prio};
	} elsif ($name eq 'sched_waking') {
		$text = sprintf 'sched_waking: comm=%s pid=%d prio=%d target_cpu=%03d',
			$self->comm($f->{tid}, $t), $f->{tid}, $f->{prio}, $f->{wakee_cpu};
	} else {
		return 0;
	}
	my $who = $name eq 'sched_switch' ? $f->{tid} : $f->{waker_tid};
	$self->{out}->(
		sprintf "%16s-%-7d [%03d] d.... %d.%06d: %s\n", $self->comm($who, $t), $who, $cpu,
		int($t / 1e9), int($t % 1e9 / 1e3), $text
	);
	return 1;
}

sub end { }

1;
