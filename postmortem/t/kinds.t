#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The registry of kinds: each has all its words, each that is documented has an entry, and each has
# a story in a test that ends with it. Stories of kinds that no other test tells are here.
use strict;
use warnings;
use Test::More;
use FindBin qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated",
	"$Bin/../../tests/causes/lib";
use Tipme::RowSaid;
use Tipme::Kinds;
use Tipme::Test::Files qw(slurp);
use Tipme::Test::Judge qw(judged);
use Tipme::Test::Story;
use Tipme::Test::Stacks qw(stack_text);

use constant { SERVER => 100, CLIENT => 200, MS => 1_000_000 };
my $MAX_LIST = 34;    # columns of `tipme list`, with a short name in it
my %FLAG = map { $_ => 1 } qw(cpu memory compute holding itself args client victim for-whom holder);

# documented(): the kinds that the page of the format lists
sub documented {
	my ($root) = grep { defined && -e "$_/docs" } $ENV{TIPME_SRCDIR}, "$Bin/../..";
	my ($list) = slurp("$root/docs/diagnose-json.md") =~ /^## Kinds of verdicts\n(.*?)(?=^## |\z)/ms
		or die "docs/diagnose-json.md: no list of kinds\n";
	return sort $list =~ /^\| `([a-z-]+)` \|/mg;
}

is_deeply(
	[ documented() ], [ Tipme::Kinds::kinds() ],
	'the documented kinds are those with an entry'
);
for my $kind (Tipme::Kinds::kinds()) {
	my $e = Tipme::Kinds::entry($kind);
	for my $field (qw(list phrase cause)) {
		like(Tipme::Kinds::words($kind, $field, name => 'xterm'), qr/\A[^{}]+\z/, "$kind: $field");
	}
	my $short = Tipme::Kinds::words($kind, 'list', name => 'xterm');
	cmp_ok(length $short, '<=', $MAX_LIST, "$kind: short enough for a list");
	is_deeply([ grep { !$FLAG{$_} } @{ $e->{flags} } ], [], "$kind: known flags");
	ok(defined $e->{ask} || $kind =~ /\A(?:none|unknown)\z/, "$kind: whom to ask");
	next if !defined $e->{story};
	my @judged = map { /\A(.*?);\n/s ? $1 : () } split /^(?=.*\bjudged\()/m,
		slurp("$Bin/$e->{story}");
	ok((grep {/'\Q$kind\E'/} @judged), "$kind: $e->{story} tells a story of it");
}
is(
	Tipme::Kinds::words('of-a-later-version', 'phrase'), 'of-a-later-version',
	'a kind of a later version goes by its name'
);

sub story { return Tipme::Test::Story->new }

# sleeps(ID, STACK, CONTEXT): the client sleeps there until 1,700 ms
sub sleeps {
	my ($id, $stack, $context) = @_;
	my $s = story()->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping');
	$s->builder->stack($id, stack_text($stack));
	$s->wake(0, 1700, CLIENT, 0, undef, context => $context, stack_id => $id);
	return $s->run(1, 1700.1, 1702, CLIENT, 'sleeping')->draw(1701.9)->hotkey(3000);
}

my $s = sleeps(90, 'tcp', 'softirq_irq');
judged('network', $s, 'network-wait', 'xterm', 0.98, 1);
$s = sleeps(91, 'usb', 'hardirq');
judged('device', $s, 'device-wait', 'xterm', 0.98, 1);
$s = sleeps(92, 'fence', 'hardirq');
judged('gpu', $s, 'gpu-wait', 'xterm', 0.98, 1);

# The server needs long for what the client asked for.
$s = story()->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping');
$s->wake(1, 1000.9, SERVER, CLIENT, 'epoll')->run(0, 1001, 1601, SERVER, 'sleeping');
$s->builder->x(1001.1 * MS, 'x_wakeup')->x(
	1001.2 * MS, 'x_request', pid => CLIENT, client => 4,
	duration_ns => 599 * MS, major => 74, sequence => 1, count => 1
);
$s->builder->x(
	1600.5 * MS, 'x_damage', pid => CLIENT, client => 4, major => 74, width => 6,
	height => 13
)->x(1600.9 * MS, 'x_sleep');
judged('the server computes', $s->hotkey(3000), 'server-compute', 'Xorg', 0.98, 1);

# Held back by a limit of the kernel's, until its own timer.
$s = sleeps(94, 'throttled', 'hardirq');
judged('writeback', $s, 'writeback', 'xterm', 0.98, 1);
$s = sleeps(95, 'split-lock', 'hardirq');
Tipme::RowSaid::story(39, judged('a split lock', $s, 'cpu-penalty', 'xterm', 0.98, 1));
$s = sleeps(98, 'nvidia', 'hardirq');
Tipme::RowSaid::story(10, judged('a screen of NVIDIA', $s, 'gpu-wait', 'xterm', 0.98, 1));

# A file server: who takes its answer is a thread of the kernel's, and not to be blamed.
$s = story()->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping');
$s->builder->stack(96, stack_text('smb'));
$s->builder->thread(60, 'cifsd', flags => 1);
$s->run(0, 1699, 1700.05, 60, 'sleeping');
$s->wake(0, 1700, CLIENT, 60, undef, stack_id => 96);
$s->run(1, 1700.1, 1702, CLIENT, 'sleeping')->draw(1701.9)->hotkey(3000);
my $d = judged('a file server', $s, 'network-wait', 'xterm', 0.98, 1);
like($d->{verdict}{sentence}, qr/waiting for a file server \(SMB\)/, 'it says which kind');

# Where nothing may disturb it, and nothing says why: not known, not "mostly a disk".
$s = story()->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'disk_sleep');
$s->builder->stack(97, stack_text('unknown-driver'));
$s->wake(0, 1700, CLIENT, 0, undef, context => 'hardirq', stack_id => 97);
$s->run(1, 1700.1, 1702, CLIENT, 'sleeping')->draw(1701.9)->hotkey(3000);
$d = judged('a driver that no row knows', $s, 'unknown', undef, 0.98, 1);
unlike($d->{verdict}{sentence}, qr/disk/, 'nobody is told of a disk');
done_testing();
