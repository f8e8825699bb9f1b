# SPDX-License-Identifier: GPL-2.0-only
# A report for whoever can mend it, in the form that each tracker takes: Debian's reportbug, apport,
# ABRT, Markdown of GitLab and GitHub, a mail to a kernel list, plain text.
package Tipme::Report::Bug;

use strict;
use warnings;
use Digest::SHA        qw(sha256_hex);
use List::Util         qw(max);
use Text::Wrap         ();
use Tipme::Bundle      ();
use Tipme::CommandLine qw(with_commas);
use Tipme::Episode     ();
use Tipme::Kinds;
use Tipme::Printable qw(characters one_line);
use Tipme::Verdict   qw(duration_text event_words);
use Tipme::Words     qw(N__ fill);

my $WIDTH       = 72;                               # of a mail
my $CAUSES      = 5;                                # causes that are listed; the rest is summed up
my $KERNEL_LIST = 'linux-kernel@vger.kernel.org';

my %FORM = (
	text      => \&_text,
	debian    => \&_debian,
	launchpad => \&_launchpad,
	abrt      => \&_abrt,
	markdown  => \&_markdown,
	kernel    => \&_kernel,
);

# forms(): their names
sub forms { return sort keys %FORM }

# form_for(CULPRIT, OS as Tipme::Package has it): the form that whoever is to be told takes
sub form_for {
	my ($culprit, $os) = @_;
	return 'text' if $culprit->{what} =~ /\A(?:setup|unknown)\z/;
	my $package = ($culprit->{driver} // {})->{package} // $culprit->{package};
	return 'kernel'
		if $culprit->{what} eq 'kernel' && ($culprit->{driver} // { intree => 1 })->{intree};
	if ($package->{system} =~ /\A(?:dpkg|rpm)\z/) {
		return $os->{id} eq 'ubuntu' ? 'launchpad' : $os->{id} eq 'debian' ? 'debian' : 'abrt'
			if "$os->{id} $os->{like}" =~ /\b(?:debian|ubuntu|fedora|rhel)\b/;
	}
	return ($package->{tracker} // '') =~ /\bgit(?:hub|lab)\b/ ? 'markdown' : 'text';
}

# signature(DATA, CULPRIT): 16 hexadecimal digits, the same for the same problem of the same program
sub signature {
	my ($d, $culprit) = @_;
	my ($v, $b)       = ($d->{verdict}, $d->{verdict}{blamed} // {});
	my @of = (
		$v->{kind}, $culprit->{package}{system}, $culprit->name(english => 1),
		$culprit->{function} // '',
		$b->{detail_code}    // ''
	);
	return substr sha256_hex(join "\0", map { my $t = characters($_); utf8::encode($t); $t } @of),
		0, 16;
}

# title(DATA): one line
sub title {
	my ($d) = @_;
	my ($v, $i) = ($d->{verdict}, $d->{interval});
	return one_line($v->{sentence}) if !$i || !$d->{event} || $v->{kind} eq 'none';
	my $who = $d->{event}{client} ? $d->{event}{client}{comm} : 'X';
	my $usual =
		defined $i->{usual_ns}
		? fill(N__(', usually {time}'), time => duration_text($i->{usual_ns}))
		: '';
	return fill(
		N__('{who}: {event} answered after {time}{usual}: {why}'), who => one_line($who),
		event => event_words($d->{event}{kind}),
		time  => duration_text($i->{duration_ns}), usual => $usual, why => $v->{short}
	);
}

# text(FORM, DATA, CULPRIT, facts => [ [ what, value ] ], steps => { did, expected, often }, file =>
# name of the bundle to be attached, manifest): the whole text
sub text {
	my ($form, $d, $culprit, %o) = @_;
	my $write = $FORM{$form}
		or die "--form $form: no such form: say one of " . join(', ', forms()) . "\n";
	return $write->({ d => $d, culprit => $culprit, title => title($d), %o });
}

# --- what each report holds ---

sub _steps {
	my ($r) = @_;
	my $s   = $r->{steps} // {};
	my $not = fill(N__('(please fill in)'));
	return (
		[ fill(N__('What I did')),      $s->{did}      // $not ],
		[ fill(N__('What I expected')), $s->{expected} // fill(N__('An answer at once.')) ],
		[ fill(N__('What happened')),   $r->{d}{verdict}{sentence} ],
		[ fill(N__('How often')),       $s->{often} // $not ]
	);
}

sub _function {
	my ($r) = @_;
	my ($c, $f) = ($r->{culprit}, $r->{d}{verdict}{function});
	my @line;
	if ($f) {
		push @line, fill(
			$f->{inside}
			? N__('In {function} ({module}), or what it called: {n} of {of} samples.')
			: N__('In {function} ({module}): {n} of {of} samples.'),
			function => one_line($f->{function}), module => one_line($c->{module} // $f->{module}),
			n        => $f->{samples},            of     => $f->{of}
		);
	} else {
		push @line, fill(N__('No samples that agree: the function is not known.'));
	}
	push @line, map {
		fill(N__('{file}: build-id {id}'), file => one_line($_->[0]), id => one_line($_->[1]))
	} @{ $c->{build_ids} };
	if (my $driver = $c->{driver}) {
		push @line,
			fill(
			N__('Module {module}: {description}'), module => $driver->{module},
			description => one_line($driver->{description} // '-')
			);
	}
	return @line;
}

sub _causes {
	my ($r) = @_;
	my ($d, $i) = ($r->{d}, $r->{d}{interval});
	return () if !$i;
	my @b = @{ $d->{totals}{blamed} };
	splice @b, $CAUSES if @b > $CAUSES;
	return map {
		[
			duration_text($_->{ns}), sprintf('%.0f %%', 100 * $_->{ns} / max(1, $i->{duration_ns})),
			Tipme::Kinds::words($_->{kind}, 'phrase')
				. (defined $_->{comm} ? ': ' . one_line($_->{comm}) : '')
		]
	} @b;
}

sub _versions {
	my ($r) = @_;
	my ($c, $p) = ($r->{culprit}, $r->{culprit}{package});
	return @{ $r->{facts} // [] } if $c->name eq '?';
	my @program =
		$p->{system} eq 'none'
		? ([ fill(N__('package')), fill(N__('none: the file belongs to no package')) ])
		: $p->{system} eq 'elsewhere' ? ()
		: (
		[
			fill(N__('package')), join ' ', grep {defined} $p->{name}, $p->{version},
			"($p->{system})"
		]
		);
	return ([ fill(N__('program')), one_line($c->name) ], @program, @{ $r->{facts} // [] });
}

sub _observed {
	my ($r)  = @_;
	my $d    = $r->{d};
	my $v    = $d->{verdict};
	my @line = (
		fill(
			$d->{sampled}
			? N__('Observed: samples of all threads, each 20 ms; no wake-ups.')
			: N__('Observed: every switch and wake-up of threads, and what the X server did.')
		)
	);
	push @line,
		fill(
		N__('{n} % of the delay was measured exactly.'), n => sprintf '%.0f',
		100 * $v->{exact}
		) if $d->{interval} && defined $v->{exact};
	push @line,
		fill(
		N__('{n} records were lost.'),
		n => with_commas(Tipme::Episode::lost_sums($d->{lost})->{records})
		);
	push @line, grep {/\ANot observed/} @{ $v->{circumstances} // [] };
	return @line;
}

# What else is known; how the user called a program is not told.
sub _circumstances {
	my ($r) = @_;
	my ($text, $code) = @{ $r->{d}{verdict} }{qw(circumstances circumstance_codes)};
	return map { $text->[$_] }
		grep   { !$Tipme::Bundle::CALLED{ $code->[$_] // '' } && $text->[$_] !~ /\ANot observed/ }
		0 .. $#{ $text // [] };
}

sub _attached {
	my ($r) = @_;
	return (
		defined $r->{file}
		? fill(
			N__('Attached: {file}, made by `tipme bundle`; report.html in it needs no tipme.'),
			file => one_line($r->{file})
			)
		: ()
		),
		fill(N__('Signature: {signature}'), signature => $r->{signature});
}

# function_lines(DATA, CULPRIT), versions(CULPRIT, FACTS): the same for the pages of a bundle
sub function_lines { my ($d, $culprit) = @_; return _function({ d => $d, culprit => $culprit }) }

sub versions {
	my ($culprit, $facts) = @_;
	return [ _versions({ culprit => $culprit, facts => $facts }) ];
}

# --- the forms ---

sub _wrap {
	my ($text, $indent) = @_;
	local $Text::Wrap::columns = $WIDTH;
	local $Text::Wrap::huge    = 'overflow';
	return Text::Wrap::wrap($indent // '', $indent // '', one_line($text)) . "\n";
}

sub _columns {
	my ($indent, @rows) = @_;
	my $n    = $#{ $rows[0] // [] };
	my @wide = map {
		my $k = $_;
		max(0, map { length $_->[$k] } @rows)
	} 0 .. $n - 1;
	return join '', map {
		my $row  = $_;
		my $head = join '', $indent, map { sprintf "%-$wide[$_]s  ", $row->[$_] } 0 .. $n - 1;
		local $Text::Wrap::columns  = $WIDTH;
		local $Text::Wrap::huge     = 'overflow';
		local $Text::Wrap::unexpand = 0;
		Text::Wrap::wrap($head, ' ' x length $head, $row->[$n]) . "\n"
	} @rows;
}

# The parts of all plain forms: [ heading, text ].
sub _parts {
	my ($r) = @_;
	return (
		(map { [ $_->[0], _wrap($_->[1]) ] } _steps($r)),
		[
			fill(N__('Where the time went')), _columns('  ', _causes($r)) . join '',
			map { _wrap($_) } _circumstances($r)
		],
		[ fill(N__('Function')), join '', map { _wrap($_) } _function($r) ],
		[ fill(N__('Versions')), _columns('  ', _versions($r)) ],
		[ fill(N__('What was observed')), join '', map { _wrap($_) } _observed($r), _attached($r) ],
	);
}

sub _plain {
	my ($r, $head) = @_;
	return join "\n", $head // (), map {"$_->[0]:\n\n$_->[1]"} grep { length $_->[1] } _parts($r);
}

sub _text { my ($r) = @_; return _plain($r, "$r->{title}\n") }

# A mail to the tracker, as reportbug writes it; its body is what `reportbug --body-file` takes.
sub _debian {
	my ($r) = @_;
	my $p = $r->{culprit}{package};
	return
		  "To: submit\@bugs.debian.org\nSubject: $p->{name}: $r->{title}\n\n"
		. "Package: $p->{name}\nVersion: $p->{version}\nSeverity: normal\n\n"
		. _plain($r);
}

# As apport keeps a report: fields, with longer ones indented.
sub _launchpad {
	my ($r) = @_;
	my ($p, %fact) = ($r->{culprit}{package}, map {@$_} @{ $r->{facts} // [] });
	my $body = _plain($r) =~ s/^/ /mgr;
	return
		  "ProblemType: Bug\nPackage: $p->{name} $p->{version}\nSourcePackage: "
		. ($p->{source} // $p->{name})
		. "\nDistroRelease: "
		. ($fact{distribution} // 'Linux')
		. "\nTitle: $r->{title}\nTags: latency\nDescription:\n$body";
}

# The fields of a report in Bugzilla, as ABRT fills them.
sub _abrt {
	my ($r) = @_;
	my $p = $r->{culprit}{package};
	my ($did, $expected, $actual, $often) = map { _wrap($_->[1]) } _steps($r);
	my %part = map { $_->[0] => $_->[1] } _parts($r);
	return
		  "Summary: $r->{title}\nComponent: "
		. ($p->{source} // $p->{name} // '')
		. "\n\nDescription of problem:\n$actual\n"
		. "Version-Release number of selected component:\n"
		. join(' ', grep {defined} @$p{qw(name version)})
		. "\n\nHow reproducible:\n$often\nSteps to Reproduce:\n$did\n"
		. "Actual results:\n$actual\nExpected results:\n$expected\n"
		. "Additional info:\n"
		. join "\n", map {"$_->[0]:\n$_->[1]"} (_parts($r))[ 4 .. 7 ];
}

# A name may be written as if it were Markdown: what would be a mark is none.
sub _mark { my ($t) = @_; return one_line($t) =~ s/([\\`*_\[\]<>#|~])/\\$1/gr =~ s/@/@\x{200b}/gr }

sub _markdown {
	my ($r) = @_;
	my $out = '# ' . _mark($r->{title}) . "\n";
	$out .= "\n## $_->[0]\n\n" . _mark($_->[1]) . "\n" for _steps($r);
	$out .= "\n## " . fill(N__('Where the time went')) . "\n\n| | | |\n|---|---|---|\n" . join '',
		map {
		'| ' . join(' | ', map { _mark($_) } @$_) . " |\n"
		} _causes($r);
	$out .= "\n" . _mark($_) . "\n" for _circumstances($r);
	$out .= "\n## " . fill(N__('Function')) . "\n\n" . join '',
		map { '- ' . _mark($_) . "\n" } _function($r);
	$out .= "\n## " . fill(N__('Versions')) . "\n\n| | |\n|---|---|\n" . join '',
		map { "| $_->[0] | " . _mark($_->[1]) . " |\n" } _versions($r);
	return $out . "\n## " . fill(N__('What was observed')) . "\n\n" . join '',
		map { '- ' . _mark($_) . "\n" } _observed($r), _attached($r);
}

sub _kernel {
	my ($r)     = @_;
	my $c       = $r->{culprit};
	my ($where) = grep {defined} $c->{module}, $c->{function}, 'sched';
	return "To: $KERNEL_LIST\nSubject: [BUG] $where: $r->{title}\n\n"
		. _wrap(
		fill(
			N__(
					  '(scripts/get_maintainer.pl of the kernel says who looks after the file of '
					. 'that function: write to them, and to its list.)'
			)
		)
		)
		. "\n"
		. _plain($r);
}

1;
