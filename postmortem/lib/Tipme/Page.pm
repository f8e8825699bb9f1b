# SPDX-License-Identifier: GPL-2.0-only
# Pages of HTML that need nothing but themselves: no script, no network, no font; and the report in a bundle.
package Tipme::Page;

use strict;
use warnings;
use Tipme::Printable qw(one_line);
use Tipme::Verdict qw(duration_text);
use Tipme::Words qw(N__ fill);

my $STYLE = 'body{font:16px/1.5 sans-serif;max-width:75rem;margin:1rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}table{border-collapse:collapse}td,th{padding:.15rem .8rem .15rem 0;text-align:left;'
	. 'border-bottom:1px solid #ddd}td.n{text-align:right}.scroll{overflow-x:auto}svg{max-width:100%;height:auto}h1{font-size:1.4rem}h2{font-size:1.1rem;margin:1.5rem 0 .3rem}';

# text(WORDS): as it may stand in HTML
sub text {
	my ($s) = @_;
	my %as = ('&' => '&amp;', '<' => '&lt;', '>' => '&gt;', '"' => '&quot;', q(') => '&#39;');
	return one_line($s // '') =~ s/([&<>"'])/$as{$1}/gr;
}

# table(HEADINGS, ROWS): of texts; a duration stands to the right
sub table {
	my ($head, @rows) = @_;
	my $html = '<div class="scroll"><table>' . (@$head ? '<tr>' . join('', map { '<th>' . text($_) . '</th>' } @$head) . "</tr>\n" : '');
	$html .= '<tr>' . join('', map { (/\A[\d.,]+ (?:ns|us|ms|s)\z/ ? '<td class="n">' : '<td>') . text($_) . '</td>' } @$_) . "</tr>\n" for @rows;
	return "$html</table></div>\n";
}

# page(TITLE, [ HEADING, HTML ] ...): UTF-8 bytes; a browser that obeys loads nothing and runs nothing
sub page {
	my ($title, @parts) = @_;
	my $html = "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">"
		. "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n<title>" . text($title) . "</title><style>$STYLE</style></head><body>\n";
	for my $p (@parts) { $html .= (length $p->[0] ? '<h2>' . text($p->[0]) . "</h2>\n" : '') . "$p->[1]\n" }
	$html .= "</body></html>\n";
	utf8::encode($html);
	return $html;
}

# report(DATA of a diagnosis, manifest => of the episode, svg => picture as text, or undef, left_out => [ texts ]): the page for who shall look into it
sub report {
	my ($d, %o) = @_;
	my ($v, $m, $i) = ($d->{verdict}, $o{manifest}, $d->{interval});
	my $ms = sub { return duration_text($_[0]) };
	my @parts = ([ '', '<h1>' . text($v->{sentence}) . '</h1>' . join '', map { '<p>' . text($_) . '</p>' } @{ $v->{circumstances} // [] } ]);
	push @parts, [ fill(N__('Machine')), table([], map { defined $_->[1] && length $_->[1] ? $_ : () } [ 'Linux', $m->{kernel} ], [ fill(N__('architecture')), $m->{machine} ], [ fill(N__('CPUs')), $m->{cpus} ],
		[ 'tipme', ($m->{recorder} // {})->{version} ], [ fill(N__('episode')), $m->{id} ], [ fill(N__('event')), ($d->{event} // {})->{n} ]) ];
	if ($d->{event}) { push @parts, [ fill(N__('From the press to the screen')), table([], map { [ $ms->($_->{ts_ns} - $i->{start_ns}), $_->{name}, $_->{certainty} ] } @{ $d->{event}{stages} }) ] }
	push @parts, [ fill(N__('Timeline')), '<div class="scroll">' . ($o{svg} =~ s/\A.*?(?=<svg)//sr) . '</div>' ] if defined $o{svg};
	push @parts, [ fill(N__('Where the time went')), table([], map { [ $ms->($_->{ns}), $_->{kind}, ($_->{comm} // '') . (defined $_->{pid} ? " ($_->{pid})" : '') ] } @{ $d->{totals}{blamed} }) ];
	push @parts, [ fill(N__('Threads')), table([ fill(N__('thread')), '', fill(N__('ran')), fill(N__('waited for a CPU')), fill(N__('slept')) ], map { [ $_->{comm} // '?', $_->{tid}, map { $ms->($_) } @$_{qw(running_ns runnable_ns blocked_ns)} ] } @{ $d->{totals}{threads} }) ];
	push @parts, [ fill(N__('Left out of this report')), '<ul>' . join('', map { '<li>' . text($_) . '</li>' } @{ $o{left_out} // [] }) . '</ul>' ];
	return page($v->{sentence}, @parts);
}

1;
