# SPDX-License-Identifier: GPL-2.0-only
# Which function a process computed in, also of one that has ended, of one whose file has no symbols
# or has been replaced, in a storm of processes: build-ids as readelf has them, addresses as nm has
# them.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use File::Copy qw(cp);
use File::Temp qw(tempdir);
use Test::More;
use Time::HiRes       qw(sleep);
use Tipme::TestDaemon qw(records_of slurp);

plan skip_all => 'recording needs root (run it with sudo)' if $>;
for my $program (qw(nm readelf strip)) {
	plan skip_all => "$program is not installed (Debian: binutils)"
		if system("command -v $program >/dev/null");
}
my $built = "$ENV{TIPME_BUILDDIR}/helper/test/busy-functions";
my $dir   = tempdir(CLEANUP => 1);
chmod 0755, $dir;
for my $name (qw(whole bare gone upgraded rebuilt called)) {
	cp($built, "$dir/$name") or BAIL_OUT("$name: $!");
	chmod 0755, "$dir/$name";
}
system('strip', '--strip-all', "$dir/bare") == 0 or BAIL_OUT('strip');
my %function =
	map { /^(\w+) (\w+) [tT] (\w+)$/ ? ($3 => [ hex $1, hex $2 ]) : () } qx{nm -S "$built"};
my ($build_id) = qx{readelf -n "$built"} =~ /Build ID: (\w+)/
	or BAIL_OUT('the compiler gives programs no build-id');

my $d = Tipme::TestDaemon->new(args => [ '--post', 0, '--window', 60 ]);
my ($rc, undef, $err) = $d->start;
is $rc, 0, 'start' or BAIL_OUT("no recorder: $err");
if ($d->status->{source} eq 'proc_sampled') {
	$d->stop;
	plan skip_all => 'no tracing programs here';
}
cp($built, "$dir/calling") or BAIL_OUT("calling: $!");
chmod 0755, "$dir/calling";
# More new processes each second than get a look.
my $storm = run_program("$ENV{TIPME_BUILDDIR}/helper/test/process-storm", 6, 'exec');
my %pid   = map { $_ => run($_) } qw(whole bare gone upgraded rebuilt called);
waitpid $_, 0 for @pid{qw(gone upgraded rebuilt called)}, $storm;
# Another file is there now, as after an upgrade or a compilation: of another size; of the same
# size, with other names.
replace('upgraded', slurp("$ENV{TIPME_BUILDDIR}/helper/test/process-storm"));
replace('rebuilt',  slurp($built) =~ s/innermost/INNERMOST/gr);
my ($path) = ($d->snap)[1] =~ m{\n(/.*)\n};
my (undef, @kernel)  = records_of("$path/kernel.rec");
my (undef, @threads) = records_of("$path/threads.rec");
$d->stop;
kill KILL => @pid{qw(whole bare)};
waitpid $_, 0 for @pid{qw(whole bare)};

my %text   = map { /^user_stack .*stack_id=(\d+) .*?text=(.*)/ ? ($1 => $2) : () } @threads;
my %module = map {
	/^module .*module_id=(\d+) .*build_id=(\w*) path=(.*)/
		? ($1 => { build_id => $2, path => $3 })
		: ()
} @threads;
for my $name (qw(whole bare gone upgraded rebuilt)) {
	my $is_there = $name !~ /^(?:upgraded|rebuilt)$/;
	my @stacks   = stacks_of($name);
	cmp_ok scalar @stacks, '>', 20, "$name: it was sampled";
	my @mine = computing(@stacks);
	cmp_ok scalar @mine, '>=', 0.9 * @stacks,
		'... in the function that computes, called by its caller, called by main, where nm has '
		. 'them: '
		. @mine . ' of '
		. @stacks
		or diag join "\n", @stacks[ 0 .. 2 ];
	is scalar(grep { $_->[0]{function} eq 'innermost' } @mine),
		$name eq 'bare' || !$is_there ? 0 : scalar @mine,
		 !$is_there                   ? '... by address, for its file is there no more'
		: $name eq 'bare'             ? '... by address, for its file has no symbols'
		:                               '... by name';
	my ($id) = map { $_->[0]{module} } @mine;
	is_deeply $module{ $id // 0 },
		{
		build_id => $is_there ? $build_id : '',
		path     => "$dir/$name" . ($is_there ? '' : ' (deleted)')
		},
		$is_there
		? '... of the file that it ran, with the build-id that readelf shows'
		: '... and no build-id is told for the file that it ran';
}
# One process, two programs, one after the other: each stack is named by what was mapped then.
my @stacks = stacks_of('called');
my %ran;
$ran{ ($module{ $_->[0]{module} } // { path => '?' })->{path} }++ for computing(@stacks);
cmp_ok $ran{"$dir/$_"} // 0, '>', 20, "$_: computed in its own function so often"
	for qw(calling called);
is_deeply [ sort keys %ran ], [ map {"$dir/$_"} qw(called calling) ],
	'no stack of one is named as the other\'s, or as nobody\'s';
cmp_ok $ran{"$dir/calling"} + $ran{"$dir/called"}, '>=', 0.8 * @stacks,
	'... of ' . @stacks . ', the dynamic linker among them';
done_testing;

sub stacks_of {
	my ($name) = @_;
	return map {
		/^sample .*\btid=$pid{$name} .*user_stack_id=([1-9]\d*)/
			? $text{$1} // 'a stack that is not in the episode'
			: ()
	} @kernel;
}

# Those that are in the function that computes, as their frames.
sub computing {
	my @frames = map {
		[
			map {
				/^(\w*)\+0x([0-9a-f]+)(?: ?\[(\d+)\])?$/
					? { function => $1, offset => hex $2, module => $3 // 0 }
					: { function => $_, offset => 0, module => 0 }
			} split /;/
		]
	} @_;
	return
		grep { is_in($_->[0], 'innermost') && is_in($_->[1], 'caller') && is_in($_->[2], 'main') }
		@frames;
}

# As package managers and linkers do: beside, then in its place.
sub replace {
	my ($name, $bytes) = @_;
	open my $h, '>:raw', "$dir/new" or BAIL_OUT("$dir/new: $!");
	print {$h} $bytes;
	close $h or BAIL_OUT("$dir/new: $!");
	rename "$dir/new", "$dir/$name" or BAIL_OUT("$dir/$name: $!");
	return;
}

sub run {
	my ($name) = @_;
	return run_program("$dir/calling", 2, "$dir/$name", 2) if $name eq 'called';
	return run_program("$dir/$name", $name =~ /^(?:whole|bare)$/ ? 60 : 2);
}

sub run_program {
	my @command = @_;
	my $pid     = fork // die "fork: $!";
	return $pid if $pid;
	open STDOUT, '>', '/dev/null';
	exec @command;
}

# Does this frame lie in the function, as nm has it? A caller's frame is where it goes on.
sub is_in {
	my ($frame, $name) = @_;
	my ($begin, $size) = @{ $function{$name} // [ 0, 0 ] };
	return 0 if !$frame;
	return $frame->{function} eq $name && $frame->{offset} <= $size if $frame->{function} ne '';
	return $frame->{offset} >= $begin && $frame->{offset} <= $begin + $size;
}
