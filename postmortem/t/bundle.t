#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# A bundle says nothing that is not on the list, opens to the same verdict, and nothing that a
# stranger makes of it is obeyed.
use strict;
use warnings;
use Test::More;
use Archive::Tar           ();
use Cpanel::JSON::XS       ();
use Digest::SHA            qw(sha256_hex);
use File::Temp             qw(tempdir);
use FindBin                qw($Bin);
use IO::Compress::Gzip     ();
use IO::Uncompress::Gunzip ();
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Bundle;
use Tipme::Command::Bundle;
use Tipme::Command::Export;
use Tipme::Command::Open;
use Tipme::Episode;
use Tipme::Test::Files qw(slurp);
use Tipme::Test::Story;
use Tipme::Timeline;
use Tipme::Versions;

use constant { CLIENT => 200, MS => 1_000_000 };
my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };
my $tmp = tempdir(CLEANUP => 1);
local $ENV{TIPME_LIBRARY} = "$tmp/library";

# verb(CLASS, ARGS): { out, err, exit }; nobody is there to answer a question
sub verb {
	my ($class, @args) = @_;
	my %r = (out => '', err => '');
	open my $old_out, '>&', \*STDOUT or die "$!\n";
	open my $old_err, '>&', \*STDERR or die "$!\n";
	open my $old_in,  '<&', \*STDIN  or die "$!\n";
	close STDOUT;
	close STDERR;
	open STDOUT, '>', \$r{out}    or die "$!\n";
	open STDERR, '>', \$r{err}    or die "$!\n";
	open STDIN,  '<', '/dev/null' or die "$!\n";
	$r{exit} = eval { "Tipme::Command::$class"->run(@args) };
	$r{died} = $@;
	close STDOUT;
	close STDERR;
	open STDOUT, '>&', $old_out or die "$!\n";
	open STDERR, '>&', $old_err or die "$!\n";
	open STDIN,  '<&', $old_in  or die "$!\n";
	return \%r;
}

# fields(BYTES): of a message of protocol buffers, [ number, value ] each
sub fields {
	my ($b) = @_;
	my ($at, @f) = (0);
	my $varint = sub {
		my ($n, $shift) = (0, 0);
		while (1) {
			my $c = ord substr $b, $at++, 1;
			$n |= ($c & 127) << $shift;
			return $n if $c < 128;
			$shift += 7;
		}
	};
	while ($at < length $b) {
		my $key = $varint->();
		my $len = ($key & 7) == 2 ? $varint->() : ($key & 7) == 1 ? 8 : 0;
		push @f, [ $key >> 3, $len ? substr $b, $at, $len : $varint->() ];
		$at += $len;
	}
	return @f;
}

sub field {
	my ($b, $n) = @_;
	return map { $_->[1] } grep { $_->[0] == $n } fields($b);
}

# slices(TRACE): { track, name, from, to } of what a viewer draws, by the names of its tracks; each
# switch as one of the track "switches"
sub slices {
	my ($trace) = @_;
	my (%name, %open, @slices);
	for my $p (field($trace, 1)) {
		for my $d (field($p, 60)) {
			my ($thread) = field($d, 4);
			my ($name)   = defined $thread ? 'thread ' . (field($thread, 2))[0] : field($d, 2);
			$name{ (field($d, 1))[0] } = $name;
		}
		for my $e (field($p, 11)) {
			my ($t) = field($p, 8);
			my ($type, $track, $name) = map { (field($e, $_))[0] } 9, 11, 23;
			push @{ $open{$track} }, { track => $name{$track}, name => $name, from => $t }
				if $type == 1;
			push @slices, { %{ pop @{ $open{$track} } }, to => $t } if $type == 2;
		}
		push @slices, map { { track => 'switches', name => 'switch', from => $_, to => $_ } }
			map { (field($_, 1))[0] } map { field($_, 2) } field($p, 1);
	}
	return @slices;
}

# A hog keeps the client from its CPU; beside it runs what is nobody's business.
my $s = Tipme::Test::Story->new(
	manifest => {
		boot_id  => 'bootsecret',
		trigger  => { kind   => 'command',       ns       => 4000 * MS, text => 'trigsecret' },
		recorder => { limits => ['limitsecret'], start_ns => 1,         pid  => 890 }
	}
);
my $b = $s->enter(1000)->builder;
$b->thread(870, 'hog', ppid => 860, uid => 4242, ts_ns => 900 * MS)
	->thread(860, 'make',    ts_ns => 900 * MS)->thread(880, 'commsecret', ts_ns => 900 * MS)
	->thread(12,  'kswapd0', flags => 1)->thread(890, 'tipmed', ts_ns => 900 * MS);
