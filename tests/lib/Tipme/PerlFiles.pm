# SPDX-License-Identifier: GPL-2.0-only
# The files of Perl in the tree, for tests of how they are written.
package Tipme::PerlFiles;
use strict;
use warnings;
use Exporter   qw(import);
use File::Find qw(find);

our @EXPORT_OK = qw(perl_files);
my @FOLDERS = qw(abi bench docs fleet gui helper kernel-patch po postmortem tests xserver-hooks);

# perl_files(ROOT): their paths below it: tests, modules, and programs that say so in their first
# line; not what is generated or built
sub perl_files {
	my ($root) = @_;
	my @found;
	my $wanted = sub { push @found, substr $_, 1 + length $root if _is_perl($root, $_) };
	find({ no_chdir => 1, wanted => $wanted }, map {"$root/$_"} @FOLDERS);
	return sort @found;
}

sub _is_perl {
	my ($root, $path) = @_;
	return 0 if !-f $path || $path =~ m{^\Q$root\E/(?:abi/generated|kernel-patch/built)/};
	return 1 if $path              =~ /\.(?:pm|t)$/;
	return 0 if $path              =~ m{\.[^/]+$};
	open my $in, '<', $path or return 0;
	return (readline($in) // '') =~ /^#!.*\bperl\b/;
}

1;
