# SPDX-License-Identifier: GPL-2.0-only
# The same stories told by a Wayland compositor (100): no X server is there, and no record of a
# device.
package Tipme::Test::WaylandStory;

use strict;
use warnings;
use parent qw(Tipme::Test::Story);

use constant { SERVER => Tipme::Test::Story::SERVER, CLIENT => Tipme::Test::Story::CLIENT };
use constant { CONNECTION => 77, CALLBACK => 30 };

sub new { my ($class, %o) = @_; return $class->SUPER::new(server_comm => 'sway', %o) }

# told(MS, NAME, FIELDS): a record of the library
sub told {
	my ($self, $t, $name, %f) = @_;
	return $self->kernel(0, $t, $name, tid => SERVER, pid => CLIENT, client => CONNECTION, %f);
}

# enter(MS): a key wakes the compositor, which sends it to the client, and sleeps again: 0.3 ms
sub enter {
	my ($self, $t, %o) = @_;
	$self->wake(0, $t, SERVER, 0, 'epoll', context => 'hardirq')
		->run(0, $t + 0.05, $t + 0.3, SERVER, 'sleeping')
		if !$o{awake};
	$self->told(
		$t + 0.19, 'wl_deliver', object => 9, kind => $o{kind} // 'key_press',
		what => 'keyboard', %{ $o{with} // {} }
	);
	return $o{no_wake} ? $self : $self->wake(0, $t + 0.2, $o{client} // CLIENT, SERVER, 'poll');
}

# draw(MS): the client's picture wakes the compositor at MS, which has used it 0.2 ms later, or at
# DONE (undef with no_done: not yet)
sub draw {
	my ($self, $t, $waker, %o) = @_;
	my $done = $o{done} // $t + 0.25;
	$self->wake(1, $t, SERVER, $waker // CLIENT, 'epoll')
		->run(0, $t + 0.05, $t + 0.3, SERVER, 'sleeping')
		if !$o{awake};
	$self->told($t + 0.1, 'wl_commit', surface => 3, callback => CALLBACK, %{ $o{with} // {} });
	$self->told($done, 'wl_done', callback => CALLBACK, what => 'done') if !$o{no_done};
	return $self;
}

# screen(MS, NUMBER, SHOWN): the compositor asks the screen for another picture, which that shows at
# SHOWN, in an interrupt (undef: not yet)
sub screen {
	my ($self, $t, $number, $shown) = @_;
	$self->kernel(0, $t, 'screen_asked', tid => SERVER, pid => SERVER, number => $number);
	$self->kernel(
		0, $shown, 'screen_shown', tid => 0, pid => SERVER, number => $number, pipe => 0,
		sequence => $number
	) if defined $shown;
	return $self;
}

# The keyboards' own hot-key: nobody was sent it.
sub hotkey { return $_[0] }

1;
