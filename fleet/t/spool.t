#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# From files in a folder to rows: each once, whatever else lies there, whoever is killed.
use strict;
use warnings;
use Test::More;
use File::Temp         qw(tempdir);
use FindBin            qw($Bin);
use IO::Compress::Gzip ();
use POSIX              qw(mkfifo);
use Time::HiRes        qw(sleep);
my ($src, $tmp);
BEGIN { $src = "$Bin/../.."; $tmp = tempdir(CLEANUP => 1) }
use lib "$src/fleet/lib", "$Bin/lib", "$src/postmortem/lib", "$src/abi/lib", "$src/abi/generated";
use Tipme::Bundle;
use Tipme::Fleet::Database;
use Tipme::Fleet::Spool;
use Tipme::Test::Fleet qw(rows machine bundle small_file presences counts kill_group);

my $n = 0;

# A new spool with a database beside it.
sub fresh {
	my $dir = "$tmp/" . ++$n;
	mkdir $dir         or die "$!\n";
	mkdir "$dir/spool" or die "$!\n";
	Tipme::Fleet::Database->open("$dir/db", write => 1)->setup;
	return ("$dir/spool", "$dir/db");
}

sub take {
	my ($spool, $db, %o) = @_;
	return Tipme::Fleet::Spool->new($spool, database => $db, %o)->take;
}

sub in_db {
	my ($db) = @_;
	return Tipme::Fleet::Database->open($db)->dbh->selectall_arrayref(
		'SELECT * FROM lags ORDER BY machine, time, episode',
		{ Slice => {} }
	);
}

sub names {
	my ($dir) = @_;
	opendir my $d, $dir or return;
	return sort grep { !/^\./ } readdir $d;
}

my @rows = rows(60, machines => 7);
subtest 'a bundle is a row' => sub {
	my ($spool, $db) = fresh();
	bundle("$spool/$_.tipme", $rows[$_]) for 0 .. $#rows;
	small_file("$spool/$_->{week}.tipme-presence", $_) for presences(machines => 1, weeks => 3);
	my @counts = counts(machines => 1, weeks => 2);
	for my $week (0, 1) {
		my @of = @counts[ 3 * $week .. 3 * $week + 2 ];
		small_file("$spool/$week.tipme-counts", { %{ $of[0] }, counts => \@of });
	}
	open my $other, '>', "$spool/README" or die "$!\n";
	is_deeply take($spool, $db), { new => 69, known => 0, refused => 0, young => 0, stuck => 0 },
		'all are taken';
	my $dbh     = Tipme::Fleet::Database->open($db)->dbh;
	my $counted = $dbh->selectall_arrayref(
		'SELECT * FROM counts ORDER BY week DESC, late',
		{ Slice => {} }
	);
	is_deeply $counted, \@counts, 'counts of profiles are rows, too';
	is_deeply [ names($spool) ], ['README'],
		'... and gone from the spool; what is no bundle is left alone';
	my $have = in_db($db);
	my @want = sort {
			   $a->{machine} cmp $b->{machine}
			|| $a->{time} <=> $b->{time}
			|| $a->{episode} cmp $b->{episode}
	} @rows;
	is_deeply [
		map {
			my $r = $_;
			[
				@$r{
					qw(machine episode time week application culprit kind kernel waited_ns usual_ns
						confidence sentence)
				}
			]
		} @$have
		],
		[
		map {
			my $r = $_;
			[
				@$r{
					qw(machine episode time week application culprit kind kernel waited_ns usual_ns
						confidence sentence)
				}
			]
		} @want
		],
		'with what they say';
	is $have->[0]{stage},    'answer',         'the stage that took longest';
	is $have->[0]{hardware}, 'x86_64, 4 CPUs', 'the machine in short';
	bundle("$spool/again.tipme", $rows[3]);
	is_deeply take($spool, $db, keep => 1),
		{ new => 0, known => 1, refused => 0, young => 0, stuck => 0 },
		'the same once more is known';
	is_deeply [ names("$spool/taken") ], ['again.tipme'], '... and kept, where that is wanted';
};

