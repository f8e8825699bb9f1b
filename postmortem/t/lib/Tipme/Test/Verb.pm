# SPDX-License-Identifier: GPL-2.0-only
# Verbs of tipme, run as a person runs them.
package Tipme::Test::Verb;

use strict;
use warnings;
use Exporter qw(import);
use FindBin  qw($Bin);

our @EXPORT_OK = qw(tipme_in);

# tipme_in(FOLDER, VERB ...): what it prints there, with its complaints, on one line; and its exit
# status
sub tipme_in {
	my ($folder, @args) = @_;
	my $pid = open(my $pipe, '-|') // die "fork: $!\n";
	if (!$pid) {
		chdir $folder or die "$!\n";
		open STDERR, '>&', \*STDOUT    or die "$!\n";
		open STDIN,  '<',  '/dev/null' or die "$!\n";
		exec $^X, "$Bin/../bin/tipme-postmortem", @args;
	}
	my $out = do { local $/; <$pipe> };
	close $pipe;
	return ($out // '') =~ s/\s+/ /gr, $? >> 8;
}

1;
