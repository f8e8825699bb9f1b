# SPDX-License-Identifier: GPL-2.0-only
# What --help says of each verb of `tipme latency` that the post-mortem has.
package Tipme::Latency::Help;

use strict;
use warnings;
use Tipme::Words qw(N__);

my %HELP = (
	report => N__(<<'END'),
usage: tipme latency report FILE... [--use NAME|FACTOR,HOURS,DAYS] [--json]
                                    [-o FILE.html|FILE.svg|FILE.png]

What `tipme latency record -o FILE` found: percentiles with 95 % intervals, the latency that is
exceeded once in an hour, a day, a week of use, a histogram, and where the CPU was meanwhile. An
hour of a driven load may stand for FACTOR hours of use; a day of use has HOURS, a week DAYS days.
What so little was measured for is refused, with the time that it takes. With -o: a page (several
results on one scale), or a picture of the first stage.

  tipme latency report night.json
  tipme latency report night.json --use office
  tipme latency report idle.json load.json -o latency.html
END
	campaign => N__(<<'END'),
usage: tipme latency campaign FOLDER [--each TIME] [--load NAME=COMMAND]... [--use NAME]
                              [--threshold US]

The whole job: latencies of this machine at rest, beside somebody who types letters (where there
are Xvfb and xterm), beside a compiler, and beside copies of files. Then a page with all of them on
one scale (FOLDER/report.html), and what each load makes worse.
--each: time of each (10min; also 30s, 1h). --load adds one of yours; it runs until its time is
over. Interrupted, the same command goes on with what is missing. As root threads are real-time.
What happens meanwhile can be marked (tipme latency mark); the page tells what it changed.
--threshold: of latencies above it the page tells where the CPU was, by function and by calls.

  sudo tipme latency campaign monday --threshold 1000
  sudo tipme latency campaign monday --each 1h --load video='mpv --loop film.mkv' --use office
END
	mark => N__(<<'END'),
usage: tipme latency mark FOLDER TEXT

Says that something happened now, while a campaign runs in FOLDER: a scanner begins, a door opens, a
setting is changed. The page of the campaign shows it above the longest latencies of that time, and
tells how long they were before it and after it.

  tipme latency mark monday the scanner begins
  tipme latency mark monday back to idle
  sudo tipme latency mark monday governor: performance
END
	model => N__(<<'END'),
usage: tipme latency model [--client NAME|BUFFERSxCYCLE[:COMPUTE]] [--modality thread|deferred]
                           [--priority P] [--duration S] [--json] [-o FILE]

A client that is fed in cycles runs for real, and its missed deadlines are counted. Beside them
stands what the latencies of the same cycles predict: those above the slack (N-1)T - C. Both agree
where nobody takes the CPU while it computes. --priority: of SCHED_FIFO, 1 to 98 (root); 0, the
usual, is an ordinary thread. --modality deferred (root): no thread, but work that an interrupt
defers, as modems have it. -o keeps the latencies as a result that the other verbs read.

  tipme latency model --client audio-128
  sudo tipme latency model --client 3x6:1.5 --priority 80 --duration 60 -o model.json
  sudo tipme latency model --client modem-6 --modality deferred
END
	import => N__(<<'END'),
usage: tipme latency import FILE -o RESULT [--period US]

A histogram of cyclictest (--histfile) or of rtla (timerlat hist, osnoise hist) as a result that all
verbs of `tipme latency` read. --period: of the timer, as it was given to that program (1000).

  cyclictest -m -p 80 -i 1000 -D 1h -q -h 4000 --histfile night.hist
  tipme latency import night.hist -o night.json
  tipme latency report night.json
END
	export => N__(<<'END'),
usage: tipme latency export FILE --format cyclictest|rtla|openmetrics [-o OUT]

A result of `tipme latency record -o FILE` in the form of another program, on standard output if no
OUT is named.

  tipme latency export night.json --format cyclictest -o night.hist
  tipme latency export night.json --format openmetrics
END
	mttf => N__(<<'END'),
usage: tipme latency mttf FILE [--client NAME|BUFFERSxCYCLE[:COMPUTE]]... [--stage NAME] [--json]
       tipme latency mttf --clients

How often a client that is fed in cycles would run dry with the latencies of FILE, which
`tipme latency record -o FILE` wrote. A client with N buffers of T ms that computes for C ms has a
slack of (N-1)T - C; each latency above it is an underrun. Without --client: all known ones.

  tipme latency mttf night.json
  tipme latency mttf night.json --client audio-128 --client 3x6:1.5
  tipme latency mttf night.json --stage total_high --json
END
	compare => N__(<<'END'),
usage: tipme latency compare A B [--stage NAME] [--over RATIO] [--json]
                               [-o FILE.html|FILE.svg|FILE.png]

How many times more often a latency of B is above each level than one of A, with 95 % intervals.
Exit status 2: at some level it is more than RATIO times, by the whole interval (--over). -o: a page
with both on one scale, or a picture of how often each was longer.

  tipme latency compare before.json after.json
  tipme latency compare before.json after.json -o scanner.svg
  tipme latency compare before.json after.json --over 2
END
	schedulability => N__(<<'END'),
usage: tipme latency schedulability FILE TASKS [--once-in TIME] [--stage NAME] [--json]

Whether the tasks of TASKS (a line each: NAME PERIOD_MS COMPUTE_MS [DEADLINE_MS [BUFFERS]]) meet
their deadlines, by rate-monotonic priorities, if each may be late once in TIME (10min, 1h, 1d;
usually 1h). +NAME is a driver, which goes before all tasks whatever its period. Exit status 2: one
does not.

  tipme latency schedulability night.json modem.tasks
  tipme latency schedulability night.json modem.tasks --once-in 1d
  tipme latency schedulability night.json modem.tasks --json
END
);

# texts(): VERB => text
sub texts { return %HELP }

1;
