#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Episodes of which bytes were changed at random, or which were cut anywhere: a clear refusal, or
# what could be read and sums that are right; no warning, no crash, no loop. 400 by default, 125,000
# with TIPME_TEST_ALL=1, and as many in each of fuzz-second.t, fuzz-third.t and fuzz-fourth.t (each
# round has two episodes, and each process its part of all: its memory stays as it is), as many as
# TIPME_FUZZ_ROUNDS says, in as many processes as TIPME_FUZZ_PROCESSES says; of a seed
# (TIPME_FUZZ_SEED) each is the same.
use strict;
use warnings;
use Test::More;
use File::Temp  qw(tempdir);
use FindBin     qw($Bin);
use POSIX       qw(_exit);
use Time::HiRes qw(time);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Cpanel::JSON::XS ();
use Tipme::Diagnosis;
use Tipme::Episode;
use Tipme::Report::JSON;
use Tipme::Report::Text;
use Tipme::Test::Files    qw(slurp spew);
use Tipme::Test::EachKind qw(each_kind);
use Tipme::Test::Story;
use Tipme::Threads;

my $PATIENCE_S = 60;    # for one episode of a few kilobytes
my $seed       = $ENV{TIPME_FUZZ_SEED}   // 12345;
my $rounds     = $ENV{TIPME_FUZZ_ROUNDS} // ($ENV{TIPME_TEST_ALL} ? 125_000 : 400);
my $tmp        = tempdir(-w '/dev/shm' ? (DIR => '/dev/shm') : (), CLEANUP => 1);
# Each other one without quotas, since with them no path is told by runs. The last two have as many
# kinds of records as the first two, and take half of the time: they are tried seven times as often.
my @good  = map { each_kind($_ % 2, $_ > 1)->builder->write("$tmp/good$_") } 0 .. 3;
my $whole = Tipme::Diagnosis->new(Tipme::Episode->open($good[0]))->run;
is($whole->{unknown_records},        0,           'a record of each kind is known');
is($whole->{event}{stages}[0]{name}, 'interrupt', 'the key is followed from its interrupt on');
is_deeply(kinds($good[ 2 + $_ ]), kinds($good[$_]), 'short ones have the same kinds of records')
	for 0, 1;
for my $long (@good[ 1, 3 ]) {
	local ($Tipme::WakeupChain::LONG, $Tipme::WakeupChain::CHUNK, $Tipme::WakeupChain::LAST) =
		(10, 5, 2);
	ok(
		scalar(
			grep { $_->{mixed} }
				@{ Tipme::Diagnosis->new(Tipme::Episode->open($long))->run->{path} }
		),
		'part of a long path is told by runs'
	);
}
my @files = qw(kernel.rec threads.rec x-100.rec module.rec x-100-101.rec manifest.json schema);
my $record_files = grep {/rec$/} @files;
my @bytes        = map {
	my $from = $_;
	+{ map { $_ => slurp("$from/$_") } @files }
} @good;

my $from    = time;
my $parts   = $ENV{TIPME_FUZZ_PROCESSES} || ($rounds < 10_000 ? 1 : qx{nproc} + 0);
my @workers = map { worker($_) } 0 .. $parts - 1;
my %all     = (verdicts => 0, errors => 0, read => 0, refused => 0, bad => {});
for my $w (@workers) {
	waitpid $w->{pid}, 0;
	my $r =
		$?
		? { bad => { "worker ended with status $?" => 'unknown' } }
		: Cpanel::JSON::XS->new->decode(slurp($w->{file}));
	$all{$_} += $r->{$_} // 0 for qw(verdicts errors read refused);
	%{ $all{bad} } = (%{ $all{bad} }, %{ $r->{bad} });
}
is_deeply(
	$all{bad}, {},
	"$rounds damaged episodes: $all{verdicts} verdicts, $all{errors} clear errors; all records of as many more: $all{read} read, $all{refused} refused"
) or diag(explain($all{bad}));
cmp_ok($all{verdicts}, '>', $rounds / 10, 'many are read as far as they go');
cmp_ok($all{errors},   '>', 0,            'some are refused');
note(sprintf '%.0f episodes a second', 2 * $rounds / (time - $from));
done_testing();

# How many kinds of records each file has.
sub kinds {
	my ($dir) = @_;
	my $ep = Tipme::Episode->open($dir);
	my %kinds;
	for my $s ($ep->sections) {
		my ($heads) = $ep->section_heads($s);
		$kinds{ $s->{file} }{ $heads->[ 4 * $_ ] } = 1 for 0 .. @$heads / 4 - 1;
	}
	return \%kinds;
}

# One process that does each PARTS-th of the rounds.
sub worker {
	my ($part) = @_;
	my $file   = "$tmp/result-$part";
	my $pid    = fork // die "fork: $!\n";
	return { pid => $pid, file => $file } if $pid;
	my $ok = eval { spew($file, Cpanel::JSON::XS->new->encode(rounds_of($part))); 1 };
	print STDERR $@ if !$ok;
	_exit($ok ? 0 : 1);
}

sub rounds_of {
	my ($part) = @_;
	my @dir = map {"$tmp/fuzz-$part-$_"} 0 .. $#good;
	for my $k (0 .. $#good) {
		mkdir $dir[$k] or die "$dir[$k]: $!\n";
		spew("$dir[$k]/$_", $bytes[$k]{$_}) for @files;
	}
	my %r = (verdicts => 0, errors => 0, read => 0, refused => 0, bad => {});
	my $warm;
	for (my $round = $part; $round < $rounds; $round += $parts) {
		$warm //= resident() if $round > $rounds / 10;
		my $turn = int($round / $parts) % 16;
		my $k    = $turn < 2 ? $turn : 2 + $turn % 2;
		my ($dir, $bytes) = ($dir[$k], $bytes[$k]);
		my $file = damage($dir, $bytes, 2 * $round, \&judge, \%r, 'verdicts', 'errors');
		spew("$dir/$file", $bytes->{$file});
		$file = damage($dir, $bytes, 2 * $round + 1, \&read_all, \%r, 'read', 'refused');
		spew("$dir/$file", $bytes->{$file});
	}
	my $now = resident();
	$r{bad}{"memory grew from $warm to $now kB"} = 'leak' if $warm && $now > 1.2 * $warm + 20_000;
	return \%r;
}

