#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The window by keys alone, as a screen reader meets it: each page under Xvfb and under a headless
# Wayland compositor, as an ordinary user. What a page shows is awaited in the accessibility tree.
use strict;
use warnings;
use Cpanel::JSON::XS qw(decode_json);
use File::Temp       qw(tempdir);
use FindBin          qw($Bin);
use IPC::Open2       qw(open2);
use Test::More;
use lib "$Bin/../../postmortem/t/lib", "$Bin/../../postmortem/lib", "$Bin/../../abi/lib",
	"$Bin/../../abi/generated";
use Tipme::Test::Story;

use constant { CLIENT => 200, MS => 1_000_000, NOBODY => 65_534 };
my $BUILD = $ENV{TIPME_BUILDDIR} // die "TIPME_BUILDDIR is not set: run it by make check\n";

plan skip_all => 'takes a minute: set TIPME_TEST_ALL=1' if !$ENV{TIPME_TEST_ALL};

# What the tests need, and the package that has it.
my %NEEDED = (
	'dbus-daemon' => 'dbus-daemon', xdotool => 'xdotool', Xvfb => 'xvfb', sway => 'sway',
	wtype         => 'wtype',       setpriv => 'util-linux'
);
for my $program (sort keys %NEEDED) {
	plan skip_all => "no $program here (Debian: $NEEDED{$program})"
		if system "command -v $program >/dev/null 2>&1";
}
plan skip_all => 'no accessibility tree (Debian: python3-gi gir1.2-atspi-2.0 at-spi2-core)'
	if system q{/usr/bin/python3 -c 'import gi; gi.require_version("Atspi", "2.0")' 2>/dev/null};

my $tmp     = tempdir('tipme-reader-XXXXXX', TMPDIR => 1, CLEANUP => 1);
my $library = "$tmp/library";
my @IDS     = map {"20261120-15030$_-3f2a"} 1, 2;
mkdir $_, 0700 or die "$_: $!\n" for $library, "$tmp/home";
for my $id (@IDS) {
	my $s = Tipme::Test::Story->new->enter(1000);
	$s->builder->thread(901, 'hog', ts_ns => 900 * MS, state => 'runnable');
	$s->run(1, 1000.1, 1900, 901, 'runnable', preempted => 1, next => CLIENT);
	$s->builder->switch(1, 1901 * MS, CLIENT, 0, 'sleeping');
	$s->draw(1900.9)->hotkey(3000)->builder->write("$library/$id");
}
my @AS =
	$>
	? ()
	: ('setpriv', '--reuid', NOBODY, '--regid', NOBODY, '--clear-groups');
system 'chown', '-R', NOBODY . ':' . NOBODY, $tmp if @AS;
chmod 0755, $tmp;
note @AS ? 'as user ' . NOBODY : "as user $>";

my %session = (
	PATH         => $ENV{PATH}, HOME => "$tmp/home", LANG => 'C.UTF-8', TIPME_LIBRARY => $library,
	TIPME_RUNDIR => "$tmp/norecorder", TIPME_BUILDDIR => $BUILD, GSK_RENDERER => 'cairo',
	GSETTINGS_BACKEND => 'memory',     map { defined $ENV{$_} ? ($_ => $ENV{$_}) : () } 'PERL5LIB'
);

# as_user({MORE}, COMMAND): replaces this process
sub as_user {
	my ($more, @command) = @_;
	%ENV = (%session, %$more);
	exec @AS, @command or die "$command[0]: $!\n";
}

# spawn({MORE}, FILE for both outputs, COMMAND): its pid
sub spawn {
	my ($more, $file, @command) = @_;
	my $pid = fork // die "fork: $!\n";
	return $pid if $pid;
	open STDOUT, '>',  $file    or die "$file: $!\n";
	open STDERR, '>&', \*STDOUT or die "$!\n";
	as_user($more, @command);
}

sub slurp {
	my ($file) = @_;
	open my $h, '<', $file or return '';
	local $/;
	return scalar(<$h>) // '';
}

sub wait_for {
	my ($code) = @_;
	for (1 .. 1200) {
		my $found = $code->();
		return $found if $found;
		select undef, undef, undef, 0.05;
	}
	return;
}

sub told {
	my (@words) = @_;
	my $pid     = open my $pipe, '-|' // die "fork: $!\n";
	as_user({}, "$BUILD/tipme", @words) if !$pid;
	local $/;
	return scalar(<$pipe>) // '';
}

my $sentence = decode_json(told('diagnose', '--json', $IDS[1]))->{verdict}{sentence};
my $compared = decode_json(told('compare',  $IDS[1],  $IDS[0], '--json'))->{sentence};
my $week     = decode_json(told('list',     '--week', '--json'))->{sentence};

# Key, the page that it leads to, and what must be heard there.
my @WALK = (
	[ 'ctrl+d', 'Answer',   'label',       quotemeta $sentence ],
	[ 'alt+2',  'Answer',   'label',       '^Where the time went$' ],
	[ 'alt+3',  'Timeline', 'image',       '^Timeline$' ],
	[ 'alt+3',  'Timeline', 'tree table',  '^What the selected lane did$' ],
	[ 'alt+5',  'Report',   'label',       '^Whom to tell, and the text for them$' ],
	[ 'alt+6',  'Live',     'label',       '^tipme is not recording$' ],
	[ 'alt+8',  'Week',     'label',       quotemeta $week ],
	[ 'alt+9',  'Measured', 'label',       '.' ],
	[ 'alt+1',  'Episodes', 'tree table',  '^Episodes$' ],
	[ 'ctrl+r', 'Report',   'label',       '^Whom to tell, and the text for them$' ],
	[ 'alt+5',  'Report',   'label',       '^What would leave in a file, and what would not$' ],
	[ 'alt+1',  'Episodes', 'entry',       '^Search in the episodes$' ],
	[ 'ctrl+h', 'Check',    'label',       '.' ],
	[ 'alt+1',  'Episodes', 'push button', '^Delete$' ],
	[ 'alt+1 shift+Down ctrl+k', 'Compare', 'label', quotemeta $compared ],
);

