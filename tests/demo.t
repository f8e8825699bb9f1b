#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The whole chain as a stranger sees it: each cause of the demo, staged for real, must be named by
# kind and process. A miss is staged once more, as in the laboratory: on a machine that others use,
# too, the delay may really have had another cause. Two in a row are a failure.
use strict;
use warnings;
use Cpanel::JSON::XS ();
use File::Temp       qw(tempdir);
use Test::More;
use lib "$ENV{TIPME_SRCDIR}/helper/demo", "$ENV{TIPME_SRCDIR}/tests/lib";
use Tipme::Display;
use Tipme::ExactPath qw(exact_path);

plan skip_all => 'not root: recording the whole machine needs it' if $>;
my $repeats = $ENV{TIPME_TEST_ALL} ? 3 : 0;
my @causes  = qw(cpu-storm rt-hog slow-helper stopped);
local $ENV{TIPME_LIBRARY} = tempdir(CLEANUP => 1);

# One cause as JSON, drawn by a seed; with TIPME_TEST_ALL each of them by name.
for my $how (
	[ 10, 'slow-helper' ],
	map {
		my $round = $_;
		map { [ $round * 100 + length, $_, '--cause', $_ ] } @causes
	} 1 .. $repeats
	)
{
	my ($seed, $cause, @named) = @$how;
	my $r;
	twice(
		sub {
			my $out = qx{"$ENV{TIPME_BUILDDIR}/tipme" demo --seed $seed @named --json};
			$r = eval { Cpanel::JSON::XS->new->decode($out) } // {};
			return $r->{right};
		}
	);
	is($r->{cause}, $cause, "seed $seed is $cause");
	ok($r->{right}, '... and the verdict is true')
		or diag("truth: $r->{truth}{kind} $r->{truth}{text}; verdict: $r->{verdict}{kind}: "
			. "$r->{verdict}{sentence}");
	exact($r->{episode}) if $r->{episode};
}

# The other three as text, by a seed alone, and whatever DISPLAY says: the demo has its own server,
# and doctor says what this session has.
my $plain = eval { Tipme::Display->new(kind => 'Xvfb') };
for my $session (
	[ 'DISPLAY unset',          3, undef,                     qr/DISPLAY is not set/ ],
	[ 'DISPLAY is dead',        6, ':4711',                   qr/no server answers there/ ],
	[ 'a server without hooks', 8, $plain && $plain->display, qr/no hooks seen in X server/ ]
	)
{
	my ($what, $seed, $display, $says) = @$session;
SKIP: {
		skip 'no Xvfb here', 7 if $what =~ /hooks/ && !$plain;
		local $ENV{DISPLAY} = $display;
		delete $ENV{DISPLAY} if !defined $display;
		my ($rc, $text) = twice(
			sub {
				my $said = qx{"$ENV{TIPME_BUILDDIR}/tipme" demo --seed $seed 2>&1};
				return ($? == 0, $? >> 8, $said);
			}
		);
		is($rc, 0, "$what: drawn by seed $seed, a true verdict") or diag($text);
		like($text, qr/The verdict is true/, '... and it says so');
		like($text, $says,                   '... and what this session has');
		my ($png) = $text =~ /^timeline\s+(\S+\.png)$/m;
		ok($png && -s $png, '... and the timeline is a picture');
		exact($text =~ /^episode\s+(\S+)$/m);
	}
}
$plain->stop if $plain;

# What comes too late to be felt is no story, and is told once more.
{
	my $text = qx{"$ENV{TIPME_BUILDDIR}/tipme" demo --late --cause stopped --seed 5 2>&1};
	is($? >> 8, 0, 'a cause that came too late: a true verdict') or diag($text);
	like(
		$text, qr/^The answer came after \d+ ms, too soon .*: once more \.\.\.$/m,
		'... of the story that was told once more'
	);
	my @typed = $text =~ /^(typing at)/mg;
	is(scalar @typed, 2, '... and that one was felt') or diag($text);
}

