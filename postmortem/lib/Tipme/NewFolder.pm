# SPDX-License-Identifier: GPL-2.0-only
# A new folder of files: there as a whole, or not at all.
package Tipme::NewFolder;

use strict;
use warnings;
use Errno;
use Exporter qw(import);
use Fcntl qw(O_CREAT O_EXCL O_NOFOLLOW O_WRONLY);
use File::Path qw(remove_tree);

our @EXPORT_OK = qw(new_folder);

# new_folder(FOLDER, { NAME => BYTES }): FOLDER; dies with a sentence
sub new_folder {
	my ($folder, $files) = @_;
	my $part = "$folder.part";
	-e $folder || -l $folder and die "$folder: File exists: name a folder that does not exist yet\n";
	mkdir $part, 0700 or die "$part: $!: " . ($!{EEXIST} ? 'another tipme open is writing it, or was ended before it had: remove it, or name another folder' : 'name a folder in a place where you may write') . "\n";
	if (!eval { _write("$part/$_", $files->{$_}) for sort keys %$files; rename $part, $folder or die "$folder: $!\n"; 1 }) {
		my $why = $@;
		remove_tree($part);
		die $why;
	}
	return $folder;
}

sub _write {
	my ($path, $bytes) = @_;
	sysopen my $out, $path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600 or die "$path: $!\n";
	binmode $out;
	my $written = print {$out} $bytes;
	close $out and $written or die "$path: $!: is the disk full?\n";
	return;
}

1;
