# SPDX-License-Identifier: GPL-2.0-only
# What the verbs have in common: options, help, JSON, units as people read them.
package Tipme::CommandLine;

use strict;
use warnings;
use Cpanel::JSON::XS ();
use Encode           ();
use Exporter         qw(import);
use Getopt::Long     ();
use POSIX            ();
use Time::Local      qw(timegm);
use Tipme::Printable qw(put printable);
use Tipme::Progress;
use Tipme::Words qw(N__ fill);

our @EXPORT_OK =
	qw(options complain replaceable print_json terminal_json ms seconds with_commas bytes_text
	local_time said_yes table);

my $USAGE_ERROR = 64;

# By the clock on the wall; seconds or nanoseconds of CLOCK_MONOTONIC, or -SECONDS before the
# trigger; and what is said of all else.
our $TIME =
	qr/\A(?:[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:[.][0-9]{1,9})?|-?[0-9]{1,19}(?:[.][0-9]{1,9})?)\z/;
our $NO_TIME =
	N__(  'not a time: give HH:MM:SS, -SECONDS before the trigger, or seconds or nanoseconds '
		. 'of CLOCK_MONOTONIC');

# options(\@ARGS, HELP, MAX, SPEC ...): (\%options, undef), or (undef, exit status) after the help
# or a complaint;
# up to MAX words stay in ARGS. Beside Getopt's types there is `at=t`, a time as `diagnose` takes
# it.
sub options {
	my ($args, $help, $max, @spec) = @_;
	my (%o, @bad);
	my @times = map {/\A([\w-]+).*=t\z/s} @spec;
	s/=t\z/=s/ for @spec;
	local $SIG{__WARN__} = sub { push @bad, $_[0] };
	my $parser =
		Getopt::Long::Parser->new(config => [qw(gnu_getopt no_ignore_case no_auto_abbrev)]);
	my $ok = $parser->getoptionsfromarray($args, \%o, 'help|h', @spec);
	my ($verb) = $help =~ /\Ausage: tipme (\S+)/;
	$help = _help($help);
	if ($o{help}) { put($help); return (undef, 0) }
	push @bad,
		map {qq{Value "$o{$_}" invalid for option $_ (@{[ fill($NO_TIME) ]})\n}}
		grep { defined $o{$_} && $o{$_} !~ $TIME } @times;
	push @bad, fill(N__('too many arguments: {word}'), word => $args->[$max]) . "\n"
		if $ok && @$args > $max;
	return (\%o, undef) if !@bad;
	my ($usage) = $help =~ /\A([^\n]*)/;
	return (undef, complain($verb, _complaint($bad[0]) . ": $usage"));
}

# complain(VERB, TEXT): characters to standard error, as UTF-8; the exit status of a misuse
sub complain {
	my ($verb, $text) = @_;
	print STDERR Encode::encode('UTF-8', 'tipme: ' . (defined $verb ? "$verb: " : '') . "$text\n");
	return $USAGE_ERROR;
}

# In the user's language; what words mean is said where a verb wants it.
sub _help {
	my ($text) = @_;
	my %means;
	if ($text =~ /\{usually\}/) {
		require Tipme::Phrases;
		%means = map { $_ => Tipme::Phrases::phrase($_) } qw(usually unusual);
	}
	return fill($text, %means);
}

