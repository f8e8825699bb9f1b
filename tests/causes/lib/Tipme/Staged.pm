# SPDX-License-Identifier: GPL-2.0-only
# Causes that public bug trackers name and the laboratory does not have, in the form of its table;
# and which of the laboratory's own stage which of those.
package Tipme::Staged;
use strict;
use warnings;
use Tipme::Lab::Causes;

my @DEEDS = (clients => [qw(own gtk tk)]);

sub _who { my ($r) = @_; return { comm => $r->{names}[0], pids => { $r->{p} => 1 } } }

# A folder of the stage's own, which is unmounted when the run is over.
sub _folder {
	my ($r, $name) = @_;
	my $dir = $r->work . "/$name-$r->{seed}";
	mkdir $dir;
	$r->undo(sub { system("umount -l '$dir' 2>/dev/null"); rmdir $dir });
	return $dir;
}

sub _stage {
	my ($r, @how) = @_;
	my $pid = $r->spawn([ 'BIN/stage', $r->{names}[0], @how ], root => 1);
	return $r->await_ready($pid);
}

my %CAUSE = (
	'fuse' => {
		says => sub {
			"the client opens a file of a file system that $_[0]{names}[0] serves (FUSE), which "
				. "takes $_[0]{ms} ms";
		},
		kinds => ['ipc-wait'],
		@DEEDS,
		prepare => sub {
			my ($r) = @_;
			my $dir = _folder($r, 'share');
			$r->{p}     = _stage($r, 'fuse', $dir, $r->{ms});
			$r->{deeds} = "open $dir/document";
		},
		charged => sub { $_[0]->spans_ns('serve') },
		who     => \&_who,
	},
	'scanner' => {
		says => sub {
			"the client opens a file, and $_[0]{names}[0] is asked first (fanotify), which takes "
				. "$_[0]{ms} ms";
		},
		kinds => ['ipc-wait'],
		@DEEDS,
		prepare => sub {
			my ($r) = @_;
			my $file = $r->file('letter', 4096);
			$r->{p}     = _stage($r, 'fanotify', $file, $r->{ms});
			$r->{deeds} = "open $file";
		},
		charged => sub { $_[0]->spans_ns('serve') },
		who     => \&_who,
	},
	'automount' => {
		says => sub {
			"the client looks into a folder that $_[0]{names}[0] has to mount (autofs), which "
				. "takes $_[0]{ms} ms";
		},
		kinds => ['ipc-wait'],
		@DEEDS,
		prepare => sub {
			my ($r) = @_;
			my $dir = _folder($r, 'net');
			$r->{p}     = _stage($r, 'autofs', $dir, $r->{ms});
			$r->{deeds} = "open $dir/server/letter";
		},
		charged => sub { $_[0]->spans_ns('serve') },
		who     => \&_who,
	},
);

$CAUSE{clipboard} = {
	says => sub {
		"the client wants the selection of $_[0]{names}[0], which hands it over after $_[0]{ms} ms";
	},
	kinds   => [qw(ipc-wait time-out)],
	clients => ['own'],
	prepare => sub {
		my ($r) = @_;
		$r->{p}     = $r->spawn([ 'BIN/xcause', $r->{names}[0], 'own', 0, $r->{ms} ], x => 1);
		$r->{deeds} = 'paste ' . 3 * $r->{ms};
		$r->await_ready($r->{p});
	},
	charged => sub { $_[0]->spans_ns('serve') },
	who     => \&_who,
};

# Servers that are away: who is asked, the way, the port, the words of the verdict.
my %AWAY = (
	dns         => [ 'the name service',                     'u', 53,  qr/the name service/ ],
	printer     => [ 'a printer, or its server',             't', 631, qr/a printer/ ],
	directory   => [ 'the directory of users (LDAP)',        't', 389, qr/the directory of users/ ],
	ssh         => [ 'a machine behind SSH',                 't', 22,  qr/a machine behind SSH/ ],
	'far-files' => [ 'a file server, by the program itself', 't', 445, qr/a file server/ ],
);
for my $name (keys %AWAY) {
	my ($server, $way, $port) = @{ $AWAY{$name} };
	$CAUSE{$name} = {
		says =>
			sub {"the client asks $server, which does not answer; it gives up after $_[0]{ms} ms"},
		kinds   => [qw(network-wait time-out)],
		clients => [ $way eq 'u' ? 'gtk' : 'own' ],
		needs => sub { -x '/sbin/ip' || -x '/usr/sbin/ip' ? '' : 'no ip here (Debian: iproute2)' },
		prepare => sub {
			my ($r) = @_;
			my $door = $r->work . "/net-$r->{seed}-$name";
			unlink $door;
			_stage($r, 'mute', $door, $r->{ms});
			$r->{deeds} = "mute $door $way $port $r->{ms}";
		},
		charged => sub { $_[0]->spans_ns('mute') },
	};
}

# Rows of the survey (docs/causes.md) that are staged natively: number => cause
our %ROW = (
	2  => 'memcg', 5  => 'hog', 6 => 'disk-read', 8 => 'storm', 11 => 'computes', 13 => 'service',
	14 => 'dbus',  16 => 'storm',
	26 => 'chain', 30 => 'fuse', 36 => 'fsync', 49 => 'memcg', 50 => 'scanner', 57 => 'automount',
	12 => 'far-files', 33 => 'printer', 34 => 'dns', 52 => 'directory', 60 => 'ssh',
	59 => 'grab',      61 => 'rt-hog',  35 => 'clipboard',
);

Tipme::Lab::Causes::add(%CAUSE);

# own(): those of an ordinary run, which the laboratory has not; of servers that are away one
sub own { return qw(automount dns fuse scanner) }

# all(): each that a row names, and those
sub all {
	my %all = map { $_ => 1 } values %ROW, keys %CAUSE;
	return sort keys %all;
}

# rows(NAME): the rows that it stages
sub rows {
	my ($name) = @_;
	my @rows = sort { $a <=> $b } grep { $ROW{$_} eq $name } keys %ROW;
	return @rows;
}

# words(NAME): what the sentence says of it, a pattern; none: nothing of its own
sub words { return $AWAY{ $_[0] } ? $AWAY{ $_[0] }[3] : undef }

1;
