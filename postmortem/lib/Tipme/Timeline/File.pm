# SPDX-License-Identifier: GPL-2.0-only
# Writes a picture beside its place and renames it, as SVG, or through rsvg-convert as PNG.
package Tipme::Timeline::File;

use strict;
use warnings;
use Exporter qw(import);
use Fcntl qw(O_WRONLY O_CREAT O_EXCL);
use Tipme::CommandLine qw(replaceable);

our @EXPORT_OK = qw(write_picture);

my $ZOOM = 2;    # PNG pixels for one of the picture's: sharp on today's screens

# write_picture(FILE, SVG BYTES): the name says which kind.
sub write_picture {
	my ($file, $svg) = @_;
	my ($kind) = $file =~ /\.(svg|png)\z/i or die "$file: neither .svg nor .png: name the file so that it says what to write\n";
	replaceable($file);
	my $program = lc $kind eq 'png' ? _find('rsvg-convert') : undef;
	my $svg_file = _write_new(defined $program ? "$file.tmp.svg" : "$file.tmp", $svg);
	if (defined $program) {
		my $ok = _run($program, '--zoom', $ZOOM, '--format', 'png', '--output', "$file.tmp", $svg_file);
		unlink $svg_file;
		if (!$ok) { unlink "$file.tmp"; die "$file: rsvg-convert failed: is the disk full? try a file name that ends in .svg\n" }
	}
	rename "$file.tmp", $file or die "$file: $!: choose another place with -o\n";
	return $file;
}

sub _find {
	my ($name) = @_;
	for (map { "$_/$name" } grep { m{^/} } split /:/, $ENV{PATH} // '/usr/bin') { return $_ if -x && -f _ }
	die "$name is not installed: install it (Debian: librsvg2-bin), or name a file that ends in .svg\n";
}

# Whatever lies there under the temporary name is ours from a crash, or a trap: it goes.
sub _write_new {
	my ($file, $bytes) = @_;
	unlink $file;
	sysopen my $fh, $file, O_WRONLY | O_CREAT | O_EXCL or do { my $why = $!; die $file =~ s/\.tmp(?:\.svg)?\z//r . ": $why: choose another place with -o\n" };
	binmode $fh;
	return $file if print({$fh} $bytes) && close $fh;
	my $why = $!;
	unlink $file;
	die "$file: $why: is the disk full?\n";
}

sub _run { return system({ $_[0] } @_) == 0 }

1;
