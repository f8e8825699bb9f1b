# SPDX-License-Identifier: GPL-2.0-only
# Which records of an episode's files go into a bundle, and in which order.
package Tipme::Bundle::Records;

use strict;
use warnings;
use Tipme::Cut;
use Tipme::Progress;
use Tipme::Record::Layout;
use Tipme::RecordBytes qw(packed section file);

# What is never told, as whoever is asked reads it.
my %LEFT = (
	exec_args    => 'command lines', exec_environment => 'environments',
	input_device => 'names of input devices'
);

# new(ep => EPISODE, d => DATA of its diagnosis, cut => Cut, named => { pid => 1 }, dropped => where
# it is counted what was left out, redacted => Redacted)
sub new {
	my ($class, %o) = @_;
	return bless { %o, passed => {} }, $class;
}

# of(FILE): its sections anew, with the records of the seconds in question and without what must not
# be told. Files of what the daemon wrote come last: only then it is known who is spoken of.
sub of {
	my ($self, $file) = @_;
	my ($ep, $cut)    = @$self{qw(ep cut)};
	my $code = $ep->record;
	my ($body, %by) = ('');
	my @sections = grep { $_->{file} eq $file->{name} } $ep->sections;
	for my $k (0 .. $#sections) {
		my $s = $sections[$k];
		Tipme::Progress::show('choosing records', $k, scalar @sections);
		my $named = $s->{source} eq 'tipmed';
		next if !$named && $s->{first_ns} > $cut->ends;
		my $kept =
			$named
			? sub { return $cut->names(@_, $self->{named}) }
			: sub { return $cut->keeps(@_, $s->{cpu}) };
		my ($list, $buf) = $named ? $ep->section_records($s) : $self->_near($s);
		my $of = $by{ $s->{cpu} } //= { section => $s, kept => [], carried => {} };
		$self->_add_names($code, $of)
			if $s->{source} =~ /\A(?:kernel_|proc_)/ && !$self->{names_added}++;
		# Names of functions and libraries are kept if a stack is that has them, so they are looked
		# at last.
		for ($named ? _stacks_last($code, $list, $buf) : @$list) {
			my ($ts, $off, $len) = @$_;
			my ($bytes, $carry) =
				$self->_redacted($code, substr($$buf, $off, $len), $kept, $named, $of);
			next if !defined $bytes;
			if    (!length $bytes) { delete $of->{carried}{$carry} }
			elsif (defined $carry) { $of->{carried}{$carry} = $bytes }
			else                   { push @{ $of->{kept} }, [ unpack('Q<', $bytes), $bytes ] }
		}
	}
	for my $of (map { $by{$_} } sort { $a <=> $b } keys %by) {
		my @r = sort { $a->[0] <=> $b->[0] }
			map { [ unpack('Q<', $_), $_ ] } sort(values %{ $of->{carried} });
		@r = sort { $a->[0] <=> $b->[0] } @r, @{ $of->{kept} };
		$body .= section(
			$code, $of->{section}, join('', map { $_->[1] } @r), $r[0][0], $r[-1][0],
			scalar @r
		) if @r;
	}
	return file($file->{header}, $body);
}

# Most records lie outside of what is kept: these are told by their heads, and only counted. As
# section_records() of the episode, without them.
sub _near {
	my ($self, $s)      = @_;
	my ($cut,  $passed) = @$self{qw(cut passed)};
	return $self->{ep}->section_records($s) if $cut->detail eq 'whole';
	my $name = $self->{name_of} //= {
		map { $_ => $Tipme::Record::Layout::RECORD{$_}{name} }
			keys %Tipme::Record::Layout::RECORD
	};
	my ($buf, $size) = ($self->{ep}->section_bytes($s), 32);
	# Records of one length: columns of times and kinds are passed over faster than records.
	if (length($buf) % $size || join('', unpack '(x9ax22)*', $buf) =~ /[^\x04]/) {
		(my $list, $buf) = $self->{ep}->section_records($s);
		my @near;
		for my $r (@$list) {
			my ($type, $tid) = unpack 'x8Cx3V', substr $$buf, $r->[1], 16;
			my $is = $name->{$type};
			if   (defined $is && $cut->passes($is, $r->[0], $tid)) { $passed->{$is}++ }
			else                                                   { push @near, $r }
		}
		return (\@near, $buf);
	}
	my ($k, $types, @near, %n)     = (-1, join '', unpack '(x8ax23)*', $buf);
	my ($from, $to, $first, $last) = ($cut->from, $cut->to, $cut->reach);
	my %early = map { $_ => 1 } grep { Tipme::Cut->carried($name->{$_}) } keys %$name;
	for my $ts (unpack '(Q<x24)*', $buf) {
		$k++;
		my $type = vec $types, $k, 8;
		if (
			   ($ts < $from || $ts > $to)
			&& $name->{$type}
			&& (   $ts < $first ? !$early{$type} : $ts > $last
				|| $cut->passes($name->{$type}, $ts, unpack 'V', substr $buf, $k * $size + 12, 4))
			)
		{
			$n{$type}++;
		} else {
			push @near, [ $ts, $k * $size, $size ];
		}
	}
	$passed->{ $name->{$_} } += $n{$_} for keys %n;
	return ([ sort { $a->[0] <=> $b->[0] || $a->[1] <=> $b->[1] } @near ], \$buf);
}

