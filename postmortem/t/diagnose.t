#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The program as it is called: exit status, messages, JSON; and foreign and damaged episodes, none of which may hang it or make it die unheard.
use strict;
use warnings;
use Test::More;
use Cpanel::JSON::XS ();
use File::Copy qw(copy);
use File::Temp qw(tempdir);
use FindBin qw($Bin);
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
	for my $f (qw(out err)) { open my $h, '<:raw', "$tmp/$f" or die "$!\n"; local $/; $r{$f} = <$h> // '' }
	return \%r;
}

sub slow { return Tipme::Test::Story->new(trigger => 2000)->key(1000, 400)->hotkey(1900) }

my $id = '20261120-150301-3f2a';
slow()->builder->write("$tmp/library/$id");
my $r = run('diagnose', $id);
is($r->{exit}, 0, 'a verdict: exit status 0') or diag($r->{err});
is($r->{err}, '', 'and nothing to complain about');
like($r->{out} =~ s/\s+/ /gr, qr/^xterm \(pid 200\) answered a key press after 400 ms, usually 2\.9 ms: for 400 ms \(100 %\) it computed\. /, 'the verdict first');
is(run('diagnose', $_)->{out}, $r->{out}, "found as $_") for 'last', "$tmp/library/$id", '20261120';
is(run('diagnose')->{out}, $r->{out}, 'the newest without a word');
my $json = run('diagnose', $id, '--json');
my $d = Cpanel::JSON::XS->new->decode($json->{out});
is($json->{exit}, 0, 'JSON');
is($d->{version}, 1, 'with its version');
is_deeply([ sort keys %$d ], [ sort qw(version id time trigger interval event path totals verdict evidence coverage lost overhead damage unknown_records left_out sampled) ], 'all parts are there');
is($d->{interval}{duration_ns}, 399_900_000 + 100_000, 'the interval');
is_deeply([ sort keys %{ $d->{path}[0] } ], [ sort qw(tid pid start_time_ns comm from_ns to_ns state reason cpu exact evidence blamed) ], 'a stretch of the path');
is_deeply([ sort keys %{ $d->{path}[0]{blamed} } ], [ sort qw(kind pid tid comm detail) ], 'who is blamed');
is($d->{verdict}{blamed}{pid}, 200, 'a number is a number');
like($json->{out}, qr/"pid" : 200\b/, 'in the text, too');
like(run('list')->{out}, qr/400 ms|xterm|app-compute/, 'the library has been told');

is(run('diagnose', $id, '--event', 999)->{exit}, 2, 'no such event: exit status 2');
is(run('diagnose', $id, '--at', '-1.0')->{exit}, 0, 'a time before the hot-key');
is(run('diagnose', $id, '--at', 'noon')->{exit}, 1, 'no time: exit status 1');
is(run('diagnose', '--nonsense')->{exit}, 64, 'usage: exit status 64');
is(run('nonsense')->{exit}, 64, 'no such verb');
my $help = run('diagnose', '--help');
is($help->{exit}, 0, 'help');
like($help->{out}, qr/tipme diagnose last/, 'with examples');
$r = run('diagnose', '/etc');
is($r->{exit}, 1, 'a foreign folder');
is($r->{err}, "tipme: diagnose: /etc: not an episode (no manifest.json): `tipme list` shows the episodes\n", 'in one clear sentence');
$r = run('diagnose', "$tmp/library/none");
like($r->{err}, qr{^tipme: diagnose: \S+/none: no such folder}, 'nothing there');

