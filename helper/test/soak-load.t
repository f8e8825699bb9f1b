# SPDX-License-Identifier: GPL-2.0-only
# An hour of recording under some 20,000 records a second, with a press each minute; before each
# tenth one the recorder is stopped for two seconds. One that really sleeps is tests/vm/suspend.t.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib",
	map {"$FindBin::Bin/../../$_"} qw(postmortem/lib abi/lib abi/generated);
use Tipme::Soak qw(soak);

# As many threads as fill the ring of pictures, which takes memory as it is written, in two minutes.
# A ring of one size: one that grows takes memory when others make storms.
soak(every => 60, load => [ 300, 300, 3300 ], stop_each => 10, args => [ '--rate', 20_000 ]);
