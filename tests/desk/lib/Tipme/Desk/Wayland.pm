# SPDX-License-Identifier: GPL-2.0-only
# A stage whose X server has no hooks: it stands for keyboard, pointer and screen of a Wayland
# compositor that has its only window. As those are no processes that others keep from a CPU, it is
# real-time.
package Tipme::Desk::Wayland;
use strict;
use warnings;
use parent 'Tipme::Stage';

use constant PRIORITY => 57;

sub _start_display {
	my ($self) = @_;
	my $d = $self->{display} = Tipme::Display->new(kind => 'Xorg');
	$self->at_end(sub { $d->stop });
	system 'chrt -f -a -p ' . PRIORITY . ' ' . $d->pid . ' >/dev/null 2>&1';
	$self->await_server;
	return;
}

# The recorder has looked into the compositors' library when it says that it has started.
sub joins { return 0 }

# Nobody hears a hot-key in that server.
sub press_hotkey { my ($self) = @_; $self->command('snap'); return }

1;
