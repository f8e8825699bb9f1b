# SPDX-License-Identifier: GPL-2.0-only
# tipme report: whom to tell, and the text that they take.
package Tipme::Command::Report;

use strict;
use warnings;
use Fcntl      qw(O_WRONLY O_CREAT O_EXCL O_NOFOLLOW);
use Text::Wrap ();
use Tipme::Asked;
use Tipme::CommandLine qw(options complain print_json local_time);
use Tipme::Culprit;
use Tipme::Diagnosis;
use Tipme::Episode;
use Tipme::History;
use Tipme::Library;
use Tipme::Versions;
use Tipme::Package;
use Tipme::Printable qw(characters put one_line);
use Tipme::Report::Bug;
use Tipme::Report::JSON;
use Tipme::Words qw(N__ fill in_english is_translated);

my $BEFORE = 3;              # episodes of the same signature that are named
my $HELP   = N__(<<'END');
usage: tipme report [EPISODE] [--form FORM] [--did TEXT] [--expected TEXT] [--often TEXT]
                    [--attach FILE] [-o FILE] [--mail] [--open] [--yes] [--json]

Says whom to tell of an episode's cause, and prints the text for them: the package of the culprit
and its version, its tracker, function names with build-ids, steps, versions, what was and what was
not observed. Where the cause is how this machine is set up, it says how to change that.

FORM is debian (reportbug), launchpad (apport), abrt (Bugzilla), markdown (GitLab, GitHub), kernel
(a mail to a list) or text; without it the one that they take. --did, --expected and --often are the
steps; without --did your note is taken. At a terminal -o, --mail and --open ask for them first.
--attach names the file that `tipme bundle` wrote.

tipme sends nothing. -o writes the text; --mail opens your mail program with it, --open the tracker
in your browser. The text is shown, and you are asked, before that; --yes says that you have agreed.
What was reported is remembered: it says if this machine reported the same before.

  tipme report
  tipme report last --did 'I typed in a terminal' --often 'each morning'
  tipme report 20261120-150301-3f2a --form debian -o report.txt
  reportbug --body-file=report.txt xterm
END

sub run {
	my ($class, @args) = @_;
	my ($o,     $exit) = options(
		\@args,     $HELP,        1,      'form=s', 'did=s', 'expected=s', 'often=s',
		'attach=s', 'output|o=s', 'mail', 'open',   'yes',   'json'
	);
	return $exit if !$o;
	if (defined $o->{form} && !grep { $_ eq $o->{form} } Tipme::Report::Bug::forms()) {
		return complain(
			'report',
			fill(
				N__('--form {form}: no such form: say {forms}'),
				form  => one_line($o->{form}),
				forms => join(', ', Tipme::Report::Bug::forms())
			)
		);
	}
	die fill(N__('{file}: is there already: name another file'), file => $o->{output}) . "\n"
		if defined $o->{output} && (-e $o->{output} || -l $o->{output});
	# Its sentence first: whose package it is takes as long again.
	my $acts = defined $o->{output} || $o->{mail} || $o->{open};
	my $told = sub { put(_wrap($_[0]{verdict}{sentence}), "\n"); STDOUT->flush };
	my $ask  = $acts && !$o->{yes} ? \&Tipme::Asked::steps : undef;
	my $r    = prepared(Tipme::Library->folder_of($args[0]), $o, $o->{json} ? () : ($told, $ask));
	if ($o->{json}) { print_json(_data($r)); return 0 }
	put(_whom($r));
	# How this machine is set up is for whoever set it up; a text is made if it is asked for.
	return 0 if $r->{culprit}{what} eq 'setup' && !defined $o->{form};
	if ($r->{culprit}{what} eq 'unknown' && !defined $o->{form}) { return 2 }
	put("\n", $r->{text}, "\n");
	return _next($r) if !$acts;
	if (!$o->{yes} && !_agreed($r, $o)) {
		my $why = -t STDIN ? N__('you did not agree') : N__('cannot ask without a terminal');
		complain(
			'report',
			fill(N__('nothing was done: {why}: read the text, then add --yes'), why => fill($why))
		);
		return 1;
	}
	return _done($r, $o);
}

