# SPDX-License-Identifier: GPL-2.0-only
# Completion: each shell offers each verb, and the options that the verb's own --help has.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Test::More;
use Tipme::TestDaemon qw(slurp tipme);

my $d    = Tipme::TestDaemon->new;
my $made = "$ENV{TIPME_BUILDDIR}/helper/cli/completion";
my ($rc, $help) = $d->run(tipme(), '--help');
my @verbs = $help =~ /^  ([a-z]+) {2,}\S/mg;
cmp_ok scalar @verbs, '>', 15, 'verbs to complete';

# has(SHELL): whether that shell is here
sub has {
	my ($shell) = @_;
	return grep { -x "$_/$shell" } split /:/, $ENV{PATH};
}

# bash(WORD ...): what bash offers for the last of these words
sub bash {
	my (@words) = @_;
	my $script =
		  '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tipme; printf "%s\n" '
		. '"${COMPREPLY[@]}"';
	my ($status, $out, $err) = $d->run('bash', '-c', $script, "$made/tipme", @words);
	is "$status$err", 0, "bash: @words";
	return sort split /\n/, $out;
}

is_deeply [ grep { !/^-|^help$/ } bash(tipme(), '') ], [ sort @verbs ], '... offers each verb';
is_deeply [ bash(tipme(), 'sta') ],         [qw(start status)],         '... those that begin so';
is_deeply [ bash(tipme(), 'status', '-') ], [qw(--help --json)],        '... the options of a verb';
is_deeply [ bash(tipme(), 'help', 'sta') ], [qw(start status)],         '... verbs to be told of';
for my $verb (@verbs) {
	my (undef, $text) = $d->run(tipme(), $verb, '--help');
	$text =~ s/^examples:\n.*//ims;
	my %says = map { $_ => 1 } '--help', $text =~ /^ +(?:-\w, )?(--[a-z][a-z-]+)/mg,
		$text =~ /[[|] ?(--[a-z][a-z-]+)/g;
	my %offered = map { $_ => 1 } bash(tipme(), $verb, '--');
	is_deeply [ grep { !$offered{$_} } sort keys %says ], [], '... all that its help has';
}
mkdir $d->library;
is_deeply [ bash(tipme(), 'diagnose', '') ], ['last'], 'an episode: the last';

SKIP: {
	skip 'zsh is not installed', 3 if !has('zsh');
	my ($status, undef, $err) = $d->run('zsh', '-n', "$made/_tipme");
	is "$status$err", 0, 'zsh understands its file';
	# compadd and _describe belong to a line that is typed: here they print.
	my $script =
		  'compadd() { [ "$1" = -- ] && shift; print -l -- "$@" }; words=(tipme status -); '
		. 'CURRENT=3; . "$0"';
	my (undef, $out) = $d->run('zsh', '-fc', $script, "$made/_tipme");
	is_deeply [ sort split /\n/, $out ], [qw(--help --json)],
		'... and offers the options of a verb';
	$script =
		'_describe() { print -l -- "${(P)2[@]%%:*}" }; words=(tipme help ""); CURRENT=3; . "$0"';
	(undef, $out) = $d->run('zsh', '-fc', $script, "$made/_tipme");
	is_deeply [ sort split /\n/, $out ], [ sort @verbs ], '... and verbs to be told of';
}
SKIP: {
	skip 'fish is not installed', 3 if !has('fish');
	local $ENV{HOME} = $d->dir;
	my ($status, $out, $err) =
		$d->run('fish', '-c', "source '$made/tipme.fish'; complete -C 'tipme status --'");
	is "$status$err", 0, 'fish understands its file';
	is_deeply [ grep {/^--(?:json|help)$/} sort split /\n/, $out =~ s/\t.*//gmr ],
		[qw(--help --json)], '... and offers the options of a verb';
	(undef, $out) =
		$d->run('fish', '-c', "source '$made/tipme.fish'; complete -C 'tipme help sta'");
	is_deeply [ sort split /\n/, $out =~ s/\t.*//gmr ], [qw(start status)],
		'... and verbs to be told of';
}
done_testing;
