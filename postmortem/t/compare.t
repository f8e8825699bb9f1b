#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Two episodes against each other: which events are compared, that all differences add up, text and
# JSON.
use strict;
use warnings;
use Test::More;
use File::Temp qw(tempdir);
use FindBin    qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Command::Compare;
use Tipme::Compare qw(compare);
use Tipme::Diagnosis;
use Tipme::Episode;
use Tipme::Test::Story;

use constant { CLIENT => 200, MS => 1_000_000 };
my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };
my $tmp = tempdir(CLEANUP => 1);
my $n   = 0;

sub written { my ($s, $name) = @_; return $s->builder->write("$tmp/$name") }
sub opened  { return Tipme::Diagnosis->new(Tipme::Episode->open("$tmp/$_[0]")) }

sub adds_up {
	my ($c, $what) = @_;
	for my $list (qw(stages causes)) {
		my %sum = map { $_ => 0 } qw(a_ns b_ns difference_ns);
		for my $r (@{ $c->{$list} }) { $sum{$_} += $r->{$_} for keys %sum }
		is_deeply(
			\%sum,
			{
				a_ns          => $c->{a}{duration_ns}, b_ns => $c->{b}{duration_ns},
				difference_ns => $c->{difference_ns}
			},
			"$what: the $list add up"
		);
	}
}

# A good day, a bad one on which a hog has the CPU, and one on which the client has not answered.
written(Tipme::Test::Story->new->key(1000, 5)->hotkey(3000), 'good');
my $s = Tipme::Test::Story->new->enter(1000);
$s->builder->thread(870, 'hog', ts_ns => 900 * MS)->switch(1, 1000.1 * MS, 0, 870, 'runnable')
	->switch(1, 1800 * MS, 870, CLIENT, 'runnable', prev_preempted => 1)
	->switch(1, 1802 * MS, CLIENT, 870, 'sleeping')->switch(1, 1803 * MS, 870, 0, 'dead');
written($s->draw(1801.9)->hotkey(3000), 'bad');
$s = Tipme::Test::Story->new->enter(1000)->run(1, 1000.25, 4900, CLIENT, 'sleeping', open => 1)
	->hotkey(3900)->picture(CLIENT, 'xterm', state => 'running', cpu => 1);
written($s, 'hung');

my $c = compare(opened('good'), opened('bad'));
is(
	"$c->{kind} $c->{a}{event} $c->{b}{event}", 'key_press 2 4',
	'the problem, and of the good day the middle one'
);
adds_up($c, 'good and bad');
is(
	$c->{causes}[0]{kind} . ' ' . $c->{causes}[0]{comm}, 'cpu-contention hog',
	'the cause that differs most'
);
like(
	$c->{sentence},
	qr/^A key press was answered after 3\.0 ms in A, and after 802 ms in B\. B was 799 ms slower, because it lost 799 ms of it \(100 %\) through waiting for a CPU that "hog" had\.$/,
	'in words'
);
my $back = compare(opened('bad'), opened('good'));
is($back->{difference_ns},                -$c->{difference_ns}, 'the other way round');
is("$back->{a}{event} $back->{b}{event}", '4 2',                'the same events');
adds_up($back, 'bad and good');
like(
	$back->{sentence},
	qr/B was 799 ms faster, because A lost 799 ms of it \(100 %\) through waiting for a CPU that "hog" had\.$/,
	'faster, then'
);

# One on which the client was stopped, and let go on.
$s = Tipme::Test::Story->new->wake(0, 950, CLIENT, 600, 'poll')
	->run(1, 950.1, 950.2, CLIENT, 'stopped');
$s->builder->thread(600, 'bash', ts_ns => 5 * MS);
$s->run(0, 949, 950.5, 600, 'sleeping')->enter(1000, no_wake => 1)
	->run(0, 1999,   2001, 600,    'sleeping')->wake(0, 2000, CLIENT, 600)
	->run(1, 2000.1, 2002, CLIENT, 'sleeping');
written($s->draw(2001.9)->hotkey(3000), 'stopped');
like(
	compare(opened('stopped'), opened('good'))->{sentence},
	qr/ B was 999 ms faster, because "xterm" was not stopped\.$/, 'in plain words'
);
like(
	compare(opened('good'), opened('stopped'))->{sentence},
	qr/ B was 999 ms slower, because it lost \d+ ms of it \(\d+ %\) through "xterm", which was stopped\.$/,
	'... both ways'
);

$c = compare(opened('good'), opened('hung'));
adds_up($c, 'good and hung');
is($c->{b}{certainty},     'open',        'one that has no answer');
is($c->{stages}[-1]{name}, 'open',        'its last stage is the wait up to the hot-key');
is($c->{causes}[0]{kind},  'app-compute', 'why');

$c = compare(opened('good'), opened('bad'), event_a => 4, event_b => 4);
is("$c->{a}{event} $c->{b}{event}", '4 4', 'events that are asked for');
is(compare(opened('good'), opened('bad'), event_b => 2)->{b}{event}, 2, 'one of them');
ok(!eval { compare(opened('good'), opened('bad'), event_a => 99); 1 }, 'no such event');
like($@, qr/: there is no input event 99: `tipme events` lists them$/, 'said so');

# The same with the words of the command.
sub command {
	my (@args) = @_;
	my $out = '';
	open my $old, '>&', \*STDOUT or die "$!\n";
	close STDOUT;
	open STDOUT, '>', \$out or die "$!\n";
	my $exit = Tipme::Command::Compare->run(@args);
	close STDOUT;
	open STDOUT, '>&', $old or die "$!\n";
	return ($out, $exit);
}
my ($out, $exit) = command("$tmp/good", "$tmp/bad");
is($exit, 0, 'exit status 0');
like(
	$out,
	qr/^A key press was answered .*\n.*\n(?:.*\n)?\nA  \S+, .* event 2 of xterm \(200\), \d+ % measured exactly\nB  /,
	'the sentence, and what is compared'
);
like($out, qr/^ *3\.000 +802\.\d+ +\+799\.\d+  all$/m,                'the sums');
like($out, qr{^ *[\d.]+ +[\d.]+ +[+-][\d.]+  [a-z][\w ]+  - xterm$}m, 'the causes, in plain words');
ok(!(grep { length > 100 } split /\n/, $out), 'not wide');
($out, $exit) = command("$tmp/good", "$tmp/bad", '--json');
like($out, qr/"causes" : \[/, 'JSON');

is_deeply(\@warnings, [], 'no warning from Perl');
done_testing();