# prepared(FOLDER, OPTIONS as above): { d, culprit, form, title, text, signature, facts, before => [
# entries of the history ], id }; TOLD gets d as soon as it is there; ASK, where there is
# somebody to tell, the options, to which it may add, and the note
sub prepared {
	my ($dir, $o, $told, $ask) = @_;
	my $ep        = Tipme::Episode->open($dir);
	my $diagnosis = Tipme::Diagnosis->new($ep);
	my $d         = $diagnosis->run;
	$told->($d) if $told;
	my $packages = Tipme::Package->new(root => $ENV{TIPME_ROOT});
	my $culprit  = Tipme::Culprit->of($d, $diagnosis, package => $packages);
	my $form     = $o->{form} // Tipme::Report::Bug::form_for($culprit, $packages->os);
	die "--form $form: the culprit is of no package of a distribution: say text or markdown\n"
		if $form =~ /\A(?:debian|launchpad|abrt)\z/
		&& $culprit->{package}{system} !~ /\A(?:dpkg|rpm)\z/;
	my $signature = Tipme::Report::Bug::signature($d, $culprit);
	my $note      = characters($ep->note // '') =~ s/\s+/ /gr =~ s/\A | \z//gr;
	$ask->($o, $note)
		if $ask && (defined $o->{form} || $culprit->{what} !~ /\A(?:setup|unknown)\z/);
	my %steps = map { defined $o->{$_} ? ($_ => characters($o->{$_})) : () } qw(did expected often);
	$steps{did} //= $note if length $note;
	my $history    = Tipme::History->open;
	my %for_makers = (
		form => $form, steps => \%steps, signature => $signature,
		file => defined $o->{attach} ? $o->{attach} =~ s{\A.*/}{}sr : undef
	);
	my @ours = is_translated() ? () : ($d, $culprit);
	return {
		d       => $d, id => $ep->id, culprit => $culprit, form => $form, signature => $signature,
		history => $history,
		%{ in_english(sub { _for_makers($ep, $packages, \%for_makers, @ours) }) },
		before => [ grep { ($_->{signature} // '') eq $signature } $history->all('report') ]
	};
}

# { text, title, facts }: what the makers read is English, whatever the person reads. D, CULPRIT:
# where they are in English already.
sub _for_makers {
	my ($ep, $packages, $o, $d, $culprit) = @_;
	if (!$d) {
		my $diagnosis = Tipme::Diagnosis->new($ep);
		$d       = $diagnosis->run;
		$culprit = Tipme::Culprit->of($d, $diagnosis, package => $packages);
	}
	my $facts = $ep->manifest->{bundle} ? [] : Tipme::Versions->facts($packages, $ep->manifest);
	my $text  = Tipme::Report::Bug::text($o->{form}, $d, $culprit, facts => $facts, %$o);
	return { text => $text, title => Tipme::Report::Bug::title($d), facts => $facts };
}

sub _text_bytes { my ($text) = @_; utf8::encode($text) if utf8::is_utf8($text); return $text }

sub _wrap {
	my ($text) = @_;
	local $Text::Wrap::columns = 80;
	local $Text::Wrap::huge    = 'overflow';
	return Text::Wrap::wrap('', '', one_line($text)) . "\n";
}

# Whom to tell, as lines.
sub _whom {
	my ($r) = @_;
	my ($c, $v) = ($r->{culprit}, $r->{d}{verdict});
	my $p    = ($c->{driver} // {})->{package} // $c->{package};
	my @line = _about($c, $p, $v);
	push @line,
		fill(
		N__('Package: {name} {version} ({system}).'), name => $p->{name},
		version => $p->{version} // '', system => $p->{system}
		) if defined $p->{name} && $c->{what} ne 'setup';
	push @line,
		fill(
		N__('The makers take reports at {url} ({from}).'), url => $p->{tracker},
		from => $p->{tracker_from}
		) if defined $p->{tracker} && $c->{what} ne 'setup';
	push @line, fill(N__('The distribution takes reports at {url}.'), url => $p->{distribution})
		if defined $p->{distribution} && $c->{what} !~ /\A(?:setup|unknown)\z/;
	push @line, map {
		fill(
			N__('This machine reported the same signature before: {time}, episode {id}.'),
			time => local_time($_->{time} // '?'), id => $_->{episode} // '?'
		)
	} _last_of_each(@{ $r->{before} });
	return join '', map { length ? _wrap($_) : "\n" } @line;
}

# Of what was reported before: each episode once, of its last time; no more than the last few.
sub _last_of_each {
	my (%seen, @last);
	for my $of (reverse @_) { push @last, $of if !$seen{ $of->{episode} // '?' }++ }
	splice @last, $BEFORE if @last > $BEFORE;
	return reverse @last;
}

sub _about {
	my ($c, $p, $v) = @_;
	return (
		fill(
			N__('This is how the machine is set up, or what somebody did: {ask}.'),
			ask => $v->{door} // '?'
		),
		$v->{next} // ()
	) if $c->{what} eq 'setup';
	return fill(N__('The cause is not known, so there is nobody to tell.'))
		if $c->{what} eq 'unknown';
	return fill(
		N__('Tell the makers of the Linux kernel: {function}.'), function => join ' ',
		grep {defined} $c->{function} // $c->{comm}, defined $c->{module} ? "($c->{module})" : ()
	) if $c->{what} eq 'kernel';
	return fill(
		N__('Tell the author of the program {script}, which {exe} runs.'),
		script => $c->{script}, exe => $c->{exe} =~ s{\A.*/}{}r
	) if $c->{what} eq 'script' && $p->{system} eq 'none';
	return fill(
		N__('Tell whoever made {comm}: its file {exe} belongs to no package.'),
		comm => $c->{comm} // '?', exe => $c->{exe} // '?'
	) if $p->{system} eq 'none';
	return fill(
		N__('This episode was recorded elsewhere: ask whoever sent it for the package of {comm}.'),
		comm => $c->{comm} // '?'
	) if $p->{system} eq 'elsewhere';
	return fill(N__('Tell the makers of {name}.'), name => $c->name);
}

sub _next {
	my ($r) = @_;
	my $tell =
		$r->{form} eq 'debian' ? "reportbug --body-file=FILE $r->{culprit}{package}{name}" : undef;
	put(
		_wrap(
			fill(
				N__(
					'Nothing was written. `tipme report {id} -o FILE` writes this text, --mail and '
						. '--open take it to them; `tipme bundle {id}` makes the file to attach.'
				),
				id => one_line($r->{id})
			)
		),
		defined $tell ? _wrap(fill(N__('Then: {command}'), command => $tell)) : ()
	);
	return 0;
}

sub _agreed {
	my ($r, $o) = @_;
	return 0 if !-t STDIN;
	my @what = (
		defined $o->{output} ? 'write ' . one_line($o->{output}) : (),
		$o->{mail} ? 'open your mail program' : (), $o->{open} ? 'open your browser' : ()
	);
	put(ucfirst(join ', ', @what) . '? [y/N] ');
	STDOUT->flush;
	my $answer = <STDIN>;
	return defined $answer && $answer =~ /\A\s*y(?:es)?\s*\z/i ? 1 : 0;
}

# Of a form that begins as a mail does: whom it goes to, its subject, and the rest.
sub _mail {
	my ($r) = @_;
	return ($1, $2, $3)
		if $r->{text} =~ /\ATo: (.*)\nSubject: (.*)\n\n(.*)\z/s && $1 !~ /\n/ && $2 !~ /\n/;
	return ('', $r->{title}, $r->{text});
}

# reportbug makes the head of the mail, and the fields that follow it, itself.
sub _for_file {
	my ($r) = @_;
	return $r->{form} eq 'debian' ? $r->{text} =~ s/\ATo: .*?\n\n.*?\n\n//sr : $r->{text};
}

sub _done {
	my ($r, $o) = @_;
	if (defined $o->{output}) {
		sysopen(my $out, $o->{output}, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600)
			or die "$o->{output}: $!: choose another place with -o\n";
		binmode $out;
		print {$out} _text_bytes(_for_file($r)) and close $out
			or die "$o->{output}: $!: is the disk full?\n";
		put(fill(N__('{file} written.'), file => one_line($o->{output})) . "\n");
	}
	if ($o->{mail}) {
		my ($to, $subject, $body) = map { _text_bytes($_) } _mail($r);
		_start(
			'xdg-email', '--utf8', '--subject', $subject, '--body', $body,
			(defined $o->{attach} ? ('--attach', $o->{attach}) : ()), length $to ? $to : ()
		);
	}
	if ($o->{open}) {
		my $p = ($r->{culprit}{driver} // {})->{package} // $r->{culprit}{package};
		my ($url) = grep { defined && m{\Ahttps?://} } @$p{qw(tracker distribution)};
		die "no tracker is known: give the text to whoever made it\n" if !defined $url;
		_start('xdg-open', $url);
	}
	eval {
		$r->{history}->add(
			'report',
			{
				episode => $r->{id}, signature => $r->{signature}, title => $r->{title},
				form    => $r->{form},
				to      => $r->{culprit}->name, defined $o->{output} ? (file => $o->{output}) : ()
			}
		);
		1;
	} or complain('report', one_line($@));
	return 0;
}

# Without a shell: what stands in a text is obeyed by nobody.
sub _start {
	my (@command) = @_;
	my $failed = system { $command[0] } @command;
	die "$command[0]: "
		. ($failed == -1 ? "$!: install xdg-utils" : 'it failed')
		. ": nothing was opened\n"
		if $failed;
	return;
}

sub _data {
	my ($r) = @_;
	return Tipme::Report::JSON::clean(
		{
			id => $r->{id}, form => $r->{form}, title => $r->{title}, signature => $r->{signature},
			text     => $r->{text},
			culprit  => $r->{culprit}->data,
			reported =>
				[ map { { time => $_->{time}, episode => $_->{episode} } } @{ $r->{before} } ]
		}
	);
}

1;
