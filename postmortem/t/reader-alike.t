#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The reader of episodes in C (abi/episode) says what the readers in Perl say: records, names,
# intervals of threads and CPUs, X records, damage. Of told stories, of random ones, of samples, of
# records longer than ours, and of damaged files. TIPME_FUZZ_SEED chooses others; TIPME_TEST_ALL=1
# makes ten times as many.
use strict;
use warnings;
no warnings 'portable';
use Test::More;
use File::Temp qw(tempdir);
use FindBin    qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Episode;
use Tipme::Functions;
use Tipme::KernelEvents;
use Tipme::Record::Layout;
use Tipme::Resources;
use Tipme::Sampled;
use Tipme::TaskStates;
use Tipme::Test::Files qw(slurp spew);
use Tipme::Test::Episode;
use Tipme::Test::Busy qw(busy);
use Tipme::Test::Story;
use Tipme::Threads;

my $program = ($ENV{TIPME_BUILDDIR} // '') . '/abi/episode/t/episode-text';
plan skip_all => 'episode-text was not built: it needs json-c' if !-x $program;

my $MS           = 1_000_000;
my $tmp          = tempdir(CLEANUP => 1);
my $seed         = $ENV{TIPME_FUZZ_SEED} // 2611;
my $many         = $ENV{TIPME_TEST_ALL} ? 10 : 1;
my %STATE_NUMBER = reverse %{ $Tipme::Record::Layout::ENUM{task_state} };
my %KIND         = (running => 0, runnable  => 1, blocked => 2, absent => 3);
my %HOW          = (unknown => 0, preempted => 1, woken   => 2, raced  => 3, forked => 4);
my %KIND_FIELD   = (
	x_chord   => 'action', x_client => 'state', x_grab => 'what', x_output_full => 'phase',
	x_present => 'phase'
);

# --- told ---
my @told = (
	key  => Tipme::Test::Story->new(trigger => 2000)->key(1000, 800)->hotkey(1900),
	hang => Tipme::Test::Story->new(trigger => 2000)->enter(1000)->hotkey(1900),
	busy => busy(),
);
while (my ($name, $story) = splice @told, 0, 2) {
	my $dir = $story->builder->write("$tmp/$name");
	alike($dir, $name,           0,         3_000 * $MS);
	alike($dir, "$name, a part", 990 * $MS, 1_200 * $MS);
}
{
	my $none = Tipme::Test::Story->new(trigger => 2000)->key(1000, 800);
	delete $none->builder->{rec}{$_} for grep {/^x-/} keys %{ $none->builder->{rec} };
	alike($none->builder->write("$tmp/no-x"), 'no X server', 0, 3_000 * $MS);
}

# --- at random: switches, wakings, forks, execs, renames; some are lost, so that nothing fits ---
for my $round (1 .. 25 * $many) {
	my ($from, $to) = $round % 3 ? (0, 400 * $MS) : (100 * $MS, 300 * $MS);
	my $dir = random_episode("random-$round", $seed + $round);
	alike($dir, "random $round", $from, $to) or last;
}
for my $round (1 .. 10 * $many) {
	alike(sampled_episode("sampled-$round", $seed + $round), "samples $round", 0, 3_000 * $MS)
		or last;
}

for my $round (1 .. 5 * $many) {
	alike(waiting_episode("waits-$round", $seed + $round), "waits $round", 0, 800 * $MS) or last;
}

# --- a later minor's longer records, an older one's shorter ones ---
{
	my $schema = Tipme::Test::Episode::schema_text();
	$schema =~ s/^format 1\.\d+$/format 1.9/m;
	$schema =~
		s/(record sched_switch 3 .*?)\n\n/$1\n\tu32 later_one : "a later field"\n\tu32 later_two : "and another"\n\n/s;
	my $b = Tipme::Test::Episode->new(
		trigger_ns      => 500 * $MS, schema => $schema,
		section_records => 50
	);
	random_records($b, $seed);
	alike($b->write("$tmp/longer"), 'longer records', 0, 400 * $MS);
}

# --- the file of columns has the same ---
{
	my $columns = "$ENV{TIPME_BUILDDIR}/postmortem/tipme-columns";
	my $dir     = "$tmp/random-1";
	is(
		system("'$columns' write '$dir' 5 0 400000000 5<>'$tmp/columns'"), 0,
		'a file of columns is written'
	);
	my $file = slurp("$tmp/columns");
	my ($magic, $order, $major, undef, undef, $n) = unpack 'a8 V v v V V', $file;
	is("$magic $order $major", 'TIPMECOL ' . 0x01020304 . ' 1', '... with its header');
	my %c = map {
		my ($t, $name, $width, undef, $rows, $at) = unpack 'Z16 Z16 V V Q< Q<', substr $file,
			64 + 64 * $_, 64;
		(
			"$t $name" => [
				unpack { 1 => 'C', 2 => 'v', 4 => 'V', 8 => 'Q<' }->{$width} . $rows, substr $file,
				$at,                                                                  $width * $rows
			]
		)
	} 0 .. $n - 1;
	my @lines = split /\n/, perl_text($dir, 0, 400 * $MS);
	is(
		join(
			"\n",
			map {
				my $k = $_;
				join ' ', 'state', map { $c{"states $_"}[$k] } qw(tid from to kind)
			} 0 .. $#{ $c{'states tid'} }
		),
		join("\n", map { /^(state \d+ \d+ \d+ \d)/ ? $1 : () } @lines),
		'... intervals of threads'
	);
	is(
		join(
			"\n",
			map {
				my $k = $_;
				join ' ', 'cpu', map { $c{"cpus $_"}[$k] } qw(cpu from to)
			} 0 .. $#{ $c{'cpus tid'} }
		),
		join("\n", map { /^(cpu \d+ \d+ \d+)/ ? $1 : () } @lines),
		'... of CPUs'
	);
	is(
		join(' ', @{ $c{'stages ts'} }), join(' ', map { /^stage (\d+)/ ? $1 : () } @lines),
		'... and the stages'
	);
}

# --- damage ---
my $dir  = random_episode('damaged', $seed);
my %good = map { $_ => slurp("$dir/$_") } qw(kernel.rec threads.rec);
my ($said, $refused) = (0, 0);
for my $round (1 .. 100 * $many) {
	my $rand   = dice($seed + 77 * $round);
	my ($file) = (sort keys %good)[ $rand->(2) ];
	my $b      = $good{$file};
	my $how    = $rand->(4);
	if    ($how == 0) { $b = substr $b, 0, $rand->(length $b) }
	elsif ($how == 1) {
		substr $b, 64 + 8 * $rand->(int((length($b) - 64) / 8)), 2, pack 'CC', $rand->(256),
			$rand->(256) for 0 .. $rand->(3);
	} else {
		substr $b, $rand->(length $b), 1, chr $rand->(256) for 0 .. $rand->(9);
	}
	spew("$dir/$_",    $good{$_}) for keys %good;
	spew("$dir/$file", $b);
	my $text = alike($dir, "damage $round of $file", 0, 400 * $MS) or last;
	$said++    if $text =~ /^damage|^unknown [1-9]/m;
	$refused++ if $text =~ /^refused/;
}
cmp_ok($said, '>', 10, "$said of them have something to say about it, $refused are refused");
done_testing;

# --- the comparison ---

# The text that both give, or undef where they differ.
sub alike {
	my ($dir, $name, $from, $to) = @_;
	open my $h, '-|', $program, $dir, $from, $to or die "$program: $!\n";
	my $theirs = do { local $/; <$h> };
	close $h;
	is($? & 127, 0, "$name: it ends by itself") if $? & 127;
	my $ours = perl_text($dir, $from, $to);
	my $same = $ours eq $theirs;
	ok(0, "$name: alike"), diag(first_difference($ours, $theirs)) if !$same;
	pass($name) if $same;
	return $same ? $theirs : undef;
}

sub perl_text {
	my ($dir, $from, $to) = @_;
	my $ep = eval { Tipme::Episode->open($dir) };
	if (!$ep) { return 'refused: ' . ($@ =~ s/\n\z//r) . "\n" }
	my $ev = Tipme::KernelEvents->load($ep, $from, $to);
	my $th = Tipme::Threads->new($ep);
	$th->add_events($ev);
	my $sampled = !grep { $_->{source} =~ /^kernel_/ } $ep->coverage;
	my $st      = ($sampled ? 'Tipme::Sampled' : 'Tipme::TaskStates')->new($ev, $th, $from, $to);
	my @out     = ('count ' . $ev->count . ' exact ' . $ev->exact_from);

	for my $i (0 .. $ev->count - 1) {
		my ($ts, $tid, @n) = $ev->columns($i);
		push @out, "event $ts " . join ' ', vec($ev->{type}, $i, 8), vec($ev->{cpu}, $i, 16), $tid,
			@n, vec($ev->{nr}, $i, 32);
	}
	my @tids = $ev->tids;
	push @out, map { join ' ', 'by_tid', $_, @{ $ev->of_tid($_) } } @tids;
	push @out, map { join ' ', 'by_cpu', $_, unpack 'N*', ${ $ev->of_cpu($_) } } $ev->cpus;
	push @out,
		map { join ' ', 'by_kind', $_, @{ $ev->of_kind($_) } }
		sort { $a <=> $b } keys %{ $ev->{by_kind} };
	for my $tid (@tids) {
		for my $part (0 .. 4) {
			my $t = $from + int(($to - $from) / 4) * $part;
			my $w = $th->at($tid, $t);
			push @out,
				"who $tid $t pid $w->{pid} ppid $w->{ppid} start $w->{start_ns} kernel $w->{kernel} prio $w->{prio} known $w->{known} $w->{comm}";
		}
	}
	push @out, map { state_text($_->[0], $_->[1]) } map {
		my $tid = $_;
		map { [ $tid, $_ ] } @{ $st->intervals($tid) }
	} @tids;
	my @cpus = $sampled ? sort { $a <=> $b } keys %{ $st->_runs } : $ev->cpus;
	for my $cpu (@cpus) {
		push @out,
			map { "cpu $cpu $_->[0] $_->[1] " . ($_->[2] // -1) . " $_->[3]" }
			$st->occupants($cpu, $from, $to);
	}
	push @out, stages($ep, $from, $to);
	push @out, waits($ev, $th, $to), samples($ev, $th);
	push @out, map {"damage $_"} $ep->damage;
	return join "\n", @out, 'unknown ' . unknown($ep) . ' lost ' . $ep->lost_count . "\n";
}

# The reader in C counts unknown kernel records only; the one in Perl those of all that was read.
sub unknown {
	my ($ep) = @_;
	return scalar grep {/^kernel\.rec /} keys %{ $ep->{unknown_at} };
}

sub state_text {
	my ($tid, $i) = @_;
	my $t = "state $tid $i->{from} $i->{to} $KIND{ $i->{kind} }";
	$t .= " cpu $i->{cpu} irq $i->{irq_ns} softirq $i->{softirq_ns}" if $i->{kind} eq 'running';
	$t .= " how $HOW{ $i->{how} } cpu $i->{cpu} wake " . ($i->{wake} // -1)
		if $i->{kind} eq 'runnable';
	$t .=
		  " in $STATE_NUMBER{ $i->{state} } wake "
		. ($i->{wake} // -1)
		. ' stack '
		. ($i->{stack_id} // 0)
		if $i->{kind} eq 'blocked';
	return $t . ($i->{guessed} ? ' guessed' : '');
}

sub stages {
	my ($ep, $from, $to) = @_;
	my (@s, @out);
	# In the order of the sections, then of the records; sorted by time alone.
	for my $s ($ep->sections_between($from, $to, [qw(kernel_bpf kernel_module x_hooks x_client)])) {
		my ($heads, $buf) = $ep->section_heads($s);
		for (my $i = 0; $i < @$heads; $i += 4) {
			my ($name, $f) = $ep->record->decode($buf, $heads->[ $i + 2 ]);
			push @s, [ $f->{ts_ns}, $name, $f ] if defined $name && $name =~ /^x_|^input$/;
		}
	}
	for (sort { $a->[0] <=> $b->[0] } grep { $_->[0] >= $from && $_->[0] < $to } @s) {
		my ($ts, $name, $f) = @$_;
		my %n       = map { $_ => $f->{$_} // 0 } qw(tid pid client window input_seq duration_ns);
		my $kind    = $f->{ $KIND_FIELD{$name} // 'kind' } // 0;
		my $request = defined $f->{major} ? $f->{major} << 8 | $f->{minor} : 0;
		push @out,
			"stage $ts "
			. $ep->record->number_of($name)
			. " kind $kind tid $n{tid} pid $n{pid} client $n{client} window $n{window} seq $n{input_seq} "
			. "request $request duration $n{duration_ns}";
	}
	return @out;
}

# Requests in disks, waits for locks, interrupts: by type, then time. An end may be missing where
# the records of some CPUs only are at hand.
sub waits {
	my ($ev, $th, $to) = @_;
	my $r      = Tipme::Resources->new($ev, $th);
	my %number = map { $_ => { reverse %{ $Tipme::Record::Layout::ENUM{$_} } } }
		qw(io_op lock_kind irq_kind);
	my ($disk, $locks, $irqs) = map { $r->_table($_) } qw(disk locks irq);
	my @w = map {
		[
			12, @$_{qw(issued completed queued tid dev)}, vec($ev->{cpu}, $_->{index}, 16),
			$number{io_op}{ $_->{op} }, $_->{index}
		]
	} map {@$_} values %{ $disk->{service} };
	push @w, map {
		[
			13, $_->{from}, $_->{to} == 1 << 62 ? undef : $_->{to}, $_->{from}, $_->{tid},
			$_->{owner}, vec($ev->{cpu}, $_->{index}, 16), $number{lock_kind}{ $_->{what} },
			$_->{index}
		]
	} map {@$_} values %$locks;
	push @w, map {
		[
			15, @$_{qw(from to from)}, vec($ev->{tid}, $_->{index}, 32), $_->{number},
			vec($ev->{cpu}, $_->{index}, 16), $number{irq_kind}{ $_->{what} }, $_->{index}
		]
	} map {@$_} values %$irqs;
	return map {
		my ($type, $from, $end, $asked, $tid, $n, $cpu, $kind) = @$_;
		my $open = defined $end ? 0 : 1;
		$end //= $from < $to ? $to : $from;
		"wait $type $from $end asked $asked tid $tid number $n cpu $cpu kind $kind open $open";
	} sort { $a->[0] <=> $b->[0] || $a->[1] <=> $b->[1] || $a->[8] <=> $b->[8] }
		grep { defined $_->[2] || $_->[1] >= $ev->exact_from } @w;
}

sub samples {
	my ($ev, $th) = @_;
	my $functions = Tipme::Functions->new(threads => $th);
	return map {
		my ($ts, undef, $kernel, $user) = $ev->columns($_);
		"sample $ts " . join '',
			map { s/\Athe code at //r . '|' }
			$functions->frames({ kernel_stack => $kernel, user_stack => $user });
	} @{ $ev->of_kind(Tipme::KernelEvents::SAMPLE) };
}

sub first_difference {
	my @a = split /\n/, $_[0];
	my @b = split /\n/, $_[1];
	for my $k (0 .. ($#a > $#b ? $#a : $#b)) {
		return
			  "line $k\nPerl: "
			. substr($a[$k] // 'nothing', 0, 300)
			. "\nC:    "
			. substr($b[$k] // 'nothing', 0, 300)
			if ($a[$k] // '') ne ($b[$k] // '');
	}
	return 'none';
}

# --- episodes ---

sub dice {
	my ($state) = @_;
	return sub { $state = ($state * 1103515245 + 12345) & 0x7fffffff; return ($state >> 8) % $_[0] }
}

sub random_episode {
	my ($name, $number) = @_;
	my $b = Tipme::Test::Episode->new(
		trigger_ns      => 500 * $MS, first_ns => $number % 2 ? 0 : 50 * $MS,
		section_records => 20 + $number % 90
	);
	random_records($b, $number);
	return $b->write("$tmp/$name");
}

sub random_records {
	my ($b, $number) = @_;
	my $rand   = dice($number * 2654435761 & 0x7fffffff);
	my @states = qw(runnable sleeping disk_sleep stopped dead idle unknown);
	my @on     = (0, 0, 0);
	for my $tid (1 .. 14) {
		next if $rand->(3) == 0;
		$b->thread(
			100 + $tid, "name$tid", ts_ns => $rand->(500) * $MS, since_ns => $rand->(400) * $MS,
			state => $states[ $rand->(scalar @states) ], stack_id => $rand->(3), cpu => $rand->(3),
			start_ns => $rand->(400) * $MS, flags => $rand->(2), pid => 100 + $rand->(14)
		);
	}
	$b->daemon(
		$_ * $MS, 'process', tid => 100 + $_ % 14, pid => 100 + $_ % 14, ppid => 1,
		start_ns => $_ * $MS, exit_ns => 2 * $_ * $MS, exe => "/usr/bin/some-program-$_"
	) for 30, 60, 90;
	for my $n (1 .. 400) {
		my ($t, $cpu, $tid, $other) =
			($n * $MS + $rand->(300_000), $rand->(3), 100 + $rand->(14), 100 + $rand->(14));
		$t -= $MS if $rand->(9) == 0;
		my $what = $rand->(20);
		if ($what < 12) {
			my $next = $rand->(4)  ? $tid      : 0;
			my $prev = $rand->(15) ? $on[$cpu] : $other;
			$b->switch(
				$cpu, $t, $prev, $next, $states[ $rand->(scalar @states) ],
				prev_preempted => $rand->(6) ? 0 : 1, irq_ns => $rand->(3) ? 0 : 4294967295,
				next_prio      => 100 + $rand->(40)
			);
			$on[$cpu] = $next if $rand->(25);
		} elsif ($what < 16) {
			$b->wake(
				$cpu, $t, $tid, $other, stack_id => $rand->(3), wakee_cpu => $rand->(3),
				context => $rand->(2) ? 'task' : 'hardirq'
			);
		} elsif ($what < 17) {
			$b->kernel(
				$cpu, $t, 'fork', tid => $other, child_tid => $tid,
				child_pid => 100 + $rand->(14), child_start_ns => $t
			);
		} elsif ($what < 18) {
			$b->kernel(
				$cpu, $t, 'exec', tid => $tid, pid => $tid,
				old_tid => $rand->(2) ? $other : $tid
			);
		} elsif ($what < 19) {
			$b->kernel($cpu, $t, 'rename', tid => $tid, comm => "new$n");
		} else {
			$b->kernel($cpu, $t, 'input', kind => 'key_press', device => 3);
		}
	}
	return;
}

# Requests that are merged, cut, never done; locks, locks of files, interrupts, samples.
sub waiting_episode {
	my ($name, $number) = @_;
	my $rand = dice($number * 7919 & 0x7fffffff);
	my $b    = Tipme::Test::Episode->new(
		trigger_ns      => 700 * $MS, first_ns => $number % 2 ? 0 : 50 * $MS,
		section_records => 40
	);
	$b->daemon(
		0, 'user_stack', stack_id => $_, frames => 2,
		text => "inner_$_+0x1f [1];+0x2a [2];c++filt+3 [9];nowhere"
	) for 1 .. 3;
	$b->daemon(0, 'module', module_id => $_, pid => 1, path => "/usr/lib/lib$_.so") for 1, 2;
	$b->daemon(
		0, 'stack', stack_id => 1, frames => 2,
		text => '_raw_spin_unlock_irqrestore+0x1/0x2;ext4_read+0x9/0xff;sys_read+0x1/0x2'
	);
	for my $n (1 .. 500) {
		my ($t, $cpu, $tid) = ($n * $MS + $rand->(300_000), $rand->(2), 100 + $rand->(4));
		my %io = (
			tid     => $tid, sector => 8 * $rand->(6), dev => (8 << 20) + $rand->(2),
			sectors => (8, 8, 16, 0, 65535)[ $rand->(5) ],
			op      => (qw(read write flush))[ $rand->(3) ]
		);
		my $what = $rand->(12);
		if ($what < 6) {
			$b->kernel(
				$cpu, $t, 'io', %io,
				phase => (qw(queued issued completed failed inserted))[ $rand->(5) ]
			);
		} elsif ($what < 9) {
			$b->kernel(
				$cpu, $t, 'lock_contention', tid => $tid, lock => 1 + $rand->(3),
				owner_tid => 100 + $rand->(4), kind => (qw(mutex spin file))[ $rand->(3) ],
				phase     => $rand->(2) ? 'begin' : 'end'
			);
		} elsif ($what < 10) {
			$b->kernel(
				$cpu, $t, 'irq', tid => $tid, duration_ns => $rand->(900_000), number => $rand->(9),
				kind => (qw(hardirq softirq))[ $rand->(2) ]
			);
		} elsif ($what < 11) {
			$b->kernel(
				$cpu, $t, 'sample', tid => $tid, kernel_stack_id => $rand->(3),
				user_stack_id => $rand->(4), cpu => $cpu, kind => 'clock', period_us => 1000
			);
		} else {
			$b->wake($cpu, $t, $tid, 104, context => 'hardirq');
		}
	}
	return $b->write("$tmp/$name");
}

sub sampled_episode {
	my ($name, $number) = @_;
	my $rand   = dice($number * 40503 & 0x7fffffff);
	my $b      = Tipme::Test::Episode->new(trigger_ns => 3_000 * $MS, section_records => 100);
	my @states = qw(runnable sleeping disk_sleep running dead unknown);
	$b->thread(
		100 + $_, "name$_", ts_ns => $rand->(3000) * $MS,
		state => $states[ $rand->(scalar @states) ], stack_id => $rand->(3), cpu => $rand->(2)
	) for 1 .. 6;
	for my $k (1 .. 140) {
		my $t = 20 * $k * $MS;
		for my $tid (101 .. 105) {
			next if $rand->(3) && $k % 20;
			$b->add(
				'kernel.rec', 'proc_sampled', 0, 'proc_state', ts_ns => $t + $tid, tid => $tid,
				run_ns   => $rand->(20) ? $rand->(30) * $MS : 4294967295,
				wait_ns  => $rand->(30) * $MS,
				stack_id => $rand->(3),                             cpu  => $rand->(2),
				state    => $states[ $rand->($rand->(9) ? 4 : 6) ], prio => 120
			);
		}
		$b->add(
			'kernel.rec', 'proc_sampled', 0, 'fork', ts_ns => $t, tid => 101, child_tid => 103,
			child_pid => 103
		) if $k == 40;
		$b->add('kernel.rec', 'proc_sampled', 0, 'exit', ts_ns => $t, tid => 104, pid => 104)
			if $k == 100;
	}
	return $b->write("$tmp/$name");
}

