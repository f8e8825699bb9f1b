# SPDX-License-Identifier: GPL-2.0-only
# A locale for tests of translated sentences, on a system that has none but C and C.UTF-8: in these
# the C library translates nothing, by its own choice before version 2.39 in C alone.
package Tipme::OwnLocale;

use strict;
use warnings;
use Exporter   qw(import);
use File::Path qw(make_path);

our @EXPORT_OK = qw(own_locale);

# own_locale(FOLDER, LOCALE): makes LOCALE, as "de_DE.UTF-8", of the C library's own C.UTF-8, below
# FOLDER; what LOCPATH has to say, or nothing where there is no folder of C.UTF-8
sub own_locale {
	my ($folder, $locale) = @_;
	my ($c) = grep {-d} '/usr/lib/locale/C.utf8', '/usr/lib/locale/C.UTF-8' or return;
	make_path($folder);
	system('cp', '-r', $c, "$folder/$locale") == 0 or die "cp $c: $?\n";
	return $folder;
}

1;
