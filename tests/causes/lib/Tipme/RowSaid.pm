# SPDX-License-Identifier: GPL-2.0-only
# Keeps what `tipme diagnose` said of rows of docs/causes.md, a line of JSON each, in the file that
# TIPME_CAUSES_SAID names; tests/causes/page makes docs/causes-sentences.md of such files.
package Tipme::RowSaid;
use strict;
use warnings;
use Cpanel::JSON::XS ();
use Fcntl            qw(:flock);

# tried(ROW, HOW, VERDICT, RIGHT): a cause that was staged, HOW: native, machine; story(ROW,
# DIAGNOSIS): records as they would be, which are right where their test passes
sub tried {
	my ($row, $how, $v, $right) = @_;
	my $file = $ENV{TIPME_CAUSES_SAID} or return;
	open my $h, '>>', $file or die "$file: $!\n";
	flock $h, LOCK_EX or die "$file: $!\n";
	print {$h} Cpanel::JSON::XS->new->canonical->utf8->encode(
		{
			row      => $row,           how => $how, by => $0 =~ s{.*/(?=(?:tests|postmortem)/)}{}r,
			kind     => $v->{kind},     who   => ($v->{blamed} // {})->{comm},
			sentence => $v->{sentence}, right => $right ? 1 : 0,
			beside   => [ @{ $v->{circumstances} // [] } ]
		}
	) . "\n";
	close $h or die "$file: $!\n";
	return;
}

sub story { my ($row, $d) = @_; return tried($row, 'story', $d->{verdict}, 1) }

1;
