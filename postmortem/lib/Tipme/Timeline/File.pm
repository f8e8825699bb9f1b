# SPDX-License-Identifier: GPL-2.0-only
# Writes a picture beside its place and renames it, as SVG, or through rsvg-convert as PNG.
package Tipme::Timeline::File;

use strict;
use warnings;
use Exporter           qw(import);
use Fcntl              qw(O_WRONLY O_CREAT O_EXCL O_NOFOLLOW SEEK_SET);
use IO::Handle         ();
use POSIX              ();
use Tipme::CommandLine qw(replaceable);

our @EXPORT_OK = qw(write_picture write_bytes);

my $ZOOM = 2;    # PNG pixels for one of the picture's: sharp on today's screens

# write_picture(FILE, SVG BYTES): the name says which kind.
sub write_picture {
	my ($file, $svg) = @_;
	my ($kind) = $file =~ /\.(svg|png)\z/i
		or die "$file: neither .svg nor .png: name the file so that it says what to write\n";
	replaceable($file);
	my $program = lc $kind eq 'png' ? _find('rsvg-convert') : undef;
	return _write(
		$file,
		sub { defined $program ? _convert($program, $svg, $_[0]) : _fill($_[0], $svg) }
	);
}

# write_bytes(FILE, BYTES): any other file, in the same way
sub write_bytes {
	my ($file, $bytes) = @_;
	replaceable($file);
	return _write($file, sub { _fill($_[0], $bytes) });
}

sub _write {
	my ($file, $how) = @_;
	my $out = _open_new($file);
	my $why = $how->($out);
	$why //= "$!: is the disk full?" if !close $out;
	if (defined $why) { unlink "$file.tmp"; die "$file: $why\n" }
	rename "$file.tmp", $file or die "$file: $!: choose another place with -o\n";
	return $file;
}

sub _find {
	my ($name) = @_;
	for (map {"$_/$name"} grep {m{^/}} split /:/, $ENV{PATH} // '/usr/bin') {
		return $_ if -x && -f _;
	}
	die
		"$name is not installed: install it (Debian: librsvg2-bin), or name a file that ends in .svg\n";
}

# What lies under the temporary name is ours from a crash, or a trap: it is removed. O_EXCL follows
# no link that is laid after that.
sub _open_new {
	my ($file) = @_;
	unlink "$file.tmp";
	sysopen my $out, "$file.tmp", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW
		or die "$file: $!: choose another place with -o\n";
	binmode $out;
	return $out;
}

# _fill(), _convert(): undef, or why the picture could not be written
sub _fill {
	my ($out, $bytes) = @_;
	return print({$out} $bytes) && $out->flush ? undef : "$!: is the disk full?";
}

# The program gets two open files and no name: nobody can exchange a file between our look and its
# own.
sub _convert {
	my ($program, $svg, $out) = @_;
	open my $in, '+>', undef or return "$!: name a folder for temporary files in TMPDIR";
	binmode $in;
	my $why = _fill($in, $svg);
	return $why if defined $why;
	sysseek $in, 0, SEEK_SET;
	my $pid = fork // return "$!: try again";
	if (!$pid) {
		POSIX::dup2(fileno $in,  0);
		POSIX::dup2(fileno $out, 1);
		{ no warnings 'exec'; exec {$program} $program, '--zoom', $ZOOM, '--format', 'png' }
		POSIX::_exit(127);
	}
	local $?;
	waitpid $pid, 0;
	return $? ? 'rsvg-convert failed: is the disk full? try a file name that ends in .svg' : undef;
}

1;
