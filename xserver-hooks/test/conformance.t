#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# What programs that examine X servers say is the same with and without the hooks: rendercheck, on
# Xvfb and Xorg; with TIPME_TEST_ALL=1 in more formats, and the tests in the server's own source
# that need a running server.
use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/lib";
use Test::More;
use Live;

need(qw(Xvfb Xorg rendercheck));
my @rendercheck =
	qw(fill dcoords scoords mcoords tscoords tmcoords blend composite cacomposite gradients repeat
	triangles bug7366 gtk_argb_xbgr libreoffice_xrgb);
# All of them take hours.
my @few = (
	'-f', $ENV{TIPME_TEST_ALL} ? 'a8r8g8b8,x8r8g8b8,r5g6b5,a8' : 'a8r8g8b8,x8r8g8b8', '-o',
	'clear,src,over,xor,disjointover'
);
for my $kind (qw(Xvfb Xorg)) {
	my %server = (
		off => Tipme::Display->new(kind => $kind),
		on  => Tipme::Display->new(kind => $kind, hooks => hooks(), rundir => '/nonexistent')
	);
	my ($passed, $total) = (0, 0);
	for my $test (@rendercheck) {
		my %said = map { $_ => examine($server{$_}, 'rendercheck', '-t', $test, @few) } qw(off on);
		is($said{on}, $said{off}, "$kind, rendercheck $test: the same") or next;
		$said{on} =~ /(\d+) tests passed of (\d+) total/
			or fail("$kind, rendercheck $test: says how many passed"), next;
		$passed += $1;
		$total  += $2;
	}
	cmp_ok(
		$total, '>', 50,
		"$kind: rendercheck has looked at many things: $passed of $total passed"
	);
	$server{$_}->stop for keys %server;
}

SKIP: {
	skip 'the tests in the server\'s source are built only with TIPME_TEST_ALL=1', 1
		if !$ENV{TIPME_TEST_ALL};
	my $cache = $ENV{TIPME_CACHE} // ($ENV{XDG_CACHE_HOME} // "$ENV{HOME}/.cache") . '/tipme';
	my @given = defined $ENV{TIPME_XORG_SOURCE} ? $ENV{TIPME_XORG_SOURCE} : ();
	my $built = do {
		open my $h, '-|', "$Bin/../patches/build", "$cache/xserver", @given or die "build: $!";
		local $/;
		<$h>;
		}
		// '';
	chomp $built;
	skip 'the server could not be built from source', 1 if !-x $built;
	(my $folder = $built) =~ s{/hw/vfb/Xvfb$}{};
	# It may have been set up before there was all that these need.
	system "meson setup --reconfigure '$folder' '$folder/../source' >/dev/null 2>&1"
		if !-e "$folder/test/sync/sync";
	# The cache may be closed to the server's user.
	my $own = rundir() . '/Xvfb';
	system('install', '-m', 755, $built, $own) == 0 or BAIL_OUT('install');
	for my $which ('stock', 'of this source') {
		my @program = $which eq 'stock' ? () : (program => $own);
		my %server  = (
			off => Tipme::Display->new(kind => 'Xvfb', @program),
			on  => Tipme::Display->new(
				kind => 'Xvfb', @program, hooks => hooks(), rundir => '/nonexistent'
			)
		);
		for my $test (qw(damage/damage-primitives bigreq/request-length sync/sync)) {
		SKIP: {
				skip "$test: not built "
					. "(Debian: libxcb1-dev, libxcb-damage0-dev, libxcb-xinput-dev, libxcb-sync-dev)",
					1
					if system "ninja -C '$folder' test/$test >/dev/null 2>&1";
				my %said = map { $_ => examine($server{$_}, "$folder/test/$test") } qw(off on);
				is($said{on}, $said{off}, "the server's own $test, Xvfb $which: the same");
				# The stock one may be older than its tests.
				like($said{on}, qr/ended with 0$/, '... and passed') if $which ne 'stock';
			}
		}
		$server{$_}->stop for keys %server;
	}
}
done_testing();

# What a program says, but for addresses, and how it ends.
sub examine {
	my ($x, @command) = @_;
	local %ENV = (%ENV, $x->env);
	open my $out, '-|', 'timeout', 300, 'sh', '-c', 'exec "$0" "$@" 2>&1', @command
		or die "$command[0]: $!";
	my $said = do { local $/; <$out> }
		// '';
	close $out;
	return $said =~ s/0x[0-9a-f]+/address/gr . 'ended with ' . ($? >> 8);
}
