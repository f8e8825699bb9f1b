#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# tipme profile episode --live on a Wayland session: every key is counted once, though episodes
# overlap, as the compositor's own log has it; nothing stays in the library. Two minutes, with
# TIPME_TEST_ALL=1 alone.
use strict;
use warnings;
use Cpanel::JSON::XS ();
use File::Temp       qw(tempdir);
use List::Util       qw(sum0);
use POSIX            ();
use Test::More;
use Time::HiRes qw(sleep);
use lib "$ENV{TIPME_SRCDIR}/helper/test/lib", "$ENV{TIPME_SRCDIR}/tests/lib",
	map {"$ENV{TIPME_SRCDIR}/$_"} qw(postmortem/lib abi/generated abi/lib);
use Tipme::Profile::File;
use Tipme::TestDaemon;
use Tipme::WaylandStage;

plan skip_all => 'not root: recording the whole machine needs it'     if $>;
plan skip_all => 'two minutes of typing: with TIPME_TEST_ALL=1 alone' if !$ENV{TIPME_TEST_ALL};
my $lacks = Tipme::WaylandStage->lacks;
plan skip_all => "$lacks is not installed" if defined $lacks;
use constant KEYS => 150;

my $d = Tipme::TestDaemon->new(args => [ '--owner', Tipme::WaylandStage::NOBODY, '--post', 0 ]);
mkdir $d->library, 0700;
chown((Tipme::WaylandStage::NOBODY) x 2, $d->library);
my ($rc, $out, $err) = $d->start;
is($rc, 0, 'the recorder starts') or BAIL_OUT("$out$err");
my $stage = Tipme::WaylandStage->new;
$stage->terminal('/bin/cat');
my $press = qr/-> wl_keyboard\@\d+\.key\(.*, 1\)$/;

my $dir = tempdir(CLEANUP => 1);
chmod 0755, $dir;
mkdir "$dir/his", 0700;
chown((Tipme::WaylandStage::NOBODY) x 2, "$dir/his");
my $file = "$dir/his/p.json";
my $pid  = fork // die "fork: $!\n";
if (!$pid) {
	POSIX::setgid(Tipme::WaylandStage::NOBODY);
	POSIX::setuid(Tipme::WaylandStage::NOBODY);
	chdir "$dir/his" or die;
	open STDOUT, '>', "$dir/his/out"  or die;
	open STDERR, '>', "$dir/his/said" or die;
	exec "$ENV{TIPME_BUILDDIR}/tipme", qw(profile episode --live 1h -o), $file or die;
}
$stage->wait_for(sub { slurp("$dir/his/said") =~ /counting to/ }, 'the collector');
sleep 0.5;
my $before = $stage->said($press);
$stage->type('a' x KEYS, apart => 0.5);
sleep 1;
my $pressed = $stage->said($press) - $before;
kill 'INT', $pid;
waitpid $pid, 0;
is($?, 0, 'an ordinary user counts, until ^C') or diag slurp("$dir/his/said");
my $p    = Tipme::Profile::File->read($file);
my @keys = grep { $_->{app} eq 'foot' } $p->pairs_of('key');
is(sum0(map { $_->{events} } @keys), $pressed, "each of $pressed keys is counted once");
cmp_ok(sum0(map { $_->{answered} } @keys), '>=', $pressed - 5, '... and was answered, but for few');
is($p->{source}, 'wayland', 'by the Wayland source');
is(
	sum0(map { $_->{waiting_ns} + $_->{thinking_ns} } @{ $p->{apps} }),
	$p->{duration_ns}, 'each moment is waiting or thinking'
);
cmp_ok(scalar @{ $p->{rows} }, '>=', 2, 'over more than a minute');
unlike(slurp($file), qr/entered|deliver/, 'no time of a key is in it');
note sprintf '%.2f %% of a CPU', 100 * $p->{own_cpu_ns} / $p->{duration_ns};
is(join(' ', grep { -d && !m{/boots\z} } glob $d->library . '/*'), '', 'no episode stays');
$stage->close;
done_testing;

sub slurp {
	my ($name) = @_;
	open my $h, '<', $name or return '';
	local $/;
	return scalar <$h> // '';
}
