# SPDX-License-Identifier: GPL-2.0-only
# Text that a stranger wrote (names of processes, notes), made fit for a terminal, a picture, a file
# name.
package Tipme::Printable;

use strict;
use warnings;
use Encode   ();
use Exporter qw(import);
use Tipme::Progress;

our @EXPORT_OK = qw(characters printable one_line shorten xml_text put);

# Control characters could move the cursor or rename the window; bidirectional marks could turn a
# sentence around;
# surrogates and non-characters are no XML.
my $UNFIT =
	qr/[\x00-\x08\x0b-\x1f\x7f-\x9f\x{200b}-\x{200f}\x{2028}-\x{202e}\x{2060}-\x{206f}\x{feff}\x{d800}-\x{dfff}\x{fdd0}-\x{fdef}\x{fff0}-\x{fffc}\x{fffe}\x{ffff}]/;

# characters(BYTES OR TEXT): what UTF-8 bytes say, nothing taken out: for JSON, which escapes what
# it must.
sub characters {
	my ($s) = @_;
	return '' if !defined $s;
	return utf8::is_utf8($s)
		|| $s !~ /[^\x00-\x7f]/ ? "$s" : Encode::decode('UTF-8', my $copy = $s, Encode::FB_DEFAULT);
}

# printable(BYTES OR TEXT): characters; what cannot be shown stands as '?', an escape sequence is
# taken out whole.
sub printable {
	return "$_[0]" if defined $_[0] && $_[0] =~ /\A[ -~]*\z/;    # as nearly all text is
	my $s = characters($_[0]);
	$s =~ s/\e(?:\[[0-?]*[ -\/]*[@-~]|[\]PX^_][^\a\e]*(?:\a|\e\\)?|[@-Z\\^_])//g;
	$s =~ s/\r\n/\n/g;
	$s =~ s/$UNFIT/?/g;
	no warnings 'nonchar';
	$s =~ s/[\x{1fffe}\x{1ffff}]|[^\x{0}-\x{1ffff}]/?/g;
	return $s;
}

# one_line(TEXT): the same without line ends and tabs.
sub one_line {
	my $s = printable($_[0]);
	$s =~ s/\s+/ /g;
	return $s;
}

# shorten(TEXT, N): at most N characters, the last of them an ellipsis if something is missing.
sub shorten {
	my ($s, $n) = @_;
	return length $s <= $n ? $s : substr($s, 0, $n - 1) . "\x{2026}";
}

# xml_text(TEXT): for element content and attribute values.
sub xml_text {
	my $s = printable($_[0]);
	$s =~ s/&/&amp;/g;
	$s =~ s/</&lt;/g;
	$s =~ s/>/&gt;/g;
	$s =~ s/"/&quot;/g;
	$s =~ s/'/&#39;/g;
	return $s;
}

# put(TEXT): characters to standard output as UTF-8, whatever layers it has.
sub put {
	my $s = join '', @_;
	utf8::encode($s);
	Tipme::Progress::clear();
	print $s;
}

1;
