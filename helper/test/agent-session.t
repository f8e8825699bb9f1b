#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# What the agent tells of the session: which extensions of the compositor are switched on, by the
# settings of the desktop, as they were at the trigger; of those of a person's own only how many.
# `compare` says what is another since. What is no such line goes nowhere.
use strict;
use warnings;
use File::Path qw(make_path);
use FindBin;
use lib "$FindBin::Bin/lib",
	map {"$FindBin::Bin/../../$_"} qw(postmortem/lib abi/lib abi/generated);
use JSON::PP ();
use Test::More;
use Tipme::Machine;
use Tipme::TestAgent  qw(public);
use Tipme::TestDaemon qw(slurp tipmed wait_until);

plan skip_all => 'the agent is not built here'
	if !-x "$ENV{TIPME_BUILDDIR}/helper/agent/tipme-agent" || !-x tipmed();
plan skip_all => 'not root: recording the whole machine needs it' if $>;
for my $program (qw(glib-compile-schemas gsettings)) {
	plan skip_all => "$program is not installed"
		if !grep { -x "$_/$program" } split /:/, $ENV{PATH};
}
my ($nobody, $group) = (getpwnam 'nobody')[ 2, 3 ];
my $d       = Tipme::TestDaemon->new(args => [ '--owner', $nobody, '--post', 0 ]);
my $public  = public($d->dir);
my $home    = $d->dir . '/home';
my $system  = $d->dir . '/share';
my $SECRET  = 'letters-to-anna';
my $watches = 5;    # of the verbs on the socket
delete @ENV{qw(DISPLAY WAYLAND_DISPLAY DBUS_SESSION_BUS_ADDRESS)};
my %env = (
	HOME            => $home,          TIPME_RUNDIR  => $d->rundir,   TIPME_BUILDDIR => $public,
	XDG_CONFIG_HOME => "$home/config", XDG_DATA_HOME => "$home/data", XDG_DATA_DIRS  => $system,
	XDG_CURRENT_DESKTOP      => 'ubuntu:GNOME', XDG_SESSION_TYPE  => 'wayland',
	GNOME_SHELL_SESSION_MODE => 'ubuntu',       GSETTINGS_BACKEND => 'keyfile',
	GSETTINGS_SCHEMA_DIR     => "$system/glib-2.0/schemas"
);
files();
is + ($d->start)[0], 0, 'the recorder starts' or BAIL_OUT('no recorder');
my $agent = fork // die "fork: $!";
if (!$agent) {
	open STDERR, '>', $d->dir . '/agent.log' or die $!;
	exec as_user("$public/helper/agent/tipme-agent", '--no-observer', '--no-dialog');
}
END { kill 'TERM', $agent if $agent }
my $first = {
	desktop    => 'ubuntu:GNOME',
	type       => 'wayland',
	extensions => [ 'dash@packaged.example', 'clock@site.example', 'dock@mode.example' ],
	scripts    => [ 'blur', 'fetched' ],
	own        => 2
};
is_deeply(
	session_when(sub { defined $_[0]{own} }), $first,
	'what is switched on and there, by name; those of his own by number'
);
my $before = episode();

# One more is switched on: known at the next trigger, or at the one behind it.
set(enabled => [ qw(dash@packaged.example clock@site.example weather@packaged.example), $SECRET ]);
my $then = session_when(
	sub {
		grep {/^weather/} @{ $_[0]{extensions} };
	}
);
is_deeply(
	$then->{extensions},
	[qw(dash@packaged.example clock@site.example weather@packaged.example dock@mode.example)],
	'one that is switched on later is told with a later episode'
);
my $after   = episode();
my @machine = map { JSON::PP->new->utf8->decode(slurp("$_/manifest.json"))->{state} } $before,
	$after;
is_deeply(
	[ grep { $_->{what} =~ /session/ } Tipme::Machine::differences(@machine) ],
	[
		{
			what => 'session.extensions',
			a    => 'clock@site.example, dash@packaged.example, dock@mode.example',
			b    => 'clock@site.example, dash@packaged.example, dock@mode.example, '
				. 'weather@packaged.example'
		}
	],
	'which is what `tipme compare` says of the machine'
);
set(all_off => 1);
is(session_when(sub { !$_[0]{extensions} })->{extensions}, undef, 'all are switched off');
# (What the commands of this test were called with stands elsewhere.)
unlike(slurp("$_/manifest.json"), qr/$SECRET/, 'no name of his own is told') for $before, $after;

