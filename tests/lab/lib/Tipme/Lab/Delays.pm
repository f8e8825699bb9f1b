# SPDX-License-Identifier: GPL-2.0-only
# What the kernel itself counts of the delays of a task (delay accounting, asked for over netlink as
# `getdelays` does): a truth that is none of our records.
package Tipme::Lab::Delays;
use strict;
use warnings;
use Carp   qw(croak);
use Socket qw(SOCK_RAW);

my $SWITCH = '/proc/sys/kernel/task_delayacct';
# linux/netlink.h, linux/genetlink.h, linux/taskstats.h; all numbers there are of the machine's own
# order.
my ($AF_NETLINK, $NETLINK_GENERIC, $REQUEST,   $ERROR)       = (16, 16, 1, 2);
my ($CONTROLLER, $GET_FAMILY,      $FAMILY_ID, $FAMILY_NAME) = (16, 3,  1, 2);
my ($GET,        $ATTR_PID,        $STATS,     $OF_PID)      = (1,  1,  3, 4);
my $FREEPAGES_AT =
	320;    # freepages_delay_total of struct taskstats, at the same place since its version 5

# lacks(): why this kernel does not count; '' if it does
sub lacks { return -w $SWITCH ? '' : 'no delay accounting in this kernel' }

# new(): counting begins, for tasks that are started from now on; close() ends it
sub new {
	my ($class) = @_;
	my $self    = bless { was => _slurp($SWITCH) }, $class;
	_write($SWITCH, 1);
	socket $self->{socket}, $AF_NETLINK, SOCK_RAW, $NETLINK_GENERIC or croak "netlink: $!";
	my %family = _attributes($self->_ask($CONTROLLER, $GET_FAMILY, $FAMILY_NAME, "TASKSTATS\0"));
	$self->{family} = unpack 'S', $family{$FAMILY_ID} // croak 'netlink: no family TASKSTATS';
	return $self;
}

# freepages_ns(TID): how long the task has looked for pages to free, by now
sub freepages_ns {
	my ($self, $tid) = @_;
	my %all = _attributes($self->_ask($self->{family}, $GET, $ATTR_PID, pack 'L', $tid));
	my %of  = _attributes($all{$OF_PID} // croak "taskstats: nothing of $tid");
	return unpack "x$FREEPAGES_AT Q", $of{$STATS} // croak "taskstats: no numbers of $tid";
}

sub close { my ($self) = @_; _write($SWITCH, $self->{was} =~ /^(\d)/ ? $1 : 0); return }

# One question with one attribute; the answer's attributes as they came.
sub _ask {
	my ($self, $family, $command, $type, $value) = @_;
	my $body = pack('C C S', $command, 1, 0) . pack('S S', 4 + length $value, $type) . $value;
	$body .= "\0" x (-length($body) & 3);
	my $message =
		pack('L S S L L', 16 + length $body, $family, $REQUEST, ++$self->{seq}, 0) . $body;
	defined send $self->{socket}, $message, 0, pack 'S S L L', $AF_NETLINK, 0, 0, 0
		or croak "netlink: $!";
	defined recv $self->{socket}, my $answer, 65536, 0 or croak "netlink: $!";
	my ($len, $kind) = unpack 'L S', $answer;
	if ($kind == $ERROR) { local $! = -unpack 'x16 l', $answer; croak "netlink: $!" }
	return substr $answer, 20, $len - 20;
}

sub _attributes {
	my ($bytes) = @_;
	my %a;
	for (my $at = 0; $at + 4 <= length $bytes;) {
		my ($len, $type) = unpack "x$at S S", $bytes;
		last if $len < 4;
		$a{ $type & 0x3fff } = substr $bytes, $at + 4, $len - 4;
		$at += $len + 3 & ~3;
	}
	return %a;
}

sub _slurp { my ($path) = @_; open my $h, '<', $path or croak "$path: $!"; local $/; return <$h> }

sub _write {
	my ($path, $text) = @_;
	open my $h, '>', $path or croak "$path: $!";
	syswrite $h, $text or croak "$path: $!";
	return;
}

1;
