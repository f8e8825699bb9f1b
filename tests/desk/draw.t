#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# How the scenes of the desk are drawn, judged and counted.
use strict;
use warnings;
use Cpanel::JSON::XS ();
use File::Temp       qw(tempdir);
use FindBin;
use Test::More;
use lib "$FindBin::Bin/lib",
	map {"$ENV{TIPME_SRCDIR}/$_"} qw(tests/lab/lib tests/lib helper/demo helper/workload);
use Tipme::Desk::Draw;
use Tipme::Desk::Judge;
use Tipme::Desk::Table;
use Tipme::Floor qw(least_right);

my @one = Tipme::Desk::Draw::scenes(7, 60, 'all');
is_deeply([ Tipme::Desk::Draw::scenes(7, 60, 'all') ], \@one, 'a seed draws the same again');
isnt(
	join(' ', map { $_->{program} } Tipme::Desk::Draw::scenes(8, 60, 'all')),
	join(' ', map { $_->{program} } @one), 'another seed draws another table'
);
my %causes = map { $_->{cause} => 1 } @one;
is_deeply([ sort keys %causes ], [ Tipme::Desk::Causes::names() ], 'each cause has its turn');
is_deeply(
	[
		grep {
			!Tipme::Desk::Causes::fits($_->{cause}, Tipme::Workload::Programs::get($_->{program}))
		} @one
	],
	[],
	'no program has a cause that it cannot have'
);
# A program that nobody installs is skipped in each round, and not missed.
my %listed = map { $_ => 1 }
	`cat "$ENV{TIPME_SRCDIR}/.ci/packages"` =~ /^(?:build|compile|test|all) (\S+)$/mg;
my %wanted =
	map { Tipme::Workload::Programs::get($_)->{package} => $_ } Tipme::Desk::Programs::names('all');
