# SPDX-License-Identifier: GPL-2.0-only
# The tracing programs that one process has loaded, whoever else has some: what they have run.
package Tipme::Programs;
use strict;
use warnings;
use Exporter qw(import);
use JSON::PP ();

our @EXPORT_OK = qw(programs share);

# programs(PID): those that this process holds, or one that it has started: by id [ ns, runs, name ]
sub programs {
	my ($pid)  = @_;
	my %theirs = map { $_ => 1 } map { _held($_) } $pid, _children($pid);
	my $list   = JSON::PP->new->decode(scalar `bpftool -j prog show`);
	return map { ($_->{id} => [ $_->{run_time_ns} // 0, $_->{run_cnt} // 0, $_->{name} // '' ]) }
		grep { $theirs{ $_->{id} } } @$list;
}

# share(BEFORE, AFTER, SECONDS): how much of a CPU they took meanwhile, in %
sub share {
	my ($before, $after, $s) = @_;
	my $ns = 0;
	$ns += $after->{$_}[0] - ($before->{$_} // [0])->[0] for keys %$after;
	return $ns / $s / 1e7;
}

# Descriptors of programs, and of where they are attached, name the program.
sub _held {
	my ($pid) = @_;
	return map { _read($_) =~ /^prog_id:\s*(\d+)/m ? $1 : () } glob "/proc/$pid/fdinfo/*";
}

# Of a shell that stayed before the command.
sub _children {
	my ($pid) = @_;
	return map { split ' ', _read($_) } glob "/proc/$pid/task/*/children";
}

# A process and its descriptors may have gone.
sub _read {
	my ($file) = @_;
	open my $h, '<', $file or return '';
	local $/;
	return scalar(<$h>) // '';
}

1;
