# SPDX-License-Identifier: GPL-2.0-only
# Wayland compositors in the only window of an X server: how each is started there. The server
# stands for keyboard, pointer and screen.
package Tipme::Nested;
use strict;
use warnings;
use Carp       qw(croak);
use File::Copy qw(copy);

# @SOCKET is what it shall listen at (some choose that themselves), @DISPLAY that of the X server,
# @WIDTH and @HEIGHT the size of its window. x_clients: what it takes to serve those, too;
# without: what it takes not to. copied: its file has a capability, which a container may not have;
# a copy has none. config: a file of that text, @CONFIG.
my %NESTED = (
	weston => {
		command => [
			qw(weston --backend=x11-backend.so --no-config --idle-time=0),
			qw(--width=@WIDTH --height=@HEIGHT),
			# The other shell has a button that starts a terminal, and puts windows anywhere.
			'--shell=kiosk-shell.so',
			'--socket=@SOCKET'
		],
		x_clients => ['--xwayland'],
	},
	cage => {
		# What it runs would be left behind by a cage that is killed.
		command => [qw(cage -- setpriv --pdeathsig KILL sleep 1000000)],
		env     => { WLR_BACKENDS => 'x11', WLR_RENDERER => 'pixman' }
	},
	sway => {
		command => [qw(sway -c @CONFIG)],
		config  => "default_border none\nfocus_on_window_activation focus\n",
		env     => { WLR_BACKENDS => 'x11', WLR_RENDERER => 'pixman' }
	},
	kwin_wayland => {
		command => [
			qw(kwin_wayland --x11-display @DISPLAY --width @WIDTH --height @HEIGHT),
			qw(--no-lockscreen --socket @SOCKET)
		],
		x_clients => ['--xwayland'],
		env       => { KWIN_COMPOSE => 'Q' },
		copied    => 1
	},
	mutter => {
		command => [qw(mutter --nested --wayland --wayland-display=@SOCKET)],
		without => ['--no-x11'],
		env     => { MUTTER_DEBUG_DUMMY_MODE_SPECS => '@WIDTHx@HEIGHT' }
	},
);

sub names { return sort keys %NESTED }

# command(NAME, dir => FOLDER for copies, display =>, socket =>, width =>, height =>, x_clients =>
# BOOLEAN): ({ environment }, words of the command)
sub command {
	my ($name, %o) = @_;
	my $n     = $NESTED{$name} // croak "$name: no such compositor: one of @{[ names() ]}";
	my %is    = (%o, config => "$o{dir}/$name.conf");
	my $fill  = sub { return $_[0] =~ s/\@(SOCKET|DISPLAY|WIDTH|HEIGHT|CONFIG)/$is{ lc $1 }/gr };
	my @words = map { $fill->($_) } @{ $n->{command} },
		@{ $n->{ $o{x_clients} ? 'x_clients' : 'without' } // [] };
	if (defined $n->{config}) {
		open my $h, '>', $is{config} or croak "$is{config}: $!";
		print {$h} $n->{config};
		close $h or croak "$is{config}: $!";
		chmod 0644, $is{config};
	}
	if ($n->{copied}) {
		my ($program) = grep {-x} map {"$_/$name"} split /:/, $ENV{PATH};
		copy($program // '', "$o{dir}/$name") && chmod 0755, "$o{dir}/$name"
			or croak "$name: $!";
		$words[0] = "$o{dir}/$name";
	}
	return ({ map { $_ => $fill->($n->{env}{$_}) } keys %{ $n->{env} // {} } }, @words);
}

# x_display(PID): the X display that a compositor has for X clients, by its sockets; undef: none
sub x_display {
	my ($pid) = @_;
	my $fds   = "/proc/$pid/fd";
	my %own   = map { (readlink($_) // '') =~ /^socket:\[(\d+)\]$/ ? ($1 => 1) : () } glob "$fds/*";
	open my $h, '<', '/proc/net/unix' or return;
	my ($n) = map { m{ (\d+) /tmp/\.X11-unix/X(\d+)$} && $own{$1} ? $2 : () } <$h>;
	return defined $n ? ":$n" : undef;
}

1;