is_deeply(
	[ map {"$wanted{$_}: $_"} grep { !$listed{$_} } sort keys %wanted ],
	[], 'each program has a package that the tests install'
);
for my $desktop (qw(bare composited sway weston)) {
	my %has = map { $_->{cause} => 1 } Tipme::Desk::Draw::scenes(7, 60, 'all', $desktop);
	is_deeply(
		[ sort keys %has ],
		[ Tipme::Desk::Causes::names($desktop) ],
		"each cause of '$desktop' has its turn"
	);
	my $x11 = $desktop =~ /^(?:bare|composited)$/;
	is($has{grab}       // 0, $x11               ? 1 : 0, '... one of X servers alone only there');
	is($has{compositor} // 0, $desktop eq 'bare' ? 0 : 1, '... and of compositors where one is');
}
my @all   = Tipme::Desk::Programs::names('all');
my @final = grep { Tipme::Desk::Programs::final($_) } @all;
cmp_ok(
	abs(@final / @all - 1 / 3), '<', 0.05,
	'a third of the programs is of the final table only: ' . @final . ' of ' . @all
);
is_deeply(
	[
		grep { Tipme::Desk::Programs::final($_->{program}) }
			Tipme::Desk::Draw::scenes(7, 200, 'work')
	],
	[],
	'... and not drawn before'
);
my %unseen = map { $_ => 1 } Tipme::Desk::Programs::names('unseen');
cmp_ok(scalar keys %unseen, '>=', 10, 'there are programs that no round has played');
is_deeply([ grep { $unseen{$_} } @all ], [], '... and none of them is in the table');
is_deeply(
	[ grep { !$unseen{ $_->{program} } } Tipme::Desk::Draw::scenes(7, 60, 'unseen') ],
	[], '... but in a round of their own'
);
is_deeply(
	[
		grep {
			my $p = $_;
			!grep { $_ eq $p } Tipme::Desk::Programs::names('work')
		} Tipme::Desk::Programs::names('ci')
	],
	[],
	'what the CI plays is none of these'
);

# Judged: who, kind and interval, each by itself.
my %truth = (
	program  => 'p', action    => 'key', accepted => ['stopped'], who => { 7 => 'service' },
	press_ns => 1e9, answer_ns => [ 1.5e9, 1.51e9 ]
);

sub judged {
	my ($from, $to, $kind, $pid) = @_;
	my %j = Tipme::Desk::Judge::compare(
		\%truth,
		{
			verdict  => { kind     => $kind, blamed => { pid => $pid, comm => 'x' } },
			interval => { start_ns => $from, end_ns => $to }
		}
	);
	return \%j;
}
is(judged(1e9, 1.5e9, 'stopped', 7)->{right}, 1, 'right');
is(
	judged(1e9, 1.53e9, 'stopped', 7)->{right}, 1,
	'25 ms, which are 5 %, beyond what was drawn in one go'
);
is(judged(1e9,    1.54e9, 'stopped',  7)->{right}, 0, '30 ms are too many');
is(judged(1.03e9, 1.5e9,  'stopped',  7)->{right}, 0, '... also at the beginning');
is(judged(1e9,    1.5e9,  'ipc-wait', 7)->{right}, 0, 'another kind');
is(judged(1e9,    1.5e9,  'stopped',  8)->{right}, 0, 'another process');
like(judged(1e9, 1.5e9, 'none', undef)->{why}, qr/not found/, '`none` on a real freeze is a miss');
my %quiet = Tipme::Desk::Judge::quiet({ verdict => { kind => 'none' } });
is($quiet{right}, 1, 'nobody accused');
%quiet = Tipme::Desk::Judge::quiet({ verdict => { kind => 'disk-io', blamed => { pid => 1 } } });
is($quiet{right}, 0, 'somebody accused');

# Void: from the witness alone.
my %scene = (
	press_ns  => 1e9, answer => [ 1.5e9, 1.5e9 ], lates => [], waits => [], usual_ns => 1e6,
	others_ns => 0,   how    => {}
);
is(Tipme::Desk::Judge::void({%scene}), '', 'a scene that counts');
like(
	Tipme::Desk::Judge::void({ %scene, lates => [ { t => 1.3e9, ns => 1e8 } ] }), qr/stood still/,
	'the machine stood still meanwhile'
);
is(
	Tipme::Desk::Judge::void({ %scene, lates => [ { t => 2.3e9, ns => 1e8 } ] }), '',
	'... or later'
);
like(
	Tipme::Desk::Judge::void({ %scene, answer => [ 1.01e9, 1.01e9 ] }), qr/no effect/,
	'the cause had no effect'
);
like(Tipme::Desk::Judge::void({ %scene, answer => undef }), qr/no answer/, 'no answer');
like(
	Tipme::Desk::Judge::void({ %scene, others_ns => 2e8 }), qr/waited 200 ms for a CPU/,
	'others had its CPU'
);
my %after = (%scene, action => 'echo', how => { answer => 'after' });
is(Tipme::Desk::Judge::void({ %after, until => 1.45e9 }), '', 'half of it at least is the cause');
like(
	Tipme::Desk::Judge::void({ %after, until => 1.3e9 }),
	qr/of 500 ms the program took 350 ms by itself/, '... or its own clocks took more'
);
my %other = (
	%scene,
	presses => [ 0.2e9,                       0.6e9 ],
	damage  => [ map { { t => $_ } } 0.203e9, 0.75e9 ]
);
is(Tipme::Desk::Judge::void({%other}), '', 'a press that was answered after 150 ms beside 500 ms');
like(
	Tipme::Desk::Judge::void({ %other, damage => [ map { { t => $_ } } 0.203e9, 0.9e9 ] }),
	qr/another press was answered after 300 ms/, '... and one after 300 ms'
);
my %still = (%other, quiet => 1, answer => [ 1.002e9, 1.002e9 ]);
like(
	Tipme::Desk::Judge::void({%still}), qr/another press was answered after 150 ms/,
	'where nothing was done, 150 ms are too long'
);
is(
	Tipme::Desk::Judge::void({ %still, damage => [ { t => 0.603e9 } ] }), '',
	'... and a press that shows nothing is none'
);
like(
	Tipme::Desk::Judge::void({ %still, damage => [], lates => [ { t => 0.5e9, ns => 1e8 } ] }),
	qr/stood still/, '... nor may the machine have stood still before'
);

# The floor: 95 % right fails once in 1,000 at most.
is(least_right(10,  0.95), 6,  'of ten');
is(least_right(100, 0.95), 87, 'of a hundred');
my $c =
	Tipme::Desk::Table::counts({ right => 1 }, { right => 0 }, { void => 'x' }, { skipped => 'y' });
is_deeply($c, { drawn => 4, judged => 2, right => 1, void => 1, skipped => 1 }, 'counts');
# Judged again: by a tipme that says what is written here.
{
	my $dir = tempdir(CLEANUP => 1);
	my %old = (
		program => 'xterm-shell', cause => 'file-lock', action => 'deed', ms => 500, world => 'x11',
		load    => 'nothing', accepted  => ['lock-wait'], who  => { 7 => 'flock' }, press_ns => 1e9,
		answer_ns => [ 1.5e9, 1.5e9 ], void => '', skipped     => '', right => 1, kind_right => 1,
		who_right => 1,                interval_right => 1, named => 'lock-wait flock (7)'
	);
	my %says = (
		same  => { kind => 'lock-wait', blamed => { pid => 7, comm => 'flock' } },
		worse => { kind => 'lock-wait', blamed => { pid => 8, comm => 'other' } },
		lost  => { kind => 'none' }
	);
	my $json = Cpanel::JSON::XS->new->canonical;
	for my $id (sort keys %says) {
		mkdir "$dir/$id";
		put(
			"$dir/$id/said",
			$json->encode(
				{ verdict => $says{$id}, interval => { start_ns => 1e9, end_ns => 1.5e9 } }
			)
		);
	}
	put("$dir/tipme", qq{#!/bin/sh\ncat "\$2/said"\n});
	chmod 0755, "$dir/tipme";
	my $again = sub {
		my ($old, @id) = @_;
		put(
			"$dir/results",
			map { $json->encode({ %$old, episode => "/elsewhere/$_" }) . "\n" } @id
		);
		local $ENV{TIPME_BUILDDIR} = $dir;
		my $text =
			qx{"$^X" "$FindBin::Bin/rejudge" --kept "$dir/none" --kept "$dir" "$dir/results" 2>&1};
		return ($text, $? >> 8);
	};
	my ($text, $status) = $again->(\%old, 'same');
	is($text,   "1 judged again: 1 the same; 1 were right, 1 are\n", 'judged again: the same');
	is($status, 0,                                                   '... is no failure');
	($text, $status) = $again->(\%old, 'same', 'worse', 'away');
	like(
		$text,
		qr/^worse: NOW WRONG, who wrong, lock-wait flock \(7\) became lock-wait other \(8\)$/m,
		'another one is named'
	);
	like(
		$text, qr/^2 judged again: 1 the same; 2 were right, 1 are; 1 not kept$/m,
		'... and counted'
	);
	is($status, 2, '... which is a failure');
	($text, $status) = $again->(
		{ %old, cause => 'quiet', named => 'lock-wait flock (7)', right => 0 },
		'lost'
	);
	like(
		$text, qr/^lost: now right, lock-wait flock \(7\) became none$/m,
		'a quiet one, in which nobody is accused any more'
	);
	is($status, 0, '... is no failure');
	($text, $status) = $again->({ %old, void => 'the machine stood still' }, 'same');
	like($text, qr/none of these episodes is there/, 'nothing to judge is told');
	is($status, 1, '... and fails');
}
done_testing;

sub put {
	my ($file, @text) = @_;
	open my $h, '>', $file or die "$file: $!\n";
	print {$h} @text;
	close $h or die "$file: $!\n";
	return;
}
