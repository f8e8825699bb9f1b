# SPDX-License-Identifier: GPL-2.0-only
# Many records as columns: the program tipme-columns makes them, a hundred times as fast as Perl does and in a tenth of the memory.
package Tipme::Columns;

use strict;
use warnings;
use Fcntl qw(F_SETFD);
use FindBin ();
use POSIX ();
use Tipme::Progress;

# Those of 32 bits stand in the order of their fields in a record.
my @COLUMNS = ([ ts => 8 ], [ type => 1 ], [ cpu => 2 ], map { [ $_ => 4 ] } qw(tid a b c d sec nr));

# program(): where it is; undef: nowhere, as in a tree that was not built
sub program {
	my ($found) = grep { -x } (length($ENV{TIPME_BUILDDIR} // '') ? "$ENV{TIPME_BUILDDIR}/postmortem/tipme-columns" : ()), "$FindBin::RealBin/tipme-columns";
	return $found;
}

# fill(KERNEL EVENTS, \SECTIONS): columns and lists of all records of these sections up to {to}. 0: it could not; then nothing has changed.
sub fill {
	my ($ev, $sections) = @_;
	my $program = program();
	return 0 if !defined $program || $ev->{to} < 0;
	local ($SIG{PIPE}, $?) = ('IGNORE', 0);
	my ($pid, $in, $out) = _start($program, $ev, $sections) or return 0;
	my $new = eval { _talk($ev, $sections, $in, $out) };
	my $why = $@;
	close $in;
	close $out;
	waitpid $pid, 0;
	# What is wrong with the episode's files is for the caller to say.
	die $why if !$new && $why !~ /\Ashort\n/;
	return 0 if !$new || $?;
	@$ev{ keys %$new } = values %$new;
	$ev->{sections} = [@$sections];
	return 1;
}

# It reads the files that are open here: what was looked at is what it gets.
sub _start {
	my ($program, $ev, $sections) = @_;
	pipe(my $from_us, my $in) && pipe(my $out, my $to_us) or return;
	my $pid = fork // return;
	if (!$pid) {
		my %files = map { $_->{file} => 1 } @$sections;
		fcntl $ev->{ep}->handle($_), F_SETFD, 0 for keys %files;
		POSIX::dup2(fileno $from_us, 0);
		POSIX::dup2(fileno $to_us, 1);
		{ no warnings 'exec'; exec {$program} $program, sprintf '%d', $ev->{to} }
		POSIX::_exit(127);
	}
	binmode $_ for $in, $out;
	return ($pid, $in, $out);
}

sub _talk {
	my ($ev, $sections, $in, $out) = @_;
	_put($in, pack('V', scalar @$sections) . join '', map { pack 'V Q< V V', fileno($ev->{ep}->handle($_->{file})), $_->{offset}, $_->{body_len}, $_->{cpu} } @$sections);
	for my $k (0 .. $#$sections) {
		next if _get($out, 1) eq "\0";
		my $plain = $ev->normal($sections->[$k]);
		_put($in, pack('V', length $plain) . $plain);
	}
	Tipme::Progress::show('reading records', 1, 2);
	my $n = unpack 'V', _get($out, 4);
	my %new = map { $_->[0] => _get($out, $n * $_->[1]) } @COLUMNS;
	$new{$_} = _groups($out) for qw(by_tid by_cpu by_kind);
	return \%new;
}

sub _groups {
	my ($out) = @_;
	my $keys = unpack 'N', _get($out, 4);
	my @n = unpack 'N*', _get($out, 8 * $keys);
	my ($all, $at, %groups) = (0, 0);
	$all += $n[ 2 * $_ + 1 ] for 0 .. $keys - 1;
	my $lists = _get($out, 4 * $all);
	while (my ($key, $n) = splice @n, 0, 2) { $groups{$key} = substr $lists, $at, 4 * $n; $at += 4 * $n }
	return \%groups;
}

sub _put {
	my ($h, $bytes) = @_;
	for (my $at = 0; $at < length $bytes;) { $at += syswrite($h, $bytes, length($bytes) - $at, $at) // die "short\n" }
	return;
}

sub _get {
	my ($h, $n) = @_;
	my $got = '';
	while (length $got < $n) { sysread($h, $got, $n - length $got, length $got) || die "short\n" }
	return $got;
}

1;
