# SPDX-License-Identifier: GPL-2.0-only
# Keeps what reports say: `perl -MTipme::Test::Told TEST` appends each report that the test makes,
# the short form and the page, and its kind of verdict, to the file in TIPME_TEST_TOLD.
package Tipme::Test::Told;

use strict;
use warnings;
use Tipme::Report::Text;

for my $form (qw(short page)) {
	no strict 'refs';    ## no critic (ProhibitNoStrict): it takes a function's place
	no warnings 'redefine';
	my $plain = \&{"Tipme::Report::Text::$form"};
	*{"Tipme::Report::Text::$form"} = sub {
		my ($d) = @_;
		my $text = $plain->($d);
		open my $h, '>>:encoding(UTF-8)', $ENV{TIPME_TEST_TOLD}
			or die "$ENV{TIPME_TEST_TOLD}: $!\n";
		print {$h} "\f$d->{verdict}{kind}\n$text";
		close $h or die "$!\n";
		return $text;
	};
}

1;
