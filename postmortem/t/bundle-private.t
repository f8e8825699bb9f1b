#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# What a bundle tells an expert: the attack on the times of keys, before and after, and that verdict
# and sums are the sender's all the same.
use strict;
use warnings;
use Test::More;
use Cpanel::JSON::XS ();
use File::Temp       qw(tempdir);
use FindBin          qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Bundle;
use Tipme::Diagnosis;
use Tipme::Episode;
use Tipme::Gathered;
use Tipme::Command::Bundle;
use Tipme::Test::Story;

use constant { SERVER => 100, CLIENT => 200, SHELL => 300, MS => 1_000_000 };
my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };
my $tmp = tempdir(CLEANUP => 1);
my $n   = 0;
srand 20261122;

# unpacked(STORY, detail => how much, all => 1): (the episode's diagnosis data, that of its bundle,
# the bundle's folder, the bundle)
sub unpacked {
	my ($s, %o) = @_;
	my $ep        = Tipme::Episode->open($s->builder->write("$tmp/e" . ++$n));
	my $diagnosis = Tipme::Diagnosis->new($ep);
	my $d         = $diagnosis->run;
	my ($bundle, @files) = Tipme::Bundle->made($ep, $diagnosis, $d, %o);
	Tipme::Bundle->write("$tmp/b$n.tipme", @files);
	Tipme::Bundle->unpack_to("$tmp/b$n.tipme", "$tmp/u$n");
	return ($d, Tipme::Diagnosis->new(Tipme::Episode->open("$tmp/u$n"))->run, "$tmp/u$n", $bundle);
}

# Somebody types: keys that are answered at once, then one that a stopped terminal answers late, and
# others while it is stopped; the server reads each of them.
# Returns the story and the times of the presses, in ns, apart from the one that the report is
# about.
sub typed {
	my ($t, @press) = (700);
	my $s = Tipme::Test::Story->new(trigger => 9000);
	for (1 .. 30) { $t += 60 + int rand 90; $s->key($t, 3); push @press, $t }
	$t += 100;
	$s->builder->thread(600, 'bash', ts_ns => 5 * MS);
	$s->run(0, $t - 51, $t - 49.5, 600, 'sleeping')->wake(0, $t - 50, CLIENT, 600, 'poll')
		->run(1, $t - 49.9, $t - 49.8, CLIENT, 'stopped');
	my ($slow, $end) = ($t, $t + 2000);
	$s->enter($slow, no_wake => 1);
	for (1 .. 15) { $t += 60 + int rand 60; $s->enter($t, no_wake => 1); push @press, $t }
	$s->run(0, $end - 1, $end + 1, 600, 'sleeping')->wake(0, $end, CLIENT, 600)
		->run(1, $end + 0.1, $end + 2, CLIENT, 'sleeping')->draw($end + 1.9);
	for (1 .. 5) { $t = $end + 100 * $_ + int rand 50; $s->key($t, 3); push @press, $t }
	return ($s->hotkey(8000), [ map { $_ * MS } 100, 300, 500, @press ], $slow * MS);
}

# Somebody types while the client waits for a CPU that a program of another priority keeps; the
# server has the other CPU, and reads each key.
sub starved {
	my ($t, @press) = (700);
	my $s = Tipme::Test::Story->new(trigger => 9000);
	for (1 .. 20) { $t += 60 + int rand 90; $s->key($t, 3); push @press, $t }
	my ($slow, $end) = ($t += 150, $t + 2150);
	$s->builder->thread(870, 'synth', ts_ns => 5 * MS);
	$s->run(1, $slow - 20, $end, 870, 'sleeping', prio => 49, next => CLIENT)->enter($slow);
	for (1 .. 15) { $t += 60 + int rand 60; $s->enter($t, no_wake => 1); push @press, $t }
	$s->builder->switch(1, Tipme::Test::Story::ns($end + 2), CLIENT, 0, 'sleeping');
	$s->draw($end + 1.9);
	for (1 .. 5) { $t = $end + 100 * $_ + int rand 50; $s->key($t, 3); push @press, $t }
	return ($s->hotkey(8000), [ map { $_ * MS } 100, 300, 500, @press ], $slow * MS);
}

