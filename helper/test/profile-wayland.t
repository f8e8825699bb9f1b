#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# tipme profile on what Wayland compositors tell, replayed: when an answer begins and ends, what is
# one event and what two, and privacy.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Cpanel::JSON::XS ();
use File::Temp       qw(tempdir);
use List::Util       qw(sum0);
use Test::More;
use Tipme::TestSession;

use constant MS => Tipme::TestSession::MS;
my $tipme = "$ENV{TIPME_BUILDDIR}/tipme";
my $dir   = tempdir(CLEANUP => 1);
my $n     = 0;

# The profile of what SUB has written from 2 s on.
sub profile {
	my ($sub) = @_;
	my $s = Tipme::TestSession->new("$dir/" . ++$n . '.rec');
	$sub->($s, 2_000 * MS);
	is system($tipme, qw(profile record -q --name 200=editor --name 300=method --replay),
		$s->done, '-o', "$dir/$n.json"
		),
		0, 'replayed'
		or BAIL_OUT('it cannot be replayed');
	return "$dir/$n.json";
}

sub slurp {
	my ($name) = @_;
	open my $h, '<:raw', $name or die "$name: $!\n";
	local $/;
	return scalar <$h>;
}

# { "app kind" => [ events, answered, without effect, ns in each stage ] }
sub pairs {
	my ($file) = @_;
	my $p = Cpanel::JSON::XS->new->utf8->decode(slurp($file));
	is $p->{source}, 'wayland', 'by a compositor';
	is sum0(map { @$_{qw(waiting_ns thinking_ns background_ns)} } @{ $p->{apps} }),
		$p->{duration_ns}, 'each moment is something';
	return {
		map {
			(
				"$_->{app} $_->{kind}" => [
					@$_{qw(events answered without_effect)},
					map { $_->{sum_ns} } @{ $_->{stages} }
				]
			)
		} @{ $p->{pairs} }
	};
}

subtest 'an answer ends when its last picture is used' => sub {
	my $p = pairs(
		profile(
			sub {
				my ($s, $t) = @_;
				$s->sent($t, 200, 'key_press')->commit($t + 3 * MS, 200, 11)
					->told($t + 16 * MS, 200, 11);
				# A second picture soon after belongs to it; one that a timer draws does not.
				$t += 1000 * MS;
				$s->sent($t, 200, 'key_press')->commit($t + 2 * MS, 200, 12)
					->told($t + 10 * MS, 200, 12)->commit($t + 12 * MS, 200, 13)
					->told($t + 26 * MS, 200, 13);
				$s->commit($t + 500 * MS, 200, 14)->told($t + 516 * MS, 200, 14);
				# The compositor stands still for 3 s before it uses the picture.
				$t += 1000 * MS;
				$s->sent($t, 200, 'key_press')->commit($t + 4 * MS, 200, 15)
					->told($t + 3000 * MS, 200, 15);
				# No callback was asked for: it counts as used when it was taken.
				$t += 5000 * MS;
				$s->sent($t,             200, 'key_press')->commit($t + 5 * MS, 200, 0);
				$s->sent($t + 9000 * MS, 200, 'key_press')->told($t + 30_000 * MS, 200, 99);
			}
		)
	);
	is_deeply $p,
		{
		'editor key' => [
			5, 4, 1, 0, 0,
			(3 + 2 + 4 + 5) * MS,
			(13 + 24 + 2996) * MS,
			(16 + 26 + 3000 + 5) * MS
		]
		},
		'events, answers, stages to the nanosecond';
};

subtest 'keys typed while pictures wait for their turn' => sub {
	my $p = pairs(
		profile(
			sub {
				my ($s, $t) = @_;
				# The second key comes before the first one's picture is used.
				$s->sent($t,          200, 'key_press')->commit($t + 2 * MS, 200, 21);
				$s->sent($t + 8 * MS, 200, 'key_press')->told($t + 16 * MS, 200, 21)
					->commit($t + 17 * MS, 200, 22)->told($t + 33 * MS, 200, 22);
				$s->told($t + 9000 * MS, 200, 99);
			}
		)
	);
	is_deeply $p, { 'editor key' => [ 2, 2, 0, 0, 0, 11 * MS, 30 * MS, 41 * MS ] },
		'each ends with its own picture';
};

