#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The hooks and x11trace, which stands between the clients and the server, say the same of real
# programs: of each client's requests, replies, errors and events. Of what is joined they say the
# same in sum.
#
# What the witness sees and the hooks by design do not:
# - The length of a request: no record has it.
# - The opcodes of requests within a run, but the last: a run has one slot.
# - A request that is longer than any may be: the server refuses it before it looks what it is. Its
#     error is seen.
# - How many events were written at once: a row of exposures has one record. Each says how many
#     follow it, so the rows are known.
# - How many replies, errors, or events of no input were joined in a flood: a reply's record has the
#     sum of bytes; of events only the order of types remains.
# - Which events the keyboard extension wrote by itself, and how many: that there was one, where
#     nothing else was written with it.
use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/lib";
use Test::More;
use File::Copy qw(copy);
use List::Util qw(sum0);
use Live;
use X11Trace;
use XClient;

need(qw(Xvfb xterm xdotool x11perf xclock xev xset xprop xlsclients xdpyinfo));
plan skip_all => 'x11trace is not installed (Debian: xtrace)' if !X11Trace::program();
# As documented: so many of a kind have slots of their own in so long a time, the others are joined,
# each for as long as this.
my ($FLOOD, $FLOOD_NS, $JOIN_NS) = (16, 100_000_000, 4_000_000);
# What the server says with BIG-REQUESTS, in bytes.
my $LONGEST = 4 * 4194303;
my $rows    = 0;
my $PYTHON  = '/usr/bin/python3';
my $peer    = peer_start(rundir());
my $x       = Tipme::Display->new(kind => 'Xvfb', hooks => hooks(), rundir => $peer->{dir});
wait_for($peer, qr/^hello 0/);
my $xkb = XClient->new($x)->event_base('XKEYBOARD');

for my $command (
	[qw(xset q)], [qw(xset s 500)], [qw(xprop -root)], [qw(xlsclients)],
	[qw(xdpyinfo)]
	)
{
	agree("@$command", sub { is($_[0]->run(@$command), 0, "@$command") });
}
agree('xterm',       \&typed);
agree('xclock',      \&shown);
agree("x11perf @$_", perf(@$_))
	for [qw(-reps 40 -noop)], [qw(-reps 3000 -noop)], [qw(-reps 300 -prop)],
	[qw(-reps 20 -gc -rect10 -ftext -pointer)],
	[qw(-reps 70000 -noop)],
	[qw(-reps 6 -copywinwin100 -copyplane10 -scroll10 -getimage500 -shmput500)],
	[qw(-reps 3 -create -map -unmap -destroy -popup -move -circulate)];
agree($_, toolkit($_)) for 'GTK 3', $ENV{TIPME_TEST_ALL} ? ('GTK 4', 'Qt') : ();
agree('xev', \&moved);

for my $swapped (0, 1) {
	my $order = $swapped ? 'swapped bytes' : 'own bytes';
	agree("errors, $order",            sub { errors(client($_[0], $swapped)) });
	agree("rows of exposures, $order", sub { rows(client($_[0], $swapped)) });
	agree("long requests, $order",     sub { long_requests(client($_[0], $swapped)) });
}
ok($rows, 'rows of events were among them');
$x->stop;
done_testing();

# ---- programs ----

sub client {
	my ($witness, $swapped) = @_;
	return XClient->new($witness, swapped => $swapped);
}

sub xdotool {
	local %ENV = (%ENV, $x->env);
	system('xdotool', @_) == 0 or fail("xdotool @_");
	return;
}

sub is_there {
	my ($path) = @_;
	return await(sub { -e $path }) || fail("$path comes");
}

# It ends when it has shown all.
sub typed {
	my ($witness) = @_;
	my $dir       = $x->dir;
	my $pid       = $witness->spawn(
		'xterm', '-geometry', '80x24+0+0', '-e', '/bin/sh', '-c',
		"touch $dir/ready; read line; touch $dir/read; until [ -e $dir/end ]; do sleep 0.1; done"
	);
	is_there("$dir/ready");
	xdotool(qw(mousemove 100 100));
	await(sub { xdotool(qw(key Return)); settled($peer, 0); -e "$dir/read" })
		or fail('the line was read');
	xdotool(qw(type --delay 20), 'the quick brown fox');
	xdotool(qw(mousemove 200 120 click 1));
	settled($peer, 0);
	open my $end, '>', "$dir/end" or die "$dir/end: $!";
	waitpid $pid, 0;
	unlink map {"$dir/$_"} qw(ready read end);
	return;
}

