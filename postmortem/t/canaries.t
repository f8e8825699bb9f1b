#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Canaries: what is nobody's business is planted wherever an episode or the machine has room for it.
# None of it is in a bundle.
use strict;
use warnings;
use Test::More;
use File::Temp             qw(tempdir);
use FindBin                qw($Bin);
use IO::Uncompress::Gunzip ();
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Bundle;
use Tipme::Command::Bundle;
# What each of the 50 would load for itself.
use Tipme::Export::Problem ();
use Tipme::Page            ();
use Tipme::Report::JSON    ();
use Tipme::Report::Text    ();
use Tipme::Stacks          ();
use Tipme::Test::Story;
use Tipme::Timeline::Picture ();

use constant { CLIENT => 200, MS => 1_000_000 };
my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };
my $tmp = tempdir(CLEANUP => 1);

my @where = (
	qw(user host home args env title file mount cgroup device ids note library stack comm),
	qw(rename exe input trigger boot machine irq disk folder parent script function stranger),
	qw(session quota desktop)
);
my $found = 0;
mkdir "$tmp/root" or die "$!\n";
for my $round (1 .. 50) {
	my %c = map { $_ => "Canary${_}$round" } @where;
	# This machine's own packages are looked at twice: that takes as long as all else of a bundle.
	local $ENV{TIPME_ROOT} = "$tmp/root" if $round > 2;
	local $ENV{LOGNAME}    = $c{session};
	local $ENV{HOSTNAME}   = $c{host};
	my $story = Tipme::Test::Story->new(
		manifest => {
			boot_id  => $c{boot}, hostname => $c{host}, user => $c{user}, machine_id => $c{machine},
			desktop  => $c{desktop},
			trigger  => { kind   => 'command',   ns => 4000 * MS, text => $c{trigger} },
			recorder => { limits => [ $c{ids} ], start_ns => 1 }, mounts => [ $c{mount} ]
		}
	);
	my $b = $story->enter(1000 + $round)->builder;
	$b->thread(860, 'bash', ts_ns => 900 * MS)->thread(870, 'hog', ppid => 860, ts_ns => 900 * MS)
		->thread(880, substr($c{comm}, 0, 15), ts_ns => 900 * MS);
	$b->switch(1, 1000.1 * MS + $round * MS, 0, 870, 'runnable')
		->switch(1, 1800 * MS, 870, CLIENT, 'runnable', prev_preempted => 1)
		->switch(1, 1802 * MS, CLIENT, 0, 'sleeping');
	$story->kernel(0, 1500, 'rename', tid => 880, comm => substr($c{rename}, 0, 15))->kernel(
		0, 1501, 'sample', tid => 880, user_stack_id => 7, period_us => 1000,
		kind => 'clock'
	);
	$story->daemon(
		'exec_args', pid => 870, start_ns => 1870, uid => 1000,
		text => "python3\n$c{args}/$c{script}.py"
		)
		->daemon('exec_args', pid => 860, start_ns => 1860, uid => 1000, text => "bash\n$c{parent}")
		->daemon('exec_args', pid => 880, start_ns => 1880, uid => 1000, text => $c{stranger})
		->daemon('exec_environment', pid  => 870, text => "HOME=/home/$c{home}\nX=$c{env}")
		->daemon('input_device',     name => $c{device})
		->daemon('module',      module_id => 5,  pid => 880, path => "/opt/$c{file}/$c{library}.so")
		->daemon('user_stack',  stack_id => 7,   frames   => 1,    text => "$c{stack}+0x1[5]")
		->daemon('process',     pid      => 880, start_ns => 1880, exe  => "/home/$c{home}/$c{exe}")
		->daemon('process',     pid => 870,  start_ns => 1870, exe => "/opt/$c{folder}/bin/python3")
		->daemon('cgroup_name', cgroup => 6, path => "/$c{cgroup}", quota_us => 5, period_us => 10)
		->daemon('cgroup_name',  cgroup   => 7,       path => "/user.slice/$c{quota}")
		->daemon('irq_name',     number   => 44,      name => $c{irq})
		->daemon('disk_name',    dev      => 5 << 20, name => $c{disk})
		->daemon('function',     function => 99,      name => $c{function})
		->daemon('input_device', device   => 9,       name => $c{input});
	my $to = $story->draw(1801.9)->hotkey(3000)->builder->write("$tmp/c$round");
	open my $note, '>', "$to/note.txt" or die "$!\n";
	print {$note} "$c{note} $c{title}\n";
	close $note or die "$!\n";
	my $pid = fork // die "$!\n";

	if (!$pid) {
		open STDOUT, '>', '/dev/null' or die "$!\n";
		exit Tipme::Command::Bundle->run($to, '-o', "$tmp/c$round.tipme", '--yes');
	}
	waitpid $pid, 0;
	is($?, 0, "bundle $round is written") if $?;
	# Each part as it lies there, with whatever is packed in it opened, and the archive itself.
	Tipme::Bundle->unpack_to("$tmp/c$round.tipme", "$tmp/d$round");
	my @parts = map { open my $h, '<:raw', $_ or die "$!\n"; local $/; [ $_, scalar <$h> ] }
		glob("$tmp/d$round/*"), "$tmp/c$round.tipme";
	push @parts, map {
		my ($f, $bytes) = @$_;
		my $at = 0;
		my @in;
		while (($at = index $bytes, "\x1f\x8b", $at) >= 0) {
			my $part = substr $bytes, $at++;
			my $open;
			push @in, [ "$f, opened", $open ]
				if IO::Uncompress::Gunzip::gunzip(\$part => \$open) && length($open // '');
		}
		@in
	} @parts;
	cmp_ok(scalar @parts, '>=', 12, 'all parts are there') if $round == 1;
	ok(
		(grep { $_->[0] =~ /tipme, opened\z/ && $_->[1] =~ /xterm/ } @parts),
		'... the archive is opened'
	) if $round == 1;
	my @hits = map {
		my $f = $_;
		map {"$f->[0]: $_"} $f->[1] =~ /(Canary\w*)/g
	} @parts;
	$found += @hits;
	diag("@hits") if @hits;
}
is($found, 0, 'none of ' . @where . ' canaries is in 50 bundles');
is_deeply(\@warnings, [], 'no warning from Perl');
done_testing();
