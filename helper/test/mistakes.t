# SPDX-License-Identifier: GPL-2.0-only
# What people do wrong, or what goes wrong for them: each is really provoked, as an ordinary user
# where that matters, and answered by one sentence that says what, why, and what to do. `*` in a
# sentence stands for what differs from machine to machine.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use lib map {"$FindBin::Bin/../../$_"} qw(postmortem/lib postmortem/t/lib abi/lib abi/generated);
use DBI ();
use Test::More;
use Tipme::Test::Story;
use Tipme::TestAgent  qw(public);
use Tipme::TestDaemon qw(own_run slurp tipmed wait_until);

plan skip_all => 'tipmed is not built here' if !-x tipmed();
plan skip_all => 'not root: other users, a full disk, and the recorder of the machine need it'
	if $>;
own_run() or plan skip_all => 'no mount namespaces here';

my ($nobody, $group) = (getpwnam 'nobody')[ 2, 3 ];
my $d = Tipme::TestDaemon->new(args => [ '--owner', $nobody, '--post', 0 ]);
my ($dir, $library) = ($d->dir, $d->library);
my $public = public($dir);
mkdir "$public/helper/$_" or die "$_: $!" for 'daemon', 'measure', 'profile';
for my $program (qw(daemon/tipmed measure/tipme-bench measure/tipme-latency profile/tipme-profile))
{
	system('cp', "$ENV{TIPME_BUILDDIR}/helper/$program", "$public/helper/$program") == 0 or die;
}
system('cp', '-r', "$ENV{TIPME_SRCDIR}/helper/demo", "$public/helper/demo") == 0
	and system('chmod', '-R', 'a+rX', "$public/helper/demo") == 0
	or die;
delete @ENV{qw(DISPLAY WAYLAND_DISPLAY XDG_RUNTIME_DIR XDG_CONFIG_HOME DBUS_SESSION_BUS_ADDRESS)};

# --- the stage: an ordinary user with three episodes, and places where things go wrong ---
mkdir "$dir/$_" or die "$_: $!" for qw(home full work theirs empty stranger library);
system('mount', '-t', 'tmpfs', '-o', 'size=8k', 'tmpfs', "$dir/full") == 0
	or die "full: no mount\n";
my @ids = map {"20261120-15030$_-3f2a"} 1 .. 4;
for my $id (@ids) {
	my $b = Tipme::Test::Story->new(trigger => 2000)->key(1000, 400)->hotkey(1900)->builder;
	$b->{id} = $id;
	$b->write("$library/$id");
}
my ($good, $gone, $broken, $newer) = @ids;
unlink "$library/$gone/kernel.rec";
spew("$library/$broken/manifest.json", '{"id": ');
{
	my $bytes = slurp("$library/$newer/kernel.rec");
	substr $bytes, 12, 2, pack 'S<', 99;    # the major version of the format
	spew("$library/$newer/kernel.rec", $bytes);
}
spew("$dir/work/text", "no bundle\n");
system('cp', '-r', "$library/$good", "$dir/theirs/$good") == 0 or die;
chmod 0700, "$dir/theirs/$good";
chmod 0700, $library;
system('chown', '-R', "$nobody:$group", map {"$dir/$_"} qw(home full work library)) == 0 or die;
{
	# The table of a library as a later tipme would leave it.
	my $later = "$dir/later";
	mkdir $later and chown $nobody, $group, $later or die "$later: $!";
	as('nobody', { TIPME_LIBRARY => $later }, 'list');
	my $table =
		DBI->connect("dbi:SQLite:dbname=$later/library.sqlite", '', '', { RaiseError => 1 });
	$table->do('PRAGMA user_version = 99');
	$table->disconnect;
	system('chown', '-R', "$nobody:$group", $later) == 0 or die;
}
spew("$dir/work/secret", "no bundle\n");
chmod 0600, "$dir/work/secret";
as('nobody', {}, 'bundle', $good, '--yes', '-o', "$dir/work/good.tipme");
spew("$dir/work/cut.tipme", substr slurp("$dir/work/good.tipme"), 0, 400);

