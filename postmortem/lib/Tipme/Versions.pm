# SPDX-License-Identifier: GPL-2.0-only
# What whoever mends a program has to know of the machine: versions of what drew and decided, and
# what it ran on. Nothing that tells one machine of a kind from another.
package Tipme::Versions;

use strict;
use warnings;
use Tipme::Printable qw(characters one_line);
use Tipme::Words     qw(N__ fill);

# Packages of which the version matters where they are installed: drivers, display, toolkits.
my @PARTS = (
	[ N__('X server'),        qw(xserver-xorg-core xorg-x11-server-Xorg) ],
	[ N__('graphics driver'), qw(libgl1-mesa-dri mesa-libgallium mesa-dri-drivers) ],
	[
		N__('window managers'),
		qw(mutter gnome-shell kwin-x11 kwin-wayland xfwm4 openbox i3-wm marco)
	],
	[ N__('GTK'), qw(libgtk-4-1 libgtk-3-0 libgtk-3-0t64 gtk4 gtk3) ],
	[ N__('Qt'), qw(libqt6core6 libqt6core6t64 libqt5core5a libqt5core5t64 qt6-qtbase qt5-qtbase) ],
);

# facts(PACKAGES, MANIFEST of the episode): [ what, value ], of those that are known
sub facts {
	my ($class, $packages, $m) = @_;
	my @facts = ([ fill(N__('distribution')), $packages->os->{name} ]);
	push @facts, [ fill(N__('kernel')), join ' ', 'Linux', grep {defined} @$m{qw(kernel machine)} ];
	push @facts, [ fill(N__('desktop')), _session($packages) ];
	my $versions = $packages->versions(map { @$_[ 1 .. $#$_ ] } @PARTS);
	for my $part (@PARTS) {
		my ($what, @names) = @$part;
		my @there = map { defined $versions->{$_} ? "$_ $versions->{$_}" : () } @names;
		push @facts, [ fill($what), join ', ', @there ];
	}
	push @facts,
		[
		fill(N__('processor')), join ', ', grep {defined} _cpu($packages),
		defined $m->{cpus} ? "$m->{cpus} CPUs" : undef
		];
	push @facts, [ fill(N__('memory')), _memory($packages) ];
	push @facts,
		[
		fill(N__('scale')), join ' ',
		map { defined $ENV{$_} && $ENV{$_} =~ /\A[\d.;=\w-]{1,40}\z/ ? "$_=$ENV{$_}" : () }
			qw(GDK_SCALE GDK_DPI_SCALE QT_SCALE_FACTOR QT_AUTO_SCREEN_SCALE_FACTOR)
		];
	push @facts, [ 'tipme', ref $m->{recorder} eq 'HASH' ? $m->{recorder}{version} : undef ];
	return [
		map  { [ $_->[0], one_line(characters($_->[1])) ] }
		grep { defined $_->[1] && length $_->[1] } @facts
	];
}

sub _session {
	my ($packages) = @_;
	my @word =
		grep { defined && /\A[\w:. -]{1,60}\z/ } @ENV{qw(XDG_CURRENT_DESKTOP XDG_SESSION_TYPE)};
	return @word ? join ', ', @word : undef;
}

sub _cpu {
	my ($packages) = @_;
	my ($name) =
		($packages->read('/proc/cpuinfo') // '') =~ /^(?:model name|Model|Hardware)\s*:\s*(.+)$/m;
	return defined $name ? $name =~ s/\s+/ /gr : undef;
}

sub _memory {
	my ($packages) = @_;
	my ($kib)      = ($packages->read('/proc/meminfo') // '') =~ /^MemTotal:\s*(\d+) kB$/m;
	return defined $kib ? sprintf '%.0f GiB', $kib / 1048576 : undef;
}

1;