# --- lines that are none of ours ---
kill 'TERM', $agent;
waitpid $agent, 0;
$agent = 0;
my $peer = $d->connection;
send $peer,
	Tipme::TestDaemon::message(
	$watches,  0,
	join "\n", 'extension good@one', "extension ../$SECRET", "$SECRET x",
	"extension a b$SECRET", "desktop \e[31m$SECRET", 'own 99999', "own -1", 'extension ',
	'type x11',
	'extension ' . 'x' x 101, map {"script s$_"} 1 .. 2000
	),
	0;
Tipme::TestDaemon::answer($peer);
my $odd = session();
is_deeply([ sort keys %$odd ], [qw(extensions scripts type)], 'only what is one of ours is kept');
is_deeply($odd->{extensions},  ['good@one'],                  '... with a name that is one');
cmp_ok(scalar @{ $odd->{scripts} }, '<', 1000, '... and no more than there is room for');
$d->stop;
done_testing();

sub as_user {
	return (
		'setpriv', "--reuid=$nobody", "--regid=$group", '--clear-groups', 'env',
		(map {"$_=$env{$_}"} sort keys %env), @_
	);
}

sub episode { return (split /\n/, ($d->snap)[1])[1] }

sub session {
	return JSON::PP->new->utf8->decode(slurp(episode() . '/manifest.json'))->{state}{session} // {};
}

sub session_when {
	my ($is) = @_;
	my $s;
	ok(wait_until(sub { $s = session(); $is->($s) }), 'the agent has told it') or diag explain $s;
	return $s;
}

sub put {
	my ($file, $text) = @_;
	make_path($file =~ s{/[^/]*\z}{}r);
	open my $h, '>', $file or die "$file: $!\n";
	print {$h} $text;
	close $h or die "$file: $!\n";
	return;
}

sub set {
	my (%o) = @_;
	my @way = as_user(qw(gsettings set org.gnome.shell));
	system(@way, 'enabled-extensions', JSON::PP->new->encode($o{enabled}) =~ tr/"/'/r) == 0
		or die "gsettings\n"
		if $o{enabled};
	system(@way, 'disable-user-extensions', 'true') == 0 or die "gsettings\n" if $o{all_off};
	return;
}

# A desktop's settings and folders, made up.
sub files {
	put("$system/glib-2.0/schemas/org.gnome.shell.gschema.xml", <<'END');
<schemalist><schema id="org.gnome.shell" path="/org/gnome/shell/">
<key name="enabled-extensions" type="as"><default>[]</default></key>
<key name="disabled-extensions" type="as"><default>[]</default></key>
<key name="disable-user-extensions" type="b"><default>false</default></key>
</schema></schemalist>
END
	system('glib-compile-schemas', "$system/glib-2.0/schemas") == 0 or die "no schema\n";
	put("$system/gnome-shell/extensions/$_\@packaged.example/metadata.json", '{}')
		for qw(dash weather idle);
	put("$system/gnome-shell/extensions/dock\@mode.example/metadata.json", '{}');
	put("$system/gnome-shell/modes/ubuntu.json", '{"enabledExtensions": ["dock@mode.example"]}');
	my $own = "$home/data/gnome-shell/extensions";
	put("$own/clock\@site.example/metadata.json", '{"version": 12}');
	put("$own/$SECRET/metadata.json",             '{"name": "mine"}');
	put(
		"$home/config/kwinrc",
		"[Plugins]\nblurEnabled=true\nshakeEnabled=false\nfetchedEnabled=true\n$SECRET-2Enabled=true\n"
	);
	put("$home/data/kwin/scripts/$_/metadata.json", '{}') for 'fetched', "$SECRET-2";
	put("$home/data/knewstuff3/kwinscripts.knsregistry", "/home/x/kwin/scripts/fetched/\n");
	system('chown', '-R', "$nobody:$group", $home) == 0 or die "chown\n";
	set(enabled =>
			[ 'dash@packaged.example', 'clock@site.example', $SECRET, 'gone@nowhere.example' ]);
	return;
}
