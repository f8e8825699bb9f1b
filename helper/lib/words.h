/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What tipme says in more than one place; made by helper/lib/gen-words from Tipme::Phrases: change
 * that, not this.
 */
#ifndef TIPME_WORDS_H
#define TIPME_WORDS_H

#define TIPME_WORDS_USUALLY \
	"\"Usually\" is the median of other answers of the same program to such events."
#define TIPME_WORDS_UNUSUAL "\"Unusual\" is one 100 ms later (pointer: 75 ms), or one after 500 ms."
#define TIPME_WORDS_SAVING "Saving what just happened..."
#define TIPME_WORDS_SAVING_LAST "Saving the last %s seconds..."
#define TIPME_WORDS_NOT_RECORDING "Nothing saved: tipme was not recording."
#define TIPME_WORDS_NOT_RECORDED "Not saved yet: tipme is not recording."
#define TIPME_WORDS_START_RECORDING "Start recording"
#define TIPME_WORDS_RECORDING "tipme is recording."
#define TIPME_WORDS_ENDED "tipme has stopped recording: no hot-key until it is started again."
#define TIPME_WORDS_NOT_SAVED "Not saved: %s"
#define TIPME_WORDS_NOT_DONE "Not done: %s"
#define TIPME_WORDS_DEAF "Not saved: the recorder does not answer. Look at `tipme status`."
#define TIPME_WORDS_NO_INPUT "From now on tipme records no input."
#define TIPME_WORDS_DEFAULT_INPUT "tipme records input again, never which key."
#define TIPME_WORDS_SLOW_SAVED "%s Saved."
#define TIPME_WORDS_SLOW_UNKNOWN "Something was slow."
#define TIPME_WORDS_DETAILS "Details"
#define TIPME_WORDS_HOTKEY_NONE "No hot-key works here yet."
#define TIPME_WORDS_HOTKEY_SILENT \
	"No key press arrived. Does another program use this shortcut, or is this Wayland? See tipme doctor"
#define TIPME_WORDS_SAVED_AT "Saved at %s"
#define TIPME_WORDS_SAVED_TITLE "Saved"
#define TIPME_WORDS_LOOKING "Looking for the cause..."
#define TIPME_WORDS_PROBABLE_CAUSE "Probable cause: %s"
#define TIPME_WORDS_WHEN "That was %s."
#define TIPME_WORDS_CAUSE_UNKNOWN "The cause is not known yet: tipme diagnose %s"
#define TIPME_WORDS_YES "Yes, that was it"
#define TIPME_WORDS_NO "No, another moment"
#define TIPME_WORDS_WHICH "Which one was it? The slowest moments:"
#define TIPME_WORDS_NO_MOMENTS "No key press or click was answered late in these seconds."
#define TIPME_WORDS_NONE_OF_THESE "None of these"
#define TIPME_WORDS_NOT_THAT "It was none of the slow key presses and clicks"
#define TIPME_WORDS_MOMENT "%s: %s in %s, %s"
#define TIPME_WORDS_MOMENT_NOTE "It was %s"
#define TIPME_WORDS_DOING "What were you doing?"
#define TIPME_WORDS_OWN_WORDS "In your own words, if you like"
#define TIPME_WORDS_TYPING "Typing"
#define TIPME_WORDS_TYPING_NOTE "Typing was slow"
#define TIPME_WORDS_CLICKING "Clicking"
#define TIPME_WORDS_CLICKING_NOTE "Nothing happened when I clicked"
#define TIPME_WORDS_SCROLLING "Scrolling"
#define TIPME_WORDS_SCROLLING_NOTE "Moving or scrolling was not smooth"
#define TIPME_WORDS_TESTING "Just testing"
#define TIPME_WORDS_TESTING_NOTE "I was just trying it"
#define TIPME_WORDS_SAVED_WORDS "Saved."
#define TIPME_WORDS_SAVING_WORDS "Saving..."
#define TIPME_WORDS_UNDO "Undo"
#define TIPME_WORDS_UNDONE "Taken back."
#define TIPME_WORDS_WHY "Why?"
#define TIPME_WORDS_REPORT "Report..."
#define TIPME_WORDS_REPORT_MAKING "Looking what goes into a report..."
#define TIPME_WORDS_REPORT_SAVE "Save the report"
#define TIPME_WORDS_REPORT_SAVED "Saved as %s. tipme sends nothing: give it to whom you like."
#define TIPME_WORDS_REPORT_FAILED "No report: %s"
#define TIPME_WORDS_CLOSE "Close"
#define TIPME_WORDS_FURTHER \
	"Stages, threads and evidence: tipme diagnose -v. A report for others: tipme bundle"

#endif