# --- bytes changed at random, and cut anywhere: a clear error or a verdict, no warning, no loop ---
my $seed = $ENV{TIPME_FUZZ_SEED} // 12345;
my $rounds = $ENV{TIPME_FUZZ_ROUNDS} // 400;
my $rand = sub { $seed = ($seed * 1103515245 + 12345) & 0x7fffffff; return ($seed >> 8) % $_[0] };
# A story with a record of each kind, so that each is read when it is damaged.
sub rich {
	my $s = slow();
	my @any = (tid => 200);
	$s->io(200, 90, 1010, 1020, 1300)->io(900, 98, 1011, 1015, 1200, op => 'write')->kernel(0, 1250, 'io', phase => 'requeued', sector => 90, dev => 8 << 20, sectors => 8);
	$s->lasts('lock_contention', 1, 1100, 1150, @any, lock => 4711, owner_tid => 300, kind => 'mutex')->lasts('memory_wait', 1, 1160, 1190, @any, kind => 'direct_reclaim');
	$s->kernel(1, 1200, 'irq', @any, duration_ns => 5 * 1_000_000, number => 14, kind => 'hardirq')->kernel(1, 1210, 'signal', @any, pid => 200, sender_tid => 300, signal => 19);
	$s->lasts('cpu_throttle', 1, 1220, 1230, cgroup => 77, cpu => 1)->kernel(1, 1240, 'priority', @any, old_prio => 139, new_prio => 120, inherited => 1)->kernel(1, 1250, 'migrate', @any, to_cpu => 1);
	$s->kernel(1, 1260, 'cpu_frequency', khz => 800_000)->kernel(1, 1265, 'cpu_idle', idle_ns => 1)->kernel(1, 1270, 'steal', steal_ns => 1_000_000, cpu => 1, since_ns => 1200 * 1_000_000);
	$s->kernel(1, 1280 + $_, 'sample', @any, user_stack_id => 1, cpu => 1, kind => 'clock') for 0 .. 9;
	$s->kernel(0, 999, 'input', kind => 'key_press')->kernel(0, 1281, 'latency', irq_ns => 5)->kernel(0, 1282, 'latency_user', user_ns => 5);
	$s->daemon('module', module_id => 5, path => '/usr/bin/xterm')->daemon('user_stack', stack_id => 1, frames => 1, text => 'reflow+0x1a[5]')->daemon('cgroup_name', cgroup => 77, quota_us => 1, period_us => 2, path => '/x');
	$s->daemon('irq_name', number => 14, name => 'ata')->daemon('disk_name', dev => 8 << 20, name => 'sda')->daemon('process', pid => 901, ppid => 300, exe => '/bin/x')->daemon('exec_args', pid => 200, text => "a\nb");
	return $s->picture(200, 'xterm', cgroup => 77, cpus_allowed => 1, rss_kib => 5);
}
my $good = rich()->builder->write("$tmp/good");
is(Tipme::Diagnosis->new(Tipme::Episode->open($good))->run->{unknown_records}, 0, 'a record of each kind is known');
my @files = qw(kernel.rec threads.rec x-100.rec manifest.json schema);
my %bytes = map { my $f = $_; $f => do { open my $h, '<:raw', "$good/$f" or die "$!\n"; local $/; <$h> } } @files;
my ($verdicts, $errors, %bad) = (0, 0);
mkdir "$tmp/fuzz" or die "$!\n";
for my $round (1 .. $rounds) {
	my $file = $files[ $rand->(20) < 17 ? $rand->(3) : 3 + $rand->(2) ];
	my $b = $bytes{$file};
	my $how = $rand->(5);
	# Another kind of record in the same place: its fields mean something else now.
	if ($how == 4 && $file =~ /rec$/) { for (0 .. $rand->(6)) { my $at = 64 + 32 * $rand->(int((length($b) - 64) / 32)); substr $b, $at + 8, 1, chr 3 + $rand->(25) } }
	elsif ($how) { for (0 .. $rand->(6)) { my $at = $rand->(length $b); substr $b, $at, 1, chr $rand->(256) } }
	else { $b = substr $b, 0, $rand->(length $b) }
	for my $f (@files) { open my $h, '>:raw', "$tmp/fuzz/$f" or die "$!\n"; print {$h} $f eq $file ? $b : $bytes{$f}; close $h or die "$!\n" }
	my @warned;
	local $SIG{__WARN__} = sub { push @warned, @_ };
	local $SIG{ALRM} = sub { die "hangs\n" };
	alarm 60;
	my $ok = eval { my $d = Tipme::Diagnosis->new(Tipme::Episode->open("$tmp/fuzz"))->run; Tipme::Report::Text::page($d); Tipme::Report::JSON::data($d); 1 };
	my $why = $@;
	alarm 0;
	$ok ? $verdicts++ : $errors++;
	$bad{"warned: $warned[0]"} //= "$round $file" if @warned;
	$bad{"died: $why"} //= "$round $file" if !$ok && ($why =~ / at \S+ line \d+/ || $why eq "hangs\n" || $why !~ /\S/);
}
is_deeply(\%bad, {}, "$rounds damaged episodes: $verdicts verdicts, $errors clear errors") or diag(explain(\%bad));
cmp_ok($verdicts, '>', $rounds / 10, 'many are read as far as they go');
cmp_ok($errors, '>', 0, 'some are refused');

done_testing();
