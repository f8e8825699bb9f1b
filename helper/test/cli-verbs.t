# SPDX-License-Identifier: GPL-2.0-only
# The command line without a recorder: help, usage, exit codes, words.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Test::More;
use Tipme::TestDaemon qw(slurp tipme tipmed);

my $d = Tipme::TestDaemon->new;
my ($rc, $help) = $d->run(tipme(), '--help');
is $rc, 0, '--help';
my @verbs = $help =~ /^  (\w+) {2,}\S/mg;
cmp_ok scalar @verbs, '>=', 11, "it lists the verbs: @verbs";
is + (grep { length > 79 } split /\n/, $help), 0, 'in lines below 80 columns';

my $man = slurp("$ENV{TIPME_SRCDIR}/helper/man/tipme.1");
like $man, qr/^\.B[R]? .*\b$_\b/m, "the manual page has $_" for @verbs;
for my $page (qw(tipme.1 tipmed.8)) {
	my $text = slurp("$ENV{TIPME_SRCDIR}/helper/man/$page");
	like $text, qr/^\.SH $_$/m, "$page has $_" for 'EXAMPLES', 'OVERHEAD', 'PRIVACY', 'EXIT STATUS';
}

for my $verb (qw(doctor start stop status snap)) {
SKIP: {
		skip 'tipmed is not built here (no kernel source)', 3 if $verb eq 'start' && !-x tipmed();
		my ($code, $out, $err) = $d->run(tipme(), $verb, '--help');
		is $code, 0, "$verb --help";
		my ($examples) = $out =~ /^Examples:\n(.*)\z/ms;
		is scalar(split /\n/, $examples // ''), 3,  'it ends with three examples';
		is $err,                                '', 'and says nothing else';
	}
}
SKIP: {
	skip 'tipmed is not built here (no kernel source)', 1 if !-x tipmed();
	my (undef, $out) = $d->run(tipme(), 'start', '--help');
	my $page = slurp("$ENV{TIPME_SRCDIR}/helper/man/tipmed.8");
	is_deeply [ grep { my $o = s/-/\\-/gr; index($page, $o) < 0 } $out =~ /^  (--[a-z-]+)/mg ],
		['--help'], 'tipmed.8 has every option that --help has';
}

# By groups, in the order in which they are needed; each verb once.
is_deeply [ $help =~ /^([A-Z][a-z]+)$/mg ], [qw(Everyday Investigate Share Measure)],
	'verbs by groups';
my %times;
$times{$_}++ for @verbs;
is_deeply [ grep { $times{$_} > 1 } @verbs ], [], '... each once';
is + ($d->run(tipme(), 'help'))[1], $help, 'help is --help';
is + ($d->run(tipme(), 'help', $_))[1], ($d->run(tipme(), $_, '--help'))[1],
	"help $_ is $_ --help" for qw(start status diagnose);
is + ($d->run(tipme(), 'help', 'statr'))[2],
	"tipme: no verb 'statr': did you mean 'start' or 'status'? See tipme help\n",
	'... of no verb: what was meant';
like $help, qr/^"Usually" is the median of other answers of the same program/m,
	'it says what "usually" means';
like $help, qr/^"Unusual" is one 100 ms later/m, '... and "unusual"';

# Slips of the finger, and verbs of other programs: [what was typed, what is offered].
for (
	[ 'statr',     q('start' or 'status') ],
	[ 'tsart',     q('start') ],
	[ 'snpa',      q('snap') ],
	[ 'diag',      q('diagnose') ],
	[ 'dignose',   q('diagnose') ],
	[ 'timelines', q('timeline') ],
	[ 'lst',       q('list') ],
	[ 'x',         undef ],
	[ 'hello',     undef ],
	[ 'record',    q('report') ],
	[ 'x' x 300,   undef ],
	)
{
	my ($typed, $offered) = @$_;
	my ($code, $out, $err) = $d->run(tipme(), $typed);
	is $code, 64, "tipme $typed: usage";
	my $hint = defined $offered ? "did you mean $offered? See tipme help" : 'see tipme help';
	is $err, "tipme: no verb '$typed': $hint\n", '... and what was meant';
}

for my $case (
	[], ['nonsense'], ['rm'], [ 'status', 'extra' ], [ 'stop', '--now' ],
	[ 'snap', 'words' ], [ 'snap', '-x' ], [ 'snap', '-m' ], [ 'doctor', '--yaml' ],
	[ 'snap', '-m', 'x' x 65001 ]
	)
{
	my ($code, $out, $err) = $d->run(tipme(), @$case);
	my $name = substr "tipme @$case", 0, 40;
	is $code, 64, "$name: usage";
	is $out,  '', 'nothing on stdout';
	like $err, @$case ? qr/\Atipme: [^\n]+\n\z/ : qr/^usage: tipme/, 'a word on stderr';
}
like + ($d->run(tipme(), 'status', '--json', 'extra'))[2],
	qr/^tipme: status: extra: not understood/, 'the word that is too much is named';
for my $verb (qw(stop status snap)) {
	my ($code, $out, $err) = $d->run(tipme(), $verb);
	is $code, 1, "$verb without a recorder: 1";
	like $err, qr/\Atipme: $verb: no recorder runs here: start it with sudo tipme start\n\z/,
		'and what to do';
}
is_deeply [ ($d->run(tipme(), 'status', '--json'))[ 0, 1 ] ], [ 1, "{\"recording\": false}\n" ],
	'status --json without a recorder is JSON';

# A program that is not there.
my ($gone, undef, $why) = $d->run(
	'env', 'TIPME_SRCDIR=/nowhere', 'TIPME_BUILDDIR=/nowhere',
	"$ENV{TIPME_BUILDDIR}/helper/cli/tipme", 'list'
);
is $gone, 1, 'a verb whose program is missing';
like $why, qr{\Atipme: list: /nowhere/\S+: No such file or directory: install}, 'is named';
done_testing;