# The attacks: every press that X records name; and each time at which an interrupt woke the server,
# which then read something, from scheduling alone.
sub guesses {
	my ($dir) = @_;
	my $ep = Tipme::Episode->open($dir);
	my (@x, @sched);
	$ep->each(
		sub {
			my ($name, $f) = @_;
			push @x, $f->{ts_ns} if $name =~ /\A(?:x_device|x_deliver|x_input|input|x_wakeup)\z/;
			push @sched, $f->{ts_ns}
				if $name eq 'sched_waking' && $f->{tid} == SERVER
				|| $name eq 'sched_switch' && ($f->{tid} == SERVER || $f->{next_tid} == SERVER);
			push @sched, $f->{since_ns} if $name eq 'thread' && $f->{since_ns};
		}
	);
	return (\@x, \@sched);
}

# recovered(PRESSES, GUESSES): how many have a guess within 3 ms
sub recovered {
	my ($press, $guess) = @_;
	return scalar grep {
		my $p = $_;
		grep { abs($_ - $p) <= 3 * MS } @$guess
	} @$press;
}

# median(PRESSES, GUESSES): ms from a press to the nearest guess, of half of them at most
sub median {
	my ($press, $guess) = @_;
	my @off = sort { $a <=> $b } map {
		my $p = $_;
		(sort { $a <=> $b } map { abs($_ - $p) } @$guess)[0] // 9000 * MS
	} @$press;
	return $off[ $#off / 2 ] / MS;
}

# by chance: as many guesses, anywhere in the nine seconds
sub chance {
	my ($press, $guess) = @_;
	return recovered($press, [ map { int rand 9000 * MS } @$guess ]);
}

my ($s, $press, $slow)          = typed();
my ($d, $theirs, $dir, $bundle) = unpacked($s, all => 1);
my ($x, $sched)                 = guesses($dir);
my $all = @$press;
is(
	recovered($press, $x), $all,
	"before (as with --all): the records of the X server tell all $all presses"
);
is(recovered($press, $sched), $all, '... and so does the scheduling alone');
diag(
	sprintf
		'before: %d of %d within 3 ms, half of them within %.3f ms by X records and %.3f ms by scheduling',
	$all, $all, median($press, $x), median($press, $sched)
);

($s, $press, $slow)          = typed();
($d, $theirs, $dir, $bundle) = unpacked($s);
($x, $sched)                 = guesses($dir);
is($bundle->told->{detail}, 'path',    'a bundle keeps the stretches of the path');
is($d->{verdict}{kind},     'stopped', 'the story is one of a stopped terminal')
	or diag($d->{verdict}{sentence});
my ($by_x, $by_sched, $chance) =
	(recovered($press, $x), recovered($press, $sched), chance($press, [ @$x, @$sched ]));
diag(
	sprintf
		'after: of %d other presses within 3 ms: %d by X records, %d by scheduling; by chance %d; half of them not within %.0f ms',
	$all, $by_x, $by_sched, $chance, median($press, [ @$x, @$sched ])
);
cmp_ok($by_x,     '<=', $chance + 1, 'after: X records tell no more of them than chance');
cmp_ok($by_sched, '<=', $chance + 1, '... nor does the scheduling');
ok((grep { abs($_ - $slow) <= 3 * MS } @$x), 'the press that the report is about is there');
is($bundle->core_of($theirs), $bundle->core_of($d), 'verdict, path and sums are the same');
# Where no cut gives the very same sums, one with the same sentence is sent, not all that is there.
{
	no warnings 'redefine';
	my $count = 0;
	local *Tipme::Bundle::core_of = sub { return ++$count };
	my (undef, $there, $to, $made) = unpacked((typed())[0]);
	is(
		$made->told->{detail} . $made->told->{nearly}, 'seconds1',
		'never the same: all threads of these seconds'
	);
	is($there->{verdict}{sentence}, $d->{verdict}{sentence}, '... with the same sentence');
	my %input;
	Tipme::Episode->open($to)->each(sub { $input{ $_[1]{input_seq} } = 1 if $_[0] eq 'x_device' });
	is(scalar keys %input, 1, '... and no input event but its own');
	local *Tipme::Brought::nearly = sub { return 0 };
	my $ep = Tipme::Episode->open("$tmp/e$n");
	my $of = Tipme::Diagnosis->new($ep);
	is_deeply([ Tipme::Bundle->made($ep, $of, $of->run) ], [], 'another sentence: nothing is made');
	open my $out, '>&', \*STDOUT    or die "$!\n";
	open STDOUT,  '>',  '/dev/null' or die "$!\n";
	my $none = eval { Tipme::Command::Bundle->run("$tmp/e$n", '-o', "$tmp/none.tipme", '--yes') };
	open STDOUT, '>&', $out or die "$!\n";
	like(
		$@, qr/^no part of this episode gives the same verdict.* --all takes all.*`tipme report` /,
		'... which is said, with what can be done'
	);
	ok(!-e "$tmp/none.tipme", '... and nothing is written, though --yes was said');
}
is(
	Tipme::Brought::nearly($d, { %$d, totals => { %{ $d->{totals} }, kinds => { stopped => 1 } } }),
	0,
	'sums that are far off are not nearly the same'
);
# What rests on records of long before is told where all threads are kept, too.
for my $detail (qw(interval seconds)) {
	my $ep = Tipme::Episode->open("$tmp/e$n");
	my $of = Tipme::Diagnosis->new($ep);
	my $b  = Tipme::Bundle->new(
		$ep, $of->run,
		diagnosis => $of, threads => $of->threads, detail => $detail
	);
	my ($manifest) = map { $_->[1] } grep { $_->[0] eq 'manifest.json' } $b->files;
	my $idle = Cpanel::JSON::XS->new->decode($manifest)->{bundle}{idle};
	is_deeply(
		[ map { $_->{tid} } @$idle ],
		[ map { $_->{tid} } @{ $bundle->{cut}->idle(Tipme::Reasons->new) } ],
		"$detail: which threads mostly wait for something to do"
	);
	ok(scalar @$idle, '... of which there are some');
}
{
	# A number that was part of a text on the way is the same number: or all of it would be sent.
	my ($first, @rest) = @{ $d->{path} };
	my %texts = map { $_ => "$first->{$_}" } grep { defined $first->{$_} } qw(tid pid from_ns);
	my %blamed =
		(%{ $first->{blamed} }, map { defined ? "$_" : $_ } %{ $first->{blamed} }{qw(tid pid)});
	my $same = { %$d, path => [ { %$first, %texts, blamed => \%blamed }, @rest ] };
	is($bundle->core_of($same), $bundle->core_of($d), '... numbers that were texts are the same');
}
is($theirs->{event}{n},           $d->{event}{n},           '... and the number of the event');
is($theirs->{interval}{usual_ns}, $d->{interval}{usual_ns}, '... and the usual time');

($s, $press, $slow)          = starved();
($d, $theirs, $dir, $bundle) = unpacked($s);
($x, $sched)                 = guesses($dir);
is($d->{verdict}{kind}, 'rt-starvation', 'a client that waits for a CPU')
	or diag($d->{verdict}{sentence});
is($bundle->told->{detail}, 'path', '... is told by its path');
($by_x, $by_sched, $chance) =
	(recovered($press, $x), recovered($press, $sched), chance($press, [ @$x, @$sched ]));
diag(
	sprintf
		'after, waiting for a CPU: of %d other presses within 3 ms: %d by X records, %d by scheduling; by chance %d; half of them not within %.0f ms',
	scalar @$press, $by_x, $by_sched, $chance, median($press, [ @$x, @$sched ])
);
cmp_ok($by_x,     '<=', $chance + 1, '... X records tell no more than chance');
cmp_ok($by_sched, '<=', $chance + 1, '... nor do the turns of the server on the other CPU');

# Somebody types while the client computes; the server has the other CPU, or takes that of the
# client for each key.
sub computing {
	my ($same, $t, @press) = ($_[0], 700);
	my $s = Tipme::Test::Story->new(trigger => 9000);
	for (1 .. 20) { $t += 60 + int rand 90; $s->key($t, 3); push @press, $t }
	my ($slow, $end) = ($t += 150, $t + 2150);
	$s->enter($slow)
		->builder->switch(1, Tipme::Test::Story::ns($slow + 0.25), 0, CLIENT, 'runnable');
	for (1 .. 15) {
		$t += 60 + int rand 60;
		push @press, $t;
		if (!$same) { $s->enter($t, no_wake => 1); next }
		my @ns = map { Tipme::Test::Story::ns($t + $_) } 0.1, 0.3;
		$s->builder->switch(
			1, $ns[0], CLIENT, SERVER, 'runnable', prev_preempted => 1,
			irq_ns => 700
		)->switch(1, $ns[1], SERVER, CLIENT, 'sleeping');
	}
	$s->builder->switch(1, Tipme::Test::Story::ns($end + 2), CLIENT, 0, 'sleeping');
	$s->draw($end + 1.9);
	return ($s->hotkey(8000), [ map { $_ * MS } 100, 300, 500, @press ], $slow * MS);
}

($s, $press, $slow)          = computing(1);
($d, $theirs, $dir, $bundle) = unpacked($s);
($x, $sched)                 = guesses($dir);
my @took = Tipme::Gathered::moments($d->{path}, SERVER);
is(scalar @took,           15, 'a server that takes the CPU of the path for each key');
is($bundle->told->{turns}, 0,  '... of which a bundle tells nothing');
is_deeply(
	[ map { $_->{to_ns} - $_->{from_ns} } Tipme::Gathered::moments($theirs->{path}, SERVER) ],
	[ 15 * 0.2 * MS ], '... but for the sum, at one time'
);
cmp_ok(
	recovered($press, [ @$x, @$sched ]), '<=', chance($press, [ @$x, @$sched ]) + 1,
	'... that tells no key'
);
my ($same, $ours) = map { $bundle->core_of({ %$_, path => [] }) } $theirs, $d;
is($same, $ours, '... and verdict and sums are the same');
my $interrupts = 0;
Tipme::Episode->open($dir)
	->each(sub { $interrupts += $_[1]{irq_ns} if $_[0] eq 'sched_switch' && $_[1]{tid} == CLIENT });
is($interrupts, 15 * 700, '... interrupts, too');

# Where the server never sleeps for long enough, they are told as they were, and so is that.
{
	no warnings 'redefine';
	local *Tipme::Gathered::_free = sub {return};
	($d, $theirs, $dir, $bundle) = unpacked($s);
	is($bundle->told->{turns},    15, 'no time for it: that the moments are there is told');
	is($bundle->core_of($theirs), $bundle->core_of($d), '... and path and sums are the same');
}

($s, $press, $slow)          = computing();
($d, $theirs, $dir, $bundle) = unpacked($s);
($x, $sched)                 = guesses($dir);
is("$d->{verdict}{kind} " . $bundle->told->{detail}, 'app-compute path', 'a client that computes');
cmp_ok(
	recovered($press, [ @$x, @$sched ]), '<=', chance($press, [ @$x, @$sched ]) + 1,
	'... tells no times either'
);

# What is not proven is cut like the rest: the press in question, and who may have kept it.
sub unproven {
	my $s = Tipme::Test::Story->new(trigger => 9000);
	my ($t, @press) = (700);
	for (1 .. 12) { $t += 60 + int rand 90; $s->key($t, 3); push @press, $t }
	$s->builder->thread(510, 'bus', ts_ns => 5 * MS);
	my $slow = $t += 150;
	$s->enter($slow)->run(1, $slow + 0.25, $slow + 1, CLIENT, 'sleeping')
		->enter($slow + 80, kind => 'key_release')
		->run(1, $slow + 80.25, $slow + 80.4, CLIENT, 'sleeping');
	$s->wake(1, $slow + 389, 510, 0, 'epoll', context => 'hardirq')
		->run(0, $slow + 389.1, $slow + 391.1, 510, 'sleeping')
		->wake(0, $slow + 391, CLIENT, 510, 'poll')
		->run(1, $slow + 391.2, $slow + 393, CLIENT, 'sleeping')->draw($slow + 392.9);
	return ($s->hotkey(8000), [ map { $_ * MS } 100, 300, 500, @press ], $slow * MS);
}

($s, $press, $slow)          = unproven();
($d, $theirs, $dir, $bundle) = unpacked($s);
($x, $sched)                 = guesses($dir);
is(
	"$d->{verdict}{kind} " . ($d->{verdict}{why} // '') . ' ' . $bundle->told->{detail},
	'unknown process path', 'an answer that is not proven to be late'
) or diag($d->{verdict}{sentence});
is($bundle->core_of($theirs),     $bundle->core_of($d), '... is told as it was');
is($theirs->{candidates}[0]{why}, 'process',            '... with the reason');
cmp_ok(
	recovered($press, [ @$x, @$sched ]), '<=', chance($press, [ @$x, @$sched ]) + 1,
	'... and no other press'
);

# Nothing was slow: a bundle all the same, of the verdict and the machine; it tells of no key.
sub quiet {
	my ($what, $s, %o) = @_;
	my ($d, $theirs, $dir, $bundle) = unpacked($s);
	is($d->{interval},            undef,                "$what: nothing was slow");
	is($bundle->core_of($theirs), $bundle->core_of($d), '... a bundle says the same')
		or diag($theirs->{verdict}{sentence});
	is($bundle->told->{detail}, 'none', '... and has no record of an event');
	my ($x, $sched) = guesses($dir);
	is_deeply(
		[ @$x, grep { $_ > 1 && $_ % (1000 * MS) } @$sched ], [],
		'... nor a time of one, but for whole seconds'
	);
	unlike(
		join(
			'', map { $_->{words} // '' } @{ $theirs->{slowest} // [] },
			@{ $theirs->{candidates} // [] }
		),
		qr/./,
		'... nor what was slowest'
	);
	my $ep   = "$tmp/e$n";
	my $made = qx($^X "$Bin/../bin/tipme-postmortem" bundle "$ep" -o "$tmp/q$n.tipme" --yes 2>&1);
	is($?, 0, '... and it is written') or diag($made);
	like(
		$made =~ s/\s+/ /gr, qr/Nothing was slow, so the file has no record of what programs did/,
		'... which is said'
	);
	my $read = qx($^X "$Bin/../bin/tipme-postmortem" open "$tmp/q$n.tipme" -o "$tmp/Q$n" 2>&1);
	is($? >> 8, $d->{verdict}{kind} eq 'unknown' ? 2 : 0, '... and opened') or diag($read);
	like($read =~ s/\s+/ /gr, qr/\Q$d->{verdict}{sentence}\E/, '... the sentence');
	return;
}

sub pressed {
	my $s = Tipme::Test::Story->new(no_usual => 1);
	$s->enter(600 + 90 * $_, kind => 'key_release')
		->run(1, 600.25 + 90 * $_, 600.4 + 90 * $_, CLIENT, 'sleeping')
		for 1 .. 12;
	return $s->hotkey(3000);
}
quiet('keys that ask for no answer', pressed());
quiet('no key at all',               Tipme::Test::Story->new(no_usual => 1)->hotkey(3000));
{
	my $e = Tipme::Test::Episode->new(trigger_ns => 5_000_000_000, first_ns => 1_000_000);
	$e->thread(10, 'desk', ts_ns => 2_000_000)->thread(11, 'hog', ts_ns => 2_000_000)
		->switch(1, 3_000_000, 0,  11, 'runnable')->switch(1, 4_000_000, 11, 10, 'runnable')
		->switch(1, 5_000_000, 10, 0,  'sleeping');
	quiet('no X server', bless { builder => $e }, 'Bare');
	sub Bare::builder { return $_[0]{builder} }
}

# Who had a small share has no name; nor has who had most memory, without another part.
{
	my $s = Tipme::Test::Story->new;
	$s->daemon(
		'memory_state', ts_ns => $_ * 1000 * MS, since_ns => ($_ - 1) * 1000 * MS,
		total_kib => 8 << 20, available_kib => 100 << 10, swap_total_kib => 0, swap_free_kib => 0,
		full_us   => 600_000, some_us       => 900_000,   io_full_us     => 0
	) for 1 .. 4;
	$s->builder->thread(900, 'secretlarge', rss_kib => 3 << 20)
		->thread(870, 'hog', ts_ns => 5 * MS)->thread(880, 'secretsmall', ts_ns => 5 * MS);
	$s->enter(1000)->builder->switch(1, int(1000.1 * MS), 0, 870, 'runnable')
		->switch(1, 1600 * MS, 870,    880,    'runnable', prev_preempted => 1)
		->switch(1, 1603 * MS, 880,    CLIENT, 'runnable', prev_preempted => 1)
		->switch(1, 1605 * MS, CLIENT, 0,      'sleeping');
	my ($d, $theirs, $dir, $bundle) = unpacked($s->draw(1604.9)->hotkey(3000));
	is($bundle->told->{detail}, 'path', 'a CPU and no memory');
	ok(
		(grep { ($_->{comm} // '') eq 'secretsmall' } @{ $d->{totals}{blamed} }),
		'... one had it for 3 ms'
	);
	like(
		"@{ $d->{verdict}{circumstances} }", qr/Most memory had: secretlarge/,
		'... one had most memory'
	);
	like(
		"@{ $theirs->{verdict}{circumstances} }", qr/Most memory had: another program 3\.0 GiB/,
		'... which stays, without its name'
	);
	is($bundle->core_of($theirs), $bundle->core_of($d), '... and so do sums and verdict');
	is(
		scalar(
			grep { open my $h, '<:raw', $_ or die "$!\n"; local $/; <$h> =~ /secret/ }
				glob "$dir/*"
		),
		0,
		'... neither name is in any file'
	);
}

# What was added to the format later says nothing here until somebody has thought about it.
ok(!Tipme::Cut->knows('a_kind_of_tomorrow'), 'a kind of record that Cut does not know');
{
	no warnings 'redefine';
	my $knows = \&Tipme::Cut::knows;
	local *Tipme::Cut::knows =
		sub { my ($class, $name) = @_; return $name eq 'cpu_idle' ? 0 : $knows->(@_) };
	my $later = sub {
		my ($story) = typed();
		$story->kernel(0, $_, 'cpu_idle', state => 3, idle_ns => 1000, cpu => 0) for 1 .. 8999;
		return $story;
	};
	for my $o ([], [ all => 1 ]) {
		my (undef, undef, $to, $b) = unpacked($later->(), @$o);
		my $n = 0;
		Tipme::Episode->open($to)->each(sub { $n++ if $_[0] eq 'cpu_idle' });
		is($n,                                         0,    "... is left out, @$o");
		is($b->told->{dropped}{q(records 'cpu_idle')}, 8999, '... and that is said') if @$o;
	}
}
is_deeply(\@warnings, [], 'no warning from Perl');
done_testing();
