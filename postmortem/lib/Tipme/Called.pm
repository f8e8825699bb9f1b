# SPDX-License-Identifier: GPL-2.0-only
# Names that no program gave itself: of interrupts, of clients without a process here, of code
# without a symbol. Programs compare them in English; people read them in their language.
package Tipme::Called;

use strict;
use warnings;
use Exporter         qw(import);
use Tipme::Printable qw(one_line);
use Tipme::Words     qw(N__ fill);

our @EXPORT_OK = qw(called);

my %NAME = map { $_ => 1 } N__('the CPU\'s timer interrupt'), N__('a non-maskable interrupt'),
	N__('an interrupt from another CPU'), N__('many short interrupts'), N__('the pointer'),
	N__('the X server');
# What is in the brackets of a softirq.
my %SOFTIRQ = map { $_ => 1 } N__('high tasklets'), N__('timers'), N__('network, sending'),
	N__('network, receiving'), N__('disks'), N__('tasklets'), N__('load balancing'),
	N__('precise timers');
my @FORM = (
	[
		qr/\Aclient (\S+) \(from the network or a container\)\z/,
		N__('client {name} (from the network or a container)')
	],
	[ qr/\Ainterrupt (\S+) \((.*)\)\z/,         N__('interrupt {name} ({of})') ],
	[ qr/\Ainterrupt (\S+)\z/,                  N__('interrupt {name}') ],
	[ qr/\Asoftirq (\S+)(?: \((.*)\))?\z/,      N__('softirq {name} ({of})') ],
	[ qr/\Athe code at (\+(?:0x)?[0-9a-f]+)\z/, N__('the code at {name}') ],
);

# called(NAME): on one line, in the user's language; a name that is none of these stays
sub called {
	my $name = one_line($_[0]);
	return fill($name) if $NAME{$name};
	for my $form (@FORM) {
		my ($pattern, $words) = @$form;
		my ($what,    $of)    = $name =~ $pattern or next;
		return fill($words, name => $what, of => $SOFTIRQ{ $of // '' } ? fill($of) : $of // '-');
	}
	return $name;
}

1;
