# SPDX-License-Identifier: GPL-2.0-only
# Pages of HTML that need nothing but themselves: no script, no network, no font; and the report in
# a bundle.
package Tipme::Page;

use strict;
use warnings;
use Tipme::Kinds;
use Tipme::Printable    qw(one_line);
use Tipme::Report::Text ();
use Tipme::Verdict      qw(duration_text);
use Tipme::Words        qw(N__ fill);

my $STYLE =
	'body{font:16px/1.5 sans-serif;max-width:75rem;margin:1rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}table{border-collapse:collapse}td,th{padding:.15rem .8rem .15rem 0;text-align:left;'
	. 'border-bottom:1px solid #ddd;vertical-align:top}pre{margin:.2rem 0 .8rem;font-size:.85rem;overflow-x:auto}td.n{text-align:right;white-space:nowrap}p{overflow-wrap:break-word}.scroll{overflow-x:auto}svg{max-width:100%;height:auto}.wide svg{min-width:56rem}h1{font-size:1.4rem}h2{font-size:1.1rem;margin:1.5rem 0 .3rem}'
	. '#z2:checked~.wide svg{width:200%;max-width:none}#z4:checked~.wide svg{width:400%;max-width:none}label{padding-right:1rem}'
	. '@media(prefers-color-scheme:dark){body{color:#e4e6ea;background:#16181d}td,th{border-color:#3b4048}svg{background:#fff}}'
	. '@media print{body{max-width:none;color:#000;background:#fff}.scroll,pre{overflow:visible}.wide svg{min-width:0;width:100%!important}input,label{display:none}h2{break-after:avoid}tr,svg,pre{break-inside:avoid}}';
# Without a script: a browser shows the picture as wide as is asked for.
my $ZOOM = join '', map {
		  "<input type=\"radio\" name=\"z\" id=\"z$_\""
		. ($_ == 1 ? ' checked' : '')
		. "><label for=\"z$_\">$_&#215;</label>"
} 1, 2, 4;

my $SMALL = 0.005;    # of the interval: behind the first $ROWS, so little is summed up
my $ROWS  = 8;        # rows of a table before small ones are summed up

