#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Builds of libwayland-server that are not Debian's: without optimisation, optimised at link time,
# with symbols bound to themselves. Each is calibrated, and a compositor that uses it is recorded as
# its own log has it. A build that cannot be told is refused aloud. With TIPME_TEST_ALL=1, or with
# names of builds.
use strict;
use warnings;
use File::Copy qw(copy);
use File::Temp qw(tempdir);
use Test::More;
use lib "$ENV{TIPME_SRCDIR}/helper/test/lib", "$ENV{TIPME_SRCDIR}/tests/lib",
	map {"$ENV{TIPME_SRCDIR}/$_"} qw(postmortem/lib abi/generated abi/lib);
use Tipme::Episode;
use Tipme::KernelEvents;
use Tipme::TestDaemon;
use Tipme::WaylandStage;

$SIG{$_} = sub { exit 1 }
	for qw(INT TERM HUP);    # so that all that was started is ended
plan skip_all => 'not root: recording the whole machine needs it' if $>;
plan skip_all => 'libraries are built for this with TIPME_TEST_ALL=1 alone'
	if !$ENV{TIPME_TEST_ALL} && !@ARGV;
my $lacks = Tipme::WaylandStage->lacks;
plan skip_all => "$lacks is not installed" if defined $lacks;
my %NUMBER  = %Tipme::Record::Columns::NUMBER;
my %REFUSED = ('no-unwind' => 'no function shows all requests');

my $d = Tipme::TestDaemon->new(args => [ '--owner', Tipme::WaylandStage::NOBODY, '--post', 0 ]);
for my $build (@ARGV ? @ARGV : qw(plain O0 lto symbolic no-unwind)) {
	subtest $build => sub {
		my $dir = library($build) // return;
		$REFUSED{$build} ? refused($build, "$dir/libwayland-server.so.0") : recorded($dir);
		$d->stop;
	};
}
done_testing;

# A folder that a session can read and root alone can change, with that build.
sub library {
	my ($build) = @_;
	my ($from)  = reverse split /\n/, scalar qx{"$ENV{TIPME_SRCDIR}/tests/mkwayland" $build};
	if ($? || !defined $from) { fail("$build can be built"); return }
	my $dir = tempdir('tipme-builds-XXXXXX', DIR => '/var/tmp', CLEANUP => 1);
	chmod 0755, $dir;
	copy("$from/libwayland-server.so.0", $dir) && chmod 0644, "$dir/libwayland-server.so.0"
		or BAIL_OUT("$dir: $!");
	return $dir;
}

sub refused {
	my ($build, $library) = @_;
	my ($rc,    $out)     = $d->start('--wayland-library', $library);
	is($rc, 0, 'the recorder starts');
	like(
		$out,
		qr/limited: Wayland compositors that use \Q$library\E are not recorded: .*\Q$REFUSED{$build}\E/,
		'it is refused aloud'
	);
	return;
}

sub recorded {
	my ($dir) = @_;
	my ($rc, $out) = $d->start('--wayland-library', "$dir/libwayland-server.so.0");
	is($rc, 0, 'the recorder starts');
	unlike($out, qr/Wayland compositors/, 'the build is understood');
	my $stage = Tipme::WaylandStage->new(library => $dir);
	open my $maps, '<', '/proc/' . $stage->compositor . '/maps' or BAIL_OUT("maps: $!");
	ok((grep {m{\Q$dir\E}} <$maps>), '... and a compositor uses it');
	$stage->terminal('/bin/sh');
	$stage->type('abcdefghij', apart => 0.1);
	my $ev = records($stage);
	my %n  = (key => 0, done => 0, commit => 0, other => 0);

	for my $i (0 .. $ev->count - 1) {
		next if $ev->tid($i) != $stage->compositor;
		my $kind = $ev->kind($i);
		$n{
			  $kind == $NUMBER{wl_commit}            ? 'commit'
			: $kind == $NUMBER{wl_done}              ? 'done'
			: $ev->wl_deliver_what($i) eq 'keyboard' ? 'key'
			:                                          'other'
		}++;
	}
	my %said = map { $_->[0] => $stage->said($_->[1]) } [ key => qr/-> wl_keyboard\@\d+\.key\(/ ],
		[ done => qr/-> wl_callback\@\d+\.done\(/ ];
	cmp_ok($n{key}, '>=', 20, 'keys and releases: ' . $n{key});
	is($n{$_}, $said{$_}, "$_: $said{$_} by its own log") for sort keys %said;
	cmp_ok($n{commit}, '>', 0, "pictures: $n{commit}");
	$stage->close;
	return;
}

sub records {
	my ($stage) = @_;
	my ($status, $id, $why) = $d->snap;
	is($status, 0, 'saved') or BAIL_OUT($why);
	my ($folder) = $id =~ m{^(/.*)$}m;
	$stage->wait_for(sub { -e "$folder/manifest.json" }, 'the episode');
	return Tipme::KernelEvents->load_only(
		Tipme::Episode->open($folder),
		@NUMBER{qw(wl_deliver wl_commit wl_done)}
	);
}