# Its hands do not move.
sub shown {
	my ($witness) = @_;
	my $pid = $witness->spawn(qw(xclock -update 86400));
	await(sub { only([ settled($peer, 0) ], 'x_damage', pid => $witness->pid) })
		or fail('it is shown');
	settled($peer, 0);
	kill 'TERM', $pid;
	waitpid $pid, 0;
	return;
}

sub perf {
	my (@args) = @_;
	return sub { is($_[0]->run(qw(x11perf -repeat 1 -subs 25), @args), 0, "x11perf @args") };
}

# undef: it is not installed
sub toolkit {
	my ($name) = @_;
	my ($gtk)  = $name =~ /^GTK (\d)/;
	my ($program, @args) = $gtk ? ('session-gtk.py', $gtk) : ('session-qt.py');
	my $needs =
		$gtk
		? qq(import gi; gi.require_version("Gtk", "$gtk.0"); from gi.repository import Gtk)
		: 'import PyQt5.QtWidgets';
	return
		system("$PYTHON -c '$needs' 2>/dev/null") ? undef : sub { session($_[0], $program, @args) };
}

sub session {
	my ($witness, $program, @args) = @_;
	my $dir = rundir();
	chmod 0777, $dir;
	copy("$Bin/$program", "$dir/$program") or die "$program: $!";
	my $pid = $witness->spawn(
		'GDK_BACKEND=x11', 'GSK_RENDERER=cairo', 'QT_QPA_PLATFORM=xcb', 'NO_AT_BRIDGE=1',
		'GTK_A11Y=none',   "HOME=$dir",          "XDG_RUNTIME_DIR=$dir",
		$PYTHON,           "$dir/$program",      @args, $dir
	);
	is_there("$dir/ready");
	xdotool(qw(search --sync --onlyvisible --name tipme-session windowmove 0 0 windowfocus));
	xdotool(qw(type --delay 20), 'hello world');
	is_there("$dir/done");
	settled($peer, 0);
	kill 'TERM', $pid;
	waitpid $pid, 0;
	return;
}

# The pointer moves a thousand times, and keys and buttons come between.
sub moved {
	my ($witness) = @_;
	my $pid = $witness->spawn(qw(xev -geometry 300x300+0+0));
	xdotool(qw(search --sync --onlyvisible --name), '^Event Tester$', qw(windowmove 0 0));
	for my $key (qw(a b c d)) {
		xdotool(map { ('mousemove', 100 + $_ % 7, 100 + $_ % 5) } 1 .. 250);
		xdotool('key', $key, 'click', 1, 'click', 4);
	}
	cmp_ok(
		scalar only([ settled($peer, 0) ], 'x_deliver', pid => $witness->pid, kind => 'key_press'),
		'>=', 4, 'it has the keys'
	);
	kill 'TERM', $pid;
	waitpid $pid, 0;
	return;
}

# One of each error that comes easily: of the core, of extensions, of requests that there are not;
# more than a handful of one.
sub errors {
	my ($c) = @_;
	my ($w) = $c->window;
	my ($BAD, @NOWHERE) = (0x1234567, 120, 126);
	my @of_one = (0, 2, 3, 4, 10, 14, 15, 18, 20, 38, 56, 60, 72, 92, 113);
	$c->request($_,                  0, $BAD, $BAD) for @of_one, @NOWHERE;
	$c->request(XClient::MAP_WINDOW, 0) for 1 .. 40;
	$c->request(XClient::MAP_WINDOW, 0, $w, $w);
	answered($c);
	my @extensions =
		map { $c->extension($_) || () } qw(RENDER XFIXES DAMAGE Composite SHAPE SYNC RANDR MIT-SHM);
	for my $major (@extensions) { $c->request($major, $_, $BAD, $BAD, $BAD) for 4, 5, 99 }
	answered($c);
	$c->close;
	return;
}

