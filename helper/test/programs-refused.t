# SPDX-License-Identifier: GPL-2.0-only
# A kernel that refuses one tracing program: without what belongs to it all else is recorded, and
# that is said; without a program that a recorder needs there is none.
use strict;
use warnings;
use Errno qw(E2BIG EACCES EINVAL EPERM);
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../../tests/lib";
use File::Temp qw(tempdir);
use Test::More;
use Tipme::OwnLocale  qw(own_locale);
use Tipme::Programs   qw(programs);
use Tipme::TestDaemon qw(manifest);

plan skip_all => 'recording needs root (run it with sudo)' if $>;
my $preload = "$ENV{TIPME_BUILDDIR}/helper/test/.libs/refuse-program.so";
plan skip_all => "no $preload: make check builds it" if !-e $preload;

my $d = Tipme::TestDaemon->new(args => [ '--hotkey', 'none', '--post', 0 ]);
my ($whole) = started('nothing:1');
plan skip_all => 'no tracing programs here' if $whole->{source} ne 'kernel_bpf';
is_deeply [ refused($whole) ], [], 'nothing is refused: nothing is said';
my @able = able($whole);
cmp_ok @able, '>', 5, 'classes are able here';
$d->stop;

# Of a program that is there twice, for two kinds of kernel, one is loaded.
for my $case (
	[ 'tipme_signal_counted tipme_signal_plain', 'signal',          EACCES ],
	[ 'tipme_io_complete',                       'io',              EINVAL ],
	[ 'tipme_migrate_task',                      'migrate',         EPERM ],
	[ 'tipme_lock_end',                          'lock_contention', E2BIG ]
	)
{
	my ($programs, $class, $errno) = @$case;
	my ($s, @held) = started(join ' ', map {"$_:$errno"} split ' ', $programs);
	is_deeply [ able($s) ], [ grep { $_ ne $class } @able ],
		"$programs is refused: all classes but $class";
	my ($begin) = $programs =~ /^(tipme_[a-z]+_)/;
	is_deeply [ grep { index($_, $begin) == 0 } @held ], [], '... nothing of it is loaded';
	local $! = $errno;
	my $any = join '|', split ' ', $programs;
	my @why = refused($s);
	is @why, 1, '... one sentence says so';
	like $why[0],
		qr/^the kernel refuses the tracing program (?:$any) \(\Q$!\E\): class $class is left out; /,
		'... with program, class and why';
	$d->stop;
}

my ($two, @held) = started('tipme_softirq_entry:22 tipme_network_retransmit:13');
is_deeply [ sort map {/(tipme_\w+)/} refused($two) ],
	[qw(tipme_network_retransmit tipme_softirq_entry)],
	'two are refused: both are said';
is_deeply [ grep {/^tipme_(?:softirq|network)_/} @held ], [], '... and nothing of both is loaded';
like join('', ($d->run(Tipme::TestDaemon::tipme(), $_))[1]),
	qr/the kernel refuses the tracing program tipme_softirq_entry/, "tipme $_ says it"
	for qw(status doctor);
SKIP: {
	my $locales = own_locale(tempdir(CLEANUP => 1), 'de_DE.UTF-8')
		or skip 'no locale C.UTF-8 in a folder of its own here', 1;
	local @ENV{qw(LOCPATH LC_ALL LANGUAGE)} = ($locales, 'de_DE.UTF-8', '');
	like + ($d->run(Tipme::TestDaemon::tipme(), 'status'))[1],
		qr/Tracing-Programm tipme_softirq_entry/,
		'... in the user\'s language';
}
my ($path) = ($d->snap)[1] =~ m{\n(/.*)\n};
my $m = manifest($path);
is scalar(grep {/^the kernel refuses/} @{ $m->{recorder}{limits} }), 2, 'an episode has it, too';
my ($kernel) = grep { $_->{file} eq 'kernel.rec' } @{ $m->{sources} };
my $records = 0;
$records += $_->{records} for @{ $kernel->{coverage} };
cmp_ok $records, '>', 100, "... and records: $records";
$d->stop;

kernel_refusing('tipme_sched_switch:22');
$d->{args} = [ @{ $d->{args} }, '--source', 'kernel_bpf' ];
my ($rc, undef, $err) = $d->start;
is $rc, 1, 'one that a recorder needs is refused: none starts';
like $err, qr/refused to load tracing programs \(Invalid argument\)/, '... and it is said why';
done_testing;

# A recorder on a kernel that refuses these; its status, and the names of its programs.
sub started {
	my ($refuses) = @_;
	kernel_refusing($refuses);
	my ($rc, undef, $err) = $d->start;
	is $rc, 0, "start: $refuses" or BAIL_OUT("no recorder: $err");
	my %held = programs($d->pid);
	return ($d->status, map { $_->[2] } values %held);
}

sub kernel_refusing {
	my ($programs) = @_;
	$d->{prefix} = [ 'env', "LD_PRELOAD=$preload", "TIPME_TEST_REFUSES=$programs" ];
	return;
}

# Classes that it can record; what it cannot is neither on nor off.
sub able {
	my ($s) = @_;
	return grep { defined $s->{classes}{$_} } sort keys %{ $s->{classes} };
}

sub refused {
	return grep {/^the kernel refuses/} @{ $_[0]{limits} };
}
