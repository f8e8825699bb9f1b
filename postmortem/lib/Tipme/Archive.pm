# SPDX-License-Identifier: GPL-2.0-only
# The file that a bundle is: a gzipped tar of plain files. What a stranger made of it is read by
# hand, a piece at a time, and nothing but names of a list comes out.
package Tipme::Archive;

use strict;
use warnings;
use Fcntl                  qw(O_RDONLY O_WRONLY O_CREAT O_EXCL O_NOFOLLOW O_NONBLOCK);
use IO::Uncompress::Gunzip qw($GunzipError);
use Tipme::Manifest;
use Tipme::NewFolder qw(new_folder_by);
use Tipme::Printable qw(one_line);

my $MAX_FILE   = 256 << 20;    # what a bundle may unpack to, all together
my $MAX_PACKED = 64 << 20;     # bytes of a bundle as it is
# Records shrink to a tenth when they are packed. What shrinks to less than a fiftieth was made to
# fill memory, unless it is small.
my $MAX_RATIO = 50;
my $SMALL     = 8 << 20;    # bytes that may be packed however well
my $NAME =
	qr/\A(?:manifest\.json|schema|(?:note|tags)\.txt|verdict\.(?:txt|json)|timeline\.svg|report\.html|summary\.txt|system\.json|trace\.pftrace|[a-z0-9-]{1,60}\.rec)\z/;
my $MAX_NAMES = 64;         # entries of an archive; a bundle has about 20
my $MAX_TEXT  = 8 << 20;    # of a member that is taken as one text
my $PIECE     = 1 << 20;    # in memory at once
# What is read as a whole later may be no longer than its reader takes.
my %MAX_MEMBER = (
	'system.json' => 65_536, 'manifest.json' => $Tipme::Manifest::MAX_BYTES, schema => 262_144,
	'note.txt'    => 65_536, 'tags.txt'      => 65_536
);

# takes(NAME): 1: a part may be called so
sub takes { my ($class, $name) = @_; return $name =~ $NAME ? 1 : 0 }

# write(FILE, FILES ...): a gzipped tar that did not exist before
sub write {
	my ($class, $path, @files) = @_;
	# Readers need neither.
	require Archive::Tar;
	require IO::Compress::Gzip;
	my $tar = Archive::Tar->new;
	for my $f (@files) {
		$tar->add_data(
			@$f,
			{ mode => 0644, uid => 0, gid => 0, uname => '', gname => '', mtime => 0 }
		) or die "$path: $f->[0]: " . $tar->error . "\n";
	}
	my $plain = '';
	open my $h, '>', \$plain or die "$!\n";
	$tar->write($h) or die "$path: " . $tar->error . "\n";
	close $h;
	IO::Compress::Gzip::gzip(\$plain => \my $packed, -Minimal => 1)
		or die "$path: $IO::Compress::Gzip::GzipError\n";
	sysopen my $out, $path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600
		or die "$path: $!: "
		. ($!{EEXIST} ? 'name a file that does not exist yet' : 'choose another place with -o')
		. "\n";
	binmode $out;
	return length $packed if print {$out} $packed and close $out;
	my $why = "$!";
	{ no warnings; close $out }    # by hand, or Perl complains of the full disk once more
	unlink $path;
	die "$path: $why: make room there, or choose another place with -o\n";
}

# unpack_to(FILE, FOLDER): makes the folder; only plain files with names of the list, bounded in
# number and size, none twice. In memory is a piece at a time, however much the file unpacks to.
sub unpack_to {
	my ($class, $path, $folder) = @_;
	my $read = _reader($path);
	return new_folder_by($folder, sub { _members($path, $read, $_[0]) });
}

