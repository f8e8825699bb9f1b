// SPDX-License-Identifier: GPL-2.0-only
/*
 * A Tk program: a key or a click makes it do its deeds and then type a letter; w opens a second
 * window, v writes into that, the third button posts a menu.
 */
#include "config.h"

#include <stdio.h>
#include <sys/prctl.h>
#include <tk.h>

#include "deeds.h"

static const char script[] =
	"wm title . tipme-stage\n"
	"wm geometry . 1280x800+0+0\n"
	"pack [label .l -text ... -font fixed] -expand 1 -fill both\n"
	"proc answer {c} { if {[string length [.l cget -text]] > 50} { .l configure -text {} }; .l configure -text [.l cget -text]$c }\n"
	"bind . <Key-d> { answer d }\n"
	"bind . <Key-x> { deeds; answer x; update idletasks; tell }\n"
	"bind . <Button-1> { deeds; answer *; update idletasks; tell }\n"
	"bind . <Key-w> { deeds; toplevel .two; wm geometry .two 300x200+20+20; pack [label .two.l -text ...] -expand 1 -fill both; update; tell }\n"
	"bind . <Key-v> { deeds; .two.l configure -text here; update idletasks; tell }\n"
	"menu .m -tearoff 0\n"
	".m add command -label first\n"
	".m add command -label second\n"
	"bind . <Button-3> { deeds; tk_popup .m %X %Y; update; tell }\n"
	"focus .\n";

static int do_deeds(void *data, Tcl_Interp *tcl, int argc, Tcl_Obj *const argv[])
{
	(void)data, (void)tcl, (void)argc, (void)argv;
	deeds_do(NULL, NULL);
	return TCL_OK;
}

static int tell_deeds(void *data, Tcl_Interp *tcl, int argc, Tcl_Obj *const argv[])
{
	(void)data, (void)tcl, (void)argc, (void)argv;
	deeds_tell();
	return TCL_OK;
}

int main(int argc, char **argv)
{
	Tcl_Interp *tcl;

	if (argc != 3 || (argv[2][0] && deeds_open(argv[2]))) {
		fprintf(stderr, "usage: client-tk NAME DEEDS\n");
		return 64;
	}
	Tcl_FindExecutable(argv[0]);
	tcl = Tcl_CreateInterp();
	if (Tcl_Init(tcl) != TCL_OK || Tk_Init(tcl) != TCL_OK) {
		fprintf(stderr, "client-tk: %s\n", Tcl_GetStringResult(tcl));
		return 1;
	}
	prctl(PR_SET_NAME, argv[1]);
	Tcl_CreateObjCommand(tcl, "deeds", do_deeds, NULL, NULL);
	Tcl_CreateObjCommand(tcl, "tell", tell_deeds, NULL, NULL);
	if (Tcl_Eval(tcl, script) != TCL_OK) {
		fprintf(stderr, "client-tk: %s\n", Tcl_GetStringResult(tcl));
		return 1;
	}
	Tk_MainLoop();
	return 0;
}
