# SPDX-License-Identifier: GPL-2.0-only
# doctor in good and in odd places: it always ends, says one thing about each check, and agrees with
# itself.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use JSON::PP ();
use Socket;
use Test::More;
use Tipme::TestDaemon qw(refusing_counters slurp tipme tipmed);

my $d = Tipme::TestDaemon->new;
delete @ENV{qw(DISPLAY WAYLAND_DISPLAY XDG_SESSION_TYPE)};

my ($rc, $all) = doctor();
is $rc, $all->{recording_possible} ? 0 : 1, 'the exit status is the answer';
my %check = by_name($all);
cmp_ok scalar keys %check, '>=', 14, 'each check is there';
for my $c (@{ $all->{checks} }) {
	like $c->{state}, qr/^(?:ok|limited|missing)$/, "$c->{name}: $c->{state}";
	ok length $c->{meaning},                     'it says what that means';
	ok $c->{action} || $c->{state} ne 'missing', 'and what to do where something is missing';
}
is $all->{recorder_running}, JSON::PP::false(), 'no recorder';
like $check{display}{meaning}, qr/DISPLAY is not set/, 'DISPLAY unset';
like $check{user}{meaning},
	defined getpwnam 'tipmed' ? qr/becomes the system user tipmed/ : qr/systemd-sysusers/,
	'whom a recorder that root starts becomes';
my $brief = qx{"@{[tipme]}" doctor --brief};
like $brief,   qr/^Sources here: .+; no X server with hooks\.$/m, 'in brief: the sources';
unlike $brief, qr/^ok/m, '... and nothing of what is well with the machine';

my %odd = (
	':9999'                 => qr/no server answers/, 'nonsense' => qr/not the name of a display/,
	'far.example:0'         => qr/another machine/,
	':'                     => qr/not the name/, ':-1'    => qr/not the name/,
	':99999999999999999999' => qr/not the name/, '%s%n:0' => qr/another machine/,
	'x' x 100_000           => qr/not the name/,
);
for my $display (sort keys %odd) {
	local $ENV{DISPLAY} = $display;
	my ($code, $json) = doctor();
	is $code, $rc, 'DISPLAY=' . substr($display, 0, 20) . ': no crash';
	like { by_name($json) }->{display}{meaning}, $odd{$display}, 'and said what is wrong with it';
}

# A server that accepts nobody any more: it must not hang us, nor may one that never speaks.
SKIP: {
	# X servers of other tests are to use it, too.
	mkdir '/tmp/.X11-unix' and chmod 01777, '/tmp/.X11-unix';
	my $n = 6000 + $$ % 1000;
	socket my $s, AF_UNIX, SOCK_STREAM, 0 or die;
	bind $s, pack_sockaddr_un("/tmp/.X11-unix/X$n") or skip "no socket in /tmp/.X11-unix: $!", 2;
	listen $s, 0;
	local $ENV{DISPLAY} = ":$n.0";
	my (undef, $mute) = doctor();
	like { by_name($mute) }->{display}{meaning}, qr/no hooks seen in X server $$/,
		'a server that never speaks is found, with its pid';
	# That connection waits to be accepted, for ever: there is no room for another.
	my (undef, $full) = doctor();
	like { by_name($full) }->{display}{meaning}, qr/no more connections/,
		'one that hangs is told as such';
	unlink "/tmp/.X11-unix/X$n";
}
{
	local $ENV{WAYLAND_DISPLAY} = 'wayland-0';
	my (undef, $w) = doctor();
	like { by_name($w) }->{session}{meaning}, qr/^Wayland/, 'a Wayland session';
	like { by_name($w) }->{display}{meaning}, qr/^no X server in this Wayland session/,
		'... in which no X server is missed';
	like { by_name($w) }->{'hot-key'}{action}, qr/tipme snap/,
		'has a hot-key after all: the desktop\'s own';
}

SKIP: {
	skip 'needs root (run it with sudo)', 11 if $>;
	my ($code, $out) = $d->run_as_nobody('doctor', '--json');
	my $plain = JSON::PP->new->utf8->decode($out);
	is $code,                  0,                'an ordinary user can record';
	is $plain->{sampled_only}, JSON::PP::true(), '... samples';
	is { by_name($plain) }->{CAP_BPF}{state},  'missing', 'for want of CAP_BPF';
	is { by_name($plain) }->{counters}{state}, 'limited', '... and no counters';
	my ($forbidden, $told) = $d->run(refusing_counters(1), tipme(), 'doctor', '--json');
	my %there = by_name(JSON::PP->new->utf8->decode($told));
	is $forbidden,              $rc,       'where a filter forbids counters: the same answer';
	is $there{counters}{state}, 'limited', '... and that it does';
	like $there{counters}{meaning}, qr/no samples, no page faults.*Operation not permitted/,
		'... with what that costs';
	like $plain->{next}, qr/sudo/, 'next: sudo';
	skip 'tipmed is not built here', 3 if !-x tipmed();
	my ($started, undef, $why) = $d->start;
	is $started, 0, 'start' or diag $why;
	my (undef, $running) = doctor();
	is $running->{recorder_running}, JSON::PP::true(), 'a recorder is seen';
	like { by_name($running) }->{counters}{meaning}, qr/^the recorder that runs has them$/,
		'... which has counters'
		if { by_name($all) }->{counters}{state} eq 'ok';
	like $running->{next}, qr/tipme snap/, 'next: snap';
	$d->stop;
}
my ($text_rc, $text) = $d->run(tipme(), 'doctor', '-v');
is $text_rc, $rc, 'for people: the same answer';
like $text, qr/\n\nRecording is (?:not )?possible here\. Next: \S+/, 'which comes last';
done_testing;

sub doctor {
	my ($code, $out, $err) = $d->run(tipme(), 'doctor', '--json');
	is $err, '', 'nothing on stderr' if $err;
	return ($code, JSON::PP->new->utf8->decode($out));
}

sub by_name {
	return map { ($_->{name} => $_) } @{ $_[0]{checks} };
}
