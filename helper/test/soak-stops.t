# SPDX-License-Identifier: GPL-2.0-only
# An hour in which the recorder is stopped for two seconds each ten seconds, as all processes are
# before a machine sleeps, and the hot-key is pressed meanwhile: it is answered when the recorder
# goes on. One that really sleeps is tests/vm/suspend.t.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib",
	map {"$FindBin::Bin/../../$_"} qw(postmortem/lib abi/lib abi/generated);
use Tipme::Soak qw(soak);

# A ring of one size: one that grows takes memory when others make storms.
soak(
	every     => 10, load    => [ 300, 300, 300 ],
	stop_each => 1,  pressed => 1,
	args      => [ '--rate', 20_000 ]
);