# walk(WHERE, {ENVIRONMENT}, what presses keys)
sub walk {
	my ($where, $more, $press) = @_;
	pipe my $read, my $write or die "$!\n";
	my $bus = fork // die "fork: $!\n";
	if (!$bus) {
		open STDOUT, '>&', $write      or die "$!\n";
		open STDERR, '>',  '/dev/null' or die "$!\n";
		as_user($more, qw(dbus-daemon --session --print-address --nofork));
	}
	close $write or die "$!\n";
	chomp(my $address = <$read> // '');
	my %env = (%$more, DBUS_SESSION_BUS_ADDRESS => $address);
	my $reader;
	{
		local %ENV = (%session, %env);
		$reader = open2(my $out, my $in, @AS, '/usr/bin/python3', "$Bin/reader.py");
		$reader = { pid => $reader, out => $out, in => $in };
	}
	my $ask = sub {
		print { $reader->{in} } join("\t", @_) . "\n";
		$reader->{in}->flush;
		chomp(my $said = readline($reader->{out}) // 'nothing');
		return $said;
	};
	my $window = spawn(\%env, "$tmp/said", "$BUILD/tipme", 'gui');
	is $ask->('has', 'frame', '^Episodes - tipme$'),   'yes', "$where: the window opens";
	is $ask->('has', 'label', '^20261120|2026-11-20'), 'yes', '... with its episodes';
	for my $step (@WALK) {
		my ($keys, $page, $role, $pattern) = @$step;
		# A session may lose a key while its keyboard is new: press it again.
		my $said = 'no';
		for (1 .. 12) {
			$press->(split / /, $keys);
			last if ($said = $ask->('soon', 'frame', "^$page - tipme\$")) eq 'yes';
		}
		is $said,                          'yes', "$where: $keys: the page $page";
		is $ask->('has', $role, $pattern), 'yes', "... where a $role says $pattern";
	}
	is $ask->('nameless'), 'none', "$where: all that can be used has a name";
	kill 'TERM', $window;
	waitpid $window, 0;
	is slurp("$tmp/said"), '', "$where: no warning";
	close $reader->{in} or die "$!\n";
	waitpid $reader->{pid}, 0;
	kill 'TERM', $bus;
	waitpid $bus, 0;
	return;
}

sub under_x {
	pipe my $read, my $write or die "$!\n";
	my $server = fork // die "fork: $!\n";
	if (!$server) {
		open STDERR, '>',  '/dev/null' or die "$!\n";
		open STDOUT, '>&', $write      or die "$!\n";
		exec 'Xvfb', '-displayfd', 1, '-screen', 0, '1280x800x24', '-noreset', '-nolisten', 'tcp';
	}
	close $write or die "$!\n";
	chomp(my $number = <$read> // '');
	my $run = "$tmp/x-run";
	mkdir $run, 0700;
	chown NOBODY, NOBODY, $run if @AS;
	my %env   = (DISPLAY => ":$number", GDK_BACKEND => 'x11', XDG_RUNTIME_DIR => $run);
	my $press = sub {
		local @ENV{qw(DISPLAY)} = (":$number");
		my ($id) = qx{xdotool search --onlyvisible --name ' - tipme\$' 2>/dev/null} =~ /^(\d+)/m;
		system "xdotool windowfocus --sync $id 2>/dev/null" if $id;
		system 'xdotool', 'key', '--clearmodifiers', @_;
	};
	walk('Xvfb', \%env, $press);
	kill 'TERM', $server;
	waitpid $server, 0;
	return;
}

# Keys of wtype: a modifier is held around the key.
sub wtype_words {
	my ($keys) = @_;
	my @held   = split /\+/, $keys;
	my $key    = pop @held;
	return ((map { ('-M', $_) } @held), '-k', $key, (map { ('-m', $_) } reverse @held));
}

sub under_wayland {
	my $run = "$tmp/wayland-run";
	mkdir $run, 0700;
	chown NOBODY, NOBODY, $run if @AS;
	my %env = (XDG_RUNTIME_DIR => $run, GDK_BACKEND => 'wayland');
	my %sway =
		(%env, WLR_BACKENDS => 'headless', WLR_RENDERER => 'pixman', WLR_LIBINPUT_NO_DEVICES => 1);
	my $sway   = spawn(\%sway, "$tmp/sway", 'sway', '-c', '/dev/null');
	my $socket = wait_for(
		sub {
			(grep {-S} glob "$run/wayland-?")[0];
		}
	);
	ok $socket, 'a compositor without a screen runs';
	$env{WAYLAND_DISPLAY} = $socket =~ s{.*/}{}r;
	# While it is there, a key needs no new keyboard.
	my $keyboard = spawn(\%env, '/dev/null', 'wtype', '-s', 2_000_000, 'a');
	my $press    = sub {
		for my $keys (@_) {
			my $pid = spawn(\%env, '/dev/null', 'wtype', '-s', 50, wtype_words($keys), '-s', 50);
			waitpid $pid, 0;
		}
	};
	walk('Wayland', \%env, $press);
	for my $pid ($keyboard, $sway) {
		kill 'TERM', $pid;
		waitpid $pid, 0;
	}
	return;
}

under_x();
under_wayland();
done_testing;
