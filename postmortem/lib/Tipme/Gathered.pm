# SPDX-License-Identifier: GPL-2.0-only
# A display server takes a CPU for a moment at each key. Where it takes it from the path of the
# verdict, those moments would tell a stranger when keys were pressed. Before a bundle is made they
# are told as one, of the same length in all, at a time at which the server slept.
package Tipme::Gathered;

use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use Cpanel::JSON::XS ();
use File::Basename   qw(basename);
use File::Copy       qw(copy);
use File::Temp       ();
use List::Util       qw(max min sum0);
use Tipme::Episode;
use Tipme::KernelEvents;
use Tipme::RecordBytes qw(packed section file);

my $MOMENT_NS = 5_000_000;    # ns; whoever has the CPU for longer does more than to send a key
my $SIZE      = 32;           # bytes of a record of the kernel's side (abi/records.def)
my $APART_NS  = 2_000_000;    # ns between what is told and what the server did at that time
my @SUMS      = qw(irq_ns softirq_ns);
my $LARGEST   = 4_294_967_295;           # in a record: that or more (abi/records.def)

# of(DIAGNOSIS, DATA): { diagnosis, data, groups: how many moments stand for all, dir } of a copy of
# the episode in which they are told together; nothing where there are none, where there is no such
# time, or where verdict or sums would be others. `dir` goes with the last reference to it.
sub of {
	my ($class, $diagnosis, $d) = @_;
	my $server = (($d->{event} // {})->{server} // {})->{pid} // return;
	my $states = $diagnosis->judged_on                        // return;
	my @groups = _groups($d->{path}, $server, $states) or return;
	for my $g (@groups) {
		$g->{at} = _free($g, $states) // return;
		push @{ $g->{drop} }, _wakings($g, $states);
	}
	my $ep  = $diagnosis->episode;
	my $dir = File::Temp->newdir('tipme-XXXXXX', TMPDIR => 1);
	my $to  = "$dir/" . basename($ep->dir);
	_write($ep, $to, @groups);
	my $new = Tipme::Diagnosis->new(Tipme::Episode->open($to), baseline => $diagnosis->{baseline});
	my $run = $new->run;
	return if _sums($run) ne _sums($d);
	# What the server did beside is as it was.
	$run->{totals}{threads} = $d->{totals}{threads};
	return { diagnosis => $new, data => $run, groups => scalar @groups, dir => $dir };
}

# moments(PATH, SERVER): stretches of it in which that process has a CPU for a moment
sub moments {
	my ($path, $server) = @_;
	return grep { _is_moment($_, $server) } @$path;
}

sub _is_moment {
	my ($p, $server) = @_;
	return
		   $p->{state} eq 'runnable'
		&& ($p->{blamed}{pid} // 0) == $server
		&& ($p->{pid} // 0) != $server
		&& $p->{to_ns} - $p->{from_ns} < $MOMENT_NS;
}

# Moments of one server thread, between runs of one thread on one CPU.
sub _groups {
	my ($path, $server, $states) = @_;
	my ($last, @groups) = (0);
	for my $k (1 .. $#$path - 1) {
		my ($before, $now, $then) = @$path[ $k - 1 .. $k + 1 ];
		next if $now->{mixed} || !_is_moment($now, $server);
		next if grep { $_->{state} ne 'running' || $_->{tid} != $now->{tid} } $before, $then;
		my $m = _moment($now, $states) or next;
		my $g = $groups[-1];
		if (!$g || $last != $k - 2 || $g->{tid} != $now->{tid} || $g->{key} ne $m->{key}) {
			push @groups, $g = { %$m, tid => $now->{tid}, runs => [$before], drop => [] };
		}
		push @{ $g->{runs} },    $then;
		push @{ $g->{moments} }, [ @$now{qw(from_ns to_ns)} ];
		push @{ $g->{drop} },    @{ $m->{of} };
		$last = $k;
	}
	return @groups;
}

# { cpu, server: its thread, key: both, of: its two switches }, if the CPU went there and back
sub _moment {
	my ($p, $states) = @_;
	my $ev = $states->events;
	my $i  = $states->before($p->{tid}, $p->{from_ns}) or return;
	return if !defined $i->{cpu};
	my $list = $ev->of_cpu($i->{cpu});
	my $k    = $ev->last_before($list, $p->{from_ns}) + 1;
	return if 4 * ($k + 2) > length $$list;
	my @of = map { vec $$list, $_, 32 } $k, $k + 1;
	my ($t, $who, $next) =
		map {
		my $what = $_;
		[ map { $ev->$what($_) } @of ]
		} qw(ts tid next_tid);
	return if $t->[0] != $p->{from_ns} || $t->[1] != $p->{to_ns};
	return if $who->[0] != $p->{tid} || $next->[1] != $p->{tid} || $next->[0] != $who->[1];
	return {
		cpu => $i->{cpu}, server => $next->[0], key => "$i->{cpu} $next->[0]",
		of  => [ map {"$who->[$_] $t->[$_]"} 0, 1 ]
	};
}

# The middle of the longest time of a run in which the server slept; undef: there is none so long.
sub _free {
	my ($g, $states) = @_;
	my $all = sum0 map { $_->[1] - $_->[0] } @{ $g->{moments} };
	my ($best, $at) = ($all);
	for my $i (grep { $_->{kind} eq 'blocked' } @{ $states->intervals($g->{server}) }) {
		for my $run (@{ $g->{runs} }) {
			my $from = max($i->{from}, $run->{from_ns}) + $APART_NS;
			my $to   = min($i->{to}, $run->{to_ns}) - $APART_NS;
			next if $to - $from <= $best;
			($best, $at) = ($to - $from, int(($from + $to - $all) / 2));
		}
	}
	return $at;
}

# Nobody was woken for what is told at another time.
sub _wakings {
	my ($g, $states) = @_;
	my $ev = $states->events;
	my @wakings;
	for my $t (map { $_->[0] } @{ $g->{moments} }) {
		my $i = $states->at($g->{server}, $t) or next;
		my $b = $states->before($g->{server}, $i->{from});
		push @wakings, map { $ev->tid($_) . ' ' . $ev->ts($_) }
			grep {defined} $i->{wake}, $b && $b->{kind} ne 'blocked' ? $b->{wake} : undef;
	}
	return @wakings;
}

# What must be the same, for all that the path has fewer stretches.
sub _sums {
	my ($d) = @_;
	my $v = $d->{verdict};
	return Cpanel::JSON::XS->new->canonical->encode(
		[
			{ map { $_ => $v->{$_} } qw(kind sentence share_ns confidence) },
			{ map { $_ => ($d->{interval} // {})->{$_} } qw(start_ns end_ns certainty usual_ns) },
			$d->{event}{n},
			@{ $d->{totals} }{qw(kinds states)},
			[ map { [ @$_{qw(kind pid ns)} ] } @{ $d->{totals}{blamed} } ]
		]
	);
}

# A copy of the episode, with other records of the kernel.
sub _write {
	my ($ep, $to, @groups) = @_;
	mkdir $to, 0700 or die "$to: $!\n";
	my %record = map { $_->{name} => $_ } grep { $_->{source} =~ /\Akernel_/ } $ep->files;
	opendir my $all, $ep->dir or die $ep->dir . ": $!\n";
	for my $name (grep { -f $ep->dir . "/$_" } readdir $all) {
		if (!$record{$name}) {
			copy($ep->dir . "/$name", "$to/$name") or die "$to/$name: $!\n";
			next;
		}
		open my $out, '>:raw', "$to/$name" or die "$to/$name: $!\n";
		print {$out} _file($ep, $record{$name}, @groups);
		close $out or die "$to/$name: $!\n";
	}
	return;
}

# A file of records without what is dropped, and with what is told instead.
sub _file {
	my ($ep, $file, @groups) = @_;
	my ($code, $body) = ($ep->record, '');
	my %drop     = map  { $_ => 1 } map { @{ $_->{drop} } } @groups;
	my @sections = grep { $_->{file} eq $file->{name} } $ep->sections;
	my @bytes    = map  { _without($ep, $_, \%drop, @groups) } @sections;
	for my $g (grep { $_->{leaves} && $_->{comes} } @groups) {
		my ($k) = grep { $sections[$_]{cpu} == $g->{cpu} && $sections[$_]{first_ns} <= $g->{at} }
			reverse 0 .. $#sections;
		_insert(\$bytes[$k], $_) for _told($code, $g);
	}
	for my $k (grep { length $bytes[$_] } 0 .. $#sections) {
		my ($first, $last) = map { unpack 'Q<', substr $bytes[$k], $_, 8 } 0, -$SIZE;
		my $n = length($bytes[$k]) / $SIZE;
		$body .= section($code, $sections[$k], $bytes[$k], $first, $last, $n);
	}
	return file($file->{header}, $body);
}

# The records of a section without those that are dropped.
sub _without {
	my ($ep, $s, $drop, @groups) = @_;
	my $bytes = $ep->section_bytes($s);
	die "records of several lengths\n"
		if length($bytes) % $SIZE || join('', unpack '(x9ax22)*', $bytes) =~ /[^\x04]/;
	my ($from, $to) = (
		min(map { $_->{runs}[0]{from_ns} } @groups) - $MOMENT_NS,
		max(map { $_->{runs}[-1]{to_ns} } @groups)
	);
	return $bytes if $s->{last_ns} < $from || $s->{first_ns} > $to;
	my ($k, @gone) = (-1);
	for my $ts (unpack '(Q<x24)*', $bytes) {
		$k++;
		next if $ts < $from || $ts > $to;
		my $tid = unpack 'V', substr $bytes, $k * $SIZE + 12, 4;
		push @gone, $k
			if $drop->{"$tid $ts"}
			&& _dropped($ep->record, substr($bytes, $k * $SIZE, $SIZE), $s->{cpu}, @groups);
	}
	substr $bytes, $_ * $SIZE, $SIZE, '' for reverse @gone;
	return $bytes;
}

# Is a record to be dropped? A switch of a moment is added to its group.
sub _dropped {
	my ($code, $bytes, $cpu, @groups) = @_;
	my ($name, $f) = $code->decode(\$bytes, 0);
	return 1 if $name eq 'sched_waking';
	return 0 if $name ne 'sched_switch';
	my $ts = $f->{ts_ns};
	for my $g (grep { $_->{cpu} == $cpu } @groups) {
		my ($m) = grep { $ts == $_->[0] || $ts == $_->[1] } @{ $g->{moments} } or next;
		my $side = $ts == $m->[0] ? 'leaves' : 'comes';
		$g->{$side} //= { %$f, map { $_ => 0 } @SUMS };
		$g->{$side}{$_} = min($LARGEST, $g->{$side}{$_} + $f->{$_}) for @SUMS;
		return 1;
	}
	return 0;
}

# Puts a record, [ ts, bytes ], where its time is.
sub _insert {
	my ($bytes, $r)  = @_;
	my ($lo,    $hi) = (0, length($$bytes) / $SIZE);
	while ($lo < $hi) {
		my $m = ($lo + $hi) >> 1;
		if   (unpack('Q<', substr $$bytes, $m * $SIZE, 8) <= $r->[0]) { $lo = $m + 1 }
		else                                                          { $hi = $m }
	}
	substr $$bytes, $lo * $SIZE, 0, $r->[1];
	return;
}

sub _told {
	my ($code, $g) = @_;
	my $all = sum0 map { $_->[1] - $_->[0] } @{ $g->{moments} };
	my $l   = $code->layout('sched_switch');
	return
		map { [ $_->[0], packed($l, { %{ $_->[1] }, ts_ns => $_->[0] }) ] }
		[ $g->{at}, $g->{leaves} ], [ $g->{at} + $all, $g->{comes} ];
}

1;
