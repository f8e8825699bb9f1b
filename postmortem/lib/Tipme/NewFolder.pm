# SPDX-License-Identifier: GPL-2.0-only
# A new folder of files: there as a whole, or not at all.
package Tipme::NewFolder;

use strict;
use warnings;
use Errno;
use Exporter   qw(import);
use Fcntl      qw(O_CREAT O_EXCL O_NOFOLLOW O_WRONLY);
use File::Path qw(remove_tree);

our @EXPORT_OK = qw(new_folder new_folder_by);

# new_folder(FOLDER, { NAME => BYTES }): FOLDER; dies with a sentence
sub new_folder {
	my ($folder, $files) = @_;
	return new_folder_by(
		$folder,
		sub { my ($put) = @_; $put->($_, $files->{$_}) for sort keys %$files; return }
	);
}

# new_folder_by(FOLDER, CODE): the same for who has the files in pieces: CODE calls put(NAME,
# BYTES), of one file after the other. If it dies, nothing is left.
sub new_folder_by {
	my ($folder, $code) = @_;
	my $part = "$folder.part";
	-e $folder || -l $folder
		and die "$folder: File exists: name a folder that does not exist yet\n";
	mkdir $part,
		0700
		or die "$part: $!: "
		. (
		$!{EEXIST}
		? 'another tipme open is writing it, or was ended before it had: remove it, or name another folder'
		: 'name a folder in a place where you may write'
		) . "\n";
	my ($open, $path);
	my $end = sub {
		return if !$open;
		my $done = close $open;
		undef $open;
		$done or die "$path: $!: is the disk full?\n";
	};
	my $put = sub {
		my ($name, $bytes) = @_;
		if (!$open || $path ne "$part/$name") {
			$end->();
			$path = "$part/$name";
			$open = _create($path);
		}
		print {$open} $bytes or die "$path: $!: is the disk full?\n";
	};
	if (!eval { $code->($put); $end->(); rename $part, $folder or die "$folder: $!\n"; 1 }) {
		my $why = $@;
		close $open if $open;
		remove_tree($part);
		die $why;
	}
	return $folder;
}

sub _create {
	my ($path) = @_;
	sysopen my $out, $path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600 or die "$path: $!\n";
	binmode $out;
	return $out;
}

1;
