# SPDX-License-Identifier: GPL-2.0-only
# How wide a text may be in a chart. No font is asked for: the picture is drawn where others may be
# installed. So widths are those of a wide one (DejaVu Sans), rounded up.
package Tipme::Chart::Text;

use strict;
use warnings;
use Exporter qw(import);

our @EXPORT_OK = qw(text_width fit_text wrap_text);

# Unit: em. Source: the advance widths of DejaVu Sans, the widest of each class, rounded up.
my ($NARROW, $DIGIT, $COMMON, $CAPITAL, $WIDE) = (0.42, 0.64, 0.66, 0.80, 1.05);

# text_width(TEXT, SIZE): pixels that TEXT needs at most in a font of SIZE pixels.
sub text_width {
	my ($text, $size) = @_;
	my $narrow  = () = $text =~ /[ijlrtfI.,:;|!'()\[\] \/-]/g;
	my $digit   = () = $text =~ /[0-9]/g;
	my $common  = () = $text =~ /[abcdeghknopqsuvxyz]/g;
	my $capital = () = $text =~ /[A-HJ-LNOP-VX-Z+<>=~_&"]/g;
	my $wide    = length($text) - $narrow - $digit - $common - $capital;
	return $size
		* (   $NARROW * $narrow
			+ $DIGIT * $digit
			+ $COMMON * $common
			+ $CAPITAL * $capital
			+ $WIDE * $wide);
}

# fit_text(TEXT, SIZE, WIDTH): TEXT, or as much of it as WIDTH pixels hold, and an ellipsis; or ''.
sub fit_text {
	my ($text, $size, $width) = @_;
	return $text if text_width($text, $size) <= $width;
	for (my $n = length($text) - 1; $n > 0; $n--) {
		my $short = substr($text, 0, $n) =~ s/\s+\z//r . "\x{2026}";
		return $short if text_width($short, $size) <= $width;
	}
	return '';
}

# wrap_text(TEXT, SIZE, WIDTH, LINES): at most LINES lines of at most WIDTH pixels.
sub wrap_text {
	my ($text, $size, $width, $most) = @_;
	my @lines;
	for my $word (split ' ', $text) {
		my $longer = @lines ? "$lines[-1] $word" : $word;
		if (@lines && (@lines == $most || text_width($longer, $size) <= $width)) {
			$lines[-1] = $longer;
		} else {
			push @lines, $word;
		}
	}
	return map { fit_text($_, $size, $width) } @lines;
}

1;
