# SPDX-License-Identifier: GPL-2.0-only
# What tipme says in more than one place, or in its windows: one table for the post-mortem (Perl)
# and for the command line, the agent and the question (C, helper/lib/words.h, made by
# helper/lib/gen-words).
# The words of a kind of verdict are in Tipme::Kinds; the C programs get them by `tipme diagnose
# --json`.
package Tipme::Phrases;

use strict;
use warnings;
use Exporter     qw(import);
use Tipme::Words qw(N__ fill);

our @EXPORT_OK = qw(phrase phrases);

# {name} is filled in, always by a text.
my @PHRASES = (

	# What words mean.
	usually => N__('"Usually" is the median of other answers of the same program to such events.'),
	unusual => N__('"Unusual" is one 100 ms later (pointer: 75 ms), or one after 500 ms.'),

	# The recorder, as the agent, the question and the command line tell of it.
	saving          => N__('Saving what just happened...'),
	saving_last     => N__('Saving the last {seconds} seconds...'),
	not_recording   => N__('Nothing saved: tipme was not recording.'),
	not_recorded    => N__('Not saved yet: tipme is not recording.'),
	start_recording => N__('Start recording'),
	recording       => N__('tipme is recording.'),
	ended           => N__('tipme has stopped recording: no hot-key until it is started again.'),
	not_saved       => N__('Not saved: {why}'),
	not_done        => N__('Not done: {why}'),
	deaf            => N__('Not saved: the recorder does not answer. Look at `tipme status`.'),
	no_input        => N__('From now on tipme records no input.'),
	default_input   => N__('tipme records input again, never which key.'),
	slow_saved      => N__('{what} Saved.'),
	slow_unknown    => N__('Something was slow.'),
	details         => N__('Details'),
	hotkey_none     => N__('No hot-key works here yet.'),
	hotkey_silent   => N__(
		'No key press arrived. Does another program use this shortcut, or is this Wayland? See tipme doctor'
	),

	# The question.
	saved_at       => N__('Saved at {time}'),
	saved_title    => N__('Saved'),
	looking        => N__('Looking for the cause...'),
	probable_cause => N__('Probable cause: {sentence}'),
	when           => N__('That was {when}.'),
	cause_unknown  => N__('The cause is not known yet: tipme diagnose {id}'),
	yes            => N__('Yes, that was it'),
	no             => N__('No, another moment'),
	which          => N__('Which one was it? The slowest moments:'),
	no_moments     => N__('No key press or click was answered late in these seconds.'),
	none_of_these  => N__('None of these'),
	not_that       => N__('It was none of the slow key presses and clicks'),
	moment         => N__('{clock}: {event} in {program}, {time}'),
	moment_note    => N__('It was {moment}'),
	doing          => N__('What was slow?'),
	own_words      => N__('In your own words, if you like'),
	typing         => N__('Typing'),
	typing_note    => N__('Typing was slow'),
	clicking       => N__('Clicking'),
	clicking_note  => N__('Nothing happened when I clicked'),
	scrolling      => N__('Scrolling'),
	scrolling_note => N__('Moving or scrolling was not smooth'),
	starting       => N__('Starting'),
	starting_note  => N__('A program took long to start or open'),
	everything     => N__('Everything'),
	all_note       => N__('Everything stood still'),
	testing        => N__('Just testing'),
	testing_note   => N__('I was just trying it'),
	pointer        => N__('Did the pointer move?'),
	moved          => N__('It moved'),
	moved_note     => N__('The pointer still moved'),
	stood          => N__('It stood still'),
	stood_note     => N__('The pointer stood still, too'),
	often          => N__('How often?'),
	again          => N__('Again and again'),
	again_note     => N__('It comes again and again'),
	once           => N__('Once'),
	once_note      => N__('It came once'),
	saved_words    => N__('Saved.'),
	saving_words   => N__('Saving...'),
	undo           => N__('Undo'),
	undone         => N__('Taken back.'),
	open           => N__('Open'),
	why            => N__('Why?'),
	report         => N__('Report...'),
	report_making  => N__('Looking what goes into a report...'),
	report_save    => N__('Save the report'),
	report_saved   => N__('Saved as {file}. tipme sends nothing: give it to whom you like.'),
	report_failed  => N__('No report: {why}'),
	close          => N__('Close'),

	# Behind a verdict.
	further =>
		N__('Stages, threads and evidence: tipme diagnose -v. A report for others: tipme bundle'),
);
my %PHRASE = @PHRASES;

# phrases(): all of them, (name, text) in the order of the table
sub phrases { return @PHRASES }

# phrase(NAME, name => VALUE ...): in the user's language, filled in
sub phrase {
	my ($name, %value) = @_;
	return fill($PHRASE{$name} // die("no phrase '$name'\n"), %value);
}

1;
