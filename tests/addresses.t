# SPDX-License-Identifier: GPL-2.0-only
# Where the kernel lies is told to nobody: every file of an episode, of its bundles and of its
# exports, and all that is printed as JSON, is searched for the addresses that /proc/kallsyms has,
# whole and halved, and for anything that is a kernel pointer.
use strict;
use warnings;
no warnings 'portable';    # numbers of 64 bits
use FindBin;
use lib "$FindBin::Bin/../helper/test/lib";
use Archive::Tar ();
use POSIX        ();
use Test::More;
use Time::HiRes       qw(sleep);
use Tipme::TestDaemon qw(records_of slurp tipme wait_until);

# Of x86-64, as all of tipme.
my ($CLONE, $CLONE_VFORK, $SIGCHLD) = (56, 0x4000, 17);

plan skip_all => 'recording needs root (run it with sudo)' if $>;

# What lies in the kernel's text: the whole address, and its low half.
my (%whole, %half, %name);
for (split /\n/, slurp('/proc/kallsyms')) {
	my ($address, $type, $symbol) = /^([0-9a-f]{16}) (\w) (\S+)/ or next;
	next if $address !~ /^ffff/ || $type !~ /[tTwW]/;
	my $n = hex $address;
	$name{$n} //= $symbol;
	$whole{$n} = 1;
	$half{ $n & 0xffffffff } = 1 if $n >> 32 == 0xffffffff;
}
plan skip_all => 'the kernel hides its addresses from us (kernel.kptr_restrict=2)' if !%half;

# The search itself finds what it is meant to find.
my ($some) = sort { $a <=> $b } grep { $_ >> 32 == 0xffffffff } keys %whole;
my ($low)  = sort { $a <=> $b } keys %half;
is_deeply [
	map { scalar found_in_text($_) } "at $some", sprintf('at 0x%x', $some),
	sprintf('at %X;', $some), 'at 18446620000000000001', 'at 1844662 and ffff'
	],
	[ 1, 1, 1, 1, 0 ], 'an address is found in a text';
is_deeply [
	map { scalar found_in_bytes($_) } 'x' . pack('Q<', $some), 'ab' . varint($some),
	pack('Q<', 0xffff_ffff_ffff_ffff) . 'ab'
	],
	[ 1, 1, 0 ], '... in bytes';
is_deeply [
	map { scalar found_in_words($_) } pack('Q< Q<', 0, 0xffff888012345678),
	pack('L< L<', 4711, 0xffffffff)
	],
	[ 1, 0 ], '... in words';
is_deeply [
	map { scalar found_in_record($_) } "work_start ts_ns=1 tid=2 work=3 function=$low",
	'lock_contention ts_ns=1 lock=18446620000000000001', "irq duration_ns=$low number=4"
	],
	[ 1, 1, 0 ], '... in a record';

my $d = Tipme::TestDaemon->new(
	args => [ '--post', 0, '--window', 60, '--classes', '+lock_contention,+sample' ]);
my ($rc, undef, $err) = $d->start;
is $rc, 0, 'start' or BAIL_OUT("no recorder: $err");
if ($d->status->{source} eq 'proc_sampled') {
	$d->stop;
	plan skip_all => 'no tracing programs here';
}
my $path   = episode();
my $status = slurp_of(tipme(), 'status', '--json');
$d->stop;

my @kernel  = records('kernel.rec');
my @threads = records('threads.rec');
for (
	[ work => 'work', @kernel ], [ function => 'function', @kernel ], [ lock => 'lock', @kernel ],
	[ 'kernel stack' => '(?:kernel_)?stack_id', grep { !/^(?:user_)?stack / } @kernel, @threads ]
	)
{
	my ($what, $field, @in) = @$_;
	my (%seen, @first);
	for (@in) { push @first, $1 if / $field=([1-9]\d*)/ && !$seen{$1}++ }
	cmp_ok scalar @first, '>', 0, "$what: there are some: " . @first;
	is_deeply \@first, [ 1 .. @first ],
		'... each has the number of its place among those that came for the first time, which '
		. 'tells nothing else';
}
my @names = map { /^function .*function=(\d+) .*name=(\S+)/ ? [ $1, $2 ] : () } @threads;
is_deeply [ map { $_->[0] } @names ], [ 1 .. @names ],
	'the table of functions is in that order, too';
