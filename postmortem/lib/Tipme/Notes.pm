# SPDX-License-Identifier: GPL-2.0-only
# The user's words and tags of an episode: beside its records, written as a whole, with the state
# before the last change.
package Tipme::Notes;

use strict;
use warnings;
use Encode   ();
use Exporter qw(import);
use Fcntl    qw(:flock O_CREAT O_EXCL O_NOFOLLOW O_NONBLOCK O_RDONLY O_WRONLY);
use IO::Handle;
use Tipme::Printable qw(printable);
use Tipme::Words     qw(N__ fill);

our @EXPORT_OK = qw(note_of tags_of tag_word set_note set_tags undo_note undo_tags);

my $NOTE      = 'note.txt';
my $TAGS      = 'tags.txt';
my $MAX_BYTES = 65_536;       # bytes of a note: a page and more of a person's words
my $MAX_TAGS  = 32;           # tags of an episode
my $WORD      = qr/[\p{L}\p{N}][\p{L}\p{N}._-]{0,39}/;

# note_of(DIR): what can be shown of the user's words; '' without any
sub note_of { my ($dir) = @_; return printable(_read($dir, $NOTE)) }

# tags_of(DIR): the tags, sorted. A file of a stranger may hold anything: only tags come out of it.
sub tags_of {
	my ($dir) = @_;
	my %seen;
	my @tags = grep { /\A$WORD\z/ && !$seen{$_}++ } map {lc} split /\n/,
		printable(_read($dir, $TAGS));
	splice @tags, $MAX_TAGS if @tags > $MAX_TAGS;
	@tags = sort @tags;
	return @tags;
}

# tag_word(BYTES): a tag, or it dies
sub tag_word {
	my ($bytes) = @_;
	my $word = lc printable($bytes);
	return $word if $word =~ /\A$WORD\z/;
	die fill(
		N__('\'{word}\': not a tag: one word of at most 40 letters, digits, dots and dashes'),
		word => $word
	) . "\n";
}

# set_note(DIR, BYTES), set_tags(DIR, TAGS ...): nothing at all removes them
sub set_note { my ($dir, $bytes) = @_; return _set($dir, $NOTE, printable($bytes)) }

sub set_tags {
	my ($dir, @tags) = @_;
	die fill(N__('more than {n} tags: remove one first'), n => $MAX_TAGS) . "\n"
		if @tags > $MAX_TAGS;
	return _set($dir, $TAGS, join '', map {"$_\n"} sort @tags);
}

# undo_note(DIR), undo_tags(DIR): the state before the last change; done twice, it is as it was. 0:
# nothing was changed yet.
sub undo_note { my ($dir) = @_; return _undo($dir, $NOTE) }
sub undo_tags { my ($dir) = @_; return _undo($dir, $TAGS) }

sub _before { my ($name) = @_; return ".$name.before" }

sub _read {
	my ($dir, $name) = @_;
	sysopen(my $file, "$dir/$name", O_RDONLY | O_NOFOLLOW | O_NONBLOCK) or return q{};
	return '' if !-f $file;
	sysread($file, my $bytes, $MAX_BYTES);
	return $bytes // '';
}

sub _set {
	my ($dir, $name, $text) = @_;
	$text =~ s/\A\s+|\s+\z//g if $name eq $NOTE;
	my $bytes = Encode::encode('UTF-8', $text);
	die fill(N__('a note of more than {n} bytes: make it shorter'), n => $MAX_BYTES) . "\n"
		if length $bytes > $MAX_BYTES;
	my $lock = _locked($dir);
	my $was  = _read($dir, $name);
	return 0 if $was eq $bytes;
	_write($dir, $lock, _before($name), $was, 1);
	_write($dir, $lock, $name, $bytes);
	return 1;
}

sub _undo {
	my ($dir, $name) = @_;
	my $lock = _locked($dir);
	return 0 if !-e "$dir/" . _before($name);
	my ($was, $before) = map { _read($dir, $_) } $name, _before($name);
	_write($dir, $lock, _before($name), $was, 1);
	_write($dir, $lock, $name, $before);
	return 1;
}

# One change at a time. Root leaves nothing of its own in a user's folder.
sub _locked {
	my ($dir) = @_;
	sysopen my $lock, $dir, O_RDONLY or die "$dir: $!\n";
	my $owner = (stat $lock)[4];
	die fill(N__('{folder}: belongs to another user: run this as that user'), folder => $dir) . "\n"
		if defined $owner && $owner != $>;
	flock $lock, LOCK_EX or die "$dir: $!\n";
	return $lock;
}

# Beside it, then renamed: whoever reads meanwhile, or after a crash, has the old text or the new.
sub _write {
	my ($dir, $lock, $name, $bytes, $empty_too) = @_;
	my $part = "$dir/.$name.tmp";
	unlink $part;    # left by a crash
	if (!length $bytes && !$empty_too) {
		unlink "$dir/$name" or $!{ENOENT} or die "$dir/$name: $!\n";
		return $lock->sync;
	}
	sysopen my $out, $part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600 or die "$part: $!\n";
	binmode $out;
	return $lock->sync
		if print {$out} $bytes
		and $out->flush
		and $out->sync
		and close $out
		and rename $part, "$dir/$name";
	my $why = "$!";
	unlink $part;
	die "$dir/$name: $why: make room there\n";
}

1;
