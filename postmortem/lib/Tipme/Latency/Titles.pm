# SPDX-License-Identifier: GPL-2.0-only
# What the stages of a latency are called.
package Tipme::Latency::Titles;

use strict;
use warnings;
use Exporter     qw(import);
use Tipme::Words qw(N__ fill);

our @EXPORT_OK = qw(title way);

my %TITLE = (
	entry        => N__('entry'),         waking     => N__('waking'),
	switch       => N__('switch to it'),  return     => N__('to user space'),
	irq          => N__('interrupt'),     deferred   => N__('deferred work'),
	irq_deferred => N__('both'),          high       => N__('high thread'),
	medium       => N__('medium thread'), user       => N__('user thread'),
	total_high   => N__('whole, high'),   total_user => N__('whole, user'),
	total_medium => N__('whole, medium'),
);

# From where to where, of those that a picture is of where none is named.
my %WAY = (
	irq          => N__('from the expiry of a timer to its interrupt'),
	deferred     => N__('from an interrupt to the work that it defers'),
	irq_deferred => N__('from the expiry of a timer to the work that its interrupt defers'),
	total_high   => N__('from the expiry of a timer to a kernel thread of high priority'),
	total_medium => N__('from the expiry of a timer to a kernel thread of medium priority'),
	total_user   => N__('from the expiry of a timer to a thread in user space'),
);

# title(STAGE): in the user's language; its name, where it has no words here
sub title { my ($stage) = @_; return fill($TITLE{$stage} // $stage) }

# way(STAGE): the same for who does not know these words; undef: there is no more to say
sub way { my ($stage) = @_; return defined $WAY{$stage} ? fill($WAY{$stage}) : undef }

1;
