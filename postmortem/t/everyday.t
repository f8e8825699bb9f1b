#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The verbs as somebody uses them every day: what is said of a damaged episode, of one in which
# nothing was slow, of one that was reported already; the list; the names of files.
use strict;
use warnings;
use Test::More;
use Cpanel::JSON::XS ();
use File::Temp       qw(tempdir);
use FindBin          qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Test::Story;

use constant { CLIENT => 200, MS => 1_000_000 };
my $tmp = tempdir(CLEANUP => 1);
@ENV{qw(TIPME_LIBRARY LC_ALL TZ)} = ("$tmp/library", 'C', 'UTC');
mkdir "$tmp/library", 0700 or die "$!\n";
my ($n, %at) = (0);

# tipme(VERB ...): { out, err, exit }, run in $tmp
sub tipme {
	my (@args) = @_;
	my $pid = fork // die "fork: $!\n";
	if (!$pid) {
		chdir $tmp or die "$!\n";
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

# keep(STORY): its id in the library
sub keep {
	my ($s) = @_;
	my $id  = sprintf '20261120-%06d-3f2a', 150_000 + $n++;
	$s->builder->{id} = $id;
	$s->builder->write("$tmp/library/$id");
	return $id;
}

sub flat { return $_[0] =~ s/\s+/ /gr }
sub slow { return Tipme::Test::Story->new(trigger => 2000, @_)->key(1000, 400)->hotkey(1900) }

# --- a damaged episode blames nobody: the delay is known, its cause is not ---
for my $how ('is missing', 'was cut') {
	my $id   = keep(slow());
	my $file = "$tmp/library/$id/kernel.rec";
	$how eq 'is missing' ? unlink $file : truncate $file, 600;
	my $r = tipme('diagnose', $id);
	is($r->{exit}, 2, "kernel.rec $how: exit status 2") or diag($r->{err});
	like(
		flat($r->{out}),
		qr/^xterm \(pid 200\) answered a key press after \d+ ms.*: this episode is damaged \(kernel\.rec: $how.*?\)\. The delay is known; its cause is not\. /,
		"kernel.rec $how: said"
	);
	my $d = Cpanel::JSON::XS->new->decode(tipme('diagnose', $id, '--json')->{out});
	is($d->{verdict}{blamed}, undef, "kernel.rec $how: nobody is blamed");
	is_deeply([ keys %{ $d->{totals}{kinds} } ], ['unknown'], "kernel.rec $how: nor in the sums");
	like($r->{out}, qr/`tipme show $id`/, "kernel.rec $how: where to look");
}
# What was cut behind the delay changes nothing.
{
	my $s = Tipme::Test::Story->new(trigger => 4000)->key(1000, 400)->hotkey(3900);
	$s->builder->{section_records} = 4;
	$s->run(1, 3000 + $_, 3000.5 + $_, 999, 'sleeping') for 1 .. 40;
	my $id   = keep($s);
	my $file = "$tmp/library/$id/kernel.rec";
	truncate $file, int(0.9 * -s $file) or die "$!\n";
	my $r = tipme('diagnose', $id);
	like(
		flat($r->{out}), qr/for \d+ ms \(100 %\) it computed\. .*Damage: kernel\.rec: was cut/,
		'cut behind the delay: the verdict stands, and the damage is said'
	);
	is($r->{exit}, 0, '... exit status 0');
}

# --- nothing slow: the slowest are listed, by the clock, and it is asked which one is meant ---
{
	my $s = Tipme::Test::Story->new(trigger => 4000);
	$s->key(700 + 100 * $_, 10 + $_) for 1 .. 7;
	my $id = keep($s->hotkey(3900));
	my $r  = tipme('diagnose', $id);
	is($r->{exit}, 0, 'nothing slow: exit status 0');
	like(
		$r->{out}, qr/\ANothing unusual: xterm \(pid 200\) answered a key press after 17 ms/,
		'nothing slow: said'
	);
	my @rows = $r->{out} =~ /^  (\d+) ms  a key press  xterm  2026-11-20 15:02:5\d  --event \d+$/mg;
	is("@rows", '17 16 15 14 13', 'nothing slow: the five slowest');
	like(
		flat($r->{out}), qr/About when was it\? tipme diagnose $id --at HH:MM:SS, --at -SECONDS/,
		'nothing slow: and the question'
	);
	my ($event) = $r->{out} =~ /--event (\d+)$/m;
	my $again = tipme('diagnose', $id, '--event', $event)->{out};
	like($again, qr/\ANothing unusual: .*after 17 ms/, '... which --event answers');
	unlike($again, qr/Slowest/, '... without the list');
	my @list = split /\n/, tipme('events', $id, '--slowest')->{out};
	is(scalar(@list), 5, 'events --slowest: five');
	like(
		$list[0], qr/\A2026-11-20 15:02:5\d: a key press in xterm, 17 ms  --event $event\z/,
		'... the latest answer first, by the clock'
	);
	my $json = Cpanel::JSON::XS->new->decode(tipme('events', $id, '--slowest', '--json')->{out});
	is(
		$json->{slowest}[0]{words} . "  --event $json->{slowest}[0]{n}", $list[0],
		'... in JSON, too'
	);
	my ($clock) = $list[0] =~ /(15:02:5\d):/;
	like(
		tipme('diagnose', $id, '--at', $clock)->{out}, qr/\ANothing unusual: .*after 17 ms/,
		"--at $clock: the slowest of that second"
	);
	like(
		tipme('diagnose', $id, '--at', '15:02:57.9')->{out}, qr/after 12 ms/,
		'--at with a fraction: the one that was handled then, or the nearest'
	);
	like(
		tipme('diagnose', $id, '--at', '03:00:00')->{err},
		qr/\Atipme: diagnose: --at 03:00:00: nothing was recorded then: choose one from /,
		'... at that time'
	);
	is(tipme('diagnose', $id, '--at', '15:62:57')->{exit}, 1, '... no time');
	like(
		tipme('diagnose', $id, '--at', -9999)->{err},
		qr/\Atipme: diagnose: --at -9999: nothing was recorded then: choose one from /,
		'a time at which nothing was recorded'
	);
}

# --- the same asked again: an old cause is no new one ---
{
	my $trigger = { kind => 'hotkey', ns => 2000 * MS, text => '', before_ns => 1700 * MS };
	my $id      = keep(slow(manifest => { trigger => $trigger }));
	my $r       = tipme('diagnose', $id);
	like(
		flat($r->{out}),
		qr/\ANothing slow since your last report 300 ms ago\. Before that: xterm \(pid 200\) answered a key press after 400 ms/,
		'asked again: nothing new'
	);
	is($r->{exit}, 0, 'asked again: exit status 0');
	unlike($r->{out}, qr/^Ask:/m, 'asked again: nobody is to be asked');
}

# --- saved by a threshold: how long it lasted in the end is known, and told ---
{
	my $trigger = {
		kind => 'auto',                                             ns          => 1300 * MS,
		text => 'xterm (pid 200) has not answered a press: 300 ms', measured_ms => 300
	};
	my $r = tipme(
		'diagnose',
		keep(
			Tipme::Test::Story->new(trigger => 1300, manifest => { trigger => $trigger })
				->key(1000, 600)
		)
	);
	like(
		flat($r->{out}),
		qr/\Axterm \(pid 200\) answered a key press after 600 ms, .* for 600 ms \(100 %\) it computed\./,
		'saved by a threshold: the whole delay, though it was saved after half of it'
	);
	like($r->{out}, qr/0\.3 s before it was saved/, '... and when');
	$r = tipme(
		'diagnose',
		keep(
			Tipme::Test::Story->new(trigger => 1300, manifest => { trigger => $trigger })
				->key(1000, 5000)
		)
	);
	like(
		flat($r->{out}), qr/\Axterm \(pid 200\) has not answered a key press for 1\.\d+ s/,
		'... up to the end of the records where it lasts longer'
	);
}

# --- the list: the newest first, 20 of them, causes in plain words ---
{
	my @ids = map { keep(slow()) } 1 .. 25;
	tipme('diagnose', $ids[-1]);
	my $r     = tipme('list');
	my @shown = $r->{out} =~ /^(\d{8}-\d{6}-3f2a) /mg;
	is_deeply(\@shown, [ (reverse @ids)[ 0 .. 19 ] ], 'list: the newest 20, the newest first')
		or diag($r->{out} . $r->{err});
	like(
		$r->{out}, qr/^$ids[-1] +11-20 15:03:01 +400 ms +xterm \(200\) computed$/m,
		'list: the cause in plain words'
	);
	like($r->{out}, qr/^(\d+) older ones: tipme list --all$/m, 'list: how to see the others');
	my $all = () = tipme('list', '--all')->{out} =~ /^\d{8}-/mg;
	is($all,                                                      $n, 'list --all: every one');
	is(scalar(() = tipme('list', '-n', 3)->{out} =~ /^\d{8}-/mg), 3,  'list -n 3: three');
	my $json = Cpanel::JSON::XS->new->decode(tipme('list', '--json')->{out})->{episodes};
	is(scalar(@$json) . " $json->[-1]{id}", "$n $ids[-1]", 'list --json: all, the newest last');
	is(tipme('list', '-n', 0)->{exit},      64,            'list -n 0: not understood');
	ok(!(grep { length > 80 } split /\n/, $r->{out}), 'list: 80 columns');
}

# --- a bundle has a name of its own, and is never written over ---
{
	my $id = keep(slow());
	my $r  = tipme('bundle', $id, '--yes');
	is($r->{exit}, 0, 'bundle without -o') or diag($r->{err});
	like(
		$r->{out}, qr/^tipme-xterm-20261120-1503\.tipme written, /m,
		'bundle: named after program and time'
	);
	like(
		tipme('bundle', $id, '--yes')->{out}, qr/^tipme-xterm-20261120-1503-2\.tipme written, /m,
		'bundle: the next is another'
	);
	$r = tipme('bundle', $id);
	is($r->{exit}, 1, 'bundle: nobody agreed');
	is(
		$r->{err},
		"tipme: bundle: not written: cannot ask without a terminal: review the list, then add --yes\n",
		'bundle: why, and what to do'
	);
}

# --- episodes of one user in two places ---
{
	require Tipme::Library;
	no warnings 'once';
	local $Tipme::Library::MACHINE = "$tmp/machine";
	local @ENV{qw(HOME TIPME_LIBRARY XDG_DATA_HOME)} = ("$tmp/home", '', '');
	my ($here, $there) = ("$tmp/machine/$<", "$tmp/home/.local/share/tipme");
	system 'mkdir', '-p', $here, $there;
	for my $where ([ $here, '20261120-150001-0001' ], [ $there, '20261121-150001-0002' ]) {
		my $s = slow();
		$s->builder->{id} = $where->[1];
		$s->builder->write("$where->[0]/$where->[1]");
	}
	my $library = Tipme::Library->open;
	is(
		join(' ', map { $_->{id} } $library->episodes), '20261120-150001-0001',
		'two libraries: ours'
	);
	is_deeply(
		[ $library->elsewhere ], [ { folder => $there, ids => ['20261121-150001-0002'] } ],
		'two libraries: the other is known'
	);
	is(
		$library->locate('20261121'), "$there/20261121-150001-0002",
		'two libraries: an episode of the other is found by its id'
	);
	require Tipme::Command::List;
	my $out = '';
	{
		open my $old, '>&', \*STDOUT or die "$!\n";
		close STDOUT;
		open STDOUT, '>', \$out or die "$!\n";
		Tipme::Command::List->run;
		close STDOUT;
		open STDOUT, '>&', $old or die "$!\n";
	}
	like(
		$out, qr/^1 more in \Q$there\E: TIPME_LIBRARY=\Q$there\E tipme list$/m,
		'two libraries: the list says so'
	);
}

# --- somebody else's episode ---
SKIP: {
	skip 'only root can become somebody else', 2 if $> != 0;
	my $id  = keep(slow());
	my $dir = "$tmp/private";
	mkdir $dir, 0700 or die "$!\n";
	rename "$tmp/library/$id", "$dir/$id" or die "$!\n";
	chmod 0755, $tmp;
	local $> = 65534;
	my $why = eval { Tipme::Episode->open("$dir/$id"); 1 } ? 'opened' : $@;
	like(
		$why,
		qr{^\S+/$id: you may not read it: it belongs to another user: ask for a file that `tipme bundle` writes$},
		"another's episode: said so"
	);
	$> = 0;
	chmod 0755, $dir;
	chmod 0700, "$dir/$id";
	$> = 65534;
	like(
		eval { Tipme::Episode->open("$dir/$id"); 1 } ? 'opened' : $@, qr/you may not read it/,
		'... also where its folder can be seen'
	);
}

# --- list and question have the same words: the question takes them from the JSON ---
{
	my $id = keep(slow());
	my $d  = Cpanel::JSON::XS->new->decode(tipme('diagnose', $id, '--json')->{out});
	like(
		tipme('list')->{out}, qr/^$id .* \Q$d->{verdict}{short}\E$/m,
		"one table of words: $d->{verdict}{short}"
	);
	is($d->{when}{text}, '1.0 s before you pressed the hot-key', 'when, in words');
	is($d->{when}{time}, '2026-11-20T15:03:00.000Z',             '... and by the clock');
}

# --- a library of 1,000 episodes: no verb loads or reads what it does not need ---
{
	my $from = "$tmp/library/" . keep(slow());
	my $many = "$tmp/many";
	mkdir $many or die "$!\n";
	open my $h, '<', "$from/manifest.json" or die "$!\n";
	my $manifest = do { local $/; <$h> };
	for my $k (0 .. 999) {
		my $dir  = sprintf '%s/20261119-%06d-3f2a', $many, $k;
		my $text = $manifest =~ s/"\d{8}-\d{6}-3f2a"/sprintf '"20261119-%06d-3f2a"', $k/er;
		mkdir $dir or die "$dir: $!\n";
		open my $m, '>', "$dir/manifest.json" or die "$!\n";
		print {$m} $text;
		close $m or die "$!\n";
		for my $f (grep { !/manifest\.json\z/ } glob "$from/*.rec $from/schema") {
			link $f, $dir . ($f =~ m{(/[^/]+)\z} ? $1 : '') or die "$f: $!\n";
		}
	}
	local $ENV{TIPME_LIBRARY} = $many;
	tipme('list');    # its table is made once
	for my $verb (
		[qw(list)], [qw(list --json)], [qw(show)], [qw(diagnose)], [qw(events)],
		[qw(compare last 20261119-000001)], [qw(bundle --yes)]
		)
	{
		my ($least, $r);
		# CPU time of the quickest of three: a busy machine makes all of it slower, not that.
		for (1 .. ($ENV{TIPME_TEST_ALL} ? 3 : 1)) {
			my $before = (times)[2] + (times)[3];
			$r = tipme(@$verb);
			my $s = (times)[2] + (times)[3] - $before;
			$least = $s if !defined $least || $s < $least;
		}
		is($r->{exit}, 0, "@$verb, of 1,000 episodes: done") or diag($r->{err});
		note sprintf '%s: %.2f s of CPU time', "@$verb", $least;
	}
	my $loaded =
		qx{$^X -I"$Bin/../lib" -I"$Bin/../../abi/lib" -I"$Bin/../../abi/generated" -e 'require Tipme::Command::List; print join " ", sort keys %INC'};
	unlike(
		$loaded,
		qr{Tipme/(?:Diagnosis|KernelEvents|WakeupChain|Bundle|Index)\.pm|Archive|Locale},
		'list loads nothing that reads records'
	);
}

done_testing();
