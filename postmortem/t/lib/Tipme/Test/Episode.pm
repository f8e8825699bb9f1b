# SPDX-License-Identifier: GPL-2.0-only
# Builds an episode folder from a short story of records, packed through the schema: real files for
# tests, no recorder needed.
package Tipme::Test::Episode;

use strict;
use warnings;
use Carp             qw(croak);
use Cpanel::JSON::XS ();
use FindBin          qw($Bin);
use Tipme::Record;
use Tipme::Record::Layout;
use Tipme::Test::Stacks qw(source_of);

# new(trigger_ns =>, end_ns =>, cpus =>, first_ns =>, schema => text, manifest => { ... }, id =>,
# section_records =>)
sub new {
	my ($class, %o) = @_;
	my $self = bless {
		cpus => 2,  first_ns => 0,  id => '20261120-150301-3f2a', section_records => 2048,
		rec  => {}, lost     => {}, %o
	}, $class;
	$self->{end_ns} //= $self->{trigger_ns};
	$self->{schema} //= schema_text();
	$self->{reader} = Tipme::Record->from_schema($self->{schema}, 'schema');
	return $self;
}

# Text of the schema of this tree.
sub schema_text {
	for my $f (
		map {"$_/abi/records.def"} grep {defined} $ENV{TIPME_SRCDIR}, "$Bin/../..",
		"$Bin/..",                                                    "$Bin/../../.."
		)
	{
		next if !-e $f;
		open my $h, '<:raw', $f or die "$f: $!\n";
		local $/;
		return scalar <$h>;
	}
	die "abi/records.def: not found: set TIPME_SRCDIR\n";
}

# bytes(NAME, FIELD => VALUE ...): one record; enum values by name or number
sub bytes {
	my ($self, $name, %f) = @_;
	my $r    = $self->{reader};
	my $l    = $r->layout($name);
	my $last = $l->{names}[-1];
	my $open = $l->{template} =~ /\*$/;
	my $text = $open ? $f{$last} // '' : '';
	my $len  = $l->{size} + ($open ? 8 * int((length($text) + 7) / 8) : 0);
	%f = (%f, type => $r->number_of($name), len8 => $len / 8, gen => 0);
	my @v;

	for my $n (@{ $l->{names} }) {
		my $v = $f{$n};
		$v = $r->value_of($l->{enum}{$n}, $v) if $l->{enum}{$n} && defined $v && $v !~ /^\d+$/;
		push @v, $v // ($l->{template} =~ /Z/ && ($n eq 'comm' || $open && $n eq $last) ? '' : 0);
	}
	delete @f{ @{ $l->{names} } };
	die "no such field in $name: @{[ sort keys %f ]}\n" if %f;
	(my $template = $l->{template}) =~ s/Z(\d+|\*)/a$1/g;
	my $b = pack $template, @v;
	return $b . "\0" x ($len - length $b);
}

