/* SPDX-License-Identifier: GPL-2.0-only */
/* What tipme says in more than one place; made by helper/lib/gen-words from Tipme::Phrases and Tipme::Told: change those, not this. */
#ifndef TIPME_WORDS_H
#define TIPME_WORDS_H

#include "translate.h"

#define TIPME_WORDS_USUALLY N_("\"Usually\" is the median of other answers of the same program to such events.")
#define TIPME_WORDS_UNUSUAL N_("\"Unusual\" is one 100 ms later (pointer: 75 ms), or one after 500 ms.")
#define TIPME_WORDS_SAVING N_("Saving what just happened...")
#define TIPME_WORDS_SAVING_LAST N_("Saving the last %s seconds...")
#define TIPME_WORDS_NOT_RECORDING N_("Nothing saved: tipme was not recording.")
#define TIPME_WORDS_NOT_RECORDED N_("Not saved yet: tipme is not recording.")
#define TIPME_WORDS_START_RECORDING N_("Start recording")
#define TIPME_WORDS_RECORDING N_("tipme is recording.")
#define TIPME_WORDS_ENDED N_("tipme has stopped recording: no hot-key until it is started again.")
#define TIPME_WORDS_NOT_SAVED N_("Not saved: %s")
#define TIPME_WORDS_NOT_DONE N_("Not done: %s")
#define TIPME_WORDS_DEAF N_("Not saved: the recorder does not answer. Look at `tipme status`.")
#define TIPME_WORDS_NO_INPUT N_("From now on tipme records no input.")
#define TIPME_WORDS_DEFAULT_INPUT N_("tipme records input again, never which key.")
#define TIPME_WORDS_SLOW_SAVED N_("%s Saved.")
#define TIPME_WORDS_SLOW_UNKNOWN N_("Something was slow.")
#define TIPME_WORDS_DETAILS N_("Details")
#define TIPME_WORDS_HOTKEY_NONE N_("No hot-key works here yet.")
#define TIPME_WORDS_HOTKEY_SILENT N_("No key press arrived. Does another program use this shortcut, or is this Wayland? See tipme doctor")
#define TIPME_WORDS_SAVED_AT N_("Saved at %s")
#define TIPME_WORDS_SAVED_TITLE N_("Saved")
#define TIPME_WORDS_LOOKING N_("Looking for the cause...")
#define TIPME_WORDS_PROBABLE_CAUSE N_("Probable cause: %s")
#define TIPME_WORDS_WHEN N_("That was %s.")
#define TIPME_WORDS_CAUSE_UNKNOWN N_("The cause is not known yet: tipme diagnose %s")
#define TIPME_WORDS_YES N_("Yes, that was it")
#define TIPME_WORDS_NO N_("No, another moment")
#define TIPME_WORDS_WHICH N_("Which one was it? The slowest moments:")
#define TIPME_WORDS_NO_MOMENTS N_("No key press or click was answered late in these seconds.")
#define TIPME_WORDS_NONE_OF_THESE N_("None of these")
#define TIPME_WORDS_NOT_THAT N_("It was none of the slow key presses and clicks")
#define TIPME_WORDS_MOMENT N_("%s: %s in %s, %s")
#define TIPME_WORDS_MOMENT_NOTE N_("It was %s")
#define TIPME_WORDS_DOING N_("What was slow?")
#define TIPME_WORDS_OWN_WORDS N_("In your own words, if you like")
#define TIPME_WORDS_TYPING N_("Typing")
#define TIPME_WORDS_TYPING_NOTE N_("Typing was slow")
#define TIPME_WORDS_CLICKING N_("Clicking")
#define TIPME_WORDS_CLICKING_NOTE N_("Nothing happened when I clicked")
#define TIPME_WORDS_SCROLLING N_("Scrolling")
#define TIPME_WORDS_SCROLLING_NOTE N_("Moving or scrolling was not smooth")
#define TIPME_WORDS_STARTING N_("Starting")
#define TIPME_WORDS_STARTING_NOTE N_("A program took long to start or open")
#define TIPME_WORDS_EVERYTHING N_("Everything")
#define TIPME_WORDS_ALL_NOTE N_("Everything stood still")
#define TIPME_WORDS_TESTING N_("Just testing")
#define TIPME_WORDS_TESTING_NOTE N_("I was just trying it")
#define TIPME_WORDS_POINTER N_("Did the pointer move?")
#define TIPME_WORDS_MOVED N_("It moved")
#define TIPME_WORDS_MOVED_NOTE N_("The pointer still moved")
#define TIPME_WORDS_STOOD N_("It stood still")
#define TIPME_WORDS_STOOD_NOTE N_("The pointer stood still, too")
#define TIPME_WORDS_OFTEN N_("How often?")
#define TIPME_WORDS_AGAIN N_("Again and again")
#define TIPME_WORDS_AGAIN_NOTE N_("It comes again and again")
#define TIPME_WORDS_ONCE N_("Once")
#define TIPME_WORDS_ONCE_NOTE N_("It came once")
#define TIPME_WORDS_SAVED_WORDS N_("Saved.")
#define TIPME_WORDS_SAVING_WORDS N_("Saving...")
#define TIPME_WORDS_UNDO N_("Undo")
#define TIPME_WORDS_UNDONE N_("Taken back.")
#define TIPME_WORDS_OPEN N_("Open")
#define TIPME_WORDS_WHY N_("Why?")
#define TIPME_WORDS_REPORT N_("Report...")
#define TIPME_WORDS_REPORT_MAKING N_("Looking what goes into a report...")
#define TIPME_WORDS_REPORT_SAVE N_("Save the report")
#define TIPME_WORDS_REPORT_SAVED N_("Saved as %s. tipme sends nothing: give it to whom you like.")
#define TIPME_WORDS_REPORT_FAILED N_("No report: %s")
#define TIPME_WORDS_CLOSE N_("Close")
#define TIPME_WORDS_FURTHER N_("Stages, threads and evidence: tipme diagnose -v. A report for others: tipme bundle")

