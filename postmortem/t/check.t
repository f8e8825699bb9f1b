#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# tipme check: two problems, with their remedy and without; what is sure, and what is not yet; and
# tipme list --week, in which problem, report and cure stand together.
use strict;
use warnings;
use Test::More;
use Cpanel::JSON::XS ();
use File::Temp       qw(tempdir);
use FindBin          qw($Bin);
use POSIX            qw(strftime);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Cure;
use Tipme::Test::Story;

use constant { CLIENT => 200, MS => 1_000_000 };
my $tmp = tempdir(CLEANUP => 1);
$ENV{TIPME_LIBRARY} = "$tmp/library";
$ENV{HOME}          = $tmp;
mkdir "$tmp/library" or die "$!\n";
my $n = 0;

sub tipme {
	my (@args) = @_;
	my $pid = fork // die "fork: $!\n";
	if (!$pid) {
		open STDOUT, '>', "$tmp/out"  or die "$!\n";
		open STDERR, '>', "$tmp/err"  or die "$!\n";
		open STDIN,  '<', '/dev/null' or die "$!\n";
		exec $^X, "$Bin/../bin/tipme-postmortem", @args;
	}
	waitpid $pid, 0;
	my %r = (exit => $? >> 8);
	for my $f (qw(out err)) {
		open my $h, '<:raw', "$tmp/$f" or die "$!\n";
		local $/;
		$r{$f} = <$h> // '';
	}
	return \%r;
}

sub flat { return $_[0] =~ s/\s+/ /gr }

# keep(STORY): its id; each is a minute later than the one before, and today
sub keep {
	my ($s) = @_;
	my $t   = time - 7200 + 60 * $n++;
	my $id  = strftime('%Y%m%d-%H%M%S-3f2a', gmtime $t);
	$s->builder->{id} = $id;
	$s->builder->{manifest}{boot_id} //= "boot-$n";
	$s->builder->{manifest}{time} = strftime('%Y-%m-%dT%H:%M:%SZ', gmtime $t);
	$s->builder->write("$tmp/library/$id");
	return $id;
}

