# SPDX-License-Identifier: GPL-2.0-only
# Two recorders at once: ours (ksrc-dump) and perf, each into a file of its own, on the same clock.
package Tipme::Agree;
use strict;
use warnings;
use Carp     qw(croak);
use Exporter qw(import);
use IO::Handle;
use POSIX       qw(_exit);
use Time::HiRes qw(sleep);

our @EXPORT_OK =
	qw(cannot lost_by_perf monotonic start_ours stop_ours start_perf stop_perf read_perf read_ours);

sub dump_program { return ($ENV{TIPME_BUILDDIR} // '.') . '/helper/test/ksrc-dump' }

# Why nothing can be compared here; undef: it can.
sub cannot {
	return 'recording a kernel takes root'     if $>;
	return 'no perf here (Debian: linux-perf)' if system('perf --version >/dev/null 2>&1');
	return -x dump_program() ? undef : 'no ' . dump_program() . ': built without the BPF source';
}

sub monotonic { return Time::HiRes::clock_gettime(Time::HiRes::CLOCK_MONOTONIC()) * 1e9 }

# start_ours(DIR, options ...): it records into DIR/ours until stop_ours(); returned when it does.
sub start_ours {
	my ($dir, @options) = @_;
	unlink "$dir/ready";
	pipe my $r, my $w or croak "pipe: $!";
	my $pid = fork // croak "fork: $!";
	if (!$pid) {
		close $w;
		open STDIN,  '<&', $r;
		open STDOUT, '>',  "$dir/ours";
		open STDERR, '>',  "$dir/ready";
		exec dump_program(), '-b', 128 << 20, @options or _exit(127);
	}
	close $r;
	for (1 .. 600) { last if -s "$dir/ready"; sleep 0.1 }
	return { pid => $pid, go => $w, file => "$dir/ours" };
}

sub stop_ours {
	my ($o) = @_;
	print { $o->{go} } 'x';
	close $o->{go};
	waitpid $o->{pid}, 0;
	return;
}

# start_perf(DIR, NAME, arguments of perf record ...); returned when it records: only then does it
# run what it was given to run. That ends with it.
sub start_perf {
	my ($dir, $name, @what) = @_;
	my @realtime = system('chrt -f 1 true 2>/dev/null') ? () : ('-r', 1);
	unlink "$dir/$name.go";
	my $pid = fork // croak "fork: $!";
	if (!$pid) {
		open STDERR, '>', "$dir/$name.err";
		# On a busy machine perf comes too late to what it has to write down, unless it goes first.
		exec qw(perf record -q -a -k CLOCK_MONOTONIC), @realtime, @what, '-o', "$dir/$name.data",
			'--', 'sh', '-c', "echo > '$dir/$name.go'; exec sleep 600"
			or _exit(127);
	}
	for (1 .. 600) { last if -s "$dir/$name.go" || waitpid($pid, 1) == $pid; sleep 0.05 }
	return $pid;
}

sub stop_perf { my ($pid) = @_; kill INT => $pid; waitpid $pid, 0; return }

# How often perf says that it could not write down what it saw, since it did not get a CPU in time:
# such a recording is no witness.
sub lost_by_perf {
	my ($dir, $name) = @_;
	my ($n) =
		qx{perf report --stats -i '$dir/$name.data' 2>/dev/null} =~ /^\s*LOST events:\s+(\d+)/m;
	return $n // 0;
}

# By event: { tid, cpu, ns, event, text } in order of time.
sub read_perf {
	my ($dir, $name) = @_;
	my %e;
	open my $h, '-|', "perf script -i $dir/$name.data --ns -F tid,cpu,time,event,trace 2>/dev/null"
		or croak "perf script: $!";
	while (<$h>) {
		my ($tid, $cpu, $s, $ns, $event, $text) =
			/^\s*(\d+)\s+\[(\d+)\]\s+(\d+)\.(\d+):\s+(?:\w+:)?([\w-]+):\s*(.*)/
			or next;
		push @{ $e{$event} },
			{
			tid  => $tid, cpu => $cpu + 0, ns => $s * 1e9 + $ns, event => $event,
			text => " $text"
			};
	}
	return \%e;
}

# By record type: the fields of each. The key `missed` counts programs that did not run.
sub read_ours {
	my ($file, @types) = @_;
	my %wanted = map { $_ => 1 } @types;
	my %e      = (missed => 0);
	open my $h, '<', $file or croak "$file: $!";
	while (<$h>) {
		$e{missed} = $1 if /^stats .*\bmissed=(\d+)/;
		my ($cpu, $type, $fields) = /^cpu=(\d+) (\w+) (.*)/ or next;
		push @{ $e{$type} }, { cpu => $cpu, $fields =~ /(\w+)=(\S+)/g } if $wanted{$type};
	}
	return \%e;
}

1;