# Errors come before the answer to this.
sub answered {
	my ($c) = @_;
	$c->request(XClient::GET_INPUT_FOCUS, 0);
	1 while ord($c->event) != 1;
	return;
}

# A window that others cover in several places is raised, and copied from.
sub rows {
	my ($c) = @_;
	my ($w, $gc) = $c->window;
	my @over = map { $c->window(x => 40 * $_, y => 30 * $_, width => 20, height => 20) } 1 .. 5;
	my ($CONFIGURE, $STACK, $ABOVE, $BELOW, $COPY_AREA) = (12, 1 << 6, 0, 1, 62);
	for (1 .. 25) {
		$c->request($COPY_AREA, 0, $w, $w, $gc, \$c->pack('ssssSS', 0, 0, 300, 200, 280, 190));
		$c->request($CONFIGURE, 0, $w, \$c->pack('Sxx', $STACK), $_) for $ABOVE, $BELOW;
	}
	$c->sync;
	$c->close;
	return;
}

# Requests that are longer than a core request may be, one that says so and is not, and one that is
# longer than any may be.
sub long_requests {
	my ($c) = @_;
	my ($w, $gc) = $c->window;
	my ($big, $PUT_IMAGE, $Z_PIXMAP, $NO_OPERATION) = ($c->extension('BIG-REQUESTS'), 72, 2, 127);
	$c->request($big, 0);
	$c->reply;
	my $image = $c->pack('LLSSssCCxx', $w, $gc, 300, 300, 0, 0, 0, 24) . "\x40\x80\xc0\0" x 90_000;
	$c->long_request($PUT_IMAGE,    $Z_PIXMAP, \$image) for 1 .. 3;
	$c->long_request($NO_OPERATION, 0);
	$c->long_request($NO_OPERATION, 0, \("\0" x $LONGEST));
	$c->request($NO_OPERATION, 0);
	answered($c);
	$c->close;
	return;
}

# ---- comparing ----