cmp_ok scalar(grep { $_->[1] =~ /^\w{4}/ } @names), '>=', 0.9 * @names, '... and has their names';
for my $kind (qw(stack user_stack)) {
	my @ids = map { /^$kind .*stack_id=(\d+)/ ? $1 : () } @threads;
	is_deeply \@ids, [ sort { $a <=> $b } @ids ],
		"so are ${kind}s: the order of the recorder's table would tell their addresses";
}

clean("kernel.rec, threads.rec: record by record", map { found_in_record($_) } @kernel, @threads);
for my $file (sort glob "$path/*") {
	my $bytes = slurp($file);
	clean(
		$file =~ s{.*/}{}r,
		$file =~ /[.]rec$/
		? (found_in_bytes($bytes), found_in_words($bytes))
		: found_in_text($bytes)
	);
}
for my $all ([], ['--all']) {
	my $file = $d->dir . '/' . @$all . '.tipme';
	($rc, undef, $err) = $d->run(tipme(), 'bundle', '--yes', @$all, $path, '-o', $file);
	# What was recorded is different each time: it may be told by all of it alone.
	if ($rc && !@$all && $err =~ /^tipme: bundle: no part of this episode/) {
		pass 'bundle: nothing is written without --all';
		next;
	}
	is $rc, 0, "bundle @$all" or diag $err;
	my $tar = Archive::Tar->new($file) or BAIL_OUT("$file: no archive: $err");
	for my $name ($tar->list_files) {
		my $bytes = $tar->get_content($name) // '';
		my $rec   = $d->dir . '/bundled.rec';
		if ($name !~ /[.]rec$/) { clean("bundle @$all: $name", found_in_text($bytes)); next }
		open my $out, '>:raw', $rec or die "$rec: $!\n";
		print {$out} $bytes;
		close $out or die "$rec: $!\n";
		clean(
			"bundle @$all: $name", found_in_bytes($bytes), found_in_words($bytes),
			map { found_in_record($_) } (records_of($rec))[ 1 .. (records_of($rec)) - 1 ]
		);
	}
}
for my $format (qw(perfetto chrome ftrace text)) {
	my $file = $d->dir . "/export.$format";
	($rc, undef, $err) = $d->run(tipme(), 'export', $path, '--format', $format, '-o', $file);
	is $rc, 0, "export --format $format" or diag $err;
	my $bytes = slurp($file);
	clean("export $format", $format eq 'perfetto' ? found_in_bytes($bytes) : found_in_text($bytes));
}
clean('status --json', found_in_text($status));
for my $verb (qw(diagnose events show)) {
	clean("$verb --json", found_in_text(slurp_of(tipme(), $verb, $path, '--json')));
}
clean('list --json', found_in_text(slurp_of(tipme(), 'list', '--json')));

done_testing;

# Work for kernel workers, sleeps, waits for a lock of the kernel, and a process that computes.
sub episode {
	my $folder = $d->dir . '/many';
	mkdir $folder;
	my @busy = map {
		my $n   = $_;
		my $pid = fork // die;
		if (!$pid) { rename_much("$folder/$n", 3) }
		$pid
	} 1 .. 4;
	my $writer = fork // die;
	if (!$writer) {
		exec 'sh', '-c',
			"dd if=/dev/zero of=$folder/data bs=64k count=64 conv=fsync 2>/dev/null; sync; sleep "
			. "0.1";
	}
	# A thread that stands still for longer than all others: what a bundle is cut to.
	syscall($CLONE, $CLONE_VFORK | $SIGCHLD, 0, 0, 0, 0) == 0 and still(0.5);
	waitpid $_, 0 for @busy, $writer;
	sleep 0.2;
	return ($d->snap('-m', 'addresses'))[1] =~ m{\n(/.*)\n} ? $1 : BAIL_OUT('no episode');
}

