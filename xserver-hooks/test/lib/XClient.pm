# SPDX-License-Identifier: GPL-2.0-only
# An X client that does exactly what a test says: raw requests, in either byte order, from the
# test's own process.
package XClient;
use strict;
use warnings;
use Carp qw(croak);
use IO::Select;
use IO::Socket::INET;
use IO::Socket::UNIX;
use Socket qw(SOCK_STREAM);

# Core requests by number; see the X protocol, appendix B.
use constant {
	CREATE_WINDOW => 1,   MAP_WINDOW          => 8, GRAB_POINTER => 26, UNGRAB_POINTER => 27,
	GRAB_KEYBOARD => 31,  UNGRAB_KEYBOARD     => 32,
	ALLOW_EVENTS  => 35,  GRAB_SERVER         => 36, UNGRAB_SERVER => 37, GET_INPUT_FOCUS => 43,
	CREATE_PIXMAP => 53,  CREATE_GC           => 55,
	POLY_ARC      => 68,  POLY_FILL_RECTANGLE => 70, GET_IMAGE => 73, QUERY_EXTENSION => 98,
	KILL_CLIENT   => 113, NO_OPERATION        => 127,
};

# A server that is busy with something else may need this long for an answer; only a hang is meant
# to reach it.
use constant PATIENCE_S => 180;

# XClient->new($display, swapped => 0, tcp => 0): $display is a Tipme::Display
sub new {
	my ($class, $display, %opt) = @_;
	my %env = $display->env;
	(my $number = $env{DISPLAY}) =~ s/^://;
	my $sock =
		$opt{tcp}
		? IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => 6000 + $number)
		: IO::Socket::UNIX->new(Type     => SOCK_STREAM, Peer     => "/tmp/.X11-unix/X$number");
	$sock or croak "X$number: $!";
	my $self = bless { sock => $sock, e => $opt{swapped} ? '>' : '<', sequence => 0, events => [] },
		$class;
	$self->_setup(_cookie($env{XAUTHORITY}), $opt{swapped} ? 'B' : 'l');
	return $self;
}

sub root { return $_[0]{root} }
sub id   { my ($self) = @_; return $self->{base} | $self->{next}++ }

# Sends a request: its number, the byte beside it, and what follows as 32-bit values or ready bytes
# (by reference).
sub request {
	my ($self, $major, $data, @body) = @_;
	my $body = join '', map { ref $_ ? $$_ : $self->pack('L', $_) } @body;
	$body .= "\0" x (-length($body) % 4);
	$self->_write($self->pack('CCS', $major, $data, 1 + length($body) / 4) . $body);
	return ++$self->{sequence} & 0xffff;
}

# The same with a length of 32 bits, as BIG-REQUESTS has it.
sub long_request {
	my ($self, $major, $data, @body) = @_;
	my $body = join '', map { ref $_ ? $$_ : $self->pack('L', $_) } @body;
	$self->_write($self->pack('CCSL', $major, $data, 0, 2 + length($body) / 4) . $body);
	return ++$self->{sequence} & 0xffff;
}

# pack with the client's byte order
sub pack {
	my ($self, $template, @values) = @_;
	$template =~ s/([SsLl])/$1$self->{e}/g;
	return CORE::pack $template, @values;
}

sub unpack {
	my ($self, $template, $bytes) = @_;
	$template =~ s/([SsLl])/$1$self->{e}/g;
	return CORE::unpack $template, $bytes;
}

