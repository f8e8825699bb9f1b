#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Waits that a person has named: the worked example of docs/examples.md, "a contested resource",
# word for word; a bundle of it at a machine that knows nothing of it; lines that cannot be used.
use strict;
use warnings;
use Test::More;
use File::Path qw(make_path);
use File::Temp qw(tempdir);
use FindBin    qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Bundle;
use Tipme::Diagnosis;
use Tipme::Episode;
use Tipme::OwnWaits;
use Tipme::Test::Example qw(steps spew);
use Tipme::Test::Judge   qw(judged);
use Tipme::Test::Story;
use Tipme::Test::Stacks qw(stack_text);

use constant { CLIENT => 200, HOLDER => 310, MS => 1_000_000 };
my ($root) = grep { defined && -e "$_/docs/examples.md" } $ENV{TIPME_SRCDIR}, "$Bin/../..";
my $tmp    = tempdir(CLEANUP => 1);
my $n      = 0;

# A key; the client waits in a driver that no row of ours knows, until the program that has the
# instrument lets it go on.
sub story {
	my ($context) = @_;
	my $s = Tipme::Test::Story->new;
	$s->builder->thread(HOLDER, 'scope-logger', ts_ns => 900 * MS);
	$s->builder->stack(99, stack_text('unknown-scope'));
	$s->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping');
	$s->run(0, 1000.4, 1700.05, HOLDER, 'sleeping') if !$context;
	my ($waker, @how) = $context ? (0, context => $context) : (HOLDER);
	$s->wake(0, 1700, CLIENT, $waker, undef, stack_id => 99, @how);
	return $s->run(1, 1700.1, 1702, CLIENT, 'sleeping')->draw(1701.9)->hotkey(3000);
}

# with(TEXT): a person's own file
sub with {
	my ($text) = @_;
	my $config = "$tmp/config" . ++$n;
	make_path("$config/tipme");
	spew("$config/tipme/waits.tsv", $text) if defined $text;
	return $config;
}

sub opened {
	my ($config, $dir) = @_;
	local $ENV{XDG_CONFIG_HOME} = $config;
	return Tipme::Diagnosis->new(Tipme::Episode->open($dir))->run;
}

my @steps = steps($root, 'a contested resource, at run time');
is(scalar @steps, 1, 'one step');
my $lines = () = $steps[0][2] =~ /\n/g;
cmp_ok($lines, '<', 60, "$lines lines");
my $mine = with($steps[0][2]);
my $none = with(undef);

# What the example is worth: without it nobody knows what it waited for.
$ENV{XDG_CONFIG_HOME} = $none;
my $before = story()->diagnose("$tmp/before");
unlike($before->{verdict}{sentence}, qr/oscilloscope/, 'without the line');
isnt($before->{verdict}{kind}, 'lock-wait', '... it is no lock');
$ENV{XDG_CONFIG_HOME} = $mine;
my $d = judged('with it', story(), 'lock-wait', 'scope-logger', 0.95, 1);
like($d->{verdict}{sentence}, qr/scope-logger/, 'who had the instrument is named');
like($d->{verdict}{sentence}, qr/\(the lock is the\s+oscilloscope\)/, '... and what it was');

# A bundle takes the line along; nothing but it.
my $dir       = "$tmp/sent";
my $sent      = story()->diagnose($dir);
my $ep        = Tipme::Episode->open($dir);
my $diagnosis = Tipme::Diagnosis->new($ep);
my ($bundle, @files) = Tipme::Bundle->made($ep, $diagnosis, $diagnosis->run);
Tipme::Bundle->write("$tmp/sent.tipme", @files);
Tipme::Bundle->unpack_to("$tmp/sent.tipme", "$tmp/received");
is(
	$bundle->core_of(opened($none, "$tmp/received")), $bundle->core_of($d),
	'a machine without the line comes to the same'
);
is_deeply(
	[ map { $_->[2] } @{ Tipme::Episode->open("$tmp/received")->manifest->{bundle}{waits} } ],
	['the oscilloscope'], 'the line that was needed goes along, and no other'
);
my $other = with("scope_acquire\tdevice-wait\tsomething else\n");
is(
	$bundle->core_of(opened($other, "$tmp/received")), $bundle->core_of($d),
	'lines of the receiver say nothing of the sender\'s machine'
);

# A person's lines go before ours.
$ENV{XDG_CONFIG_HOME} = with("vfs_read device_read\tdevice-wait\tour plotter\n");
$d = judged('another line', story('hardirq'), 'device-wait', 'xterm', 0.95, 1);
like($d->{verdict}{sentence}, qr/waiting for our plotter/, 'it says for what');

# What cannot be used is said once, and the rest is used.
for (
	[ "scope_acquire\tlock-wait",               'three columns are needed' ],
	[ "scope_acquire\t\twords",                 'three columns are needed' ],
	[ "scope.*\tlock-wait\twords",              'scope.* is no function' ],
	[ "(?{die})\tlock-wait\twords",             '(?{die}) is no function' ],
	[ "scope_acquire\tfreeze\twords",           'the kind freeze is none of' ],
	[ "scope_acquire\tlock-wait\t" . 'x' x 101, 'the words may have 100 characters' ],
	[ ' ' . "\tlock-wait\twords",               'there may be 1 to 100 functions' ],
	[ join(' ', ('scope_acquire') x 101) . "\tlock-wait\twords", 'there may be 1 to 100' ],
	)
{
	my ($line, $why) = @$_;
	local $ENV{XDG_CONFIG_HOME} = with("# mine\n$line\nscope_acquire\tdevice-wait\tmine\n");
	my $said = '';
	{
		local *STDERR;
		open STDERR, '>', \$said or die $!;
		my @rows = Tipme::OwnWaits::here();
		is(scalar @rows, 1, "$why: the other line is used");
		Tipme::OwnWaits::here();
	}
	like($said, qr/\Atipme: \S+: line 2: \Q$why\E.*: the line is left out; mend it\n\z/, $why);
}

# A hostile bundle.
for ('text', {}, [ 1, undef, {}, ['a'] ], [ [ '(?{die})', 'lock-wait', 'x' ] ], [ (['x']) x 201 ]) {
	is_deeply([ Tipme::OwnWaits::sent($_) ], [], 'a list that is none: no line');
}
my ($row) = Tipme::OwnWaits::sent([ [ 'scope_acquire', 'lock-wait', "a\e[31m\nb" ] ]);
unlike($row->{own}[2], qr/[\e]/, 'no escape sequence comes through');
done_testing();