# text(WORDS): as it may stand in HTML
sub text {
	my ($s) = @_;
	my %as = ('&' => '&amp;', '<' => '&lt;', '>' => '&gt;', '"' => '&quot;', q(') => '&#39;');
	return one_line($s // '') =~ s/([&<>"'])/$as{$1}/gr;
}

my $NUMBER = qr/\A[\d.,]+ (?:ns|us|ms|s|min|h|days)\z/;

# table(HEADINGS, ROWS): of texts; a duration stands to the right
sub table {
	my ($head, @rows) = @_;
	my $html = '<div class="scroll"><table>'
		. (@$head ? '<tr>' . join('', map { '<th>' . text($_) . '</th>' } @$head) . "</tr>\n" : '');
	$html .= '<tr>' . join(
		'',
		map { (/$NUMBER/ ? '<td class="n">' : '<td>') . text($_) . '</td>' } @$_
		)
		. "</tr>\n"
		for @rows;
	return "$html</table></div>\n";
}

# picture(SVG): a picture of Tipme::Chart or Tipme::Timeline::Picture, as UTF-8 bytes, within a
# page;
# what is too wide for the screen is scrolled
sub picture {
	my $svg = $_[0] =~ s/\A.*?(?=<svg)//sr;
	utf8::decode($svg);
	return "<div class=\"scroll\">$svg</div>\n";
}

# page(TITLE, [ HEADING, HTML ] ...): UTF-8 bytes; a browser that obeys loads nothing and runs
# nothing
sub page {
	my ($title, @parts) = @_;
	my $html =
		"<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">"
		. "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n<title>"
		. text($title)
		. "</title><style>$STYLE</style></head><body>\n";
	for my $p (@parts) {
		$html .= (length $p->[0] ? '<h2>' . text($p->[0]) . "</h2>\n" : '') . "$p->[1]\n";
	}
	$html .= "</body></html>\n";
	utf8::encode($html);
	return $html;
}

# report(DATA of a diagnosis, manifest => of the episode, svg => picture as text, or undef, left_out
# => [ texts ], system => as Tipme::Bundle::parts has it,
# stacks => [ of Tipme::Stacks ]): the page for who shall look into it
sub report {
	my ($d, %o) = @_;
	my $v     = $d->{verdict};
	my @parts = (
		[
			'', '<h1>' . text($v->{sentence}) . '</h1>' . join '',
			map { '<p>' . text($_) . '</p>' } @{ $v->{circumstances} // [] }
		],
		_steps($o{system})
	);
	push @parts,
		[
		fill(N__('Timeline')),
		"<div>$ZOOM"
			. '<div class="scroll wide">'
			. ($o{svg} =~ s/\A.*?(?=<svg)//sr)
			. '</div></div>'
		]
		if defined $o{svg};
	push @parts, _sums($d), _function($o{system}), _stacks($o{stacks}), _stages($d), _threads($d);
	push @parts, _versions($d, @o{qw(system manifest)});
	my $out = join '', map { '<li>' . text($_) . '</li>' } @{ $o{left_out} // [] };
	return page($v->{sentence}, @parts, [ fill(N__('Left out of this report')), "<ul>$out</ul>" ]);
}

sub _steps {
	my ($system) = @_;
	my $steps    = ($system // {})->{steps} // {};
	my @rows     = map { defined $steps->{ $_->[0] } ? [ fill($_->[1]), $steps->{ $_->[0] } ] : () }
		[ did => N__('What was done') ],
		[ expected => N__('What was expected') ], [ often => N__('How often') ];
	return @rows ? [ fill(N__('Steps')), table([], @rows) ] : ();
}

sub _function {
	my ($system) = @_;
	my @lines = @{ ($system // {})->{function} // [] } or return;
	return [ fill(N__('Function')), join '', map { '<p>' . text($_) . '</p>' } @lines ];
}

# One without a name is called by its number already.
sub _who {
	my ($w) = @_;
	my $comm = $w->{comm} // '';
	return $comm if !defined $w->{pid} || $comm eq "process-$w->{pid}";
	return $comm eq '?' ? "process-$w->{pid}" : "$comm ($w->{pid})";
}

sub _sums {
	my ($d)   = @_;
	my @all   = @{ $d->{totals}{blamed} };
	my $least = $SMALL * (($d->{interval} // {})->{duration_ns} // 0);
	my @small = grep { $all[$_]{ns} < $least && $_ >= $ROWS } 0 .. $#all;
	my @few   = @small > 1 ? splice @all, $small[0] : ();
	my @rows  = map {
		[
			duration_text($_->{ns}),
			Tipme::Kinds::words($_->{kind}, 'phrase'),
			_who($_)
		]
	} @all;
	my $rest = 0;
	$rest += $_->{ns} for @few;
	push @rows, [ duration_text($rest), fill(N__('{n} others'), n => scalar @few), '' ] if @few;
	return @rows ? [ fill(N__('Where the time went')), table([], @rows) ] : ();
}

sub _stacks {
	my ($stacks) = @_;
	return if !@{ $stacks // [] };
	return [
		fill(N__('Stacks')), join '',
		map {
				  '<p>'
				. text("$_->{who} $_->{what}")
				. '</p><pre>'
				. join("\n", map { text($_) } @{ $_->{frames} })
				. '</pre>'
		} @$stacks
	];
}

sub _stages {
	my ($d) = @_;
	return if !$d->{event};
	my @rows = map {
		[
			duration_text($_->{ts_ns} - $d->{interval}{start_ns}),
			Tipme::Report::Text::stage_words($_->{name}),
			$_->{certainty}
		]
	} @{ $d->{event}{stages} };
	return [ fill(N__('From the press to the screen')), table([], @rows) ];
}

sub _threads {
	my ($d) = @_;
	my @head = (
		fill(N__('thread')),
		'', map { fill($_) } N__('ran'), N__('waited for a CPU'), N__('slept')
	);
	my @rows = map {
		[
			$_->{comm} // '?',
			$_->{tid}, map { duration_text($_) } @$_{qw(running_ns runnable_ns blocked_ns)}
		]
	} @{ $d->{totals}{threads} };
	return @rows ? [ fill(N__('Threads')), table(\@head, @rows) ] : ();
}

# What the sender has told of the system, or else what the recorder wrote down.
sub _versions {
	my ($d, $system, $m) = @_;
	my @facts = @{ ($system // {})->{facts} // [] };
	@facts = (
		[ 'Linux',                   $m->{kernel} ],
		[ fill(N__('architecture')), $m->{machine} ],
		[ fill(N__('CPUs')),         $m->{cpus} ],
		[ 'tipme',                   ($m->{recorder} // {})->{version} ]
	) if !@facts;
	push @facts, [ fill(N__('episode')), $m->{id} ],
		[ fill(N__('event')), ($d->{event} // {})->{n} ];
	return [ fill(N__('Versions')), table([], grep { defined $_->[1] && length $_->[1] } @facts) ];
}

1;
