# SPDX-License-Identifier: GPL-2.0-only
# Waits that a person or an administrator has named, at run time, for what the shipped table
# reasons.tsv cannot know: a driver of one's own, a file system of the house. Lines have three
# columns, separated by tabs: functions of the kernel, kind, what is waited for. A bundle takes
# along the lines that it needed.
package Tipme::OwnWaits;

use strict;
use warnings;
use Tipme::Printable qw(printable);
use Tipme::Reason    qw(reason);

# What may be waited for => how the walk goes on from there, as in reasons.tsv. For a lock it goes
# on in whoever woke the waiter: that thread had it.
my %CLASS = (
	'lock-wait'    => 'lock',
	'disk-io'      => 'disk',
	'device-wait'  => 'device',
	'gpu-wait'     => 'gpu',
	'network-wait' => 'net',
	'ipc-wait'     => 'wait',
);
# A function, or the beginning of its name. No regular expressions: a stranger's bundle has such
# lines, too.
my $FUNCTION   = qr/\A\w{3,100}\*?\z/;
my $MOST_ROWS  = 200;                    # rows of waits.tsv
my $MOST_NAMES = 100;                    # functions of one row
my $MOST_WORDS = 100;                    # characters of the words

# files(): where they are looked for, the person's first
sub files {
	my $config = $ENV{XDG_CONFIG_HOME};
	$config = "$ENV{HOME}/.config" if !length($config // '') && defined $ENV{HOME};
	return ((defined $config ? "$config/tipme/waits.tsv" : ()), '/etc/tipme/waits.tsv');
}

# row(FUNCTIONS, KIND, WORDS): a row as Reasons has them, and what is wrong with it instead
sub row {
	my ($functions, $kind, $words) = @_;
	return (undef, 'three columns are needed, separated by tabs')
		if grep { !defined || ref || !length } $functions, $kind, $words;
	my @names = split ' ', $functions;
	my ($bad) = grep { $_ !~ $FUNCTION } @names;
	return (undef, "$bad is no function of a kernel, nor the beginning of one with *")
		if defined $bad;
	return (undef, "there may be 1 to $MOST_NAMES functions") if !@names || @names > $MOST_NAMES;
	return (undef, "the kind $kind is none of " . join ' ', sort keys %CLASS) if !$CLASS{$kind};
	$words = printable($words);
	return (undef, "the words may have $MOST_WORDS characters") if length $words > $MOST_WORDS;
	my $any = join '|', map {s/\*\z/\\w*/r} @names;
	return {
		kind => $kind, context => 'any', class => $CLASS{$kind}, frames => qr/\b(?:$any)\b/,
		code => reason('own-wait', words => $words), own => [ $functions, $kind, $words ]
	};
}

# here(): the rows of this person and this machine. A line that cannot be used is told on standard
# error, once, and left out.
my %told;

sub here {
	my @rows;
	for my $file (files()) {
		open my $in, '<', $file or next;
		while (defined(my $line = <$in>)) {
			chomp $line;
			next if $line =~ /\A\s*(?:#|\z)/;
			my ($row, $why) = row(split /\t/, $line, 3);
			if    (@rows >= $MOST_ROWS) { ($row, $why) = (undef, "only $MOST_ROWS are taken") }
			if    ($row)                { push @rows, $row }
			elsif (!$told{"$file $."}++) {
				print STDERR "tipme: $file: line $.: $why: the line is left out; mend it\n";
			}
		}
	}
	return @rows;
}

# sent(LIST of a bundle): the rows that its sender had; what is none is passed over
sub sent {
	my ($list) = @_;
	return if ref $list ne 'ARRAY' || @$list > $MOST_ROWS;
	return grep {defined} map { ref $_ eq 'ARRAY' ? (row(@$_))[0] : undef } @$list;
}

1;