# What a stranger may put there. Each is refused by itself, and says why.
subtest 'a hostile file harms only itself' => sub {
	my ($spool, $db) = fresh();
	my $row = $rows[0];
	my %bad = (
		machine    => { manifest => { fleet => { name => 'office', machine => "x' OR 1" } } },
		'no-fleet' => { manifest => { fleet => undef } },
		list => { manifest => { fleet => [1] } }, 'list-id' => { manifest => { id => ['x'] } },
		time          => { manifest => { time     => '9999-01-01T00:00:00Z' } },
		'no-time'     => { manifest => { time     => { a => 1 } } },
		'no-such-day' => { manifest => { time     => '2026-02-31T00:00:00Z' } },
		'no-kind'     => { verdict  => { verdict  => { kind => {} } } },
		'no-interval' => { verdict  => { interval => undef } },
		negative      => { verdict  => { interval => { duration_ns => -5 } } },
		huge          => { verdict  => { interval => { duration_ns => '9' x 300 } } },
		text          => { verdict  => { interval => { duration_ns => 'NaN' } } },
		day           => { verdict  => { interval => { duration_ns => 1e14 } } },
		verdict       => { verdict  => { verdict => 'none' } },
	);
	bundle("$spool/bad-$_.tipme", $row, %{ $bad{$_} }) for keys %bad;
	my ($c) = counts(machines => 1, weeks => 1);
	my %count = (
		'count-machine' => { machine => 'x' },
		'count-profile' => { profile => '../x' },
		'count-week'    => { week    => 99_999 },
		'count-list'    => { counts  => {} },
		'count-none'    => { counts  => [] },
		'count-many'    => { counts  => [ ($c) x 400 ] },
		'count-kind'    => { counts  => [ { %$c, input     => ['key'] } ] },
		'count-late'    => { counts  => [ { %$c, late      => 2001 } ] },
		'count-huge'    => { counts  => [ { %$c, waited_ns => '9' x 40 } ] },
		'count-sign'    => { counts  => [ { %$c, answers   => -1 } ] },
	);
	small_file("$spool/bad-$_.tipme-counts", { %$c, counts => [$c], %{ $count{$_} } })
		for keys %count;
	my ($p) = presences(machines => 1, weeks => 1);
	my %present = ('present-week' => { week => 99_999 }, 'present-hours' => { hours => 169 });
	small_file("$spool/bad-$_.tipme-presence", { %$p, %{ $present{$_} } }) for keys %present;
	small_file(
		"$spool/odd.tipme-counts",
		{ %$c, counts => [ { %$c, application => "a\e[2J'; DROP TABLE counts; --" } ] }
	);
	bundle(
		"$spool/other.tipme", $row,
		manifest => { fleet => { name => 'lab', machine => $row->{machine} } }
	);
	Tipme::Bundle->write(
		"$spool/deep.tipme", [ 'manifest.json', '[' x 5000 ],
		[ 'verdict.json', '{}' ]
	);
	Tipme::Bundle->write(
		"$spool/lone.tipme",
		[ 'manifest.json', '{"fleet":{"name":"office","machine":"' . machine(1) . '"}}' ]
	);
	IO::Compress::Gzip::gzip(\("\0" x (300 << 20)) => "$spool/bomb.tipme", -Level => 9);
	open my $junk, '>', "$spool/junk.tipme" or die "$!\n";
	print {$junk} 'x' x 1000;
	close $junk;
	bundle("$spool/whole", $rows[1]);
	open my $in, '<:raw', "$spool/whole" or die "$!\n";
	read $in, my $half, 300;

	for my $name (qw(cut late)) {
		open my $out, '>:raw', "$spool/$name.tipme" or die "$!\n";
		print {$out} $half;
		close $out;
	}
	unlink "$spool/whole";
	utime time - 3600, time - 3600, "$spool/$_.tipme" for qw(cut junk bomb deep);
	mkfifo("$spool/fifo.tipme", 0600) or die "$!\n";
	symlink '/etc/passwd', "$spool/link.tipme" or die "$!\n";
	mkdir "$spool/folder.tipme" or die "$!\n";
	my %odd = (
		%$row, sentence => "a\e[2Jb\x{202e}c" . 'd' x 1000,
		culprit => "x\n'; DROP TABLE lags; --", episode => 'odd'
	);
	bundle("$spool/odd.tipme",  \%odd);
	bundle("$spool/good.tipme", $rows[2]);
	my $before = () = in_db($db);
	my $did    = take($spool, $db, fleet => 'office');
	is $did->{new}, 3, 'the good ones among them are rows'
		or diag explain [ names("$spool/refused") ];
	is $did->{young}, 1, 'one that may still be written waits';
	is_deeply [ grep { !/\.why$/ } names("$spool/refused") ],
		[
		sort((map {"bad-$_.tipme"} keys %bad), (map {"bad-$_.tipme-counts"} keys %count),
			(map {"bad-$_.tipme-presence"} keys %present),
			map {"$_.tipme"} qw(other deep lone bomb junk cut fifo folder))
		],
		'the others are aside';

	for my $file (grep { !/\.why$/ } names("$spool/refused")) {
		open my $why, '<', "$spool/refused/$file.why" or do { fail "$file: a reason"; next };
		like scalar <$why>, qr/\A\Q$file\E: [ -~]+\n\z/, "$file: why, in one line";
	}
	ok -l "$spool/link.tipme", 'a link is not followed, and stays';
	is $did->{stuck}, 1, '... which is counted';
	my ($o) = grep { $_->{episode} eq 'odd' } @{ in_db($db) };
	unlike "$o->{sentence}$o->{culprit}", qr/[\x00-\x1f\x7f\x{202e}]/,
		'nothing in a row can write to a terminal';
	my ($named) =
		Tipme::Fleet::Database->open($db)->dbh->selectrow_array('SELECT application FROM counts');
	unlike $named, qr/[\x00-\x1f\x7f]/, '... of counts neither';
	is length $o->{sentence}, 500, '... nor be longer than it may';
};