sub resident { return (slurp('/proc/self/status') =~ /^VmRSS:\s+(\d+)/m)[0] }

# Damages one file and does DO with the episode; what it should not do is kept with the number that
# makes it again.
sub damage {
	my ($dir, $bytes, $n, $do, $r, $yes, $no) = @_;
	my $state = ($seed + $n * 2654435761) & 0x7fffffff;
	my $rand =
		sub { $state = ($state * 1103515245 + 12345) & 0x7fffffff; return ($state >> 8) % $_[0] };
	$rand->(2) for 1 .. 3;
	my $file = $files[
		  $rand->(20) < 17
		? $rand->($record_files)
		: $record_files + $rand->(@files - $record_files)
	];
	# Every other path is told by runs, as those of a thousand times as many records are.
	local ($Tipme::WakeupChain::LONG, $Tipme::WakeupChain::CHUNK, $Tipme::WakeupChain::LAST) =
		(10, 5, 2)
		if $n & 4;
	my $b   = $bytes->{$file};
	my $how = $rand->(5);
	# Another kind of record in the same place: its fields mean something else now.
	if ($how == 4 && $file =~ /rec$/) {
		for (0 .. $rand->(6)) {
			my $at = 64 + 32 * $rand->(int((length($b) - 64) / 32));
			substr $b, $at + 8, 1, chr 3 + $rand->(25);
		}
	} elsif ($how) {
		for (0 .. $rand->(6)) { my $at = $rand->(length $b); substr $b, $at, 1, chr $rand->(256) }
	} else {
		$b = substr $b, 0, $rand->(length $b);
	}
	spew("$dir/$file", $b);
	my @warned;
	local $SIG{__WARN__} = sub { push @warned, @_ };
	local $SIG{ALRM}     = sub { die "hangs\n" };
	alarm $PATIENCE_S;
	my $wrong = eval { $do->($dir, $n) };
	my $why   = $@;
	alarm 0;
	$r->{ defined $wrong ? $yes : $no }++;
	$r->{bad}{"warned: $warned[0]"} //= "$n $file" if @warned;
	$r->{bad}{"wrong: $wrong"}      //= "$n $file" if $wrong;
	$r->{bad}{"died: $why"}         //= "$n $file"
		if !defined $wrong && ($why =~ / at \S+ line \d+/ || $why eq "hangs\n" || $why !~ /\S/);
	return $file;
}

# What is wrong with the numbers of a diagnosis; '' if nothing is
sub judge {
	my ($dir, $n) = @_;
	# Now and then step by step, too: that must come to the same.
	my ($d, $other) =
		!($n % 14)
		? Tipme::Test::Story::both_ways($dir)
		: Tipme::Diagnosis->new(Tipme::Episode->open($dir))->run;
	Tipme::Report::Text::page($d);
	Tipme::Report::JSON::data($d);
	return 'plain steps at one go'
		if $other && Tipme::Test::Story::told($d) ne Tipme::Test::Story::told($other);
	return wrong($d);
}

sub wrong {
	my ($d) = @_;
	my ($i, $v) = @$d{qw(interval verdict)};
	for (qw(share confidence)) { return "$_ $v->{$_}" if $v->{$_} < 0 || $v->{$_} > 1 }
	return '' if !$i;
	my ($all, $at, %kinds) = ($i->{duration_ns}, $i->{start_ns});
	return 'interval' if $all != $i->{end_ns} - $i->{start_ns} || $all <= 0;
	for my $p (@{ $d->{path} }) {
		return 'path: gap or overlap' if $p->{from_ns} != $at || $p->{to_ns} <= $at;
		$kinds{ $_->[0] } +=
			$_->[1]
			for $p->{mixed}
			? map { [ @$_{qw(kind ns)} ] } @{ $p->{among} }
			: [ $p->{blamed}{kind}, $p->{to_ns} - $at ];
		$at = $p->{to_ns};
	}
	return 'path: end' if $at != $i->{end_ns};
	for my $part (qw(kinds states)) {
		my $sum = 0;
		$sum += $_ for values %{ $d->{totals}{$part} };
		return "$part: $sum of $all" if $sum != $all;
	}
	for (keys %kinds) { return "kind $_" if $kinds{$_} != ($d->{totals}{kinds}{$_} // -1) }
	for my $t (@{ $d->{totals}{threads} }) {
		return "thread $t->{tid}"
			if $t->{running_ns} + $t->{runnable_ns} + $t->{blocked_ns} + $t->{absent_ns} != $all;
	}
	return '';
}

# Each record of each file, and who the threads are.
sub read_all {
	my ($dir) = @_;
	my $ep    = Tipme::Episode->open($dir);
	my $n     = 0;
	$ep->each(sub { $n++ });
	my $threads = Tipme::Threads->new($ep);
	$threads->at($_, $ep->trigger_ns) for $threads->tids, 901;
	$threads->args($_, $ep->trigger_ns) for 200, 901;
	my $most = 0;
	$most += $_->{size} for $ep->files;
	return $n > $most / 16 ? "more records ($n) than the files hold" : '';
}
