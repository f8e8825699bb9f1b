#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# A module is built for the headers that were found, whatever apt has to say beside them; no machine
# is emulated here.
use strict;
use warnings;
use File::Path qw(make_path);
use File::Temp qw(tempdir);
use FindBin;
use Test::More;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../lib";
use Tipme::Desktop ();
use Tipme::VM      ();

my $tmp = tempdir(CLEANUP => 1);
local @ENV{qw(TIPME_SRCDIR TIPME_BUILDDIR)} = ("$tmp/src", "$tmp/build");
make_path("$tmp/src/kernel-patch", "$tmp/headers of 6.1");

sub script {
	my ($name, $text) = @_;
	open my $out, '>', "$tmp/src/kernel-patch/$name" or die "$!\n";
	print {$out} "#!/bin/sh\n$text";
	close $out;
	chmod 0755, "$tmp/src/kernel-patch/$name";
	return;
}

script(
	'build-module',
	qq([ -d "\$1" ] || { echo "no folder: \$1"; exit 1; }\nmkdir -p "\$2" && cp /bin/true "\$2/tipme.ko"\n)
);
script(
	'headers',
	qq(echo "W: Download is performed unsandboxed as root" >&2\necho "Reading package lists..."\necho "$tmp/headers of 6.1"\n)
);
my ($ko, $why) = Tipme::Desktop::build_module('6.1');
is($ko, "$tmp/build/tests/vm/module-6_1/stripped.ko", 'a warning of apt is no part of the path')
	or diag($why);
ok(-s ($ko // '/nothing'), '... and the module is there');
script('headers', qq(echo "E: no such package" >&2\nexit 1\n));
($ko, $why) = Tipme::Desktop::build_module('6.1');
is($ko,  undef,                                                     'no headers: no module');
is($why, 'the headers of 6.1 could not be had: E: no such package', '... and why');
done_testing;
