#!/usr/bin/wish
# SPDX-License-Identifier: GPL-2.0-only
# A small Tk program: a text, and a button; F5 and the button do the deed and add a line.
package require Tk
wm title . desk-notes
text .t -width 90 -height 28 -insertofftime 0
button .b -text Refresh -command answer
pack .t -fill both -expand 1
pack .b -fill x
focus .t
bind .t <F5> { answer; break }
bind .t <F6> { .t insert end "searching ...\n"; after 150 answer; break }

proc compute {ms} { set end [expr {[clock milliseconds] + $ms}]; set n 0; while {[clock milliseconds] < $end} { for {set i 0} {$i < 1000} {incr i} { incr n $i } } }
proc sleep {ms} { after $ms }
proc read_ {path} { set f [open $path rb]; set n [string length [read $f]]; close $f; return $n }
proc flock {path} { exec flock $path true }
proc sqlite {path} { exec sqlite3 -cmd ".timeout 20000" $path "insert into t values (1)" }
proc dbus {name {timeout_ms 25000}} { catch { exec gdbus call --session --timeout [expr {($timeout_ms + 999) / 1000}] --dest $name --object-path /store --method $name.Ask } }
proc http {port} { set s [socket 127.0.0.1 $port]; fconfigure $s -translation binary; puts $s "GET / HTTP/1.0\r\n\r"; flush $s; read $s; close $s }
proc answer {} {
	if {[info exists ::env(DESK_DEED)] && $::env(DESK_DEED) ne ""} {
		set words [split $::env(DESK_DEED)]
		if {[lindex $words 0] eq "read"} { lset words 0 read_ }
		eval $words
	}
	.t insert end "the answer\n"
	.t see end
}
# Before its first window, where it is the start that is slow; where the witness looks.
if {[info exists ::env(DESK_START)]} { wm geometry . +200+200; answer }
