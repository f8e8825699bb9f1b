# SPDX-License-Identifier: GPL-2.0-only
# tipme open: what somebody else has bundled.
package Tipme::Command::Open;

use strict;
use warnings;
use Tipme::Bundle;
use Tipme::CommandLine qw(options);
use Tipme::Diagnosis;
use Tipme::Episode;
use Tipme::Printable qw(put one_line);
use Tipme::Report::Text;
use Tipme::ServerRecords;

my $HELP = <<'END';
usage: tipme open FILE [-o FOLDER]

Unpacks a file that `tipme bundle` wrote into a folder (FILE without its ending, unless you name one; it must not exist), and judges it anew: the
verdict is this program's, not that of whoever sent it. All other verbs take the folder, too.

FILE may also be what an X server saved itself, since no recorder ran when the hot-key was pressed (tipme-x-....rec): that has input, requests and
what they drew, and nothing of the kernel, so no cause is known.

  tipme open slow-editor.tipme
  tipme open report.tipme -o /tmp/report
  tipme timeline /tmp/report -o report.svg
END

sub run {
	my ($class, @args) = @_;
	my ($o, $exit) = options(\@args, $HELP, 1, 'output|o=s');
	return $exit if !$o;
	if (!@args) { print STDERR "tipme: open: no file: name one that `tipme bundle` wrote\n"; return 64 }
	my $folder = $o->{output} // $args[0] =~ s/\.[A-Za-z0-9]+\z//r;
	$folder .= '.episode' if $folder eq $args[0];
	(Tipme::ServerRecords->is_one($args[0]) ? 'Tipme::ServerRecords' : 'Tipme::Bundle')->unpack_to($args[0], $folder);
	my $d = Tipme::Diagnosis->new(Tipme::Episode->open($folder))->run;
	put(Tipme::Report::Text::page($d), "\nunpacked into ", one_line($folder), "\n");
	return $d->{verdict}{kind} eq 'unknown' ? 2 : 0;
}

1;
