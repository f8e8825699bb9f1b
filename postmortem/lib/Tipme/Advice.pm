# SPDX-License-Identifier: GPL-2.0-only
# After a verdict: at whose door to knock, and what to do next, as commands where there are such.
package Tipme::Advice;

use strict;
use warnings;
use Exporter      qw(import);
use Tipme::Called qw(called);
use Tipme::Kinds;
use Tipme::Printable qw(one_line);
use Tipme::Reason    qw(values_of);
use Tipme::Words     qw(N__ fill);

our @EXPORT_OK = qw(advise);

my %PINNED = (
	door => N__('whoever set up this machine: a thread may not run where there is room'),
	next => N__(
			  'See `taskset -p {tid}`, and what set it (systemd CPUAffinity=, cpuset, the program '
			. 'itself).'
	),
);
my $OR_KERNEL = N__('{door}, or of the kernel: the time went there');
my $OR_MODULE = N__('{door}, or of {module}: the time went there');
# A program that was started for a moment does what its starter told it: ask there first. Whose load
# takes the CPUs is asked first of whoever runs it.
my $OR_STARTER   = N__('{door}, or whoever wrote what {name} runs');
my $STARTER_ELSE = N__('whoever wrote what {name} runs, else {door}');
my $SEND = N__('Send them the episode: `tipme bundle {episode}` makes one redacted file of it.');

# advise(VERDICT, ID of the episode): { door, next }, each a text or undef
sub advise {
	my ($v,    $id) = @_;
	my ($kind, $b)  = ($v->{kind}, $v->{blamed} // {});
	my $none = { door => undef, next => undef };
	return $none if $kind eq 'unknown' && !$v->{head};
	if (my $c = $v->{idle_cpus}) {
		return { map { $_ => fill($PINNED{$_}, tid => $c->{tid}) } qw(door next) } if $c->{pinned};
	}
	my $detail = $b->{detail} // $v->{why};
	my ($door, $next) = map { Tipme::Kinds::text($kind, $_, $detail) } qw(ask next);
	# A client that has a name and no process is on another machine.
	($door, $next) = map { Tipme::Kinds::remote($_) } qw(ask next)
		if Tipme::Kinds::has($kind, 'client') && defined $b->{comm} && !defined $b->{pid};
	my %value = _values($b, $detail, $id // 'EPISODE');
	($door, $next) = map { defined ? fill($_, %value) : undef } $door, $next;
	my $module =
		Tipme::Kinds::has($kind, 'compute') && $v->{function} ? $v->{function}{module} : undef;
	$door = fill(
		$module eq 'kernel' ? $OR_KERNEL : $OR_MODULE, door => $door,
		module => one_line($module)
	) if defined $module && $module ne ($b->{comm} // '');
	my $starter = $b->{starter};
	$door = fill(
		Tipme::Kinds::has($kind, 'cpu') ? $OR_STARTER : $STARTER_ELSE, door => $door,
		name => one_line($starter->{comm}) . " (pid $starter->{pid})"
	) if $starter && defined $door;
	return { door => $door, next => $next };
}

# What the texts of a kind may name.
sub _values {
	my ($b, $detail, $id) = @_;
	my $args = defined $detail ? values_of($detail) : {};
	my @pids = grep {defined} @{ $b->{pids} // [] };
	my $disk = $b->{disk} // '';
	return (
		(map { $_ => one_line($args->{$_}) } keys %$args),
		name => defined $b->{comm}
		? called($b->{comm}) . (defined $b->{pid} ? " (pid $b->{pid})" : '')
		: fill(N__('it')),
		pid     => $b->{pid}                                             // 'PID',
		pids    => @pids && @pids <= 8 ? join(' -p ', @pids) : $b->{pid} // 'PID',
		episode => $id,
		disk    => $disk =~ /\A\d+:\d+\z/
		? "/sys/dev/block/$disk"
		: '/sys/block/' . one_line($b->{disk} // 'DISK'),
		quota   => _quota_of($args->{cgroup}),
		stopper => $b->{by} ? one_line($b->{by}{comm}) : fill(N__('somebody')),
		send    => fill($SEND, episode => $id),
	);
}

# How to raise the quota of a cgroup: by its unit, where it has the name of one.
sub _quota_of {
	my ($path) = @_;
	return fill(N__('cpu.max of the cgroup')) if !defined $path;
	my ($unit) = $path =~ m{([^/\s`']+\.(?:slice|scope|service))\z};
	return '`systemctl set-property ' . one_line($unit) . ' CPUQuota=...`' if defined $unit;
	return fill(
		N__('cpu.max of the cgroup {path}, or cpu.cfs_quota_us in version 1'),
		path => one_line($path)
	);
}

1;
