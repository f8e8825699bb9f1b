# SPDX-License-Identifier: GPL-2.0-only
# What only the person can tell who had the problem: asked at a terminal, and nowhere else.
package Tipme::Asked;

use strict;
use warnings;
use Tipme::CommandLine qw(said_yes);
use Tipme::Printable   qw(characters one_line put);
use Tipme::Words       qw(N__ fill);

my @STEPS = (
	[ did      => N__('What did you do?') ],
	[ expected => N__('What did you expect?') ],
	[ often    => N__('How often does it happen?') ],
);

# at_terminal(): is somebody there who reads, and can answer?
sub at_terminal { return -t STDIN && -t STDOUT ? 1 : 0 }

# steps(OPTIONS, DID): asks for those of did, expected and often that are not told; Enter leaves one
# out, the end of the input all that follow. DID: what is taken for the first if it is left out.
sub steps {
	my ($o, $did) = @_;
	my @ask = grep { !defined $o->{ $_->[0] } } @STEPS;
	return if !@ask || !at_terminal();
	put("\n" . fill(N__('Whoever mends it will ask. Enter leaves a line out.')) . "\n");
	for (@ask) {
		my ($name, $question) = @$_;
		my $usual = $name eq 'did' && length($did // '') ? ' [' . one_line($did) . ']' : '';
		put(fill($question) . "$usual ");
		STDOUT->flush;
		my $answer = <STDIN>;
		if (!defined $answer) { put("\n"); last }
		$answer = characters($answer) =~ s/\A\s+|\s+\z//gr;
		$o->{$name} = $answer if length $answer;
	}
	return;
}

# note(TEXT): 1: it was shown, and is to go along
sub note {
	my ($note) = @_;
	return 0 if !defined $note || $note !~ /\S/ || !at_terminal();
	return said_yes(
		fill(
			N__('Your note: "{note}" Take it along, with the tags?'),
			note => one_line($note =~ s/\s+\z//r)
		),
		1
	);
}

1;
