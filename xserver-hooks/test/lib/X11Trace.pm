# SPDX-License-Identifier: GPL-2.0-only
# A witness that is not ours: x11trace stands between clients and an X server, and prints each
# request, reply, error and event that passes.
package X11Trace;
use strict;
use warnings;
use Carp  qw(croak);
use POSIX qw(WNOHANG);
use Live;

# Debian has it by its first name, which other programs have, too.
sub program {
	my @named = grep {-x} map {
		my $dir = $_;
		map {"$dir/$_"} qw(x11trace xtrace)
	} split /:/, $ENV{PATH};
	return (grep { qx($_ --help 2>&1) =~ /--fakedisplay/ } @named)[0];
}

my $count = 0;

# X11Trace->new($display): stands before that server, until the last of its clients has gone.
sub new {
	my ($class, $x) = @_;
	# Numbers of servers are small; of ours no other server has the like.
	my $number = 10_000 + 100 * substr($x->display, 1) + $count++;
	my $self   = bless {
		x   => $x, number => $number, socket => "/tmp/.X11-unix/X$number",
		out => $x->dir . "/x11trace-$number"
	}, $class;
	unlink $self->{socket};
	$self->{pid} = $x->spawn(
		program(), '-n', '-b', '-s', '-m', 1, '-d', $x->display, '-D', ":$number", '-o',
		$self->{out}
	);
	await(sub { _listens($self->{socket}) })
		or croak 'x11trace does not listen: see ' . $x->dir . '/clients.log';
	return $self;
}

# The socket is there before it takes connections; and one that is only tried would be a client.
sub _listens {
	my ($socket) = @_;
	my $ACCEPTS = '00010000';
	open my $in, '<', '/proc/net/unix' or croak "/proc/net/unix: $!";
	return scalar grep { (split)[3] eq $ACCEPTS && / \Q$socket\E$/ } <$in>;
}

sub DESTROY { my ($self) = @_; unlink $self->{socket}; return }

# The server's number of the process of all clients is this.
sub pid { return $_[0]{pid} }

# What a client of the witness needs.
sub env { my ($self) = @_; return ($self->{x}->env, DISPLAY => ":$self->{number}") }

sub spawn {
	my ($self, @command) = @_;
	return $self->{x}->spawn('env', "DISPLAY=:$self->{number}", @command);
}

sub run {
	my ($self, @command) = @_;
	waitpid $self->spawn(@command), 0;
	return $?;
}

# All clients have gone, so the witness goes, too. Returns one for each client, in the order in
# which they came, with index (the server's number), requests, answers (replies and errors), events,
# strange (lines that are not understood).
sub clients {
	my ($self) = @_;
	await(sub { waitpid $self->{pid}, WNOHANG }) or kill 'TERM', $self->{pid};
	my @clients;
	open my $in, '<', $self->{out} or croak "$self->{out}: $!";
	while (my $line = <$in>) {
		my ($n, $said) = $line =~ /^(\d+):[<>]:(.*)/s or croak "$self->{out}: line $.: $line";
		$clients[$n] //= { requests => [], answers => [], events => [], strange => [] };
		push @{ $clients[$n]{strange} }, $line if !_said($clients[$n], $said);
	}
	return @clients;
}

sub _said {
	my ($client, $said) = @_;
	return _setup($client, $said) if $said =~ /^ /;
	return
		   _request($client, $said)
		|| _reply($client, $said)
		|| _error($client, $said)
		|| _event($client, $said);
}

# Lines of no packet.
sub _setup {
	my ($client, $said) = @_;
	$client->{index} = hex($1) >> 21 if $said =~ /^ Success.* resource-id=0x([0-9a-f]+) /;
	return $said =~
		/^ (?:am [lm]sb-first|Success|still waiting for reply|Warning: Waiting for rest|Warning: buffer filled)/;
}

# Of requests of the core it says no minor opcode: they have none.
sub _request {
	my ($client, $said) = @_;
	my ($sequence, $length, $extension, $major, $minor) =
		$said =~ /^([0-9a-f]+): *(\d+): (?:([^:(]+)-)?Request\((\d+)(?:,(\d+))?\): /
		or return;
	return if !defined $extension && $major >= 128;
	push @{ $client->{requests} },
		{ sequence => hex $sequence, length => $length, major => $major, minor => $minor // 0 };
	return 1;
}

sub _reply {
	my ($client,   $said)  = @_;
	my ($sequence, $bytes) = $said =~ /^([0-9a-f]{4}):(\d+): (?:Reply to|unexpected Reply)/
		or return;
	push @{ $client->{answers} }, { sequence => hex $sequence, bytes => $bytes, error => 0 };
	return 1;
}

sub _error {
	my ($client, $said) = @_;
	my ($sequence, $error, $major, $minor) =
		$said =~ /^([0-9a-f]{4}):Error (\d+)=.*: major=(\d+), minor=(\d+), bad=/
		or return;
	push @{ $client->{answers} },
		{
		sequence => hex $sequence, bytes => 32, error => $error, major => $major,
		minor    => $minor
		};
	return 1;
}

# Events of one kind may come in a row that was written at once: each says how many of them follow.
sub _event {
	my ($client, $said) = @_;
	my ($type) = $said =~ /^[0-9a-f]+: Event (?:\(generated\) )?(?:unknown code |[^(]*\()(\d+)/
		or return;
	my ($follow) = $said =~ /(?:^|[ :])Event (?:Graphics)?Expos[ue].*? count=0x([0-9a-f]+)/;
	push @{ $client->{events} },
		{
		type   => $type, follow => hex($follow // 0),
		motion => $said =~ /[ -](?:Device)?Motion(?:Notify)?\(\d/ ? 1 : 0
		};
	return 1;
}

1;
