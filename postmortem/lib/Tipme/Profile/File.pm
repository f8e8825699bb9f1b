# SPDX-License-Identifier: GPL-2.0-only
# A profile that `tipme profile record` wrote (docs/formats.md), read as a stranger's file: each
# field has its type and its range, and each sum is checked.
package Tipme::Profile::File;

use strict;
use warnings;
use Cpanel::JSON::XS ();
use List::Util       qw(sum0);
use Tipme::Profile::Counts;

# Unit: bytes. What a collector of all applications and kinds can write has some 40 MB.
my $MAX_BYTES = 64 << 20;
# Unit: ns. A year; nothing that is counted lasts longer.
my $MAX_NS = 366 * 86400 * 1e9;
my @STAGES = qw(read sent drawn finished response);
my %KIND   = map { $_ => 1 } qw(key button motion wheel touch);

# read(FILE): dies by a sentence about what is wrong with it. Fields: file, began, kernel, machine,
# cpus, source, exact, key_times, duration_ns, minutes_of_row, minutes_of_machine_row, lost_records,
# lost_answers, own_cpu_ns, thresholds_ms, apps, pairs (stages as Tipme::Profile::Counts), rows,
# machine_rows, worst.
sub read {
	my ($class, $file) = @_;
	my $self = bless { file => $file }, $class;
	my $o    = $self->_decode;
	$self->_fail('not a profile: name a file of `tipme profile record`')
		if ($o->{format} // '') ne 'tipme profile';
	$self->_fail(
		'version ' . _shown($o->{version}) . ' of the format: this program reads version 1')
		if _shown($o->{version}) ne '1';
	$self->{$_} = $self->_text($o, $_) for qw(recorder began kernel machine source);
	$self->{$_} = $self->_number($o, $_)
		for qw(duration_ns minutes_of_row minutes_of_machine_row cpus),
		qw(lost_records lost_answers own_cpu_ns);
	$self->{$_}            = $o->{$_} ? 1 : 0 for qw(exact key_times);
	$self->{thresholds_ms} = [ $self->_numbers($o, 'thresholds_ms') ];
	$self->{apps}          = [ map { $self->_app($_) } $self->_list($o, 'apps') ];
	$self->{pairs}         = [ map { $self->_pair($_) } $self->_list($o, 'pairs') ];
	$self->{rows}          = [ map { $self->_row($_) } $self->_list($o, 'rows') ];
	$self->{machine_rows}  = [ map { $self->_machine($_) } $self->_list($o, 'machine_rows') ];
	$self->{worst}         = [ map { $self->_worst($_) } $self->_list($o, 'worst') ];
	$self->_check_sums;
	return $self;
}

sub _decode {
	my ($self) = @_;
	my $file = $self->{file};
	$self->_fail('no such file: name a file of `tipme profile record`')     if !-e $file;
	$self->_fail('no ordinary file: name a file of `tipme profile record`') if !-f _;
	$self->_fail('larger than a profile can be')                            if -s _ > $MAX_BYTES;
	open my $h, '<:raw', $file or $self->_fail($!);
	local $/ = undef;
	my $o = eval { Cpanel::JSON::XS->new->utf8->max_depth(16)->decode(scalar <$h>) };
	$self->_fail('not whole, or no JSON: record again, or take a copy that is whole')
		if ref $o ne 'HASH';
	return $o;
}

sub _fail { my ($self, $why) = @_; die "$self->{file}: $why\n" }

sub _shown { my ($v) = @_; return defined $v && !ref $v ? substr $v, 0, 20 : 'none' }

sub _text {
	my ($self, $o, $name) = @_;
	my $v = $o->{$name};
	return defined $v && !ref $v ? substr $v, 0, 400 : '';
}

sub _number {
	my ($self, $o, $name) = @_;
	return $self->_is_number(ref $o eq 'HASH' ? $o->{$name} : undef, $name);
}

sub _is_number {
	my ($self, $v, $name) = @_;
	$self->_fail("$name is " . _shown($v) . ', not a whole number from 0')
		if !defined $v || ref $v || $v !~ /\A[0-9]{1,18}\z/ || $v > $MAX_NS;
	return $v + 0;
}

sub _list {
	my ($self, $o, $name) = @_;
	my $l = ref $o eq 'HASH' ? $o->{$name} : undef;
	$self->_fail("$name is no list") if ref $l ne 'ARRAY';
	return @$l;
}

sub _numbers {
	my ($self, $o, $name) = @_;
	return map { $self->_is_number($_, $name) } $self->_list($o, $name);
}

sub _app {
	my ($self, $o) = @_;
	return {
		app => $self->_text($o, 'app'),
		map { $_ => $self->_number($o, $_) } qw(waiting_ns thinking_ns background_ns)
	};
}

sub _kind {
	my ($self, $o) = @_;
	my $kind = $self->_text($o, 'kind');
	$self->_fail("kind '$kind': key, button, motion, wheel or touch is meant") if !$KIND{$kind};
	return $kind;
}

sub _pair {
	my ($self, $o) = @_;
	$self->_fail('a pair is no object') if ref $o ne 'HASH';
	my %pair = (app => $self->_text($o, 'app'), kind => $self->_kind($o));
	$pair{$_} = $self->_number($o, $_) for qw(events answered ahead without_effect gone unanswered);
	my %stage =
		map { ref $_ eq 'HASH' ? (_shown($_->{stage}) => $_) : () } $self->_list($o, 'stages');
	for my $name (@STAGES) {
		my $s = $stage{$name} // $self->_fail("$pair{app}: stage $name is missing");
		$pair{stage}{$name} = $self->_counts("$pair{app}: $pair{kind}: stage $name", $s);
	}
	return \%pair;
}

sub _counts {
	my ($self, $what, $s) = @_;
	my ($last, @buckets) = (-1);
	for my $b ($self->_list($s, 'buckets')) {
		$self->_fail("$what: a bucket is no triple of numbers") if ref $b ne 'ARRAY' || @$b != 3;
		my @b = map { $self->_is_number($_, $what) } @$b;
		$self->_fail("$what: its buckets are not in order") if $b[0] <= $last;
		$last = $b[0];
		push @buckets, \@b;
	}
	my %c = map { $_ => $self->_number($s, $_) } qw(count sum_ns max_ns);
	$self->_fail(
		"$what: $c{count} events, but another number in its buckets: the file is cut or changed")
		if $c{count} != sum0(map { $_->[1] } @buckets)
		|| $c{sum_ns} != sum0(map { $_->[2] } @buckets);
	return Tipme::Profile::Counts->new(%c, buckets => \@buckets);
}

sub _row {
	my ($self, $o) = @_;
	my @over = $self->_numbers($o, 'over');
	$self->_fail('a row has not as many counts as there are thresholds')
		if @over != @{ $self->{thresholds_ms} };
	return {
		app => $self->_text($o, 'app'), kind => $self->_kind($o), over => \@over,
		map { $_ => $self->_number($o, $_) } qw(minute events answered sum_ns max_ns)
	};
}

sub _machine {
	my ($self, $o) = @_;
	my %m = map { $_ => $self->_number($o, $_) } qw(minute events);
	for my $part (qw(cpu_ms interrupts softirqs)) {
		my $h = $o->{$part};
		$self->_fail("machine_rows: $part is no object") if ref $h ne 'HASH';
		$m{$part} = { map { substr($_, 0, 40) => $self->_number($h, $_) } sort keys %$h };
	}
	return \%m;
}

sub _worst {
	my ($self, $o) = @_;
	return {
		kind => $self->_kind($o), (map { $_ => $self->_text($o, $_) } qw(app episode verdict by)),
		map { $_ => $self->_number($o, $_) } qw(response_ns minute)
	};
}

# What is told twice must agree; and the stages of an answer add up to it.
sub _check_sums {
	my ($self) = @_;
	for my $p (@{ $self->{pairs} }) {
		my $s = $p->{stage};
		$self->_fail(
			"$p->{app}: $p->{kind}: its stages do not add up to its responses: the file was changed"
			)
			if $s->{response}->sum_ns != sum0(map { $s->{$_}->sum_ns } @STAGES[ 0 .. 3 ])
			|| grep { $s->{$_}->count != $p->{answered} } @STAGES;
		$self->_fail(
			"$p->{app}: $p->{kind}: its outcomes do not add up to its events: the file was changed")
			if $p->{events} != sum0(@$p{qw(answered without_effect gone unanswered)});
	}
	my $told = sum0(map { $_->{events} } @{ $self->{rows} });
	$self->_fail("its rows have $told events, its pairs another number: the file was changed")
		if $told != sum0(map { $_->{events} } @{ $self->{pairs} });
	return;
}

# counts(STAGE, KIND, APP): the distribution of a stage, of all kinds and applications that are
# meant; undef: all of them.
sub counts {
	my ($self, $stage, $kind, $app) = @_;
	return Tipme::Profile::Counts->merged(map { $_->{stage}{$stage} } $self->pairs_of($kind, $app));
}

sub pairs_of {
	my ($self, $kind, $app) = @_;
	return
		grep { (!defined $kind || $_->{kind} eq $kind) && (!defined $app || $_->{app} eq $app) }
		@{ $self->{pairs} };
}

1;