# add(FILE, SOURCE, CPU, NAME, FIELD => VALUE ...): a record for a file
sub add {
	my ($self, $file, $source, $cpu, $name, %f) = @_;
	return $self->add_raw($file, $source, $cpu, $f{ts_ns} // 0, $self->bytes($name, %f));
}

sub add_raw {
	my ($self, $file, $source, $cpu, $ts, $bytes) = @_;
	push @{ $self->{rec}{$file}{$source}{$cpu} },
		[ $ts, $bytes, scalar @{ $self->{rec}{$file}{$source}{$cpu} // [] } ];
	return $self;
}

# kernel(CPU, TS, NAME, ...), daemon(TS, NAME, ...), x(TS, NAME, ...): where each kind of record
# belongs
sub kernel {
	my ($self, $cpu, $ts, $name, %f) = @_;
	return $self->add('kernel.rec', 'kernel_bpf', $cpu, $name, ts_ns => $ts, %f);
}

sub daemon {
	my ($self, $ts, $name, %f) = @_;
	return $self->add('threads.rec', 'tipmed', 0, $name, ts_ns => $ts, %f);
}

sub x {
	my ($self, $ts, $name, %f) = @_;
	my $pid = $self->{server_pid} // 100;
	return $self->_observe($ts, $name, $pid, %f) if $self->{observed};
	return $self->add("x-$pid.rec", 'x_hooks', 0, $name, ts_ns => $ts, tid => $pid, %f);
}

# switch(CPU, TS, PREV, NEXT, STATE): a context switch; STATE is that of the thread that leaves
sub switch {
	my ($self, $cpu, $ts, $prev, $next, $state, %f) = @_;
	return $self->kernel(
		$cpu, $ts, 'sched_switch', tid => $prev, next_tid => $next,
		prev_state => $state, prev_prio => 120, next_prio => 120, %f
	);
}

# wake(CPU, TS, WAKEE, WAKER): a waking by a task, unless a context says otherwise
sub wake {
	my ($self, $cpu, $ts, $wakee, $waker, %f) = @_;
	return $self->kernel(
		$cpu, $ts, 'sched_waking', tid => $wakee, waker_tid => $waker,
		context => 'task', prio => 120, wakee_cpu => $cpu, %f
	);
}

# thread(TID, COMM, FIELD => VALUE ...): a line of the picture, by default that of the trigger
sub thread {
	my ($self, $tid, $comm, %f) = @_;
	my $ts = delete $f{ts_ns} // $self->{trigger_ns};
	return $self->daemon(
		$ts, 'thread', tid => $tid, pid => $tid, ppid => 1,
		start_ns => 1000 + $tid, state => 'sleeping', prio => 120, comm => $comm, %f
	);
}

# stack(ID, TEXT): a kernel stack, of those of which Tipme::Test::Stacks knows where they are from
sub stack {
	my ($self, $id, $text) = @_;
	croak "a stack of which nobody knows where it is from: $text" if !defined source_of($text);
	return $self->daemon(
		$self->{trigger_ns}, 'stack', stack_id => $id,
		frames => 1 + ($text =~ tr/;//), text => $text
	);
}

# write(DIR): makes the episode's folder, returns DIR
# What an observer of a server without hooks makes of the same: whole milliseconds, and only what it
# can see.
sub _observe {
	my ($self, $ts, $name, $pid, %f) = @_;
	return $self if $f{is_master} || !grep { $name eq $_ } qw(x_device x_deliver x_damage);
	delete @f{qw(device major minor)};
	return $self->add(
		"x-$pid.rec", 'x_client', 0, $name, ts_ns => int($ts / 1e6) * 1_000_000,
		tid => $pid, %f
	);
}

sub write {
	my ($self, $dir) = @_;
	mkdir $dir or die "$dir: $!\n" if !-d $dir;
	my (@sources, %cover);
	for my $file (sort keys %{ $self->{rec} }) {
		my $body  = '';
		my @names = sort keys %{ $self->{rec}{$file} };
		for my $source (@names) {
			my @cover;
			for my $cpu (sort { $a <=> $b } keys %{ $self->{rec}{$file}{$source} }) {
				my @r = sort { $a->[0] <=> $b->[0] || $a->[2] <=> $b->[2] }
					@{ $self->{rec}{$file}{$source}{$cpu} };
				my $fill    = $source =~ /^kernel_/ ? $self->{fill}{$cpu} : undef;
				my $records = 0;
				while (
					my @part = $fill ? _merged(\@r, $fill, $self->{section_records}) : splice @r,
					0, $self->{section_records}
					)
				{
					my $b = join '', map { $_->[1] } @part;
					$body .= $self->bytes(
						'section', ts_ns => $part[0][0], source => $source, cpu => $cpu,
						first_ns => $part[0][0], last_ns => $part[-1][0], count => scalar @part,
						body_len => length $b
					) . $b;
					$records += @part;
				}
				push @cover,
					{
					cpu     => $cpu + 0,            first_ns => $self->{first_ns} + 0,
					last_ns => $self->{end_ns} + 0, records  => $records
					};
			}
			my %s = (
				source => $source, file => $file, coverage => \@cover,
				lost   => $self->{lost}{$source} // {}
			);
			if ($file =~ /^x-(\d+)/) {
				%s = (
					%s, server_pid => $1 + 0, server_tid => $1 + 0, server_name => 'Xorg',
					display => 7
				);
			}
			push @sources, \%s;
		}
		$self->_spew("$dir/$file", $self->_header($names[0], length $body) . $body);
	}
	$self->_spew("$dir/schema", $self->{schema});
	my %m = (
		format   => { major => 1, minor => 0 }, id => $self->{id}, time => '2026-11-20T15:03:01Z',
		boot_id  => 'b',                        kernel    => '6.1.0-56-amd64', machine => 'x86_64',
		cpus     => $self->{cpus},              page_size => 4096,             hz_note => undef,
		trigger  => { kind => 'hotkey', ns => $self->{trigger_ns}, text => '' },
		end_ns   => $self->{end_ns},
		recorder => { version => '0.1.0', pid => 7777, start_ns => 1, window_s => 40, post_s => 2 },
		sources  => \@sources, %{ $self->{manifest} // {} }
	);
	$self->_spew("$dir/manifest.json", Cpanel::JSON::XS->new->canonical->pretty->encode(\%m));
	return $dir;
}

# Millions of records are not kept: `fill` has, for a CPU, a function that gives one after the
# other, [ ts, bytes ], in order of time, and then undef.
sub _merged {
	my ($list, $fill, $n) = @_;
	my @part;
	while (@part < $n) {
		$fill->{next} //= $fill->{give}->();
		last if !@$list && !$fill->{next};
		push @part, !$fill->{next}
			|| @$list && $list->[0][0] <= $fill->{next}[0] ? shift @$list : delete $fill->{next};
	}
	return @part;
}

sub _header {
	my ($self, $source, $len) = @_;
	return pack $Tipme::Record::Layout::STRUCT{file_header}{template} =~ s/Z8/a8/r, 'TIPMEREC',
		0x01020304, 1, 0, 64,
		$self->{reader}->value_of('source', $source), $self->{end_ns}, $self->{trigger_ns}, 0x3f2a,
		$len, 0;
}

sub _spew {
	my ($self, $file, $text) = @_;
	open my $h, '>:raw', $file or die "$file: $!\n";
	print {$h} $text;
	close $h or die "$file: $!\n";
}

1;
