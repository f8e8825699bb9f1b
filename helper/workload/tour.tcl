# SPDX-License-Identifier: GPL-2.0-only
# A tour of Tk's widgets, after the paper's Wish workload: each is shown, used and taken away.
proc show {make use} {
    eval $make
    pack .w
    update
    for {set i 0} {$i < 20} {incr i} { eval $use; update }
    destroy .w
    update
}
wm geometry . 600x400+0+0
show {label .w -text label} {.w configure -text "label $i"}
show {button .w -text press -command {set pressed 1}} {.w configure -text "press $i"; .w invoke}
show {checkbutton .w -text check -variable v} {.w invoke}
show {radiobutton .w -text choose -variable v -value 1} {.w invoke; .w deselect}
show {entry .w} {.w insert end "word $i "}
show {scale .w -from 0 -to 100} {.w set [expr {$i * 5}]}
show {listbox .w} {.w insert end "line $i"; .w see end}
show {text .w} {.w insert end "Line $i of a text that grows.\n"; .w see end}
show {canvas .w -width 500 -height 300} {
    .w create oval $i $i [expr {$i * 20}] [expr {$i * 10}] -fill grey$i
    .w create text 100 [expr {$i * 12}] -text "item $i"
}
show {spinbox .w -from 0 -to 100} {.w invoke buttonup}
show {scrollbar .w -orient horizontal} {.w set [expr {$i / 30.0}] [expr {$i / 30.0 + 0.2}]}
destroy .
