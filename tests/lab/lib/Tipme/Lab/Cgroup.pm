# SPDX-License-Identifier: GPL-2.0-only
# A control group of the laboratory: limits for one client, on either version of cgroups.
package Tipme::Lab::Cgroup;
use strict;
use warnings;
use Carp qw(croak);

# What is limited: for version 1 the hierarchy and its file, for version 2 the file; each with the
# text to write.
my %LIMIT = (
	cpu => {
		# With the greatest weight, so that the quota alone is what limits it.
		v1 => sub {
			my ($us, $period) = @_;
			return (
				[ cpu => 'cpu.cfs_period_us', $period ], [ cpu => 'cpu.cfs_quota_us', $us ],
				[ cpu => 'cpu.shares', 262_144 ]
			);
		},
		v2 => sub {
			my ($us, $period) = @_;
			return ([ cpu => 'cpu.max', "$us $period" ], [ cpu => 'cpu.weight', 10_000 ]);
		},
	},
	# 1000: what is usual.
	weight => {
		v1 => sub { return [ cpu => 'cpu.shares', int($_[0] * 1.024) || 2 ] },
		v2 => sub { return [ cpu => 'cpu.weight', int($_[0] / 10)    || 1 ] },
	},
	memory => {
		v1 => sub { return [ memory => 'memory.limit_in_bytes', $_[0] ] },
		v2 => sub { return [ memory => 'memory.max',            $_[0] ] },
	},
	read => {
		v1 => sub {
			my ($dev, $bps) = @_;
			return [ blkio => 'blkio.throttle.read_bps_device', "$dev $bps" ];
		},
		v2 => sub { my ($dev, $bps) = @_; return [ io => 'io.max', "$dev rbps=$bps" ] },
	},
	write => {
		v1 => sub {
			my ($dev, $bps) = @_;
			return [ blkio => 'blkio.throttle.write_bps_device', "$dev $bps" ];
		},
		v2 => sub { my ($dev, $bps) = @_; return [ io => 'io.max', "$dev wbps=$bps" ] },
	},
);

# Where the hierarchies are mounted: { controller => folder, unified => folder }
sub mounts {
	my %at;
	open my $h, '<', '/proc/self/mounts' or return {};
	while (<$h>) {
		my (undef, $dir, $type, $options) = split ' ';
		if ($type eq 'cgroup') {
			$at{$_} //= $dir for grep {/^(?:cpu|memory|blkio)$/} split /,/, $options;
		}
		if ($type eq 'cgroup2') { $at{unified} //= $dir }
	}
	return \%at;
}

# lacks(LIMIT): why this machine cannot limit that; '' if it can
sub lacks {
	my ($what) = @_;
	my $m      = mounts();
	my ($l1)   = $LIMIT{$what}{v1}->(1, 1);
	return '' if $m->{ $l1->[0] } && -e "$m->{$l1->[0]}/cgroup.procs";
	my ($l2) = $LIMIT{$what}{v2}->(1, 1);
	return '' if $m->{unified} && slurp("$m->{unified}/cgroup.controllers") =~ /\b\Q$l2->[0]\E\b/;
	return "no cgroup controller $l1->[0] here";
}

sub slurp { my ($path) = @_; open my $h, '<', $path or return ''; local $/; return <$h> // '' }

sub _write {
	my ($path, $text) = @_;
	open my $h, '>', $path or croak "$path: $!";
	syswrite($h, $text) // croak "$path: write $text: $!";
	close $h or croak "$path: write $text: $!";
	return;
}

# new(NAME)
sub new {
	my ($class, $name) = @_;
	return bless { name => $name, mounts => mounts(), dirs => {} }, $class;
}

# limit(WHAT, VALUES)
sub limit {
	my ($self, $what, @values) = @_;
	my ($any) = $LIMIT{$what}{v1}->(@values);
	my $v = $self->{mounts}{ $any->[0] } ? 'v1' : 'v2';
	for my $l ($LIMIT{$what}{$v}->(@values)) {
		my ($controller, $file, $text) = @$l;
		_write($self->_dir($v eq 'v1' ? $controller : 'unified', $controller) . "/$file", $text);
	}
	return $self;
}

sub _dir {
	my ($self, $hierarchy, $controller) = @_;
	my $top = $self->{mounts}{$hierarchy} // croak "no cgroup hierarchy $hierarchy";
	if ($hierarchy eq 'unified') {
		eval { _write("$top/cgroup.subtree_control", "+$controller"); 1 } or croak $@;
	}
	return $self->{dirs}{$hierarchy} if $self->{dirs}{$hierarchy};
	my $dir = "$top/$self->{name}";
	mkdir $dir or -d $dir or croak "$dir: $!";
	return $self->{dirs}{$hierarchy} = $dir;
}

# add(PID): moves a process there
sub add {
	my ($self, $pid) = @_;
	_write("$_/cgroup.procs", $pid) for values %{ $self->{dirs} };
	return;
}

# close(): its processes have ended
sub close {
	my ($self) = @_;
	for my $dir (values %{ $self->{dirs} }) {
		for (1 .. 50) { last if rmdir $dir or !-d $dir; select undef, undef, undef, 0.02 }
	}
	$self->{dirs} = {};
	return;
}

1;
