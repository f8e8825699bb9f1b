# SPDX-License-Identifier: GPL-2.0-only
# Sentences that are written in English first, since who writes them knows no user: the recorder's,
# of what it cannot do here, and the readers', of damaged files. They are said in the user's
# language where they are shown. helper/lib/words.h has them, too (helper/lib/gen-words).
package Tipme::Told;

use strict;
use warnings;
use Exporter     qw(import);
use Tipme::Words qw(N__ fill is_translated);

our @EXPORT_OK = qw(told sentences);

# A {n} is a number, also with another letter or letters from n to s; {why} is told in turn. Any
# other name stands for any text. The first that fits is it.
my @TOLD = (
	# The readers'.
	N__('{file}: is missing'),
	N__('{file}: is missing, or no plain file'),
	N__('{file}: was cut: {n} bytes, not even its header of {p}'),
	N__('{file}: was cut: {n} of {p} bytes are there'),
	N__('{file}: has {n} bytes behind its end, not read'),
	N__('{file}: section {n} at byte {p}: {why}: the rest of the file is not read'),
	N__(
		'{file}: record {n} of the section at byte {p}, at byte {q}: {why}: the rest of the section is not read'
	),
	N__('record of type {n} where a section belongs'),
	N__('length {n}'),
	N__('too many sections'),
	N__('{n} bytes long'),
	N__('{n} records in {p} bytes'),
	N__('{n} of {p} bytes are there'),
	N__('impossible: length {n}'),
	N__('cut: {n} bytes left, {p} wanted'),
	N__('cut'),
	N__('{folder}: no such folder: `tipme list` shows the episodes'),
	N__('{folder}: not an episode (not a folder): `tipme list` shows the episodes'),
	N__('{folder}: not an episode (no manifest.json): `tipme list` shows the episodes'),
	N__(
		'{folder}: you may not read it: it belongs to another user: ask for a file that `tipme bundle` writes'
	),
	N__('{folder}: was removed meanwhile: `tipme list` shows the episodes'),
	N__('{file}: is a link: an episode holds plain files only'),
	N__('{file}: is no plain file: an episode holds plain files only'),
	N__('{file}: {n} bytes, more than {p}: not an episode of tipme'),
	N__('{file}: {n} bytes: more than this program reads'),
	N__('{file}: not a record file of tipme'),
	N__(
		'{file}: byte order {order}: written on a machine of another byte order, which this program does not read'
	),
	N__(
		'{file}: format {format}: this program reads format {n}: use the tipme that wrote it, or a later one'
	),
	N__('{file}: header of {n} bytes: the file is damaged'),
	N__('{file}: cannot be read at byte {n}: {why}'),
	N__('{file}: cannot be read at byte {n}'),
	N__('{file}: cannot be read: {why}'),
	N__('{file}: is missing: is the episode whole?'),
	N__('{file}: {why}: is the episode whole?'),
	N__('{file}: not JSON: {why}'),
	N__('{file}: {why}: not a manifest of tipme'),
	N__('{why}: ask its sender for the file that `tipme bundle` wrote'),
	N__('{file}: {why}: name a file that `tipme bundle` wrote'),
	N__('{file}: no manifest.json in it: not a bundle of tipme'),
	N__('{file}: at byte {n}: not a tar file: not a bundle of tipme'),
	N__('{file}: {why}: not a bundle of tipme'),
	# The recorder's.
	N__(
		'in a PID namespace: process ids in the kernel\'s records are those of the machine, so X servers and names cannot be matched: run it on the machine itself, or with --source proc_sampled'
	),
	N__('in a PID namespace: only the processes in it are seen: who else had a CPU is not known'),
	N__(
		'the processes of others are hidden (/proc is mounted with hidepid): who else had a CPU is not known'
	),
	N__(
		'Wayland compositors that use {library} are not recorded: {why}: which of their keys was slow is not known'
	),
	N__('a better source was refused: {why}'),
	N__(
		'the kernel refuses the tracing program {program} ({why}): class {class} is left out; TIPME_LIBBPF_DEBUG=1 shows its reasons'
	),
	N__(
		'the kernel refuses the tracing program {program} ({why}): what belongs to it is left out; TIPME_LIBBPF_DEBUG=1 shows its reasons'
	),
	N__(
		'sampled: threads are looked at each 20 ms; how long they ran and waited for a CPU is exact, when is known to 20 ms, and who woke them is not known'
	),
	N__('fewer seconds are kept than asked for: the ring got no more memory ({why})'),
	N__('no hot-key on the keyboards themselves: {why}'),
	N__(
		'{n} input devices may not be read: no hot-key on them but by the X server or the agent (group input may)'
	),
	N__(
		'no key of the layout in /etc/default/keyboard bears the symbol of {chord}: choose another with --hotkey'
	),
	N__('no filter of system calls ({why}): it may ask the kernel for more than it needs'),
	N__('built without libseccomp'),
	N__('seccomp(2) is refused, by the kernel or by who started it'),
	N__('no process that reads programs ({why}): functions of programs have no names'),
	N__(
		'no process that opens events later ({why}): classes sample and memory_wait cannot be switched on again'
	),
	N__(
		'no counters ({why}): no samples, and class memory_wait without page faults that read: start it as root, or with sysctl kernel.perf_event_paranoid=2 where nothing else forbids them'
	),
	N__('no counters ({why}): no samples, and class memory_wait without page faults that read'),
	N__(
		'no counters ({why}): no samples: start it as root, or with sysctl kernel.perf_event_paranoid=2 where nothing else forbids them'
	),
	N__('no counters ({why}): no samples'),
	N__('no counters ({why}): class memory_wait without page faults that read'),
	N__(
		'no samples any more of a CPU that was switched off, as they are when the machine sleeps ({why}): start the recorder again; with sysctl kernel.perf_event_paranoid=2 it may go on'
	),
	N__(
		'no samples and page faults any more of a CPU that was switched off, as they are when the machine sleeps ({why}): start the recorder again; with sysctl kernel.perf_event_paranoid=2 it may go on'
	),
	N__('more than 4096 files with code are in use at one time: functions of the others show as ?'),
	N__('stays user 0 ({why}): it may still do with root\'s files what root may'),
	N__('the user is not in this user namespace'),
	N__('no CAP_SETUID and CAP_SETGID'),
	N__('no CAP_BPF: the kernel source cannot be loaded'),
	N__('no CAP_PERFMON: the kernel source cannot be attached'),
	N__('no CAP_SYSLOG: kernel functions may have no names'),
	N__('no CAP_IPC_LOCK: the recorder may be swapped out under the load that it records'),
	N__('no CAP_SYS_NICE: the trigger thread is not real-time: under load the copy may come late'),
	N__(
		'not locked in memory ({why}): the recorder may be swapped out under the load that it records'
	),
	N__(
		'oom_score_adj stays at {n} ({why}): when memory runs out, the OOM killer may end the recorder'
	),
	N__('no better priority ({why}): under load, saving takes long'),
	N__('no better priority for our session ({why}): under load, saving takes long'),
	N__(
		'the trigger thread cannot be real-time (its cgroup has no real-time run time): under load the copy may come late'
	),
	N__(
		'the trigger thread cannot be real-time (its cgroup has no real-time run time; {why}): under load the copy may come late'
	),
);

my @patterns;

# sentences(): all of them, in the order in which they are tried
sub sentences { return @TOLD }

# told(TEXT): it in the user's language; what is none of these stays as it is
sub told {
	my ($text) = @_;
	return $text                                   if !is_translated();
	@patterns = map { [ $_, _pattern($_) ] } @TOLD if !@patterns;
	for my $p (@patterns) {
		my ($sentence, $re) = @$p;
		next if $text !~ $re;
		my %value = %+;
		$value{why} = told($value{why}) if defined $value{why};
		return fill($sentence, %value);
	}
	return $text;
}

sub _pattern {
	my ($sentence) = @_;
	my $re = join '',
		map { /\A\{([n-s])\}\z/ ? "(?<$1>-?\\d+)" : /\A\{(\w+)\}\z/ ? "(?<$1>.+?)" : quotemeta }
		split /(\{\w+\})/, $sentence;
	return qr/\A$re\z/s;
}

1;