# A child for which its parent waits in the kernel, as vfork() has it.
sub still { my ($seconds) = @_; sleep $seconds; POSIX::_exit(0) }

# All in one folder: its lock is contended.
sub rename_much {
	my ($file, $seconds) = @_;
	my $end = Time::HiRes::time() + $seconds;
	open my $out, '>', $file or exit 1;
	for (my $i = 0; Time::HiRes::time() < $end; $i++) {
		rename $file . ($i ? $i - 1 : ''), "$file$i";
	}
	POSIX::_exit(0);
}

sub records { my ($name) = @_; my (undef, @r) = records_of("$path/$name"); return @r }
sub slurp_of { my (undef, $out) = $d->run(@_); return $out }

sub clean {
	my ($what, @found) = @_;
	is scalar(@found), 0, "$what: no address of the kernel" or diag join "\n", splice @found, 0, 3;
}

# Numbers of 64 bits in whatever form, that are kernel pointers: the upper half of the addresses,
# but for the last pages, where there is nothing but -1 and errors.
sub is_pointer { my ($n) = @_; return $n >= 0xffff800000000000 && $n < 0xffffffffff600000 }

sub found_in_text {
	my ($text) = @_;
	my @found;
	for ($text) {
		while (/(?<![0-9a-f])(?:0x)?(ffff[89a-f][0-9a-f]{11})(?![0-9a-f])/gi) {
			push @found, "hexadecimal $1" if is_pointer(hex $1);
		}
		while (/(?<!\d)(1844\d{16})(?!\d)/g) { push @found, "decimal $1" if is_pointer($1) }
	}
	return @found;
}

# Any eight bytes that are one of the kernel's functions, wherever they begin; and functions as
# protocol buffers have numbers.
sub found_in_bytes {
	my ($bytes) = @_;
	my @found;
	while ($bytes =~ /(?=(....)\xff\xff\xff\xff)/gs) {
		my $n = 0xffffffff << 32 | unpack 'L<', $1;
		push @found, sprintf('at byte %d 0x%x, %s', pos $bytes, $n, $name{$n}) if $whole{$n};
	}
	while ($bytes =~ /([\x80-\xff]{9}\x01)/g) {
		my ($n, $shift) = (0, 0);
		for (unpack 'C*', $1) { $n |= ($_ & 0x7f) << $shift; $shift += 7 }
		push @found, sprintf 'number 0x%x', $n if $whole{$n};
	}
	return @found;
}

# Words of records that are any pointer: of two fields in one word, the second is never so large.
sub found_in_words {
	my ($bytes) = @_;
	my @found;
	for (my $at = 0; $at + 8 <= length $bytes; $at += 8) {
		my ($lo, $hi) = unpack 'L< L<', substr $bytes, $at, 8;
		next if $hi < 0xffff8000 || $hi == 0xffffffff;
		push @found, sprintf 'at byte %d 0x%08x%08x', $at, $hi, $lo;
	}
	return @found;
}

sub varint {
	my ($n) = @_;
	my $bytes = '';
	for (; $n > 0x7f; $n = ($n >> 7) & 0x01ffffffffffffff) { $bytes .= chr($n & 0x7f | 0x80) }
	return $bytes . chr $n;
}

# Field by field: none is a pointer or a function's address; none of those that are no times and
# lengths is half of one.
sub found_in_record {
	my ($line)   = @_;
	my ($fields) = split / (?:text|name|path|comm)=/, $line, 2;
	my @found;
	while ($fields =~ / (\w+)=(\d+)(?![\w.])/g) {
		push @found, $line
			if is_pointer($2) || $half{$2} && $1 !~ /(?:_(?:ns|us|ms)|khz|_kib|bytes|sector)\z/;
	}
	return @found;
}