# In the user's own session: a server with hooks, one without, and the refusals.
SKIP: {
	skip 'libx11-protocol-other-perl is not installed', 9
		if !eval { require X11::Protocol::Ext::XTEST };
	my $tmp = tempdir(CLEANUP => 1);
	chmod 0755, $tmp;
	my $tree = public_tree("$tmp/tree");
	local @ENV{qw(TIPME_RUNDIR TIPME_LIBRARY HOME)} = ("$tmp/run", "$tmp/library", $tmp);
	my $said = qx{"$ENV{TIPME_BUILDDIR}/tipme" start --owner 65534 2>&1};
	is($? >> 8, 0, 'a recorder whose episodes are the user\'s') or diag($said);
	for my $session (
		[
			'a server with hooks', hooks => Tipme::Display::find_hooks(),
			rundir => $ENV{TIPME_RUNDIR}
		],
		['a server without hooks']
		)
	{
		my ($what, @how) = @$session;
		my $d = Tipme::Display->new(kind => 'Xvfb', uid => 65534, gid => 65534, @how);
		my ($rc, $text) = twice(
			sub {
				my ($status, $said) = here($tree, $d, '--yes', '--seed', @how ? 5 : 6);
				return ($status == 0, $status, $said);
			}
		);
		is($rc, 0, "demo --here, $what: a true verdict") or diag($text);
		(@how ? \&unlike : \&like)->(
			$text, qr/Nobody in this session heard the hot-key/,
			'... and whether the hot-key was heard is told'
		);
		like(
			$text, @how ? qr/by its hooks/ : qr/as a client sees it/,
			'... and how the server was seen'
		);
		my ($asks, $why) = here($tree, $d);
		is($asks, 64, '... never without having asked') or diag($why);
		$d->stop;
	}
	qx{"$ENV{TIPME_BUILDDIR}/tipme" stop 2>&1};
	my $stopped = Tipme::Display->new(kind => 'Xvfb', uid => 65534, gid => 65534);
	like(
		(here($tree, $stopped, '--yes'))[1], qr/no recorder runs, or it is not yours/,
		'demo --here needs a recorder'
	);
	$stopped->stop;
	# What a session calls its server is all that can be seen of it from outside.
	system('cp', Tipme::Display::find_server('Xvfb'), "$tmp/Xwayland");
	my $xwayland =
		Tipme::Display->new(kind => 'Xvfb', program => "$tmp/Xwayland", uid => 65534, gid => 65534);
	like(
		(here($tree, $xwayland, '--yes'))[1], qr/is Xwayland, where injected keys/,
		'... and refuses Xwayland'
	);
	$xwayland->stop;
}
done_testing;

# exact(EPISODE): what its verdict is made of
sub exact {
	my ($episode) = @_;
	exact_path(
		Cpanel::JSON::XS->new->decode(
			scalar qx{"$ENV{TIPME_BUILDDIR}/tipme" diagnose "$episode" --json}
		)
	);
	return;
}

# Runs CODE, and once more if what it returns first is not true; returns the rest of that.
sub twice {
	my ($code) = @_;
	my ($right, @rest) = $code->();
	return @rest if $right;
	note(join "\n", 'a miss: once more', grep {defined} @rest);
	($right, @rest) = $code->();
	return @rest;
}

# What an ordinary user needs of the trees, which may be closed to him.
sub public_tree {
	my ($to) = @_;
	for (
		[ $ENV{TIPME_SRCDIR},   qw(helper/demo postmortem abi) ],
		[ $ENV{TIPME_BUILDDIR}, qw(helper/cli/tipme helper/xclient/tipme-x-observer) ]
		)
	{
		my ($from, @parts) = @$_;
		for my $part (@parts) {
			system('mkdir', '-p', "$to/$part" =~ s{/[^/]*$}{}r) == 0
				&& system('cp', '-r', "$from/$part", "$to/$part") == 0
				or BAIL_OUT($part);
		}
	}
	symlink 'helper/cli/tipme', "$to/tipme" or BAIL_OUT("$to/tipme: $!");
	system('chmod', '-R', 'a+rX', $to) == 0 or BAIL_OUT('chmod');
	return $to;
}

# `tipme demo --here` as the user of that session: its exit status and what it said.
sub here {
	my ($tree, $d, @args) = @_;
	local %ENV = (
		%ENV, $d->env, TIPME_SRCDIR => $tree, TIPME_BUILDDIR => $tree, PERL5LIB => join ':',
		map {"$tree/$_"} qw(abi/lib abi/generated postmortem/lib)
	);
	my $text =
		qx{setpriv --reuid=65534 --regid=65534 --clear-groups "$tree/helper/cli/tipme" demo --here @args </dev/null 2>&1};
	return ($? >> 8, $text);
}
