#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Episodes of earlier minor formats, kept as they were: this version reads each record of them, and
# finds a problem in them.
# After the release of a minor format, postmortem/t/keep keeps one of it.
use strict;
use warnings;
use Test::More;
use Archive::Tar     ();
use Cpanel::JSON::XS ();
use File::Temp       qw(tempdir);
use FindBin          qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Record::Layout;
use Tipme::Test::Kept qw(facts);

my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };
my $tmp  = tempdir(CLEANUP => 1);
my @kept = sort glob "$Bin/kept/*.tar.gz";
ok(scalar @kept, 'episodes are kept');
for my $file (@kept) {
	my ($name) = $file =~ m{([^/]+)\.tar\.gz\z};
	my ($major, $minor) = $name =~ /\Aformat-(\d+)\.(\d+)\z/
		or die "$file: name it format-MAJOR.MINOR.tar.gz\n";
	next if $major != $Tipme::Record::Layout::MAJOR;
	cmp_ok(
		$minor, '<=', $Tipme::Record::Layout::MINOR,
		"$name: not of a format that is yet to come"
	);
	mkdir "$tmp/$name" or die "$!\n";
	my $tar = Archive::Tar->new($file) or die Archive::Tar->error, "\n";
	for my $member ($tar->get_files) {
		$member->extract("$tmp/$name/" . $member->name) or die $tar->error, "\n";
	}
	open my $in, '<:raw', $file =~ s/tar\.gz\z/expect/r or die "$name: $!\n";
	my $expect = Cpanel::JSON::XS->new->decode(do { local $/ = undef; <$in> });
	my $facts  = eval { facts("$tmp/$name") } or diag($@);
	# Fields that were appended since are read as 0: their sums are new.
	delete @{ $facts->{sums} }{
		grep { !exists $expect->{sums}{$_} && !$facts->{sums}{$_} }
			keys %{ $facts->{sums} }
		}
		if $facts;
	is_deeply($facts, $expect, "$name: each record and each field reads as it did");
	cmp_ok(scalar keys %{ $expect->{records} }, '>=', 35, '... of most kinds');
}
is_deeply(\@warnings, [], 'no warning from Perl');
done_testing();
