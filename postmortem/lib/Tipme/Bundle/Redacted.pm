# SPDX-License-Identifier: GPL-2.0-only
# What remains of the fields of a record that a bundle keeps: no text that is on no list, no key, no
# name of who has no part, no address.
package Tipme::Bundle::Redacted;

use strict;
use warnings;
use Tipme::Printable qw(one_line);

# Of records in which text stands: what remains of it. What is not here and has text is left out.
my %TEXT = (
	rename   => \&_comm, thread => \&_comm,  stack => undef, function => undef, user_stack => undef,
	irq_name => undef,   disk_name => undef, section => undef, kernel_message => undef,
	module   => sub { my ($self, $f) = @_; $f->{path} = _basename($f->{path}); return 1 },
	process  => sub {
		my ($self, $f) = @_;
		$f->{exe} = $self->{named}{ $f->{pid} } ? _basename($f->{exe}) : '';
		$f->{uid} = 0;
		return 1;
	},
	cgroup_name => sub {
		my ($self, $f) = @_;
		$f->{path} = $self->_said($f->{path}) . "/cgroup-$f->{cgroup}"
			if $self->_said($f->{path}) ne $f->{path};
		return 1;
	}
);
# Fields that tell which key it was: always 0 in a bundle.
# Where windows lie on the screen is nobody's business.
my %ZERO = (
	(map { $_ => ['code'] } qw(input x_device x_input)),
	map { $_ => [qw(x y)] } qw(x_drawn x_painted x_redirect)
);
# Fields that told where the kernel lies before format 1.3: they become numbers of this bundle, each
# kind of its own.
my %ADDRESS = (
	work_queued => { work     => 'work', function => 'function' },
	work_start  => { work     => 'work', function => 'function' },
	work_end    => { work     => 'work', function => 'function' },
	function    => { function => 'function' }, lock_contention => { lock => 'lock' },
	network     => { socket   => 'socket' },
	(map { $_ => { stack_id => 'stack' } } qw(sched_waking thread proc_state stack)),
	user_stack => { stack_id        => 'user' },
	sample     => { kernel_stack_id => 'stack', user_stack_id => 'user' }
);
# Minor version of the format since which records have numbers for addresses.
my $NUMBERED_SINCE = 3;

# new(ep => EPISODE, threads => Threads, named => { pid => 1 }, said => what the verdict says,
# dropped, names => where it is counted what was left out, and which names were kept)
sub new {
	my ($class, %o) = @_;
	return bless { %o, addresses => $o{ep}->manifest->{format}{minor} < $NUMBERED_SINCE }, $class;
}

# change(NAME, FIELDS, TEXT: 1 where records of that kind have text): of a record that is kept, what
# must not be told goes. 0: there was nothing of that; undef: the record stays here
sub change {
	my ($self, $name, $f, $text) = @_;
	if ($text && !exists $TEXT{$name}) { $self->{dropped}{"records '$name'"}++; return }
	my $change  = $TEXT{$name};
	my $address = $self->{addresses} ? $ADDRESS{$name} : undef;
	return 0 if !$change && !$ZERO{$name} && !$address;
	return if $change && !$change->($self, $f);
	$f->{$_} = 0                                        for @{ $ZERO{$name}       // [] };
	$f->{$_} = $self->_number($address->{$_}, $f->{$_}) for sort keys %{ $address // {} };
	return 1;
}

sub _comm {
	my ($self, $f) = @_;
	my $who    = $self->{threads}->at($f->{tid}, $f->{ts_ns});
	my $kernel = exists $f->{flags} ? $f->{flags} & 1 : $who->{kernel};
	my $pid    = $f->{pid} // $who->{pid};
	if ($kernel || $self->{named}{$pid}) { $self->{names}{ one_line($f->{comm}) }++ if !$kernel }
	else {
		$f->{comm} = "process-$pid";
		$self->{dropped}{'names of processes that have no part in it'}++;
	}
	$f->{uid} = 0 if exists $f->{uid};
	return 1;
}

# The longest beginning of a path that the verdict says: what lies below it has to be known as such.
sub _said {
	my ($self, $path) = @_;
	$path =~ s{/[^/]*\z}{}
		while length $path && $self->{said} !~ m{(?<![^\s"])\Q$path\E(?![^\s",.;:/])};
	return $path;
}

sub _basename { my ($path) = @_; return $path =~ m{([^/]*)\z} ? $1 : '' }

# 1 for the first of its kind that is met, 2 for the next; nothing (0) stays nothing.
sub _number {
	my ($self, $kind, $what) = @_;
	my $n = $self->{numbers}{$kind} //= {};
	return $what ? $n->{$what} //= 1 + keys %$n : 0;
}

1;