# Runs the program before a witness of its own; then all that it sent and got must be in the
# records.
sub agree {
	my ($name, $program) = @_;
	subtest $name => sub {
		plan skip_all => "$name for Python is not installed "
			. "(Debian: python3-gi, gir1.2-gtk-3.0, gir1.2-gtk-4.0, python3-pyqt5)"
			if !$program;
		my $witness = X11Trace->new($x);
		$program->($witness);
		my @clients = $witness->clients;
		await(
			sub {
				only([ settled($peer, 0) ], 'x_client', pid => $witness->pid, state => 'gone') >=
					@clients;
			}
		);
		my @r = grep { ($_->{pid} // 0) == $witness->pid } settled($peer, 0);
		cmp_ok(scalar @clients, '>=', 1, 'the witness saw a client');
		is(scalar only(\@r, 'x_client', state => 'connected'), scalar @clients, 'as many as came');
		is(scalar only(\@r, 'x_client', state => 'gone'),      scalar @clients, 'and went');
		client_agrees($clients[$_], @clients > 1 ? "client $_: " : '', \@r) for 0 .. $#clients;
	};
	return;
}

sub client_agrees {
	my ($seen, $who, $all) = @_;
	my @r = grep { $_->{client} == $seen->{index} } @$all;
	is_deeply($seen->{strange}, [], "${who}the witness says nothing else");
	none(
		[ requests_differ($seen, only(\@r, 'x_request')) ],
		"$who" . @{ $seen->{requests} } . ' requests'
	);
	none(
		[ answers_differ($seen, only(\@r, 'x_reply')) ],
		"$who" . @{ $seen->{answers} } . ' replies and errors'
	);
	none(
		[ events_differ($seen, only(\@r, 'x_deliver')) ],
		"$who" . @{ $seen->{events} } . ' events'
	);
	$rows += grep { $_->{follow} } @{ $seen->{events} };
	return;
}

sub none {
	my ($differ, $what) = @_;
	is(scalar @$differ, 0, $what)
		or diag map {"$_\n"} @$differ[ 0 .. ($#$differ > 9 ? 9 : $#$differ) ];
	return;
}

# After each of these that has so many before it may have come others that were joined with it.
sub floods {
	my @slots = @_;
	for my $k ($FLOOD - 1 .. $#slots) {
		$slots[$k]{flood} = 1
			if $slots[$k]{ts_ns} - $slots[ $k - $FLOOD + 1 ]{ts_ns} <= $FLOOD_NS + $JOIN_NS;
	}
	return;
}

# Each request is in one record, whose last it is or not.
sub requests_differ {
	my ($seen, @records) = @_;
	my @executed = grep { $_->{length} <= $LONGEST } @{ $seen->{requests} };
	my ($next, @differ) = (0);
	for my $r (@records) {
		$next += $r->{count};
		my $last = $executed[ $next - 1 ] or return (@differ, "request $next was not seen");
		my ($we, $they) = (
			join(' ', @$r{qw(sequence major minor)}), join ' ', $last->{sequence} & 0xffff,
			@$last{qw(major minor)}
		);
		push @differ, "request $next: $we, the witness: $they" if $we ne $they;
	}
	push @differ, "$next requests" if $next != @executed;
	return @differ;
}

# The witness says of a reply only which request it answers, by 16 bits. They come in order.
sub asked {
	my ($seen) = @_;
	my ($requests, $k) = ($seen->{requests}, 0);
	for my $answer (@{ $seen->{answers} }) {
		$k++ while $k < $#$requests && ($requests->[$k]{sequence} & 0xffff) != $answer->{sequence};
		$answer->{$_} //= $requests->[$k]{$_} for qw(major minor);
	}
	return;
}

sub answers_differ {
	my ($seen, @records) = @_;
	asked($seen);
	my @left = @{ $seen->{answers} };
	my @differ;
	floods(@records);
	for my $r (@records) {
		my @these = shift @left
			// return (@differ, "one more: @$r{qw(sequence major minor error bytes)}");
		push @these, shift @left
			while @left
			&& $r->{flood}
			&& $left[0]{error} == $r->{error}
			&& sum0(map { $_->{bytes} } @these) < $r->{bytes};
		my ($we, $they) = (
			join(' ', @$r{qw(sequence bytes error major minor)}),
			join ' ', $these[-1]{sequence}, sum0(map { $_->{bytes} } @these),
			@{ $these[-1] }{qw(error major minor)}
		);
		return (@differ, "$we, the witness: $they") if $we ne $they;
	}
	push @differ, map {"without a record: @$_{qw(sequence bytes error)}"} @left;
	return @differ;
}

# Input but motion is never joined. Events that are none are joined with the last of them, over
# input that comes between; motion in the same way by itself.
sub events_differ {
	my ($seen, @records) = @_;
	my @motion = grep { $_->{kind} eq 'motion' } @records;
	floods(@motion);
	floods(grep { $_->{kind} eq 'other' && !$_->{input_seq} } @records);
	my @they        = grep { !$_->{follow} } @{ $seen->{events} };
	my $of_keyboard = grep { $_->{type} == $xkb } @they;
	my $moved       = grep { $_->{motion} } @they;
	my @differ;
	push @differ, 'events of the keyboard extension that there were not'
		if !$of_keyboard && only(\@records, 'x_deliver', x_type => $xkb);
	push @differ, @motion . " motions, the witness: $moved"
		if @motion > $moved || @motion < $moved && !grep { $_->{flood} } @motion;
	push @differ,
		order_differs(
		[ grep { !$_->{motion} && $_->{type} != $xkb } @they ],
		grep { $_->{kind} ne 'motion' && $_->{x_type} != $xkb } @records
		);
	return @differ;
}

# Each that the witness saw is the next that we have, or is joined with the last that is no input,
# of the same type.
sub order_differs {
	my ($they,  @we) = @_;
	my ($joins, $n)  = (0, 0);
	for my $event (@$they) {
		my $type = $event->{type};
		$n++;
		if (@we && $we[0]{x_type} == $type) {
			my $r = shift @we;
			# Of a row of records of one type any may be the one that was joined with.
			$joins = ($joins == $type || $r->{flood}) ? $type : 0
				if $r->{kind} eq 'other' && !$r->{input_seq};
			next;
		}
		return "event $n of the witness: $type, we: " . (@we ? $we[0]{x_type} : 'no more')
			if $joins != $type;
	}
	return @we ? 'more than the witness: ' . join ' ', map { $_->{x_type} } @we : ();
}