$b->switch(1, 1000.1 * MS, 0, 870, 'runnable')
	->switch(1, 1800 * MS, 870, CLIENT, 'runnable', prev_preempted => 1)
	->switch(1, 1802 * MS, CLIENT, 870, 'sleeping')->switch(1, 1803 * MS, 870, 0, 'dead');
$s->kernel(0, 1500, 'rename', tid => 880, comm => 'renamesecret')
	->kernel(0, 1501, 'input', code => 0x5ec12e7, kind => 'key_press');
$b->x(1502 * MS, 'x_device', input_seq => 99, kind => 'other', device => 6, code => 0x5ec12e7);
$s->daemon('exec_args', pid => 870, start_ns => 1870, uid => 1000, text => "hog\nargsecret")
	->daemon('exec_environment', pid => 870, text => 'HOME=envsecret')
	->daemon('input_device', name => 'mousesecret');
$s->daemon('module', module_id => 5, pid => 870, path => '/home/pathsecret/hog')
	->daemon('process', pid => 870, ppid => 860, exe => '/home/pathsecret/hog', uid => 4242)
	->daemon('process', pid => 881, exe => '/home/x/exesecret');
$s->daemon('cgroup_name', cgroup => 5, path => '/user.slice/cgsecret')
	->daemon('cgroup_name', cgroup => 6, path => '/limited.slice', quota_us => 5, period_us => 10);
# As before format 1.3: addresses of the kernel.
my ($item, $half) = (0xffff8881 << 32 | 0x23456780, 0x81234560);
$s->kernel(0, 1502, 'work_queued', tid => 870, work => $item, function => $half)
	->kernel(0, 1503, 'work_start', tid => 12, work => $item, function => $half)
	->kernel(0, 1504, 'work_end',   tid => 12, work => $item, function => $half)->kernel(
	0, 1505, 'lock_contention', tid => 870, lock => $item, kind => 'mutex',
	phase => 'begin'
	);
$s->daemon('function', function => $half, name => 'old_work');
$s->draw(1801.9)->hotkey(3000);
my $dir = $b->write("$tmp/episode");
open my $note, '>', "$dir/note.txt" or die "$!\n";
print {$note} "notesecret\n";
close $note;
mkdir "$dir/cache";
open my $db, '>', "$dir/cache/index.db" or die "$!\n";
print {$db} 'dbsecret';
close $db;

my $r = verb('Bundle', $dir, '-o', "$tmp/no.tipme");
is($r->{exit}, 1, 'nobody agreed: exit status 1');
ok(!-e "$tmp/no.tipme", 'and nothing is written');
like(
	$r->{out}, qr/^names of processes: Xorg, hog, make, tipmed, xterm$/m,
	'but what would have been is shown: whose names, the recorder among them'
) or diag($r->{out});
like(
	$r->{out},
	qr/left out or replaced: 1 command lines; 1 environments; .* 18 input events that\s+are not the one of\s+the verdict; 1 names of input devices; .* the note; \d+ threads without\s+a\s+part/s,
	'and what would not'
);

like(
	$r->{out} =~ s/\s+/ /gr,
	qr/tells when the one was that it is about; not when others were\. It names programs and libraries/,
	'... and what it tells all the same'
);
like(
	$r->{out} =~ s/\s+/ /gr,
	qr/Your note is left out; --with-note takes it along: "notesecret" Not told: what you did, what you expected, how often/,
	'... the note, and what only the sender can add'
);
$r = verb('Bundle', $dir, '-o', "$tmp/b.tipme", '--yes');
is($r->{exit},                       0,    'agreed') or diag($r->{died} . $r->{err});
is((stat "$tmp/b.tipme")[2] & 07777, 0600, 'readable by the user only');
IO::Uncompress::Gunzip::gunzip("$tmp/b.tipme" => \my $tar) or die;
unlike($tar, qr/\w*secret/, 'nothing secret is in it')     or diag($tar =~ /(\w*secret)/);
ok(index($tar, pack 'V', 0x5ec12e7) < 0, 'no key code');
ok(index($tar, pack 'V', 4242) < 0,      'no user');
ok(
	index($tar, pack 'Q<', $item) < 0 && index($tar, pack 'V', $half) < 0,
	'no address of the kernel, though the episode has some'
);
unlike($tar, qr{limited}, 'a cgroup of which the verdict does not speak has no name');
is(
	verb('Bundle', $dir, '-o', "$tmp/b.tipme", '--yes')->{died} =~ /is there already/ ? 1 : 0, 1,
	'what is there is not written over'
);
like(slurp("$tmp/b.tipme"), qr/\A\x1f\x8b/, 'a gzipped file');

