#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# What configure lets one leave out can be left out, another compiler takes the sources as well, and
# a static analyser has nothing to say. Each is a build of its own in a folder of its own, without
# warnings, two at a time: with TIPME_TEST_ALL=1 alone. In CI tests/partial.t builds what differs
# without the parts, and tests/install.t all of it with clang.
use strict;
use warnings;
use File::Temp qw(tempdir);
use FindBin    qw($Bin);
use POSIX      ();
use Test::More;

my $src = $ENV{TIPME_SRCDIR} // "$Bin/..";
plan skip_all => 'builds the tree six times: with TIPME_TEST_ALL=1 alone' if !$ENV{TIPME_TEST_ALL};
plan skip_all => 'there is no configure here'                             if !-x "$src/configure";
# The build that is tested says what can be built here at all.
my $log = do {
	local $/ = undef;
	open my $h, '<', ($ENV{TIPME_BUILDDIR} // '.') . '/config.log'
		or plan skip_all => 'there is no build here';
	<$h>;
};
my %can = map { $_ => $log =~ /^BUILD_\U$_\E_TRUE=''$/m ? 1 : 0 } qw(recorder bpf xorg postmortem);
plan skip_all => 'the recorder is not built here' if !$can{recorder};
my $has_clang = grep { -x "$_/clang" } split /:/, $ENV{PATH};
# ccache, where it is, must not say that a compiler was content that was never asked.
local $ENV{CCACHE_DISABLE} = 1;

my $tmp    = tempdir(CLEANUP => 1);
my @builds = (
	[ 'without BPF and without Xorg', bpf        => 'no', xorg => 'no' ],
	[ 'with clang',                   cc         => 'clang' ],
	[ 'without BPF',                  bpf        => 'no' ],
	[ 'without Xorg',                 xorg       => 'no' ],
	[ 'without the post-mortem',      postmortem => 'no' ],
	[ 'with the analyser of clang',   cc         => analyser() ]
);
my $n = 0;
# Looked at, and on no path that the program can take, or of no matter since the program ends there.
my %LOOKED_AT = (
	'helper/daemon/processes/identity.c' =>
		'Use of memory after it is freed', # a list that forgets its first element until it is empty
	'abi/episode/events.c' => 'Use of memory after it is freed'
	,    # a heap whose freed cursor is written over before it is compared
	'helper/measure/intervals.c' => 'Access to field',    # only of lists that are not empty
	'xserver-hooks/src/damage.c' => 'Access to field',    # nothing is drawn for nobody
	'bench/cold-wake.c'          => 'Potential leak',
	'helper/workload/witness.c'  => 'Potential leak'
);
my @left = @builds;
while (my @some = splice @left, 0, 2) {
	judge($_) for map { [ $_, start($_) ] } @some;
}
done_testing;

# Builds in the background, with as little work for the compiler as there can be.
sub start {
	my ($build) = @_;
	my ($what, %o) = @$build;
	return if $o{cc} && !$has_clang;
	my $dir = "$tmp/" . ++$n;
	mkdir $dir or die "$dir: $!\n";
	my @configure = (
		'--enable-Werror', '--enable-recorder=yes',
		(map { "--enable-$_=" . ($o{$_} // ($can{$_} ? 'yes' : 'no')) } qw(bpf xorg postmortem)),
		($o{cc} ? "CC=$o{cc}" : ()), 'CFLAGS=' . ($o{cflags} // '-O0')
	);
	my $pid = fork // die "fork: $!\n";
	if (!$pid) {
		delete @ENV{qw(MAKEFLAGS MFLAGS MAKELEVEL)};
		chdir $dir or POSIX::_exit(99);
		open STDOUT, '>',  "$dir/said" or POSIX::_exit(99);
		open STDERR, '>&', \*STDOUT    or POSIX::_exit(99);
		POSIX::nice(19);    # other tests run beside it, and are to get the CPUs first
		system("$src/configure", @configure) == 0 && system('make', '-k') == 0 or POSIX::_exit(1);
		POSIX::_exit(0);
	}
	return { pid => $pid, dir => $dir };
}

# The compiler, and then the analyser on the same words. One checker is left out: it forbids vfork,
# which a test is about.
sub analyser {
	my $program = "$tmp/analyse";
	open my $out, '>', $program or die "$!\n";
	print {$out} <<'END';
#!/bin/sh
clang "$@" || exit
case " $* " in
*" -c "*) clang "$@" -Wno-unused-command-line-argument --analyze -Xclang -analyzer-output=text -Xclang -analyzer-disable-checker=security.insecureAPI.vfork -o /dev/null ;;
esac
END
	close $out or die "$!\n";
	chmod 0755, $program;
	return $program;
}

sub judge {
	my ($job) = @_;
	my ($build, $run) = @$job;
	my $what = $build->[0];
SKIP: {
		skip "$what: clang is not installed", 1 if !$run;
		waitpid $run->{pid}, 0;
		my $status = $?;
		open my $h, '<', "$run->{dir}/said" or die "$!\n";
		my @said = <$h>;
		is($status, 0, "it builds $what") or diag(map { /error|undefined|\*\*\*/ ? $_ : () } @said);
		# What bpftool generates is not ours; nor are those of %LOOKED_AT faults.
		my @found = grep {
			my $line = $_;
			/ warning: / && !/\.skel\.h:/ && !grep { $line =~ /\Q$_\E:\d.*\Q$LOOKED_AT{$_}\E/ }
				keys %LOOKED_AT
		} @said;
		is(join('', @found), '', '... and nothing is found') if $what =~ /analyser/;
	}
	system 'rm', '-rf', $run->{dir} if $run;
	return;
}
