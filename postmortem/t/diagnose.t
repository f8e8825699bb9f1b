#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The program as it is called: exit status, messages, JSON; and foreign and damaged episodes, none
# of which may hang it or make it die unheard.
use strict;
use warnings;
use Test::More;
use Cpanel::JSON::XS ();
use File::Copy       qw(copy);
use File::Temp       qw(tempdir);
use FindBin          qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Diagnosis;
use Tipme::Episode;
use Tipme::Report::JSON;
use Tipme::Report::Text;
use Tipme::Test::Story;

my $tmp = tempdir(CLEANUP => 1);
local $ENV{TIPME_LIBRARY} = "$tmp/library";
mkdir "$tmp/library", 0700 or die "$!\n";

# run(ARGS): { out, err, exit } of the program
sub run {
	my (@args) = @_;
	my $pid = fork // die "fork: $!\n";
	if (!$pid) {
		open STDOUT, '>', "$tmp/out" or die "$!\n";
		open STDERR, '>', "$tmp/err" or die "$!\n";
		exec $^X, "$Bin/../bin/tipme-postmortem", @args;
	}
	waitpid $pid, 0;
	my %r = (exit => $? >> 8, signal => $? & 127);
	for my $f (qw(out err)) {
		open my $h, '<:raw', "$tmp/$f" or die "$!\n";
		local $/;
		$r{$f} = <$h> // '';
	}
	return \%r;
}

sub slow { return Tipme::Test::Story->new(trigger => 2000)->key(1000, 400)->hotkey(1900) }

my $id = '20261120-150301-3f2a';
slow()->builder->write("$tmp/library/$id");
my $r = run('diagnose', $id);
is($r->{exit}, 0,  'a verdict: exit status 0') or diag($r->{err});
is($r->{err},  '', 'and nothing to complain about');
like(
	$r->{out} =~ s/\s+/ /gr,
	qr/^xterm \(pid 200\) answered a key press after 400 ms, usually 2\.9 ms: for 400 ms \(100 %\) it computed\. /,
	'the verdict first'
);
is(run('diagnose', $_)->{out}, $r->{out}, "found as $_") for 'last', "$tmp/library/$id", '20261120';
is(run('diagnose')->{out}, $r->{out}, 'the newest without a word');
# In short: what, when, whom to ask, what to do, the largest causes; all with -v.
like(
	$r->{out},
	qr/^That was at 2026-11-20 \d\d:\d\d:00, 1\.0 s before you pressed the hot-key\.$/m, 'when'
);
like($r->{out}, qr/\n\nAsk: the makers of xterm \(pid 200\)\.\nNext: /, 'whom to ask, what to do');
like(
	$r->{out},
	qr/^ +400 ms +99\.9 %  the application computed  - xterm \(200\)\n +0\.45 ms +0\.1 %  all else$/m,
	'the largest causes'
);
like(
	$r->{out} =~ s/\s+/ /gr,
	qr/ 100 % of the delay measured exactly All of it: tipme diagnose $id -v $/, 'how to see more'
);
unlike($r->{out}, qr/^evidence$|along the path|from finger to screen/m, 'no more than that');
like(
	run('diagnose', $id, '-v')->{out},
	qr/^That was at .*^Ask: .*^ *ms +share .*^along the path: .*^from finger to screen .*^evidence$/ms,
	'all of it: -v'
);
like(
	run('diagnose', $id, '-v')->{out},
	qr/^usually: the median of the 3 other such events in this episode$/m,
	'... and what "usually" means'
);
my $json = run('diagnose', $id, '--json');
my $d    = Cpanel::JSON::XS->new->decode($json->{out});
is($json->{exit}, 0, 'JSON');
is($d->{version}, 1, 'with its version');
is_deeply(
	[ sort keys %$d ],
	[
		sort qw(version id time trigger interval event path totals verdict evidence coverage lost
			overhead damage unknown_records left_out sampled when)
	],
	'all parts are there'
);
is($d->{interval}{duration_ns}, 399_900_000 + 100_000, 'the interval');
is_deeply(
	[ sort keys %{ $d->{path}[0] } ],
	[
		sort qw(tid pid start_time_ns comm from_ns to_ns state reason reason_code cpu exact
			evidence blamed)
	],
	'a stretch of the path'
);
is_deeply(
	[ sort keys %{ $d->{path}[0]{blamed} } ],
	[ sort qw(kind pid tid comm detail detail_code) ], 'who is blamed'
);
is($d->{verdict}{blamed}{pid}, 200, 'a number is a number');
like($json->{out},       qr/"pid" : 200\b/,            'in the text, too');
like(run('list')->{out}, qr/400 ms|xterm|app-compute/, 'the library has been told');

