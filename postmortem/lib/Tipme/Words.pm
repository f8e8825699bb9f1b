# SPDX-License-Identifier: GPL-2.0-only
# Sentences for people. Each is written once, in English, marked for translation, with {names} of
# what is filled in; the text domain is "tipme". No decision may rest on what comes out of here.
package Tipme::Words;

use strict;
use warnings;
use Exporter       qw(import);
use File::Basename qw(dirname);

our @EXPORT_OK = qw(N__ fill in_english is_translated);

# The user's catalog is opened at the first sentence, and only where there is one: that takes
# 25 ms, a tenth of what a verb has for its first output.
our $translate;

# N__(TEXT): marks a text of a table for translation, and is the text itself
sub N__ { return $_[0] }

# fill(TEXT, NAME => VALUE ...): the text in the user's language, {NAME} replaced by its value;
# a name without a value stays as it is
sub fill {
	my ($text, %value) = @_;
	$translate //= _catalog();
	$text = $translate->($text);
	$text =~ s/\{(\w+)\}/$value{$1} \/\/ "{$1}"/ge;
	return $text;
}

# is_translated(): does the user read another language than ours?
sub is_translated {
	$translate //= _catalog();
	return $translate == \&N__ ? 0 : 1;
}

# in_english(CODE): what CODE gives, with sentences in English: for strangers, to whom a file goes
sub in_english {
	my ($code) = @_;
	local $translate = \&N__;
	return $code->();
}

sub _catalog {
	my ($locale) = grep { defined && length } @ENV{qw(LC_ALL LC_MESSAGES LANG)};
	return \&N__ if ($locale // 'C') =~ /\A(?:C|POSIX)\z/ || !_is_there($locale);
	require POSIX;
	POSIX::setlocale(POSIX::LC_MESSAGES(), '');
	eval { require Locale::TextDomain; require Locale::Messages; 1 } or return \&N__;
	my @folders = _folders();
	{
		# The library asks whose sentences they are by the package that calls it.
		package Tipme::Words::Catalog;
		Locale::TextDomain->import('tipme', @folders);
	}
	Locale::Messages::bind_textdomain_codeset(tipme => 'UTF-8');
	Locale::Messages::bind_textdomain_filter(tipme => \&Locale::Messages::turn_utf_8_on);
	return \&Tipme::Words::Catalog::text;
}

# Where catalogues lie: where the build tree or a test says; beside our modules; where they were
# installed with the modules; where systems have theirs.
sub _folders {
	my $named = $ENV{TIPME_LOCALEDIR} // '';
	return (
		length $named ? $named : (),
		(map {"$_/LocaleData"} grep { !ref } @INC),
		dirname(__FILE__) . '/../../../locale', '/usr/share/locale', '/usr/local/share/locale'
	);
}

# Whether there is one, for each language that is wanted.
sub _is_there {
	my ($locale) = @_;
	my @want     = grep {length} split(/:/, $ENV{LANGUAGE} // ''), $locale;
	my @names    = map  { ($_, s/[.@].*//r, s/[_.@].*//r) } @want;
	return 1 if grep {
		my $folder = $_;
		grep { -e "$folder/$_/LC_MESSAGES/tipme.mo" } @names
	} _folders();
	return 0;
}

sub Tipme::Words::Catalog::text {

	package Tipme::Words::Catalog;
	return &__($_[0]);
}

1;