sub spew {
	my ($path, $text) = @_;
	open my $out, '>:raw', $path or die "$path: $!";
	print {$out} $text;
	close $out or die "$path: $!";
	return;
}

# command_as(USER, { variable => value }, PROGRAM, ARGUMENT ...): a list that runs it; PROGRAM: a
# verb, or a path below the tree
sub command_as {
	my ($user, $env, $program, @args) = @_;
	my @command =
		$program =~ m{/} ? "$public/$program" : ("$public/tipme", length $program ? $program : ());
	my @as =
		$user eq 'root' ? () : ('setpriv', "--reuid=$nobody", "--regid=$group", '--clear-groups');
	my %env = (HOME => "$dir/home", TIPME_BUILDDIR => $public, %$env);
	return (
		'sh', '-c', 'cd "$0" && exec "$@" </dev/null', "$dir/work", @as, 'env',
		(map { defined $env{$_} ? "$_=$env{$_}" : ('-u', $_) } sort keys %env), @command, @args
	);
}

# as(...): the same, run: status, stdout, stderr
sub as { return $d->run(command_as(@_)) }

# Rows that change nothing run two at a time.
my ($rows, $at_once, @running) = (0, 2);

# row(SENTENCE, EXIT, [ARGUMENT ...], user => 'root', env => { ... })
sub row {
	my ($sentence, $exit, $args, %o) = @_;
	my $file = "$dir/row-" . ++$rows;
	my $pid  = fork // die "fork: $!\n";
	if (!$pid) {
		open STDOUT, '>', "$file.out" or die "$file: $!\n";
		open STDERR, '>', "$file.err" or die "$file: $!\n";
		exec command_as($o{user} // 'nobody', $o{env} // {}, @$args) or die "sh: $!\n";
	}
	push @running, {
		pid  => $pid,  file => $file, sentence => $sentence, exit => $exit,
		args => $args, %o
	};
	ended() while @running >= $at_once;
	return;
}

# The oldest of those that run: waited for, and looked at.
sub ended {
	my $r = shift @running;
	waitpid $r->{pid}, 0;
	my ($rc, $out, $err) = ($? >> 8, map { slurp("$r->{file}.$_") } qw(out err));
	my $name = join ' ',  'tipme', map { length ? s/\Q$dir\E/.../gr : "''" } @{ $r->{args} };
	my $like = join '.*', map {quotemeta} split /\*/, $r->{sentence} =~ s/\bDIR\b/$dir/gr, -1;
	is $rc, $r->{exit}, "$name: exit status $r->{exit}" or diag "$out$err";
	if ($r->{on_stdout}) { like $out, qr/\A$like/, '... and what is said'; return }
	like $err, qr/\A$like\n\z/,                 '... and what is said';
	like $err, qr/\Atipme: [^\n]+: [^\n]+\n\z/, '... in one line: what, why, what to do';
	is $out, '', '... and nothing else' if !$r->{json};
	return;
}

# --- slips of the finger ---
row("tipme: no verb 'statr': did you mean 'start' or 'status'? See tipme help", 64, ['statr']);
row("tipme: no verb 'hello': see tipme help",                                   64, ['hello']);
row('tipme: diagnose: --jsn: no such option: usage: tipme diagnose *', 64, [ 'diagnose', '--jsn' ]);
row(
	'tipme: diagnose: too many arguments: b: usage: tipme diagnose *', 64,
	[ 'diagnose', 'a', 'b' ]
);
row('tipme: status: --jsn: not understood: see tipme status --help', 64, [ 'status', '--jsn' ]);
row('tipme: list: --n x: number expected: usage: tipme list *', 64, [ 'list', '-n', 'x' ]);
row(
	"tipme: snap: slow: what happened goes behind -m: tipme snap -m 'slow'", 64,
	[ 'snap', 'slow' ]
);
row('tipme: snap: -m: its text is missing: see tipme snap --help', 64, [ 'snap', '-m' ]);
row(
	'tipme: classes: io: begin the name of a class with + or -: tipme classes lists them', 64,
	[ 'classes', 'io' ]
);
row('tipme: pin: no episode named: say which, or last (see `tipme list`)',  64, ['pin']);
row('tipme: note: no episode named: say which, or last (see `tipme list`)', 64, ['note']);
row(
	'tipme: note: TEXT, --clear and --undo: say one of them', 64,
	[ 'note', 'last', 'x', '--undo' ]
);
row('tipme: tag: no episode named: say which, or last (see `tipme list`)', 64, ['tag']);
row('tipme: rm: no episode named: say which (see `tipme list`)',           64, ['rm']);
row('tipme: compare: two episodes are needed: `tipme list` shows them', 64, [ 'compare', 'last' ]);
row('tipme: open: no file: name one that `tipme bundle` wrote',         64, ['open']);
row(
	'tipme: export: no format given: say --format perfetto, chrome, ftrace or text', 64,
	[ 'export', $good ]
);
row(
	'tipme: export: no format svg: say --format perfetto, chrome, ftrace or text', 64,
	[ 'export', $good, '--format', 'svg' ]
);
row(
	"tipme: timeline: DIR/work/x.gif: neither .svg nor .png: name the file so that it says what to "
		. "write",
	1, [ 'timeline', $good, '-o', "$dir/work/x.gif" ]
);
row('tipme: start: --windw: no such option: see tipme start --help', 64, [ 'start', '--windw' ]);
row(
	'tipme: start: --window: its value is missing: see tipme start --help', 64,
	[ 'start', '--window' ]
);
row(
	'tipme: start: --window 0: not a number from 1 to 3600: see tipme start --help', 64,
	[ 'start', '--window', 0 ]
);
row(
	'tipme: start: --source ebpf: no such source: say kernel_module, kernel_bpf or proc_sampled',
	64, [ 'start', '--source', 'ebpf' ]
);
row(
	'tipme: start: --classes disk: no such record class: there are *', 64,
	[ 'start', '--classes', 'disk' ]
);
row(
	"tipme: start: --hotkey: 'A': this key types a character: add Ctrl, Alt or Super", 64,
	[ 'start', '--hotkey', 'A' ]
);
row(
	'tipme: start: --library episodes: not a full path of usual length: begin it with /', 64,
	[ 'start', '--library', 'episodes' ]
);
row(
	'tipme: start: --always: takes no further options: *', 64,
	[ 'start', '--always', '--window', 60 ]
);
row(
	'tipme: latency: measure: not understood: say record, report, mttf, compare, schedulability, '
		. 'model, campaign, mark, import, export or xruns: see tipme latency --help',
	64, [ 'latency', 'measure' ]
);
row(
	'tipme: bench: --runs: no such option, or its value is missing: see tipme bench --help', 64,
	[ 'bench', '--runs' ]
);
row('tipme: demo: unknown option: fast: see tipme demo --help', 64, [ 'demo', '--fast' ]);
row('tipme: type: unknown option: fast: see tipme type --help', 64, [ 'type', '--fast' ]);

row(
	'tipme: list: -n and --all: say one of them: see tipme list --help', 64,
	[ 'list', '--all', '-n', 3 ]
);
row(
	'tipme: diagnose: --keep goes with --event, --at or --felt, and --forget with none: see tipme '
		. 'diagnose --help',
	64, [ 'diagnose', $good, '--keep' ]
);
row('tipme: rm: --pined: no such option: usage: tipme rm *', 64, [ 'rm', $good, '--pined' ]);
row('tipme: check: no episode: name the one with the problem: see tipme list', 64, ['check']);
row('tipme: report: --form fax: no such form: say *', 64, [ 'report', $good, '--form', 'fax' ]);
row(
	'tipme: fleet: top: is not installed: install the package tipme-fleet', 1,
	[ 'fleet', 'top' ]
);
row(
	'tipme: profile: record, episode, report, compare, cpu or idle is meant: see tipme profile '
		. '--help',
	64, [ 'profile', 'recrd' ]
);
row(
	'tipme: profile: DIR/no: no such file: name a file of `tipme profile record`', 1,
	[ 'profile', 'report', "$dir/no" ]
);
row(
	'tipme: latency: DIR/no: no such file: name a result of `tipme latency record -o FILE`',
	1, [ 'latency', 'report', "$dir/no" ]
);

# --- episodes that are not there, are another's, or are damaged ---
row(
	'tipme: diagnose: 2025: no such episode in DIR/library: see `tipme list`, or give the path of '
		. 'an episode folder',
	1, [ 'diagnose', '2025' ]
);
row(
	'tipme: diagnose: 2026: stands for 4 episodes: give more of the id (see `tipme list`)', 1,
	[ 'diagnose', '2026' ]
);
row(
	"tipme: diagnose: '': no episode has an empty name: name one, or say last (see `tipme list`)",
	1, [ 'diagnose', '' ]
);
row(
	'tipme: diagnose: DIR/work: not an episode (no manifest.json): `tipme list` shows the episodes',
	1, [ 'diagnose', "$dir/work" ]
);
row(
		  'tipme: diagnose: DIR/work/text: not an episode (not a folder): `tipme list` shows the '
		. 'episodes',
	1, [ 'diagnose', "$dir/work/text" ]
);
row(
	'tipme: diagnose: DIR/empty: no episode there: make one with the hot-key or `tipme snap`', 1,
	['diagnose'], env => { TIPME_LIBRARY => "$dir/empty" }
);
row(
	"tipme: diagnose: *DIR/theirs/$good*belongs to another user*", 1,
	[ 'diagnose', "$dir/theirs/$good" ]
);
row('xterm (pid 200) answered a key press after 400 ms*', 2, [ 'diagnose', $gone ], on_stdout => 1);
row("tipme: diagnose: *$broken*manifest.json*", 1, [ 'diagnose', $broken ]);
row(
	"tipme: diagnose: *$newer/kernel.rec: format 99.0: this program reads format *: use the tipme "
		. "that wrote it, or a later one",
	1, [ 'diagnose', $newer ]
);
row(
	'tipme: list: library: DIR/later/library.sqlite was written by a newer tipme *: update tipme',
	1, ['list'], env => { TIPME_LIBRARY => "$dir/later" }
);
row('tipme: diagnose: --at noon: not a time: *', 64, [ 'diagnose', $good, '--at', 'noon' ]);
row(
	'tipme: diagnose: --at -3600: nothing was recorded then: choose one from * to * s, or up to -* '
		. 's before the hot-key',
	1, [ 'diagnose', $good, '--at', -3600 ]
);
row(
	'tipme: diagnose: --from -1 --to -2: nothing lies between: give the earlier one first', 1,
	[ 'diagnose', $good, qw(--thread 200 --from -1 --to -2) ]
);
row(
	'tipme: diagnose: --thread 4711: no such thread is in the records of this episode: *', 1,
	[ 'diagnose', $good, qw(--thread 4711 --from -1 --to -0.5) ]
);
row(
	'tipme: open: DIR/nothing: No such file or directory: name a file that `tipme bundle` wrote',
	1, [ 'open', "$dir/nothing" ]
);
row(
	'tipme: open: DIR/work/text: *not a bundle of tipme: ask its sender for the file that `tipme '
		. 'bundle` wrote',
	1, [ 'open', "$dir/work/text" ]
);
row('tipme: open: DIR/work: is no plain file: *', 1, [ 'open', "$dir/work" ]);
row(
	'tipme: open: DIR/work/cut.tipme: *: ask its sender for the file that `tipme bundle` wrote', 1,
	[ 'open', "$dir/work/cut.tipme" ]
);
row('tipme: open: DIR/work/secret: Permission denied: *', 1, [ 'open', "$dir/work/secret" ]);

# --- places where nothing can be written ---
$at_once = 1;
ended() while @running;
row(
	'tipme: bundle: not written: cannot ask without a terminal: review the list, then add --yes',
	1, [ 'bundle', $good ], json => 1
);
row(
	'tipme: bundle: DIR/work/text: is there already: name another file', 1,
	[ 'bundle', $good, '--yes', '-o', "$dir/work/text" ],                json => 1
);
row(
	'tipme: bundle: DIR/nowhere/x: No such file or directory: *', 1,
	[ 'bundle', $good, '--yes', '-o', "$dir/nowhere/x" ],         json => 1
);
row(
	'tipme: bundle: DIR/full/x: No space left on device: *', 1,
	[ 'bundle', $good, '--yes', '-o', "$dir/full/x" ],       json => 1
);
row(
	'tipme: export: DIR/full/x: No space left on device: *', 1,
	[ 'export', $good, '--format', 'text', '-o', "$dir/full/x" ]
);
row(
	'tipme: export: DIR/theirs/x: Permission denied: *', 1,
	[ 'export', $good, '--format', 'text', '-o', "$dir/theirs/x" ]
);
ok !-e "$dir/full/x", 'nothing half-written is left on the full disk';

# --- no recorder, no display ---
row("tipme: $_: no recorder runs here: start it with sudo tipme start", 1, [$_])
	for qw(stop snap status classes);
row('tipme: gui: there is no display: run it in a session, or use tipme diagnose', 1, ['gui'])
	if -x "$ENV{TIPME_BUILDDIR}/gui/tipme-gui"
	&& system('cp', '-r', "$ENV{TIPME_BUILDDIR}/gui", "$public/gui") == 0;
row('tipme: agent: no X server here: *', 1, [ 'helper/agent/tipme-agent', '--test-hotkey' ])
	if -x "$public/helper/agent/tipme-agent";
row(
	"tipme: agent: hot-key: 'Foo+': no such key: write it like Ctrl+Alt+minus", 1,
	[ 'helper/agent/tipme-agent', '--snapshot', 'Foo+' ]
) if -x "$public/helper/agent/tipme-agent";
row(
	'tipme: agent: Ctrl+Alt+plus: is the hot-key for both start and snapshot: *', 1,
	[ 'helper/agent/tipme-agent', '--snapshot', 'Ctrl+Alt+plus' ]
) if -x "$public/helper/agent/tipme-agent";
row(
	'tipme: dialog: no display: run it inside the session', 1,
	[ 'helper/agent/tipme-dialog', $library ]
) if -x "$public/helper/agent/tipme-dialog";
row('tipme: type: *', 1, [ 'type', 'x' ]);
my $long = "$dir/" . 'x' x 100;
mkdir $long or die "$long: $!";
row('tipme: status: *: File name too long: *', 1, ['status'], env => { TIPME_RUNDIR => $long });

# --- no rights, two recorders, too much at once ---
row(
	'tipme: start: DIR/theirs/run: may not be made: run it with sudo', 1,
	[ 'start', '--rundir', "$dir/theirs/run", '--library', "$dir/home/l" ]
);
row(
	'tipme: start: DIR/theirs/l: may not be written: name another folder, or run it with sudo', 1,
	[ 'start', '--rundir', "$dir/home/run", '--library', "$dir/theirs/l" ]
);
row(
	'tipme: start: the kernel does not let us load tracing programs: run as root, or with CAP_BPF '
		. 'and CAP_PERFMON',
	1,
	[ 'start', '--source', 'kernel_bpf', '--rundir', "$dir/home/run", '--library', "$dir/home/l" ]
);
my @started = $d->start;
is $started[0], 0, 'a recorder' or diag(@started), BAIL_OUT('no recorder');
row(
	'tipme: start: a recorder runs already: see tipme status, or end it with tipme stop', 1,
	[ 'start', '--rundir', $d->rundir ], user => 'root'
);
row(
	'tipme: classes: disk: no record class, *: tipme status lists the classes', 1,
	[ 'classes', '+disk' ]
);
as('nobody', {}, 'snap') for 1, 2;
row('tipme: snap: more than one episode in 5 seconds: ask again in some seconds', 1, ['snap']);
$d->stop;
is + ($d->start('--owner', 1, '--library', "$dir/others-library"))[0], 0,
	'a recorder of another user'
	or BAIL_OUT('no recorder');
row(
	'tipme: snap: the recorder serves root and its owner: ask them to start it with --allow-uid '
		. 'for you',
	1, ['snap']
);
$d->stop;
is + ($d->start('--library', "$dir/full/library"))[0], 0, 'a recorder whose disk is full'
	or BAIL_OUT('no recorder');
row('tipme: snap: *No space left on device*', 1, ['snap'], json => 1);
$d->stop;
cmp_ok $rows, '>=', 40, "$rows mistakes";
system 'umount', "$dir/full";
done_testing;