$r = verb('Open', "$tmp/b.tipme", '-o', "$tmp/opened");
is($r->{exit}, 0, 'opened') or diag($r->{died} . $r->{err});
my ($mine, $theirs) = map { Tipme::Diagnosis->new(Tipme::Episode->open($_))->run } $dir,
	"$tmp/opened";
is_deeply(
	[ @{ $theirs->{verdict} }{qw(kind share_ns confidence)}, $theirs->{verdict}{blamed}{pid} ],
	[ @{ $mine->{verdict} }{qw(kind share_ns confidence)},   $mine->{verdict}{blamed}{pid} ],
	'the same verdict'
);
is_deeply(
	[ map {"$_->{from_ns} $_->{to_ns} $_->{comm} $_->{blamed}{kind}"} @{ $theirs->{path} } ],
	[ map {"$_->{from_ns} $_->{to_ns} $_->{comm} $_->{blamed}{kind}"} @{ $mine->{path} } ],
	'the same path'
);
is_deeply([ Tipme::Episode->open("$tmp/opened")->damage ], [], 'whole');
my $html = slurp("$tmp/opened/report.html");
like(
	$html,
	qr{<h1>xterm \(pid 200\) answered a key press after 802 ms.*<svg.*</svg>.*Left out of this report}s,
	'a page for a browser, with the verdict, the picture, and what was left out'
);
unlike(
	$html, qr{<script|\bsrc=|href="http|url\(http|\@import},
	'... it runs nothing and loads nothing'
);
like($html, qr{<h2>Where the time went</h2>.*<h2>Threads</h2>}s, '... and tables');
like($html, qr/prefers-color-scheme:dark.*\@media print/s,       '... for dark screens, and paper');
like($html, qr/\bp\{overflow-wrap:break-word\}/, '... on a small screen a build-id is broken');
# What the file does not tell is not drawn: not who had the other CPU, nor what the server did off
# the path.
{
	my $there   = Tipme::Diagnosis->new(Tipme::Episode->open("$tmp/opened"));
	my $picture = Tipme::Timeline->collect($there, $there->run);
	my $within  = sub {
		return join ' ',
			map { $_->[2] } grep { $_->[0] < 1700 * MS && $_->[1] > 1100 * MS } @{ $_[0] };
	};
	is_deeply(
		[ map { $within->($_->{spans}) } @{ $picture->{cpus} } ], [ 'unknown', '870 hog' ],
		'who had which CPU, as far as the file tells'
	) or diag(explain $picture->{cpus});
	is_deeply(
		{
			map  { $_->{tid} => $within->($_->{states}) }
			grep { $_->{tid} =~ /\A(?:100|200)\z/ } @{ $picture->{threads} }
		},
		{ 100 => 'unknown', 200 => 'runnable' },
		'... and what the threads did'
	);
}
# ... nor does the trace for a viewer draw it, which goes on with what came last where switches are.
{
	my @trace  = slices(slurp("$tmp/opened/trace.pftrace"));
	my $within = sub {
		my ($track) = @_;
		return join ' ', map { $_->{name} }
			grep { $_->{track} eq $track && $_->{from} < 1700 * MS && $_->{to} > 1100 * MS } @trace;
	};
	is_deeply(
		[ map { $within->($_) } 'CPU 0', 'CPU 1',     'thread 100', 'thread 200' ],
		[ '',                            'hog (870)', '',           'runnable' ],
		'the trace draws as much'
	) or diag(explain \@trace);
	ok((!grep { $_->{track} eq 'switches' } @trace), '... and has no switches to draw between');
	like(
		verb('Export', "$tmp/opened", '--format', 'perfetto', '-o', "$tmp/export")->{err},
		qr/^tipme: export: this bundle has stretches/m, '... which who exports the records is told'
	);
}
like(
	slurp("$tmp/opened/summary.txt"), qr/\Axterm \(pid 200\) answered a key press after 802 ms/,
	'a summary for a mail'
);
unlike(slurp("$tmp/opened/$_.txt"), qr/^(?:Ask|Next):|tipme bundle/m, "$_: not the sender's advice")
	for qw(summary verdict);
cmp_ok(-s "$tmp/b.tipme", '<', 300_000, '... and is small');

# A plain archive, each part with its sum, for whoever has no tipme.
is_deeply(
	[ sort map {s{.*/}{}r} glob "$tmp/opened/*" ],
	[ sort map { chomp; $_ } qx(tar tf "$tmp/b.tipme") ], 'tar lists the same parts'
);
my $m = Cpanel::JSON::XS->new->decode(slurp("$tmp/opened/manifest.json"));
is_deeply(
	{ map { $_->{name} => $_->{sha256} } @{ $m->{bundle}{parts} } },
	{
		map { my $f = s{.*/}{}r; $f eq 'manifest.json' ? () : ($f => sha256_hex(slurp($_))) }
			glob "$tmp/opened/*"
	},
	'the manifest has the sum of each part'
);
my $system = Cpanel::JSON::XS->new->decode(slurp("$tmp/opened/system.json"));
ok(
	(grep { $_->[0] eq 'distribution' && length $_->[1] } @{ $system->{facts} }),
	'versions: the distribution'
);
like($html,     qr{<h2>Versions</h2>.*distribution}s, '... in the page, too');
like($r->{out}, qr/^distribution /m,                  '... and the receiver reads them first');
like(
	$r->{out}, qr/^You were sent this\. hog is what this verdict is about\./m,
	'... and words for the receiver'
);
unlike($r->{out}, qr/^(?:Ask|Next):/m, '... not the advice for the sender');
SKIP: {
	skip 'protoc is not installed', 4 if !grep { -x "$_/protoc" } split /:/, $ENV{PATH};
	my $trace = qx{protoc --decode_raw < "$tmp/opened/trace.pftrace" 2>&1};
	is($?, 0, 'trace.pftrace: protoc reads all of it');
	like($trace, qr/2: "tipme verdict"/, '... a track of the verdict');
	like($trace, qr/23: "xterm: waiting for a CPU that others had: hog"/, '... who was waited for');
	like($trace, qr/^  2 \{(?:\n    .*)*\n      3: "hog"/m, '... and the processes by name');
}
{
	local @ENV{qw(XDG_CURRENT_DESKTOP XDG_SESSION_TYPE GDK_SCALE)} = qw(GNOME x11 2);
	$r = verb(
		'Bundle',  $dir, '-o', "$tmp/steps.tipme", qw(--yes --with-note --did), 'I typed <b>',
		'--often', 'daily'
	);
	unlike($r->{out}, qr/^(?:Your note|Not told)/m, 'steps and note: nothing more is asked for');
}
my $opened = verb('Open', "$tmp/steps.tipme", '-o', "$tmp/steps")->{out};
like($opened,                         qr/^done +I typed <b>$/m,   'steps are told');
like(slurp("$tmp/steps/report.html"), qr/<td>I typed &lt;b&gt;</, '... in the page, too');
{
	my $there = Cpanel::JSON::XS->new->decode(slurp("$tmp/steps/system.json"));
	my %fact  = map { $_->[0] => $_->[1] } @{ $there->{facts} };
	is("$fact{desktop}, $fact{scale}", 'GNOME, x11, GDK_SCALE=2', 'versions: desktop and scale');
	is_deeply(
		[
			grep { !length($fact{$_} // '') }
				qw(distribution kernel program package processor memory)
		],
		[],
		'... the program, its package and the machine'
	) or diag(explain \%fact);
}
{
	my $facts = Tipme::Versions->facts(
		bless({}, 'Installed'),
		{ kernel => '6.1', machine => 'x86_64', cpus => 4, recorder => { version => '0.1' } }
	);
	is_deeply(
		[ map {"$_->[0]: $_->[1]"} grep { $_->[0] !~ /\A(?:desktop|scale)\z/ } @$facts ],
		[
			'distribution: Some Linux 1',
			'kernel: Linux 6.1 x86_64',
			'X server: xserver-xorg-core 1.0',
			'graphics driver: libgl1-mesa-dri 2.0',
			'window managers: xfwm4 3.0',
			'GTK: libgtk-4-1 4.0',
			'Qt: libqt6core6 6.0',
			'processor: Fast, 4 CPUs',
			'memory: 8 GiB',
			'tipme: 0.1'
		],
		'... X server, driver, window manager and toolkits, where they are installed'
	);

	sub Installed::os { return { name => 'Some Linux 1' } }

	sub Installed::read {
		my ($self, $file) = @_;
		return $file =~ /cpuinfo/ ? "model name : Fast\n" : "MemTotal: 8388608 kB\n";
	}

	sub Installed::versions {
		return {
			'xserver-xorg-core' => '1.0', 'libgl1-mesa-dri' => '2.0', xfwm4 => '3.0',
			'libgtk-4-1'        => '4.0', libqt6core6       => '6.0'
		};
	}
}
{
	my $t = Archive::Tar->new("$tmp/b.tipme");
	$t->replace_content('verdict.txt', 'somebody else was it');
	$t->write("$tmp/changed.tipme", 1);
	like(
		verb('Open', "$tmp/changed.tipme", '-o', "$tmp/changed")->{died},
		qr/^verdict\.txt: is not what was sent/, 'a part that was changed is told'
	);
}
my ($queued) = map {
	my $e = $_;
	my $s = $e->record;
	map {
		my ($list, $buf) = $e->section_records($_);
		map { my ($n, $f) = $s->decode($buf, $_->[1]); ($n // '') eq 'work_queued' ? $f : () }
			@$list
	} $e->sections
} Tipme::Episode->open("$tmp/opened");
cmp_ok($queued->{$_}, '<', 10, "its $_ is a small number") for qw(work function);
is(
	Tipme::Diagnosis->new(Tipme::Episode->open("$tmp/opened"))
		->threads->function($queued->{function}), 'old_work',
	'... by which the functions are named'
);
like(
	verb('Open', "$tmp/b.tipme", '-o', "$tmp/opened")->{died},
	qr/name a folder that does not exist yet/, 'not into a folder that is there'
);
mkdir "$tmp/again.part" or die "$!\n";
is(
	verb('Open', "$tmp/b.tipme", '-o', "$tmp/again")->{died},
	"$tmp/again.part: File exists: another tipme open is writing it, or was ended before it had: remove it, or name another folder\n",
	'what an open left that was killed'
);
ok(-d "$tmp/again.part" && !-e "$tmp/again", '... it is left alone');
is(
	verb('Bundle', $dir, '-o', "$tmp/all.tipme", '--yes', '--all', '--with-note')->{died}, '',
	'all of it, and the note'
);
verb('Open', "$tmp/all.tipme", '-o', "$tmp/all");
like(slurp("$tmp/all/note.txt"), qr/notesecret/, 'which is there');
is(
	scalar(Tipme::Diagnosis->new(Tipme::Episode->open("$tmp/all"))->events), 8,
	'all events are there'
);
is(verb('Open')->{exit}, 64, 'no file: usage');

{    # No input event in it, but a stall: a bundle like any other.
	my $e = Tipme::Test::Episode->new(trigger_ns => 5_000_000_000, first_ns => 1_000_000);
	$e->thread(10, 'desk', ts_ns => 2_000_000)->thread(11, 'hog', ts_ns => 2_000_000)
		->switch(1, 3_000_000, 0,  11, 'runnable')->switch(1, 4_000_000, 11, 10, 'runnable')
		->switch(1, 5_000_000, 10, 11, 'sleeping');
	$e->wake(0, 2_000_000_000, 10, 0, wakee_cpu => 1)
		->switch(1, 2_700_000_000, 11, 10, 'runnable', prev_preempted => 1)
		->switch(1, 2_800_000_000, 10, 0, 'sleeping');
	mkdir "$tmp/stall" or die "$!\n";
	$e->write("$tmp/stall");
	$r = verb('Bundle', "$tmp/stall", '-o', "$tmp/stall.tipme", '--yes');
	is($r->{exit}, 0, 'an episode without an input event') or diag($r->{died} . $r->{err});
	unlike($r->{out}, qr/Your note/, 'no note');
	like($r->{out}, qr/\Adesk \(pid 10\) was woken and did not run for 700 ms/, 'its verdict');
	is(verb('Open', "$tmp/stall.tipme", '-o', "$tmp/stalled")->{exit}, 0, 'and opened');
	is_deeply(\@warnings, [], 'without a warning');
}
like(
	verb('Bundle', $dir, '-o', "$tmp/nowhere/b.tipme", '--yes')->{died},
	qr{^\S+/nowhere/b\.tipme: No such file or directory: choose another place with -o$},
	'no place to write'
);
like(
	verb('Open', "$tmp/nothing.tipme")->{died},
	qr{^\S+/nothing\.tipme: No such file or directory: name a file that `tipme bundle` wrote$},
	'nothing to open'
);

# What a stranger may send.
sub refused {
	my ($what, $bytes, $why) = @_;
	open my $h, '>:raw', "$tmp/evil" or die "$!\n";
	print {$h} $bytes;
	close $h;
	$r = verb('Open', "$tmp/evil", '-o', "$tmp/evil-out");
	like($r->{died}, $why, "$what: refused");
	unlike($r->{died}, qr/ at \S+ line \d+/, "$what: in a sentence");
	ok(!-e "$tmp/evil-out" && !-e "$tmp/x", "$what: nothing is written");
}

sub gz { my ($plain) = @_; IO::Compress::Gzip::gzip(\$plain => \my $z) or die; return $z }

sub tarred {
	my (@members) = @_;
	my $t = Archive::Tar->new;
	$t->add_data('manifest.json', '{}');
	$t->add_data(@$_) for @members;
	open my $h, '>', \my $plain or die;
	$t->write($h);
	close $h;
	return gz($plain);
}
refused('no gzip',                     'hello',                   qr/not a bundle of tipme/);
refused('no tar',                      gz('hello' x 200),         qr/not a tar file/);
refused('an empty one',                gz("\0" x 1024),           qr/no manifest\.json in it/);
refused('a name that leads elsewhere', tarred([ '../x', 'x' ]),   qr/no name that a bundle has/);
refused('an absolute name',            tarred([ "$tmp/x", 'x' ]), qr/no name that a bundle has/);
refused(
	'a link', tarred([ 'note.txt', '', { type => 2, linkname => '/etc/passwd' } ]),
	qr/plain files only/
);
refused('a device',   tarred([ 'note.txt', '', { type => 3 } ]), qr/plain files only/);
refused('a database', tarred([ 'index.db', 'x' ]),               qr/no name that a bundle has/);
refused('a member twice',   tarred([ 'schema', 'x' ], [ 'schema', 'y' ]), qr/twice/);
refused('too many members', tarred(map { [ "x-$_.rec", 'x' ] } 1 .. 70),  qr/more than 64 members/);
my $good = slurp("$tmp/b.tipme");
refused('cut', substr($good, 0, length($good) / 2), qr/damaged|cut|not a bundle/);
my $bent = $tar;
substr $bent, 0, 1, 'x';
refused('a bent header', gz($bent), qr/not a tar file/);
$bent = substr $tar, 0, 700;
refused('a member that was cut', gz($bent), qr/was cut/);

# Bytes changed at random: refused, or opened without harm.
my $rand = do {
	my $seed = 99;
	sub { $seed = ($seed * 1103515245 + 12345) & 0x7fffffff; return ($seed >> 8) % $_[0] }
};
my %bad;
for my $round (1 .. 60) {
	my $x = $round % 2 ? $good : $tar;
	substr $x, $rand->(length $x), 1, chr $rand->(256) for 0 .. $rand->(4);
	open my $h, '>:raw', "$tmp/evil" or die "$!\n";
	print {$h} $round % 2 ? $x : gz($x);
	close $h;
	my $o = verb('Open', "$tmp/evil", '-o', "$tmp/fuzz$round");
	$bad{ $o->{died} }++ if $o->{died} =~ / at \S+ line \d+/;
}
is_deeply(\%bad, {}, 'damaged at random: refused in a sentence, or opened');

is_deeply(\@warnings, [], 'no warning from Perl');
done_testing();