# How the threads of the path were called when they had their part: where the name came from may be
# left out.
sub _add_names {
	my ($self, $code, $of) = @_;
	return if $self->{cut}->detail ne 'path';
	my ($l, %last) = ($code->layout('rename'));
	# Whoever is blamed is called as its process is; that is the name of its first thread.
	my %own    = map { $_->{tid} => 1 } grep { $_->{tid} } @{ $self->{d}{path} };
	my $blamed = sub {
		my ($p) = @_;
		return
			grep { $_->{tid} && !$own{ $_->{tid} } && $_->{tid} == ($_->{pid} // 0) } $p->{blamed}
			// (), @{ $p->{among} // [] };
	};
	for my $p (
		map {
			my $p = $_;
			map      { [ $p->{from_ns}, @$_{qw(tid comm)} ] }
				grep { !$_->{pid} || $self->{named}{ $_->{pid} } } $p,
				$blamed->($p)
		} @{ $self->{d}{path} }
		)
	{
		my ($ts, $tid, $comm) = @$p;
		next if !$tid || !defined $comm || $comm eq '?' || ($last{$tid} // '') eq $comm;
		$last{$tid} = $comm;
		my %f = (
			ts_ns => $ts,  type => $code->number_of('rename'), len8 => $l->{size} / 8, gen => 0,
			tid   => $tid, comm => $comm
		);
		push @{ $of->{kept} }, [ $ts, pack $l->{template}, map { $f{$_} } @{ $l->{names} } ];
	}
	return;
}

sub _stacks_last {
	my ($code, $list, $buf) = @_;
	my %late = map { $code->number_of($_->[0]) => $_->[1] } [ stack => 1 ], [ function => 1 ],
		[ user_stack => 1 ], [ module => 2 ];
	my @by = ([], [], []);
	push @{ $by[ $late{ unpack 'x8C', substr $$buf, $_->[1], 9 } // 0 ] }, $_ for @$list;
	return map {@$_} @by;
}

# The bytes of a record as they may be told, or undef: kinds that this program does not know, and
# texts that are on no list, stay here.
sub _redacted {
	my ($self, $code, $bytes, $kept, $named, $of) = @_;
	my ($name, $f) = $code->decode(\$bytes, 0);
	if (!defined $name) {
		$self->{dropped}{'records of kinds that this program does not know'}++;
		return;
	}
	if (!Tipme::Cut->knows($name)) {
		$self->{dropped}{ $LEFT{$name} // "records '$name'" }++;
		return;
	}
	my ($since, $ts) = ($f->{since_ns}, $f->{ts_ns});
	my $carry = $named ? undef : $self->{cut}->carries($name, $f);
	if (!defined $carry && !$kept->($name, $f)) {
		# Told at another time, for whom it matters only.
		my @copies = $named ? () : $self->{cut}->copies($name, $f);
		push @{ $of->{kept} },
			map { [ $_->{ts_ns}, packed($code->layout($name), { %$f, %$_ }) ] } @copies;
		$self->{dropped}{ Tipme::Cut::left_out($name) }++;
		return;
	}
	return ('', $carry) if $f->{gone};
	my $l       = $code->layout($name);
	my $changed = $self->{redacted}->change($name, $f, $l->{template} =~ /[Za]/);
	return        if !defined $changed;
	return $bytes if !$changed && $ts == $f->{ts_ns} && ($since // 0) == ($f->{since_ns} // 0);
	return (packed($l, $f), $carry);
}

# count(): what was passed over is counted with what was left out; once all files are made
sub count {
	my ($self) = @_;
	$self->{dropped}{ Tipme::Cut::left_out($_) } += $self->{passed}{$_}
		for keys %{ $self->{passed} };
	return;
}

1;
