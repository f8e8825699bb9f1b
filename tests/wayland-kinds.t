#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Keys, pointer, wheel, touch, drags, text of an input method, tablets: each kind of input that a
# compositor sends is recorded as such, once, and nothing else is. A picture has the callback that
# was asked for with it.
use strict;
use warnings;
use File::Copy qw(copy);
use Test::More;
use lib "$ENV{TIPME_SRCDIR}/helper/test/lib",
	map {"$ENV{TIPME_SRCDIR}/$_"} qw(postmortem/lib abi/generated abi/lib);
use Tipme::Episode;
use Tipme::KernelEvents;
use Tipme::Record::Layout;
use Tipme::TestDaemon;

use constant NOBODY => 65534;

plan skip_all => 'not root: recording the whole machine needs it' if $>;
my $d = Tipme::TestDaemon->new(args => [ '--owner', NOBODY, '--post', 0 ]);
my ($rc, $out, $err) = $d->start;
is($rc, 0, 'the recorder starts') or BAIL_OUT("$out$err");
my $program = $d->dir . '/wayland-kinds';
copy("$ENV{TIPME_BUILDDIR}/tests/wayland-kinds", $program) && chmod 0755, $program
	or BAIL_OUT("$program: $!");
my ($status, $said, $why) =
	$d->run('setpriv', '--reuid', NOBODY, '--regid', NOBODY, '--clear-groups', $program);
plan skip_all => $why if $status && $why =~ /cannot open shared object/;
is($status, 0, 'all was sent') or diag $why;
my @sent  = split /\n/, $said;
my @given = grep {/^commit/} @sent;
@sent = grep { !/^commit/ } @sent;
cmp_ok(scalar @sent, '>', 30, 'of each kind: ' . @sent . ' events');
my ($deliver, $commit) = recorded();
is_deeply($deliver, \@sent,  'each of them is recorded, in order, and nothing beside them');
is_deeply($commit,  \@given, 'each picture has its callback, and none of a commit without one');
$d->stop;
done_testing;

sub recorded {
	my (undef, $id) = $d->snap;
	my ($folder) = $id =~ m{^(/.*)$}m or return;
	Tipme::TestDaemon::wait_until(sub { -e "$folder/manifest.json" });
	my %number = map { $_ => $Tipme::Record::Columns::NUMBER{$_} } qw(wl_deliver wl_commit);
	my $ev     = Tipme::KernelEvents->load_only(Tipme::Episode->open($folder), values %number);
	# Others may type into compositors of the same user.
	my (%of, %given);
	for my $i (0 .. $ev->count - 1) {
		if ($ev->kind($i) == $number{wl_commit}) {
			push @{ $given{ $ev->tid($i) } }, 'commit ' . $ev->wl_commit_callback($i);
			next;
		}
		push @{ $of{ $ev->tid($i) } },
			join ' ', $ev->wl_deliver_kind($i) // '-', $ev->wl_deliver_what($i) // '-';
	}
	my ($most) = sort { @{ $of{$b} } <=> @{ $of{$a} } } keys %of;
	return ($of{ $most // '' }, $given{ $most // '' });
}
