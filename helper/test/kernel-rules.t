#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Twins do not drift: each rule of abi/kernel/rules.h is what both call, the tracing programs and
# the kernel module, and what either writes into its own per-CPU table the other writes, too.
use strict;
use warnings;
use Test::More;

my $top = $ENV{TIPME_SRCDIR} // '.';

sub text {
	return join "\n", map { open my $h, '<', $_ or die "$_: $!\n"; local $/; <$h> } @_;
}
sub bare { my ($c) = @_; $c =~ s{/\*.*?\*/|//[^\n]*}{}gs; return $c }

my %twin = (
	'tracing programs' => bare(text(glob "$top/helper/bpf/*.bpf.[ch]")),
	'kernel module'    => bare(text(glob "$top/kernel-patch/module/*.[ch]")),
);
my $rules = bare(text("$top/abi/kernel/rules.h"));
my @rules = $rules =~ /^TIPME_RULE [\w ]+?\**(tipme_rule_\w+)\(/mg;
cmp_ok(scalar @rules, '>', 5, @rules . ' rules');
for my $who (sort keys %twin) {
	is(join(' ', grep { $twin{$who} !~ /\b$_\(/ } @rules), '', "the $who call each of them");
	# Their numbers stand in one place: who writes them out decides by himself.
	my @numbers =
		('0x9e3779b97f4a7c15', 'RAISED_BY_SEVERAL', 'TASK_STATE_PARKED', 'TASK_STATE_FROZEN');
	my $own = $twin{$who} =~ s/^static __always_inline __u64 tipme_space_of.*?^\}//msr;
	is(join(' ', grep { $own =~ /$_/ } @numbers), '', "the $who decide none of it by themselves");
}

# The CPU's state that both keep: a field that one sets and the other does not is a record that
# differs.
my ($struct) = bare(text("$top/abi/kernel/tables.h")) =~ /struct tipme_kernel_cpu \{(.*?)\n\};/s;
# Not by this pattern: padding; what one of them writes by a pointer; the locks that are spun for,
# whose record has a field of that name.
my @fields =
	grep { !/^(?:pad0|raised|spin|lock|begin_ns)$/ } $struct =~ /(\w+)(?:\[\w+\])?(?=;|,)/g;
my %sets;
for my $who (sort keys %twin) {
	for my $field (@fields) {
		my $n = () =
			$twin{$who} =~ /->\s*$field(?:\[[^\]]*\])?\s*(?:=[^=]|\+=|\+\+|--)|--\w+->$field\b/g;
		$sets{$who}{$field} = $n ? 1 : 0;
	}
}
my ($bpf, $module) = @sets{ 'tracing programs', 'kernel module' };
is(
	join(' ', grep { $bpf->{$_} != $module->{$_} } @fields), '',
	'both set the same fields of struct tipme_kernel_cpu'
);
# Where a thread takes over another's number, both note it.
for my $who (sort keys %twin) {
	my $where = $who eq 'kernel module' ? 'on_sched_process_exec\(' : 'BPF_PROG\(tipme_exec,';
	like(
		$twin{$who}, qr/$where.*?\n\{.*?running_tid = p->pid;.*?\n\}/s,
		"the $who note who runs after an exec"
	);
}
done_testing;
