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
	my $pid = $r->spawn([ 'BIN/stage', $r->{names}[0], @how ], root => 1, nice => -15);
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

# Rows of the survey (docs/causes.md) that are staged natively: number => cause
our %ROW = (
	2  => 'memcg', 5  => 'hog', 6 => 'disk-read', 8 => 'storm', 11 => 'computes', 13 => 'service',
	14 => 'dbus',  16 => 'storm',
	26 => 'chain', 30 => 'fuse', 36 => 'fsync', 49 => 'memcg', 50 => 'scanner', 57 => 'automount',
	59 => 'grab',  61 => 'rt-hog',
);

Tipme::Lab::Causes::add(%CAUSE);

# own(): those that the laboratory has not
sub own { return sort keys %CAUSE }

1;