# The reply to the last request; events that come before it are kept. Dies of an error.
sub reply {
	my ($self, $seconds) = @_;
	while (1) {
		my $message = $self->_message($seconds // PATIENCE_S) // croak 'no reply';
		my ($type, undef, $sequence, $length) = $self->unpack('CCSL', $message);
		return $message                                  if $type == 1;
		croak 'X error ' . (CORE::unpack 'xC', $message) if $type == 0;
		push @{ $self->{events} }, $message;
	}
}

# All is done when the answer comes.
sub sync { my ($self) = @_; $self->request(GET_INPUT_FOCUS, 0); $self->reply; return }

# The next event. With SECONDS it need not come; undef if it does not.
sub event {
	my ($self, $seconds) = @_;
	return shift(@{ $self->{events} }) // $self->_message($seconds // PATIENCE_S);
}

# A mark on the screen, which goes when the server begins anew after its last client.
sub mark {
	my ($self) = @_;
	my ($CHANGE_PROPERTY, $CUT_BUFFER0, $STRING) = (18, 9, 31);
	$self->request(
		$CHANGE_PROPERTY, 0, $self->root, $CUT_BUFFER0, $STRING,
		\$self->pack('CxxxLA4', 8, 4, 'mark')
	);
	$self->sync;
	return;
}

sub marked {
	my ($self) = @_;
	my ($GET_PROPERTY, $CUT_BUFFER0) = (20, 9);
	$self->request($GET_PROPERTY, 0, $self->root, $CUT_BUFFER0, 0, 0, 1);
	return $self->unpack('x8L', $self->reply);
}

# A mapped window that hears of keys and buttons, and a graphics context for it.
sub window {
	my ($self, %opt)                                  = @_;
	my ($w, $gc)                                      = ($self->id, $self->id);
	my ($override_redirect, $event_mask, $back_pixel) = (1 << 9, 1 << 11, 1 << 1);
	$self->request(
		CREATE_WINDOW, 0, $w, $opt{parent} // $self->root,
		\$self->pack(
			'ssSSSS', $opt{x} // 0, $opt{y} // 0, $opt{width} // 600, $opt{height} // 400, 0, 1
		),
		0,
		$back_pixel | $override_redirect | $event_mask,
		0xffffff,
		1,
		0xf | 1 << 15
	);
	$self->request(CREATE_GC, 0, $gc, $w, 1 << 2, $opt{color} // 0x4080c0);
	$self->request(MAP_WINDOW, 0, $w);
	$self->sync;
	return ($w, $gc);
}

sub rectangle {
	my ($self, $w, $gc, @xywh) = @_;
	return $self->request(POLY_FILL_RECTANGLE, 0, $w, $gc, \$self->pack('ssSS', @xywh));
}

# The extension's major opcode, the first of its events; 0 if the server has none of that name.
sub extension  { return (_extension(@_))[0] }
sub event_base { return (_extension(@_))[1] }

sub _extension {
	my ($self, $name) = @_;
	$self->request(QUERY_EXTENSION, 0, \$self->pack('Sxxa*', length $name, $name));
	my ($present, $major, $event) = $self->unpack('x8CCC', $self->reply);
	return $present ? ($major, $event) : (0, 0);
}

sub close { my ($self) = @_; close $self->{sock}; return }

sub _cookie {
	my ($path) = @_;
	open my $in, '<:raw', $path or croak "$path: $!";
	my (undef, undef, undef, $name, $cookie) = CORE::unpack 'S> (S>/a)4', do { local $/; <$in> };
	return $cookie;
}

sub _setup {
	my ($self, $cookie, $order) = @_;
	my $name = 'MIT-MAGIC-COOKIE-1';
	$self->_write($self->pack('axSSSSxx', $order, 11, 0, length $name, length $cookie)
			. $name . "\0\0"
			. $cookie);
	my $head = $self->_read(8, PATIENCE_S) // croak 'no answer to the connection set-up';
	my ($status, $length) = $self->unpack('Cx5S', $head);
	my $body = $self->_read($length * 4, PATIENCE_S);
	croak "connection refused: $body" if $status != 1;
	my ($base, $mask, $vendor, $formats) = $self->unpack('x4LLx4Sx3C', $body);
	my $screen = 32 + $vendor + (-$vendor % 4) + 8 * $formats;
	@$self{qw(base next root)} = ($base, 1, $self->unpack("x${screen}L", $body));
	return;
}

sub _message {
	my ($self, $seconds) = @_;
	my $message = $self->_read(32, $seconds) // return;
	my ($type, $length) = $self->unpack('Cx3L', $message);
	$message .= $self->_read($length * 4, PATIENCE_S)
		if ($type == 1 || ($type & 127) == 35) && $length;
	return $message;
}

sub _write {
	my ($self, $bytes) = @_;
	local $SIG{PIPE} = 'IGNORE';
	while (length $bytes) {
		my $n = syswrite $self->{sock}, $bytes or croak "X server: write: $!";
		substr $bytes, 0, $n, '';
	}
	return;
}

sub _read {
	my ($self, $want, $seconds) = @_;
	my $got = '';
	while (length $got < $want) {
		IO::Select->new($self->{sock})->can_read($seconds)             or return;
		sysread($self->{sock}, $got, $want - length $got, length $got) or return;
	}
	return $got;
}

1;
