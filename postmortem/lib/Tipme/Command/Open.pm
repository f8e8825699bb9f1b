# SPDX-License-Identifier: GPL-2.0-only
# tipme open: what somebody else has bundled.
package Tipme::Command::Open;

use strict;
use warnings;
use Tipme::Bundle;
use Cpanel::JSON::XS   ();
use Tipme::CommandLine qw(options complain table);
use Tipme::Diagnosis;
use Tipme::Episode;
use Tipme::Notes     qw(tags_of);
use Tipme::Printable qw(put one_line);
use Tipme::Report::Text;
use Tipme::ServerRecords;
use Tipme::Words qw(N__ fill);

my $MOST_ROWS = 40;    # of what the sender says of the system

my $HELP = N__(<<'END');
usage: tipme open FILE [-o FOLDER]

Unpacks a file that `tipme bundle` wrote into a folder (FILE without its ending, unless you name
one; it must not exist), and judges it anew: the verdict is this program's, not that of whoever
sent it. All other verbs take the folder, too.

FILE may also be what an X server saved itself, since no recorder ran when the hot-key was pressed
(tipme-x-....rec): that has input, requests and what they drew, and nothing of the kernel, so no
cause is known.

  tipme open slow-editor.tipme
  tipme open report.tipme -o /tmp/report
  tipme timeline /tmp/report -o report.svg
END

sub run {
	my ($class, @args) = @_;
	my ($o,     $exit) = options(\@args, $HELP, 1, 'output|o=s');
	return $exit                                                                      if !$o;
	return complain('open', fill(N__('no file: name one that `tipme bundle` wrote'))) if !@args;
	my $folder = $o->{output} // $args[0] =~ s/\.[A-Za-z0-9]+\z//r;
	$folder .= '.episode' if $folder eq $args[0];
	my $reader = Tipme::ServerRecords->is_one($args[0]) ? 'Tipme::ServerRecords' : 'Tipme::Bundle';
	eval { $reader->unpack_to($args[0], $folder); 1 } or die _with_advice($@);
	my $ep   = Tipme::Episode->open($folder);
	my $sent = defined $ep->manifest->{bundle};
	Tipme::Bundle->verify($folder) if $sent;
	# What is known already; judging takes some time.
	put(_from_sender($ep, $folder)) if $sent;
	STDOUT->flush;
	my $d    = Tipme::Diagnosis->new($ep)->run;
	my $page = Tipme::Report::Text::page($d, sent => $sent);
	$page .= "\n" . _for_receiver($d, $folder) if $sent;
	put($page, "\n", fill(N__('unpacked into {folder}'), folder => one_line($folder)), "\n");
	return $d->{verdict}{kind} eq 'unknown' ? 2 : 0;
}

# Whoever opens it first reads what the sender wrote and has.
sub _from_sender {
	my ($ep, $folder) = @_;
	my $text = '';
	if (open my $in, '<:raw', "$folder/system.json") {
		my $s     = eval { local $/; Cpanel::JSON::XS->new->utf8->max_depth(8)->decode(<$in>) };
		my $facts = ref $s eq 'HASH' && ref $s->{facts} eq 'ARRAY' ? $s->{facts} : [];
		my @rows  = map {
			[ map {"$_"} @$_[ 0, 1 ] ]
		} grep {
			ref eq 'ARRAY' && @$_ == 2 && !grep { !defined || ref }
				@$_
		} @$facts;
		my $steps = ref $s eq 'HASH' && ref $s->{steps} eq 'HASH' ? $s->{steps} : {};
		push @rows,
			map  { [ $_->[1], $steps->{ $_->[0] } ] }
			grep { defined $steps->{ $_->[0] } && !ref $steps->{ $_->[0] } }
			[ did => fill(N__('done')) ],
			[ expected => fill(N__('expected')) ], [ often => fill(N__('how often')) ];
		splice @rows, $MOST_ROWS if @rows > $MOST_ROWS;
		$text .= table(
			[
				map {
					[ map { one_line($_) } @$_ ]
				} @rows
			],
			'll'
		) if @rows;
	}
	$text .= fill(N__('The sender says: {text}'), text => one_line($ep->note)) . "\n"
		if defined $ep->note;
	my $tags = join ' ', tags_of($folder);
	$text .= fill(N__('The sender\'s tags: {tags}'), tags => $tags) . "\n" if length $tags;
	return length $text ? "$text\n" : '';
}

# Not the sender's advice: the receiver is the one who can mend it.
sub _for_receiver {
	my ($d, $folder) = @_;
	my $b    = $d->{verdict}{blamed} // {};
	my $dir  = one_line($folder);
	my @text = fill(N__('You were sent this.'));
	push @text, fill(N__('{name} is what this verdict is about.'), name => one_line($b->{comm}))
		if defined $b->{comm};
	push @text,
		fill(N__('Numbers of events and processes, and the usual time, are the sender\'s.'));
	return join(' ', @text) . "\n" . fill(
		N__(
			'Look further: tipme timeline {folder} -o FILE.svg; ui.perfetto.dev opens {folder}/trace.pftrace.'
		),
		folder => $dir
	) . "\n";
}

# What is wrong with the file itself leads to one thing to do.
sub _with_advice {
	my ($why) = @_;
	$why =~ s/\s*\z//;
	my $itself =
		qr/not a bundle of tipme|is no plain file|was cut|damaged|than a bundle has|plain files only|name that a bundle has|is no number|there twice|members/;
	return
		  $why
		. ($why =~ /$itself\z/ ? ': ask its sender for the file that `tipme bundle` wrote' : '')
		. "\n";
}

1;