# Whoever may bring files may make everything else there, too. As root the importer is another user
# here, as it is where the package runs it.
subtest 'a folder that somebody else made' => sub {
	my ($spool,    $db)      = fresh();
	my ($importer, $bringer) = $> ? ($>, $>) : (64_001, 64_002);
	my $junk = sub {
		my ($name) = @_;
		open my $out, '>', "$spool/$name.tipme" or die "$!\n";
		print {$out} 'x' x 1000;
		close $out;
		utime time - 3600, time - 3600, "$spool/$name.tipme";
	};
	mkdir "$tmp/theirs" or die "$!\n";
	open my $precious, '>', "$tmp/theirs/a.tipme.why" or die "$!\n";
	print {$precious} "precious\n";
	close $precious;
	mkdir "$spool/folder.tipme", 0555 or die "$!\n";
	utime time - 3600, time - 3600, "$spool/folder.tipme";
	chmod 0755, $tmp;
	my $try = sub {
		my ($jobs) = @_;
		system 'chown', '-Rh', $importer, $db =~ s{/db$}{}r, "$tmp/theirs" if !$>;
		chown $bringer, -1, "$spool/folder.tipme" if !$>;
		my $pid = open(my $pipe, '-|') // die "$!\n";
		return split ' ', <$pipe> // '' if $pid;
		$> = $importer;
		my $did = eval { take($spool, $db, jobs => $jobs) } // {};
		print join(' ', map { $did->{$_} // 'none' } qw(new refused stuck)), "\n";
		close STDOUT;
		POSIX::_exit(0);
	};
	$junk->('a');
	bundle("$spool/good.tipme", $rows[0]);
	symlink "$tmp/theirs", "$spool/refused" or die "$!\n";
	is_deeply [ $try->(1) ], [ 1, 0, 2 ], 'a link: the good one is a row, the others stay';
	is_deeply [ names("$tmp/theirs") ], ['a.tipme.why'], '... nothing is put where it leads';
	is slurp("$tmp/theirs/a.tipme.why"), "precious\n", '... nor written over';
	unlink "$spool/refused";
	mkdir "$spool/refused", 0777 or die "$!\n";
	chmod 0777, "$spool/refused";
	symlink "$tmp/theirs/a.tipme.why", "$spool/refused/a.tipme.why" or die "$!\n";
	is_deeply [ $try->(3) ], [ 0, 0, 2 ], 'a folder that others may write to: both stay';
	is slurp("$tmp/theirs/a.tipme.why"), "precious\n", '... and nothing is written through a link';
	unlink "$spool/refused/a.tipme.why";
	rmdir "$spool/refused" or die "$!\n";
	is_deeply [ $try->(1) ], [ 0, 1, 1 ], 'a folder of its own: what can be moved is aside';
	is_deeply [ names("$spool/refused") ], [ 'a.tipme', 'a.tipme.why' ], '... with the reason';
	chmod 0755, "$spool/folder.tipme";
};

sub slurp {
	my ($file) = @_;
	open my $in, '<', $file or return;
	local $/ = undef;
	return scalar <$in>;
}

subtest 'many at once, each once' => sub {
	my ($spool, $db) = fresh();
	my @many = rows(400, machines => 20, seed => 2);
	bundle("$spool/$_.tipme", $many[$_]) for 0 .. $#many;
	my $did = take($spool, $db, jobs => 4);
	is_deeply $did, { new => 400, known => 0, refused => 0, young => 0, stuck => 0 },
		'four workers';
	is scalar @{ in_db($db) }, 400, '... no row twice';
	# Two verbs at a time, too.
	bundle("$spool/$_.tipme", $many[$_]) for 0 .. $#many;
	my @pids = map {
		my $p = fork;
		if (!$p) { my $d = take($spool, $db, jobs => 2); POSIX::_exit($d->{new}) }
		$p
	} 1, 2;
	waitpid($_, 0) && is $? >> 8, 0, '... known' for @pids;
	is_deeply [ names($spool) ], [], '... and gone';
};

# Whoever dies at whatever moment: the next takes the rest.
subtest 'an importer is killed' => sub {
	my ($spool, $db) = fresh();
	my @many = rows(300, machines => 20, seed => 3);
	bundle("$spool/$_.tipme", $many[$_]) for 0 .. $#many;
	my ($kills, $died) = (0, 0);
	while ((my @left = names($spool)) && $kills < 60) {
		my $pid = fork;
		if (!$pid) { setpgrp; take($spool, $db, jobs => 2); POSIX::_exit(0) }
		sleep(0.02 + rand 0.25);
		$died += kill_group($pid);
		$kills++;
	}
	cmp_ok $died, '>', 0, "killed $died times";
	take($spool, $db);
	is scalar @{ in_db($db) }, 300, 'nothing is lost, nothing double';
	is_deeply [ names($spool) ], [], '... and all are taken';
};

is eval { Tipme::Fleet::Spool->new("$tmp/none"); 1 }, undef, 'no folder';
like $@, qr/is no folder: name the spool that your transport fills/, '... and what is meant';
done_testing;
