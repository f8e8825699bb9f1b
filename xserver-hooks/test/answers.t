#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Each request that there is, of the core and of each extension, is answered the same with and
# without the hooks, to a client of either byte order: by a reply of the same length, by the same
# error, or not at all. The requests are empty, or name the client's own window wherever something
# can be named.
use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/lib";
use Test::More;
use Live;
use XClient;

need(qw(Xvfb));
my ($LIST_EXTENSIONS, $KILL_CLIENT, $MINORS, $WORDS) = (99, 113, 48, 9);
my %server = map {
	$_ => Tipme::Display->new(
		kind => 'Xvfb',
		$_ eq 'on' ? (hooks => hooks(), rundir => '/nonexistent') : ()
	)
} qw(off on);
my $asked = 'nothing';
for my $swapped (0, 1) {
SKIP: { compare($swapped ? 'swapped bytes' : 'own bytes', $swapped) }
}
ok($server{on}->alive, 'the server with the hooks lives');
$server{on}->stop;
eval { $server{off}->stop; 1 } or note $@;
done_testing();

sub compare {
	my ($order, $swapped) = @_;
	my %said = (off => scalar eval { answers($server{off}, $swapped) });
	skip "$order: the stock server itself ends at $asked", 5 if !$said{off} && !$server{off}->alive;
	$said{on} = answers($server{on}, $swapped);
	my @differ = grep { ($said{on}{$_} // '') ne ($said{off}{$_} // '') }
		sort keys %{ { %{ $said{off} }, %{ $said{on} } } };
	is_deeply(\@differ, [], "$order: each is answered the same")
		or diag map {"$_: off $said{off}{$_}, on $said{on}{$_}\n"}
		@differ[ 0 .. ($#differ > 9 ? 9 : $#differ) ];
	my %kinds;
	$kinds{ (split ' ', $_)[0] }++ for values %{ $said{on} };
	cmp_ok($kinds{$_} // 0, '>', 100, "$order: " . ($kinds{$_} // 0) . " times: $_")
		for qw(nothing error reply);
	# A good one, which the server misunderstands (it does not swap the event's name), so that it
	# looks like a fault of the hooks.
	my %select = map { $_ => select_input($server{$_}, $swapped) } qw(off on);
	is($select{on}, $select{off}, "$order: Present's SelectInput, as it should be: $select{off}");
	return;
}

sub answers {
	my ($x, $swapped) = @_;
	my $c = client($x, $swapped);
	my %said;
	my $majors = majors($c);
	for my $name (sort keys %$majors) {
		for my $minor ($majors->{$name} < 128 ? 0 : 0 .. $MINORS - 1) {
			# A stock server swaps more of RRSetMonitor than there is, and corrupts its memory.
			next if $swapped && $name eq 'RANDR' && $minor == 43;
			for my $body ('empty', 'own') {
				# That ends us, as it should.
				next if $majors->{$name} == $KILL_CLIENT && $body eq 'own';
				for my $words (0, 1, 2, 3, 4, 6, $WORDS) {
					my $value = $body eq 'own' ? $c->{window} : 0;
					$asked = "$name $minor $body $words";
					my $sequence = $c->request($majors->{$name}, $minor, ($value) x $words);
					$said{"$name $minor $body $words"} = answer($c, $sequence);
				}
			}
		}
		# What it may have left behind must not be in the way of the next.
		$c->close;
		$c = client($x, $swapped);
	}
	$c->close;
	return \%said;
}

sub select_input {
	my ($x, $swapped) = @_;
	my $c       = client($x, $swapped);
	my $present = $c->extension('Present') or return 'no Present';
	my ($SELECT_INPUT, $COMPLETE) = (3, 2);
	my $said = answer($c, $c->request($present, $SELECT_INPUT, $c->id, $c->{window}, $COMPLETE));
	$c->close;
	return $said;
}

sub client {
	my ($x, $swapped) = @_;
	my $c = XClient->new($x, swapped => $swapped);
	($c->{window}) = $c->window;
	return $c;
}

# Names and opcodes of all requests of the core, and of all extensions.
sub majors {
	my ($c)    = @_;
	my %majors = map { ("core $_" => $_) } 1 .. 119, 127;
	$c->request($LIST_EXTENSIONS, 0);
	my $reply = $c->reply;
	for my $name (unpack '(C/a)' . ord(substr $reply, 1, 1), substr $reply, 32) {
		$majors{$name} = $c->extension($name);
	}
	return \%majors;
}

# What the server says to one request: it has said it when it answers the next.
sub answer {
	my ($c, $sequence) = @_;
	my $said = 'nothing';
	my $last = $c->request(XClient::GET_INPUT_FOCUS, 0);
	while (1) {
		my $message = $c->_message(XClient::PATIENCE_S) // return 'end';
		my ($type, $code, $of, $length) = $c->unpack('CCSL', $message);
		return $said if $type <= 1 && $of == $last;
		next         if $type > 1;
		# The value that is wrong stands where a reply has its length.
		my ($minor, $major) = $c->unpack('x8SC', $message);
		$said =
			$type
			? "reply $length"
			: "error $code $major $minor " . ($length == $c->{window} ? 'window' : $length);
	}
}
