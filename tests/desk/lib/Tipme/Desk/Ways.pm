# SPDX-License-Identifier: GPL-2.0-only
# What programs of Debian in the desk's tables have in common: shells, settings, presses, deeds.
package Tipme::Desk::Ways;
use strict;
use warnings;
use Exporter qw(import);
use Tipme::Workload::Programs;

our @EXPORT_OK = qw(@BASH @DEED %GTK %X %DOWN %TEXT %WORK add shell);

our @BASH = qw(bash --noprofile --norc -i);
our @DEED = qw(bash --noprofile --rcfile BIN/shell -i);
my $GTK = "[Settings]\ngtk-cursor-blink=0\ngtk-enable-animations=0\n";
our %GTK  = map { (".config/gtk-$_.0/settings.ini" => $GTK) } 3, 4;
our %X    = (key       => 'key x');
our %DOWN = (key       => 'key Down');
our %TEXT = (%X, wheel => 'wheel down', click => 'click 3');
our %WORK = map { $_ => 1 } qw(compute sleep flock sqlite dbus http read work grow far);

# shell(MORE): what a shell that does deeds has besides
sub shell {
	my (%o) = @_;
	return (
		%o,
		actions => \%X,
		press   => 'key Return',
		first   => 'x',
		deeds   => { map { $_ => 1 } qw(compute sleep flock sqlite dbus http read start) }
	);
}

# add(NAME, [ world, package, command, actions, more ], MORE)
sub add {
	my ($name, $program, %also) = @_;
	my ($world, $package, $command, $actions, %more) = @$program;
	return Tipme::Workload::Programs::add(
		$name => {
			world   => $world,   package => $package, command => $command,
			actions => $actions, %also,               %more
		}
	);
}

1;
