# SPDX-License-Identifier: GPL-2.0-only
# A Perfetto trace of one problem: the records of its seconds, the processes by name, and a track of
# the verdict: the interval, the stages, who was waited for when.
package Tipme::Export::Problem;

use strict;
use warnings;
use Encode ();
use Tipme::Export::Perfetto;
use Tipme::Export::Stretches;
use Tipme::Kinds;
use Tipme::Printable qw(one_line);

# Numbers of fields, as in Perfetto's trace_packet.proto, process_tree.proto, clock_snapshot.proto.
use constant {
	PACKET     => 1, TREE => 2, CLOCKS => 6, TIMESTAMP => 8, SEQUENCE => 10, EVENT => 11,
	DESCRIPTOR => 60
};
use constant { SLICE_BEGIN => 1,    SLICE_END => 2,    INSTANT   => 3, OUR_SEQUENCE => 2 };
use constant { VERDICT     => 7471, PATH      => 7472, MONOTONIC => 3, BOOTTIME     => 6 };
my $AROUND_NS  = 100_000_000;                     # ns before and behind the interval
my @SCHEDULING = qw(sched_switch sched_waking);
my $LONG       = 1 << 20;    # bytes of records: of tens of thousands, who woke whom is left out

# trace(DIAGNOSIS, DATA): its bytes
sub trace {
	my ($class, $diagnosis, $d) = @_;
	my $ep   = $diagnosis->episode;
	my $out  = '';
	my $self = bless { d => $d, threads => $diagnosis->threads, out => \$out }, $class;
	my $i    = $d->{interval};
	my ($from, $to) =
		$i ? ($i->{start_ns} - $AROUND_NS, $i->{end_ns} + $AROUND_NS) : (undef, undef);
	my $t = $ep->trigger_ns;
	$self->_packet(
		_bytes(
			CLOCKS, join '', map { _bytes(1, _number(1, $_) . _number(2, $t)) } MONOTONIC, BOOTTIME
		)
	);
	my $stretches = $i ? Tipme::Export::Stretches->trace($diagnosis, $d, $from, $to) : undef;
	my $records   = $self->_records($ep, $from, $to, defined $stretches ? @SCHEDULING : ());
	$records = $self->_in_perl($ep, $from, $to, @SCHEDULING[ 1 .. $#SCHEDULING ])
		if !defined $stretches && length $records > $LONG;
	$out .= $records . ($stretches // '');
	$self->_tree($i ? $i->{end_ns} : $t, $self->{threads}->tids);
	$self->_verdict if $i;
	return $out;
}

# By the program in C, where there is one; without the records of these kinds: none, or scheduling
sub _records {
	my ($self, $ep, $from, $to, @without) = @_;
	open my $file, '+>', undef or die "$!\n";
	if (Tipme::Export::Perfetto->whole($ep, $file, $from // 0, $to, @without ? 1 : 0)) {
		seek $file, 0, 0;
		binmode $file;
		local $/ = undef;
		return <$file> // '';
	}
	return $self->_in_perl($ep, $from, $to, @without);
}

# Without the records of these kinds.
sub _in_perl {
	my ($self, $ep, $from, $to, @without) = @_;
	my %without = map { $_ => 1 } @without;
	my $out     = '';
	my $records = Tipme::Export::Perfetto->new(
		episode => $ep, threads => $self->{threads},
		out     => sub { $out .= $_[0] }
	);
	$records->begin;
	$ep->each(
		sub {
			my ($name, $f, $where) = @_;
			$records->record($name, $f, { %$where, ts => $f->{ts_ns} }) if !$without{$name};
		},
		from_ns => $from,
		to_ns   => $to
	);
	$records->end;
	return $out;
}

sub _bytes  { return Tipme::Export::Perfetto::bytes_field(@_) }
sub _number { return Tipme::Export::Perfetto::number_field(@_) }

sub _packet {
	my ($self, $b) = @_;
	${ $self->{out} } .= _bytes(PACKET, $b . _number(SEQUENCE, OUR_SEQUENCE));
	return;
}

sub _text { my ($text) = @_; return Encode::encode('UTF-8', one_line($text // '?')) }

sub _tree {
	my ($self, $t, @tids) = @_;
	my ($tree, %process) = ('');
	for my $who (map { $self->{threads}->at($_, $t) } @tids) {
		$process{ $who->{pid} } //= $who->{ppid};
		$tree .= _bytes(
			2,
			_number(1, $who->{tid}) . _bytes(2, _text($who->{comm})) . _number(3, $who->{pid})
		);
	}
	for my $pid (sort { $a <=> $b } keys %process) {
		my $comm = $self->{threads}->at($pid, $t)->{comm};
		$tree = _bytes(1, _number(1, $pid) . _number(2, $process{$pid}) . _bytes(3, _text($comm)))
			. $tree;
	}
	$self->_packet(_bytes(TREE, $tree));
	return;
}

# The interval with its stages on one track; on the other who was on the path, and what for.
sub _verdict {
	my ($self) = @_;
	my ($d, $i) = ($self->{d}, $self->{d}{interval});
	$self->_packet(_bytes(DESCRIPTOR, _number(1, VERDICT) . _bytes(2, 'tipme verdict')));
	$self->_packet(
		_bytes(DESCRIPTOR, _number(1, PATH) . _bytes(2, 'tipme path') . _number(5, VERDICT)));
	$self->_event(VERDICT, $i->{start_ns}, SLICE_BEGIN, $d->{verdict}{sentence});
	$self->_event(VERDICT, $_->{ts_ns},    INSTANT,     $_->{name})
		for @{ ($d->{event} // {})->{stages} // [] };
	$self->_event(VERDICT, $i->{end_ns}, SLICE_END);
	for my $p (@{ $d->{path} }) {
		my $b    = $p->{blamed} // {};
		my $what = join ': ', grep { defined && length } $p->{comm},
			Tipme::Kinds::words($b->{kind} // 'unknown', 'phrase'),
			($b->{tid} // 0) != ($p->{tid} // 0) ? $b->{comm} : undef;
		$self->_event(PATH, $p->{from_ns}, SLICE_BEGIN, $what);
		$self->_event(PATH, $p->{to_ns}, SLICE_END);
	}
	return;
}

sub _event {
	my ($self, $track, $t, $type, $name) = @_;
	my $e = _number(9, $type) . _number(11, $track) . _bytes(22, 'tipme');
	$e .= _bytes(23, _text($name)) if defined $name;
	$self->_packet(_number(TIMESTAMP, $t) . _bytes(EVENT, $e));
	return;
}

1;
