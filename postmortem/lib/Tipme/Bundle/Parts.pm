# SPDX-License-Identifier: GPL-2.0-only
# The parts of a bundle for whoever has no tipme, made of nothing but what it brings. A picture of
# more than 600 KB is left to `tipme timeline`, a trace of more than 4 MB to `tipme export`.
package Tipme::Bundle::Parts;

use strict;
use warnings;
use Cpanel::JSON::XS   ();
use Tipme::CommandLine qw(with_commas);
use Tipme::Export::Problem;
use Tipme::Page;
use Tipme::Report::JSON;
use Tipme::Report::Text;
use Tipme::Stacks;
use Tipme::Timeline;
use Tipme::Timeline::Picture;

my $MAX_PICTURE = 600 << 10;    # bytes of the picture
my $MAX_TRACE   = 4 << 20;      # bytes of the trace for Perfetto
my $MAX_PATH    = 500;          # stretches of the path in the JSON of a bundle; more make it large

# of(DIAGNOSIS, DATA, SYSTEM, quiet => 1: nothing is there that a picture could show, left_out =>
# { what => how many }, told => sub: DATA as it may be told): [ name, content ] of each:
# report.html, verdict.txt, verdict.json, summary.txt, trace.pftrace. SYSTEM: { facts =>
# [ [ what, value ] ], steps => { did, expected, often }, package => words, function => [ lines ] }
sub of {
	my ($diagnosis, $d, $system, %o) = @_;
	my $svg =
		$o{quiet} ? undef : Tipme::Timeline::Picture->svg(Tipme::Timeline->collect($diagnosis, $d));
	utf8::decode($svg) if defined $svg;
	my %out   = %{ $o{left_out} };
	my $told  = $o{told}->($d);
	my $trace = $o{quiet} ? undef : Tipme::Export::Problem->trace($diagnosis, $told);
	my $json  = Cpanel::JSON::XS->new->canonical->pretty->ascii;
	my $data  = Tipme::Report::JSON::data($told);
	# A path of thousands of turns is for programs, which make it anew.
	delete $data->{path} if @{ $data->{path} // [] } > $MAX_PATH;
	return (
		[ 'verdict.txt',  _utf8(Tipme::Report::Text::page($told, sent => 1)) ],
		[ 'verdict.json', $json->encode($data) ],
		[ 'summary.txt',  _utf8(Tipme::Report::Text::short($told, sent => 1)) ],
		[ 'system.json',  $json->encode($system) ],
		[
			'report.html',
			Tipme::Page::report(
				$told, manifest => $diagnosis->episode->manifest,
				svg      => length($svg // '') <= $MAX_PICTURE ? $svg : undef,
				left_out => [ map { with_commas($out{$_}) . " $_" } sort keys %out ],
				system   => $system, stacks => [ Tipme::Stacks::of($diagnosis, $d) ]
			)
		],
		defined $trace && length $trace <= $MAX_TRACE ? [ 'trace.pftrace', $trace ] : ()
	);
}

sub _utf8 { my ($s) = @_; utf8::encode($s); return $s }

1;