# texts_of(FILE, NAME ...): { name => bytes } of these members of a bundle, nothing of it on disk
sub texts_of {
	my ($class, $path, @names) = @_;
	my %want = map { $_ => 1 } @names;
	my %text;
	_members(
		$path,
		_reader($path),
		sub {
			my ($name, $piece) = @_;
			return if !$want{$name};
			$text{$name} .= $piece;
			die "$path: $name: longer than $MAX_TEXT bytes\n" if length $text{$name} > $MAX_TEXT;
		}
	);
	return \%text;
}

# The tar is read by hand: nothing but plain members is understood, and nothing is believed that its
# sums do not bear out.
sub _members {
	my ($path, $read, $put) = @_;
	my ($at, %there) = (0);
	while (1) {
		my $h = $read->(512);
		last if length $h < 512 || $h !~ /[^\0]/;
		my ($name, $len) = _member($path, $at, $h);
		die "$path: member $name is there twice\n"  if $there{$name}++;
		die "$path: more than $MAX_NAMES members\n" if keys %there > $MAX_NAMES;
		my $most = $MAX_MEMBER{$name} // $MAX_FILE;
		die "$path: $name: $len bytes, more than $most: not a bundle of tipme\n" if $len > $most;
		$put->($name, '');

		for (my $left = $len; $left > 0;) {
			my $piece = $read->($left < $PIECE ? $left : $PIECE);
			die "$path: member $name was cut\n" if !length $piece;
			$put->($name, $piece);
			$left -= length $piece;
		}
		my $rest = -$len % 512;
		$read->($rest) if $rest;
		$at += 512 + $len + $rest;
	}
	die "$path: no manifest.json in it: not a bundle of tipme\n" if !$there{'manifest.json'};
	return;
}

# (NAME, LENGTH) that a member's header says
sub _member {
	my ($path, $at, $h) = @_;
	my ($name, $size, $sum, $type, $magic) = unpack 'Z100 x24 Z12 x12 Z8 a1 x100 a5', $h;
	my $want = unpack '%32C*', substr($h, 0, 148) . ' ' x 8 . substr $h, 156;
	die "$path: at byte $at: not a tar file: not a bundle of tipme\n"
		if $magic ne 'ustar' || $sum !~ /\A\s*([0-7]+)\s*\z/ || oct $1 != $want;
	die "$path: member '" . one_line($name) . "': a bundle holds plain files only\n"
		if $type !~ /\A[0\0]\z/;
	die "$path: member '" . one_line($name) . "': no name that a bundle has\n"
		if $name !~ $NAME || substr($h, 345, 155) =~ /[^\0]/;
	die "$path: member $name: its size is no number\n" if $size !~ /\A\s*([0-7]{1,11})\s*\z/;
	return ($name, oct $1);
}

# A sub: read(N) answers with N unpacked bytes, or with fewer at the end of the file. A pipe is
# refused before it can make us wait.
sub _reader {
	my ($path) = @_;
	sysopen my $in, $path, O_RDONLY | O_NONBLOCK
		or die "$path: $!: name a file that `tipme bundle` wrote\n";
	die "$path: is no plain file\n" if !-f $in;
	my $packed = -s _;
	die "$path: $packed bytes: more than a bundle has\n" if $packed > $MAX_PACKED;
	binmode $in;
	my $z = IO::Uncompress::Gunzip->new($in, MultiStream => 0)
		or die "$path: $GunzipError: not a bundle of tipme\n";
	my $all = 0;
	return sub {
		my ($n) = @_;
		my $bytes = '';
		while (length $bytes < $n
			&& (my $got = $z->read($bytes, $n - length $bytes, length $bytes)) != 0)
		{
			die "$path: $GunzipError: the file is damaged\n" if $got < 0;
		}
		$all += length $bytes;
		die "$path: unpacks to more than $MAX_FILE bytes: not a bundle of tipme\n"
			if $all > $MAX_FILE;
		die "$path: unpacks to more than $MAX_RATIO times its size: not a bundle of tipme\n"
			if $all > $SMALL && $all > $MAX_RATIO * $packed;
		return $bytes;
	};
}

1;