/* With {names}, as Tipme::Told has them. */
#define TIPME_TOLD_SENTENCES \
	N_("{file}: is missing"), \
	N_("{file}: is missing, or no plain file"), \
	N_("{file}: was cut: {n} bytes, not even its header of {p}"), \
	N_("{file}: was cut: {n} of {p} bytes are there"), \
	N_("{file}: has {n} bytes behind its end, not read"), \
	N_("{file}: section {n} at byte {p}: {why}: the rest of the file is not read"), \
	N_("{file}: record {n} of the section at byte {p}, at byte {q}: {why}: the rest of the section is not read"), \
	N_("record of type {n} where a section belongs"), \
	N_("length {n}"), \
	N_("too many sections"), \
	N_("{n} bytes long"), \
	N_("{n} records in {p} bytes"), \
	N_("{n} of {p} bytes are there"), \
	N_("impossible: length {n}"), \
	N_("cut: {n} bytes left, {p} wanted"), \
	N_("cut"), \
	N_("{folder}: no such folder: `tipme list` shows the episodes"), \
	N_("{folder}: not an episode (not a folder): `tipme list` shows the episodes"), \
	N_("{folder}: not an episode (no manifest.json): `tipme list` shows the episodes"), \
	N_("{folder}: you may not read it: it belongs to another user: ask for a file that `tipme bundle` writes"), \
	N_("{folder}: was removed meanwhile: `tipme list` shows the episodes"), \
	N_("{file}: is a link: an episode holds plain files only"), \
	N_("{file}: is no plain file: an episode holds plain files only"), \
	N_("{file}: {n} bytes, more than {p}: not an episode of tipme"), \
	N_("{file}: {n} bytes: more than this program reads"), \
	N_("{file}: not a record file of tipme"), \
	N_("{file}: byte order {order}: written on a machine of another byte order, which this program does not read"), \
	N_("{file}: format {format}: this program reads format {n}: use the tipme that wrote it, or a later one"), \
	N_("{file}: header of {n} bytes: the file is damaged"), \
	N_("{file}: cannot be read at byte {n}: {why}"), \
	N_("{file}: cannot be read at byte {n}"), \
	N_("{file}: cannot be read: {why}"), \
	N_("{file}: is missing: is the episode whole?"), \
	N_("{file}: {why}: is the episode whole?"), \
	N_("{file}: not JSON: {why}"), \
	N_("{file}: {why}: not a manifest of tipme"), \
	N_("{why}: ask its sender for the file that `tipme bundle` wrote"), \
	N_("{file}: {why}: name a file that `tipme bundle` wrote"), \
	N_("{file}: no manifest.json in it: not a bundle of tipme"), \
	N_("{file}: at byte {n}: not a tar file: not a bundle of tipme"), \
	N_("{file}: {why}: not a bundle of tipme"), \
	N_("in a PID namespace: process ids in the kernel's records are those of the machine, so X servers and names cannot be matched: run it on the machine itself, or with --source proc_sampled"), \
	N_("in a PID namespace: only the processes in it are seen: who else had a CPU is not known"), \
	N_("the processes of others are hidden (/proc is mounted with hidepid): who else had a CPU is not known"), \
	N_("Wayland compositors that use {library} are not recorded: {why}: which of their keys was slow is not known"), \
	N_("a better source was refused: {why}"), \
	N_("the kernel refuses the tracing program {program} ({why}): class {class} is left out; TIPME_LIBBPF_DEBUG=1 shows its reasons"), \
	N_("the kernel refuses the tracing program {program} ({why}): what belongs to it is left out; TIPME_LIBBPF_DEBUG=1 shows its reasons"), \
	N_("sampled: threads are looked at each 20 ms; how long they ran and waited for a CPU is exact, when is known to 20 ms, and who woke them is not known"), \
	N_("fewer seconds are kept than asked for: the ring got no more memory ({why})"), \
	N_("no hot-key on the keyboards themselves: {why}"), \
	N_("{n} input devices may not be read: no hot-key on them but by the X server or the agent (group input may)"), \
	N_("no key of the layout in /etc/default/keyboard bears the symbol of {chord}: choose another with --hotkey"), \
	N_("no filter of system calls ({why}): it may ask the kernel for more than it needs"), \
	N_("built without libseccomp"), \
	N_("seccomp(2) is refused, by the kernel or by who started it"), \
	N_("no process that reads programs ({why}): functions of programs have no names"), \
	N_("no process that opens events later ({why}): classes sample and memory_wait cannot be switched on again"), \
	N_("no counters ({why}): no samples, and class memory_wait without page faults that read: start it as root, or with sysctl kernel.perf_event_paranoid=2 where nothing else forbids them"), \
	N_("no counters ({why}): no samples, and class memory_wait without page faults that read"), \
	N_("no counters ({why}): no samples: start it as root, or with sysctl kernel.perf_event_paranoid=2 where nothing else forbids them"), \
	N_("no counters ({why}): no samples"), \
	N_("no counters ({why}): class memory_wait without page faults that read"), \
	N_("no samples any more of a CPU that was switched off, as they are when the machine sleeps ({why}): start the recorder again; with sysctl kernel.perf_event_paranoid=2 it may go on"), \
	N_("no samples and page faults any more of a CPU that was switched off, as they are when the machine sleeps ({why}): start the recorder again; with sysctl kernel.perf_event_paranoid=2 it may go on"), \
	N_("more than 4096 files with code are in use at one time: functions of the others show as ?"), \
	N_("stays user 0 ({why}): it may still do with root's files what root may"), \
	N_("the user is not in this user namespace"), \
	N_("no CAP_SETUID and CAP_SETGID"), \
	N_("no CAP_BPF: the kernel source cannot be loaded"), \
	N_("no CAP_PERFMON: the kernel source cannot be attached"), \
	N_("no CAP_SYSLOG: kernel functions may have no names"), \
	N_("no CAP_IPC_LOCK: the recorder may be swapped out under the load that it records"), \
	N_("no CAP_SYS_NICE: the trigger thread is not real-time: under load the copy may come late"), \
	N_("not locked in memory ({why}): the recorder may be swapped out under the load that it records"), \
	N_("oom_score_adj stays at {n} ({why}): when memory runs out, the OOM killer may end the recorder"), \
	N_("no better priority ({why}): under load, saving takes long"), \
	N_("no better priority for our session ({why}): under load, saving takes long"), \
	N_("the trigger thread cannot be real-time (its cgroup has no real-time run time): under load the copy may come late"), \
	N_("the trigger thread cannot be real-time (its cgroup has no real-time run time; {why}): under load the copy may come late")

#endif
