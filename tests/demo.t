#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The whole chain as a stranger sees it: each cause of the demo, staged for real, must be named by
# kind and process. First tries count: as many are right as a rate of 95 % reaches 999 times in
# 1,000. Where a witness says that the machine stood still meanwhile, it was another story: then it
# is told again, before anybody has looked at its verdict. Of the sessions that differ the commit's
# hash draws one of each sort; with TIPME_TEST_ALL=1 there are all, and each cause three times.
use strict;
use warnings;
use Cpanel::JSON::XS ();
use File::Temp       qw(tempdir);
use Test::More;
use lib "$ENV{TIPME_SRCDIR}/helper/demo", "$ENV{TIPME_SRCDIR}/tests/lib";
use Tipme::Display;
use Tipme::Drawn     qw(in_turn);
use Tipme::ExactPath qw(exact_path);
use Tipme::Floor     qw(least_right);
use Tipme::Witness   qw(undisturbed);

plan skip_all => 'not root: recording the whole machine needs it' if $>;
my $repeats = $ENV{TIPME_TEST_ALL} ? 3 : 0;
my @causes  = qw(cpu-storm rt-hog slow-helper stopped);
local $ENV{TIPME_LIBRARY} = tempdir(CLEANUP => 1);
use constant RATE => 0.95;
my @right;    # of each story: whether the first verdict was true

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
	my $r = undisturbed(
		sub {
			my $out = qx{"$ENV{TIPME_BUILDDIR}/tipme" demo --seed $seed @named --json};
			return eval { Cpanel::JSON::XS->new->decode($out) } // {};
		}
	);
	is($r->{cause}, $cause, "seed $seed is $cause");
	told(
		"seed $seed", $r->{right},
		"truth: $r->{truth}{kind} $r->{truth}{text}; verdict: $r->{verdict}{kind}: "
			. "$r->{verdict}{sentence}"
	);
	exact($r->{episode}) if $r->{episode};
}

# drawn(SESSIONS...): those that are played
sub drawn {
	my (@sessions) = @_;
	my %is = map { $_ => 1 } in_turn(1, 'sessions', map { $_->[0] } @sessions);
	return grep { $is{ $_->[0] } } @sessions;
}

# The other three as text, by a seed alone, and whatever DISPLAY says: the demo has its own server,
# and doctor says what this session has. One comes too late to be felt, which is no story: it is
# told once more.
my $plain    = eval { Tipme::Display->new(kind => 'Xvfb') };
my @sessions = (
	[ 'DISPLAY unset',   undef,   '--seed 3', qr/DISPLAY is not set/ ],
	[ 'DISPLAY is dead', ':4711', '--seed 6', qr/no server answers there/ ],
	[
		'a server without hooks', $plain && $plain->display,
		'--late --seed 8',        qr/no hooks seen in X server/
	]
);
for my $session (drawn(@sessions)) {
	my ($what, $display, $how, $says) = @$session;
SKIP: {
		skip 'no Xvfb here', 9 if !$plain && $what =~ /hooks/;
		local $ENV{DISPLAY} = $display;
		delete $ENV{DISPLAY} if !defined $display;
		my ($text, $rc) = @{
			undisturbed(
				sub {
					my $said = qx{"$ENV{TIPME_BUILDDIR}/tipme" demo $how 2>&1};
					return [ $said, $? >> 8 ];
				}
			)
		};
		told("$what, $how", $text  =~ /The verdict is true/, $text);
		is($rc == 0 ? 1 : 0, $text =~ /The verdict is true/ ? 1 : 0, '... and the status says so');
		like($text, $says, '... and what this session has');
		my ($png) = $text =~ /^timeline\s+(\S+\.png)$/m;
		ok($png && -s $png, '... and the timeline is a picture');
		exact($text =~ /^episode\s+(\S+)$/m);
		next if $how !~ /late/;
		like(
			$text, qr/^The answer came after \d+ ms, too soon .*: once more \.\.\.$/m,
			'... of the story that was told once more'
		);
		cmp_ok(scalar(() = $text =~ /^typing at/mg), '>=', 2, '... since it came too late');
	}
}
$plain->stop if $plain;

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
	my @here = (
		[
			'a server with hooks', hooks => Tipme::Display::find_hooks(),
			rundir => $ENV{TIPME_RUNDIR}
		],
		['a server without hooks']
	);
	for my $session (drawn(@here)) {
		my ($what, @how) = @$session;
		my $d = Tipme::Display->new(kind => 'Xvfb', uid => 65534, gid => 65534, @how);
		my ($rc, $text) =
			@{ undisturbed(sub { [ here($tree, $d, '--yes', '--seed', @how ? 5 : 6) ] }) };
		told("demo --here, $what", $rc == 0, $text);
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
my $least = least_right(scalar @right, RATE);
cmp_ok(
	scalar(grep {$_} @right), '>=', $least,
	"at least $least of " . @right . ' are true at once'
);
done_testing;

# told(WHAT, RIGHT, SAID): one story, and what was said of it if that was not true
sub told {
	my ($what, $right, $said) = @_;
	push @right, $right ? 1 : 0;
	note("$what: a true verdict") if $right;
	diag("$what: MISS: $said")    if !$right;
	return;
}

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
