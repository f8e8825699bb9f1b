# SPDX-License-Identifier: GPL-2.0-only
# An hour in which the hot-key is pressed each five seconds, under a load of some 3,000 records a
# second: what a press takes is given back.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib",
	map {"$FindBin::Bin/../../$_"} qw(postmortem/lib abi/lib abi/generated);
use Tipme::Soak qw(soak);

# A ring of one size: one that grows takes memory when others make storms.
soak(every => 5, load => [ 300, 300, 300 ], args => [ '--rate', 20_000 ]);