# Getopt's words, as all our complaints are: what it is about, and what is wrong with it.
sub _complaint {
	my ($text) = printable($_[0]) =~ s/\s*\z//r;
	return fill(N__('{option}: no such option'), option => (length $1 == 1 ? '-' : '--') . $1)
		if $text =~ /\AUnknown option: ?(.*)\z/s;
	return "--$2 $1: " . ($3 // fill(N__('not understood')))
		if $text =~ /\AValue "(.*)" invalid for option (\S+)(?: \((.*)\))?\z/s;
	return fill(N__('{option}: its value is missing'), option => "--$1")
		if $text =~ /\AOption (\S+) requires an argument\z/;
	return lcfirst $text;
}

# replaceable(FILE): dies unless it is new or an ordinary file. What is written beside and renamed
# takes the place of whatever is there, and for root that may be /dev/null.
sub replaceable {
	my ($file) = @_;
	die "$file: a link, or no ordinary file, which would be replaced: name a file\n"
		if -l $file || -e _ && !-f _;
	return;
}

# print_json(DATA): sorted, and in ASCII, so that no name can write to the terminal.
sub print_json {
	Tipme::Progress::clear();
	print terminal_json(
		Cpanel::JSON::XS->new->canonical->pretty->indent_length(2)->ascii->encode($_[0]));
	return;
}

# terminal_json(JSON): in ASCII a DEL is left, which a terminal may obey; it can stand inside
# strings only.
sub terminal_json { return $_[0] =~ s{\x7f}{\\u007f}gr }

# seconds(S): "12 us", "3.2 ms", "90 s", "44 min", "12 h", "7 days"; three digits
sub seconds {
	my ($s) = @_;
	return sprintf '%.3g us',   $s * 1e6  if $s < 1e-3;
	return sprintf '%.4g ms',   $s * 1e3  if $s < 1;
	return sprintf '%.3g s',    $s        if $s < 120;
	return sprintf '%.3g min',  $s / 60   if $s < 7200;
	return sprintf '%.3g h',    $s / 3600 if $s < 172_800;
	return sprintf '%.3g days', $s / 86400;
}

# ms(NS): "0.04 ms", "3.2 ms", "934 ms", "12.4 s"
sub ms {
	my ($ns) = @_;
	return '-' if !defined $ns;
	my $ms = abs($ns) / 1e6;
	my $text =
		  $ms < 1      ? sprintf('%.2f ms', $ms)
		: $ms < 10     ? sprintf('%.1f ms', $ms)
		: $ms < 9999.5 ? sprintf('%.0f ms', $ms)
		:                sprintf('%.1f s', $ms / 1000);
	return $ns < 0 ? "-$text" : $text;
}

sub with_commas {
	my $n = reverse $_[0];
	$n =~ s/(\d{3})(?=\d)/$1,/g;
	return scalar reverse $n;
}

sub bytes_text {
	my ($n) = @_;
	for my $unit (qw(bytes KB MB)) {
		return sprintf($n < 10 && $unit ne 'bytes' ? '%.1f %s' : '%.0f %s', $n, $unit) if $n < 1024;
		$n /= 1024;
	}
	return sprintf '%.1f GB', $n;
}

# local_time("2026-11-20T15:03:01Z"): as the clock on the wall says; what is no such time stays as
# it is.
sub local_time {
	my ($utc) = @_;
	my @t     = $utc =~ /\A(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.\d+)?Z\z/ or return $utc;
	my $epoch = eval { timegm(@t[ 5, 4, 3, 2 ], $t[1] - 1, $t[0]) } // return $utc;
	return POSIX::strftime('%Y-%m-%d %H:%M:%S', localtime $epoch);
}

# said_yes(QUESTION, 1: Enter alone is a yes): asks on the terminal; all but a clear yes is a no.
sub said_yes {
	my ($question, $enter) = @_;
	put("\n$question " . ($enter ? '[Y/n] ' : '[y/N] '));
	STDOUT->flush;
	my $answer = <STDIN> // return 0;
	return $answer =~ /\A\s*y(?:es)?\s*\z/i || $enter && $answer !~ /\S/ ? 1 : 0;
}

# table(\@ROWS, ALIGN): lines with columns as wide as they need; ALIGN has l or r for each column,
# the last column is not padded.
sub table {
	my ($rows, $align) = @_;
	my @width;
	for my $r (@$rows) {
		for my $i (0 .. $#$r) {
			$width[$i] = length $r->[$i] if length $r->[$i] > ($width[$i] // 0);
		}
	}
	my @align = split //, $align;
	return join '', map {
		my $r    = $_;
		my $line = join '  ', map {
			my $w = ($width[$_] // 0) * ($align[$_] eq 'r' ? 1 : -1);
			sprintf "%${w}s", $r->[$_]
		} 0 .. $#$r;
		$line =~ s/\s+\z//;
		"$line\n";
	} @$rows;
}

1;