subtest 'what is one event' => sub {
	my $p = pairs(
		profile(
			sub {
				my ($s, $t) = @_;
				# Two keyboards of one client are told of one key; letting go is none.
				$s->sent($t, 200, 'key_press')->sent($t + 20_000, 200, 'key_press', object => 8)
					->commit($t + 2 * MS, 200, 0)->sent($t + 90 * MS, 200, 'key_release');
				# An input method has the key first, and makes text of it.
				$t += 1000 * MS;
				$s->sent($t,          300, 'key_press', what => 'input_method');
				$s->sent($t + 5 * MS, 200, 'key_press', what => 'text')
					->commit($t + 7 * MS, 200, 0);
				# The compositor moves the pointer by itself; with a button the client answers,
				# once for all motions before its picture.
				$t += 1000 * MS;
				$s->sent($t,            200, 'motion',       what => 'pointer');
				$s->sent($t + 100 * MS, 200, 'button_press', what => 'pointer')
					->commit($t + 101 * MS, 200, 0);
				$s->sent($t + (200 + $_) * MS, 200, 'motion', what => 'pointer') for 0 .. 5;
				$s->commit($t + 208 * MS, 200, 0)
					->sent($t + 300 * MS, 200, 'button_release', what => 'pointer');
				# Both axes of a wheel.
				$t += 1000 * MS;
				$s->sent($t, 200, 'wheel', what => 'pointer')
					->sent($t + 10_000, 200, 'wheel', what => 'pointer')
					->commit($t + 6 * MS, 200, 0)->told($t + 20_000 * MS, 200, 99);
			}
		)
	);
	is_deeply {
		map { $_ => [ @{ $p->{$_} }[ 0, 1, 7 ] ] } keys %$p
	},
		{
		'editor key'    => [ 2, 2, 9 * MS ],
		'editor button' => [ 1, 1, 1 * MS ],
		'editor motion' => [ 1, 1, 8 * MS ],
		'editor wheel'  => [ 1, 1, 6 * MS ],
		},
		'events, answers, response';
};

subtest 'what waited before the compositor sent it' => sub {
	my $p = pairs(
		profile(
			sub {
				my ($s, $t) = @_;
				$s->sent($t, 200, 'key_press', age_ms => 540)->commit($t + 2 * MS, 200, 31)
					->told($t + 16 * MS, 200, 31)->told($t + 9000 * MS, 200, 99);
			}
		)
	);
	is_deeply $p, { 'editor key' => [ 1, 1, 0, 540 * MS, 0, 2 * MS, 14 * MS, 556 * MS ] },
		'a compositor that stood still is seen, by the time that it tells its client';
};

# As many keys in each minute, of as long answers, in another order and at other moments.
subtest 'two sessions with other text give the same profile' => sub {
	my @files = map {
		my $seed = $_;
		srand $seed;
		profile(
			sub {
				my ($s) = @_;
				my $from = $s->{from_ns};
				for my $minute (0 .. 4) {
					my @took = map { 5 + $_ % 11 } 0 .. 59;
					@took = reverse @took if $seed == 2;
					for my $k (0 .. 59) {
						my $t = $from + $minute * 60_000 * MS + int((1000 * $k + 300 * rand) * MS);
						$s->sent($t, 200, 'key_press')->commit($t + 2 * MS, 200, 40 + $k)
							->told($t + $took[$k] * MS, 200, 40 + $k);
					}
				}
				$s->told($from + 300_000 * MS, 200, 99);
			}
		)
	} 1, 2;
	isnt slurp("$dir/$_->[0].rec"), slurp("$dir/$_->[1].rec"), 'other records' for [ $n - 1, $n ];
	my ($a, $b) = map {s/"(?:own_cpu_ns|began)":[^,]*,//gr} map { slurp($_) } @files;
	is $a, $b, 'the same file, byte by byte';
	unlike $a, qr/"times|entered|deliver/, 'no time of a key in it';
};
done_testing;
