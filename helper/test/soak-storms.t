# SPDX-License-Identifier: GPL-2.0-only
# An hour in which storms of records come and go: the ring grows in each, and gives back what it
# took before the next one. The hot-key is pressed at the end of each.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib",
	map {"$FindBin::Bin/../../$_"} qw(postmortem/lib abi/lib abi/generated);
use Tipme::Soak qw(soak);

soak(
	every => 150, load => [ 300, 300, 300 ], storm => [ 0, 100_000, 20 ],
	args  => [ '--window', 5, '--post', 1 ]
);