is(run('diagnose', $id, '--event', 999)->{exit}, 2, 'no such event: exit status 2');
like(
	run('diagnose', $id, '--event', 999)->{out},
	qr/^There is no input event 999: `tipme events` lists them\.$/m, '... said'
);
like(
	run('diagnose', $id, '--event', 5)->{out},
	qr/^Event 5 belongs to the hot-key: `tipme events`/, 'one of the hot-key: said'
);
is(run('diagnose', $id, '--at', '-1.0')->{exit}, 0, 'a time before the hot-key');
for (
	[ 'diagnose', '--at', '25:99' ], [ 'timeline', '--at', 'noon' ],
	[ 'diagnose', qw(--thread 1 --from -2), '--to', '1e9' ]
	)
{
	my ($verb, @rest) = @$_;
	my $no = run($verb, $id, @rest);
	is($no->{exit}, 64, "$verb @rest: the command line was not understood");
	like(
		$no->{err},
		qr/^tipme: $verb: \Q$rest[-2] $rest[-1]\E: not a time: give HH:MM:SS, .*: usage: tipme $verb /,
		'what is wrong, and what is meant'
	);
}
# Another than the one that it chooses itself, by number and by time: each of the four presses.
for my $e (
	map  { $_->{n} }
	grep { defined $_->{response_ns} }
	@{ Cpanel::JSON::XS->new->decode(run('events', $id, '--json')->{out})->{events} }
	)
{
	my $by_number =
		Cpanel::JSON::XS->new->decode(run('diagnose', $id, '--event', $e, '--json')->{out});
	my $at      = sprintf '%.9f', ($by_number->{interval}{start_ns} + 1_000_000) / 1e9;
	my $by_time = Cpanel::JSON::XS->new->decode(run('diagnose', $id, '--at', $at, '--json')->{out});
	is_deeply(
		[ $by_number->{event}{n}, $by_time->{event}{n}, $by_number->{verdict}{kind} ],
		[ $e, $e, $by_number->{interval}{duration_ns} > 300_000_000 ? 'app-compute' : 'none' ],
		"event $e, by number and by a time within it"
	);
}
is(run('diagnose', '--nonsense')->{exit}, 64, 'usage: exit status 64');
is(run('nonsense')->{exit},               64, 'no such verb');
like(
	run('diagnose', '--event', 'x')->{err},
	qr/^tipme: diagnose: --event x: number expected: usage: tipme diagnose /,
	'what is wrong with which option'
);
like(
	run('diagnose', '--event')->{err},
	qr/^tipme: diagnose: --event: its value is missing: usage: /, 'or lacking'
);
my $help = run('diagnose', '--help');
is($help->{exit}, 0, 'help');
like($help->{out}, qr/tipme diagnose last/, 'with examples');
$r = run('diagnose', '/etc');
is($r->{exit}, 1, 'a foreign folder');
is(
	$r->{err},
	"tipme: diagnose: /etc: not an episode (no manifest.json): `tipme list` shows the episodes\n",
	'in one clear sentence'
);
$r = run('diagnose', "$tmp/library/none");
like($r->{err}, qr{^tipme: diagnose: \S+/none: no such folder}, 'nothing there');

done_testing();
