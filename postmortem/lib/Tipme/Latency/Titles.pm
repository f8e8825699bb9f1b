# SPDX-License-Identifier: GPL-2.0-only
# What the stages of a latency are called.
package Tipme::Latency::Titles;

use strict;
use warnings;
use Exporter     qw(import);
use Tipme::Words qw(N__ fill);

our @EXPORT_OK = qw(title);

my %TITLE       = (
	entry        => N__('entry'),         waking     => N__('waking'),
	switch       => N__('switch to it'),  return     => N__('to user space'),
	irq          => N__('interrupt'),     deferred   => N__('deferred work'),
	irq_deferred => N__('both'),          high       => N__('high thread'),
	medium       => N__('medium thread'), user       => N__('user thread'),
	total_high   => N__('whole, high'),   total_user => N__('whole, user'),
	total_medium => N__('whole, medium'),
);

# title(STAGE): in the user's language; its name, where it has no words here
sub title { my ($stage) = @_; return fill($TITLE{$stage} // $stage) }

1;