# typed(SLOW, FAST, MS): so many presses that were slow, and so many that were not
sub typed {
	my ($slow, $fast, $ms) = @_;
	my $t = 700;
	my $s = Tipme::Test::Story->new(trigger => 1500 + 1000 * $slow + 50 * $fast, no_usual => 1);
	$s->key($t += 50, 3) for 1 .. $fast;
	for (1 .. $slow) { $s->key($t += 50, $ms // 700); $t += 900 }
	return $s->hotkey($t + 500);
}

# --- what is sure ---
my $p = {
	kind    => 'key_press', comm => 'xterm', usual_ns => 3 * MS, took_ns => 703 * MS,
	slow_ns => 353 * MS
};

sub of {
	my ($slow, $fast) = @_;
	return [ (map { (700 + $_) * MS } 1 .. $slow), map { 3 * MS + $_ * 1000 } 1 .. $fast ];
}

sub result { my ($r) = @_; return "$r->{result} $r->{sure}" }
is(
	result(Tipme::Cure::compared($p, of(10, 10), of(0, 20))), 'better 1',
	'ten of twenty, then none of twenty'
);
is(result(Tipme::Cure::compared($p, of(10, 10), of(10, 10))), 'same 0', 'ten of twenty, and again');
is(
	result(Tipme::Cure::compared($p, of(1, 19), of(15, 5))), 'worse 1',
	'one of twenty, then fifteen'
);
is(result(Tipme::Cure::compared($p, of(8, 0), of(0, 8))), 'better 1', 'each of eight, then none');
my $r = Tipme::Cure::compared($p, of(1, 19), of(0, 20));
is(result($r), 'unsure 0', 'one of twenty, then none of twenty');
my $more = $r->{more};
is(
	Tipme::Cure::compared($p, of(1, 19), of(0, 20 + $more))->{result}, 'better',
	"... but with $more more it is"
);
is(
	Tipme::Cure::compared($p, of(1, 19), of(0, 19 + $more))->{result}, 'unsure',
	'... and with one less it is not'
);
is(Tipme::Cure::compared($p, of(3, 3), of(0, 2))->{result}, 'unsure', 'too few');
is(
	Tipme::Cure::compared($p, of(5, 5), of(1, 30))->{result}, 'better',
	'rarer for sure, though it came again'
);
# The level: without any change it says "better" or "worse" in at most one of twenty.
srand 20261122;
my $wrong = 0;
for (1 .. 400) {
	my @draw = map {
		my $k = grep { rand() < 0.3 } 1 .. 20;
		of($k, 20 - $k)
	} 1, 2;
	$wrong++ if Tipme::Cure::compared($p, @draw)->{sure};
}
cmp_ok($wrong, '<=', 26, "no change: sure of one in $wrong of 400 (20 are expected at most)");

# --- a program that computes at each other press: with the remedy, and without ---
my $problem = keep(typed(6, 12));
like(tipme('diagnose', $problem)->{out}, qr/it computed/, 'a problem');
$r = tipme('check', $problem);
like(
	flat($r->{out}), qr/After: no such press in 0 episodes\. Press the same keys in xterm again/,
	'nothing was pressed since'
);
is($r->{exit}, 2, '... which is no cure');
my $same = keep(typed(3, 6));
$r = tipme('check', $problem);
like(
	flat($r->{out}),
	qr/Before: 6 of 18 times a key press of xterm took longer than \d+ ms.*After: 3 of 9 times.*The same as before: it was slow again/,
	'without the remedy: the same'
);
is($r->{exit}, 2, '... exit status 2');
my @cured = map { keep(typed(0, 25)) } 1 .. 2;
$r = tipme('check', $problem, @cured);
like(flat($r->{out}), qr/After: 0 of 50 times.*Better\. That is sure at 95 %\./, 'with it: better');
is($r->{exit}, 0, '... exit status 0');
my $json = Cpanel::JSON::XS->new->decode(tipme('check', $problem, $cured[0], '--json')->{out});
is("$json->{result} $json->{after}{presses} $json->{before}{slow}", 'better 25 6', '--json');

# --- the ring still has the presses from before the cure: they do not count again ---
{
	my ($t, @story) =
		(700, map { Tipme::Test::Story->new(trigger => $_, no_usual => 1) } 8000, 12_000);
	for (1 .. 6)  { $t += 900; $_->key($t, 700) for @story }
	for (1 .. 30) { $t += 120; $story[1]->key($t, 3) if $t > 8100 }
	for (@story) {
		$_->hotkey($_->{trigger} // ($_ == $story[0] ? 8000 : 12_000));
		$_->builder->{manifest}{boot_id} = 'one';
	}
	my ($first, $later) = map { keep($_) } @story;
	my $check =
		sub { return Cpanel::JSON::XS->new->decode(tipme('check', $first, @_, '--json')->{out}) };
	my $j = $check->();
	is(
		"$j->{result} $j->{before}{slow} $j->{after}{slow}", 'better 6 0',
		'presses that the ring still has count once'
	);
	cmp_ok($j->{after}{presses}, '>', 0, '... those since count');
	is(
		$check->($later, $later)->{after}{presses}, $j->{after}{presses},
		'... also of an episode that is named twice'
	);
	# Saved once more before the cure, and the one behind it is named.
	my $s = Tipme::Test::Story->new(trigger => 18_000, no_usual => 1);
	$s->key(8100 + 120 * $_, 3) for 1 .. 30;
	$s->key(17_100, 3)->key(17_200, 3)->hotkey(18_000)->builder->{manifest}{boot_id} = 'one';
	is($check->(keep($s))->{after}{presses}, 2, '... nor does what was saved in between');
}

# --- one that a real-time process keeps from its CPU ---
my $s = Tipme::Test::Story->new(trigger => 12_000);
$s->builder->thread(870, 'synth', ts_ns => 5 * MS);
for my $k (1 .. 6) {
	my $t = 1000 * $k;
	$s->run(1, $t - 1, $t + 600, 870, 'sleeping', prio => 49, next => CLIENT)->enter($t)
		->builder->switch(1, ($t + 602) * MS, CLIENT, 0, 'sleeping');
	$s->draw($t + 601);
}
my $kept = keep($s->hotkey(8000));
like(
	flat(tipme('diagnose', $kept)->{out}),
	qr/waited for a CPU that the real-time process "synth"/, 'another problem'
);
$r = tipme('check', $kept, keep(typed(0, 30)));
like(flat($r->{out}), qr/Better\. That is sure/, 'with the remedy: better');

# --- the week: problem, report and cure together ---
tipme('report',   $problem, '--form', 'text', '-o', "$tmp/r.txt", '--yes');
tipme('check',    $problem, @cured);
tipme('diagnose', $_) for $same;
$r = tipme('list', '--week');
like($r->{out}, qr/^Your last seven days: 3 slow answers in \d+ episodes, /, 'the week')
	or diag($r->{err});
like(
	$r->{out},
	qr/^xterm +2 +1400 ms +700 ms  xterm \(200\) computed\n +reported; checked: better$/m,
	'... how often, how long, through whom, and that it was reported'
) or diag($r->{out});
my $week = Cpanel::JSON::XS->new->decode(tipme('list', '--week', '--json')->{out});
my ($of) = grep { $_->{times} == 2 } @{ $week->{causes} };
is("$of->{reported} $of->{checked}", '1 better', '... and the cure, with --json');
ok(-s "$tmp/library/history.jsonl", '... kept in the library');

# --- nothing since then to compare with ---
$r = tipme('check', keep(typed(1, 3)));
is($r->{err}, '', 'nothing after it: no complaint of Perl');
like(flat($r->{out}), qr/^Problem: .* Before: 1 of 4 times /, '... what was before is told');

# --- what is wrong ---
is(tipme('check')->{exit}, 64, 'no episode: usage');
my $quiet = keep(typed(0, 5));
like(
	tipme('check', $quiet)->{err}, qr/^tipme: check: \S+: no press of a program was slow there/,
	'nothing was slow'
);
done_testing();
