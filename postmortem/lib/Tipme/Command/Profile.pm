# SPDX-License-Identifier: GPL-2.0-only
# tipme profile report|compare: what follows from a profile that was recorded.
package Tipme::Command::Profile;

use strict;
use warnings;
use Cpanel::JSON::XS ();
use POSIX            ();
use Tipme::Chart;
use Tipme::CommandLine qw(options complain print_json ms table);
use Tipme::Page;
use Tipme::Printable       qw(put one_line);
use Tipme::Profile::Charts qw(charts);
use Tipme::Profile::File;
use Tipme::Profile::Report qw(report_text report_json report_page);
use Tipme::Profile::Views  ();
use Tipme::Timeline::File  qw(write_picture write_bytes);
use Tipme::Words           qw(N__ fill in_english);

my %HELP = (
	report => N__(<<'END'),
usage: tipme profile report FILE [--html FILE] [--pictures FOLDER [--png]] [--json]
                            [--times FILE [--operations FILE]] [--full]

What a session felt like: how long answers took by application and kind of input; how long a
person waited and thought, and how much went on in the background; times between long answers; what
the machine does while nobody touches it. The views are those of Endo et al., OSDI 1996.

  --html FILE        one page with all pictures, which needs nothing but itself
  --pictures FOLDER  the pictures as SVG, with --png as PNG
  --times FILE       what --record-key-times wrote: each event in pictures, exact times between
  --operations FILE  what `tipme type` printed: the times of each operation by its name
  --kind KIND        of key, button, motion, wheel, touch only this one in pictures and --full
  --full             as text, too, what the pictures show

  tipme profile report monday.json
  tipme profile report monday.json --html monday.html
  tipme profile report monday.json --pictures out --png --kind key
  tipme profile report p.json --full --times p.json.times --operations script.out
END
	compare => N__(<<'END'),
usage: tipme profile compare A B [--over MS] [--kind KIND] [--app NAME] [--junit FILE] [--json]

How much longer answers of B take than those of A: the difference of each percentile, with an
interval that leaves out 0 in at most one of twenty comparisons of the same thing. Names the stage,
and through whom. Exit status 2: by the whole interval some difference is above MS (usually 0).

  tipme profile compare monday.json tuesday.json
  tipme profile compare before.json after.json --app gedit --over 5
  tipme profile compare before.json after.json --junit profile.xml
END
);

$HELP{cpu} = N__(<<'END');
usage: tipme profile cpu [EPISODE] [-o FILE.svg|FILE.png] [--event N] [--from MS] [--to MS] [--json]

How busy the CPUs were around an event, in windows of 1, 10 and 100 ms, and what interrupts took.
From the records of the kernel in an episode. --from and --to count in milliseconds from the event.

  tipme profile cpu last -o cpu.svg
  tipme profile cpu 20261120-150301-3f2a --event 12
  tipme profile cpu last --from -500 --to 2000 --json
END

$HELP{episode} = N__(<<'END');
usage: tipme profile episode [EPISODE] [-o FILE]
       tipme profile episode --live TIME [-o FILE]

The input events of an episode as a profile, for report and compare: a few seconds, but with the
kernel's records behind it. FILE is EPISODE.json if not told. Without EPISODE, the newest.

  --live TIME   for so long (90s, 10min, 4h) or until ^C: each half minute an episode is saved,
                counted and removed. It takes more of the machine than `tipme profile record`

  tipme profile episode last -o slow.json
  tipme profile episode --live 1h -o monday.json
  tipme profile report slow.json
  tipme profile compare usual.json slow.json
END

my $OVER    = 2;                                               # exit status: over a limit
my @KINDS   = qw(key button motion wheel touch);
my $NO_KIND = N__('--kind {kind}: one of {kinds} is meant');

sub run {
	my ($class, $what, @args) = @_;
	my $do = $class->can('_' . ($what // ''));
	if (!$do || !$HELP{$what}) {
		return complain(
			'profile',
			fill(
				N__('{why}: see tipme {verb} --help'),
				why  => fill(N__('record, episode, report, compare, cpu or idle is meant')),
				verb => 'profile'
			)
		);
	}
	return $do->(@args);
}

# Its first word is the one behind `profile`.
sub _misuse {
	my ($what, $why, %value) = @_;
	return complain("profile $what", fill($why, %value));
}

sub _bad_kind {
	my ($o) = @_;
	return defined $o->{kind} && !grep { $_ eq $o->{kind} } @KINDS;
}

sub _report {
	my (@args) = @_;
	my ($o, $exit) = options(
		\@args,         $HELP{report}, 1, 'html=s', 'pictures=s', 'png', 'kind=s', 'times=s',
		'operations=s', 'json',        'full'
	);
	return $exit                                                              if !$o;
	return _misuse('report', $NO_KIND, kind => $o->{kind}, kinds => "@KINDS") if _bad_kind($o);
	return _misuse('report', N__('name a file of `tipme profile record`'))    if !@args;
	return _misuse('report', N__('--operations: wants --times: a profile has no times of its own'))
		if defined $o->{operations} && !defined $o->{times};
	my $p      = Tipme::Profile::File->read($args[0]);
	my @kinds  = $o->{kind} // @KINDS;
	my $drawn  = $o->{html} || $o->{pictures};
	my @charts = $drawn ? map { charts($p, $_) } @kinds : ();

	if (defined $o->{times}) {
		require Tipme::Profile::Times;
		$p->{times} = Tipme::Profile::Times->read($o->{times});
		push @charts, map { $p->{times}->charts($_) } @kinds if $drawn;
	}
	if (defined $o->{operations}) {
		require Tipme::Profile::Operations;
		$p->{operations} = Tipme::Profile::Operations->read($o->{operations});
	}
	if ($drawn || $o->{json} || $o->{full}) {
		$p->{cpu} = _cpu_of_longest($p);
		push @charts, [ 'cpu', Tipme::Profile::Cpu::cpu_chart(@{ $p->{cpu} }{qw(use title)}) ]
			if $drawn && $p->{cpu};
	}
	_write_pictures($o, @charts) if defined $o->{pictures};

	if (defined $o->{html}) {
		write_bytes($o->{html}, report_page($p, @charts));
		put(one_line($o->{html}), "\n");
	}
	if    ($o->{json}) { print_json(report_json($p)) }
	elsif (!defined $o->{html} && !defined $o->{pictures}) {
		put(report_text($p, $o->{full} ? @kinds : ()));
	}
	return 0;
}

# How busy the CPUs were around the longest answer whose episode is still there.
sub _cpu_of_longest {
	my ($p) = @_;
	for my $long (Tipme::Profile::Views::long_events($p)) {
		next if ($long->{episode} // '') !~ /\A\d{8}-\d{6}-[0-9a-f]{4}\z/;
		require Tipme::Library;
		my $folder = eval { Tipme::Library->folder_of($long->{episode}) };
		next if !defined $folder || !-e "$folder/manifest.json";
		require Tipme::Profile::Cpu;
		my $use = eval { Tipme::Profile::Cpu::around($long->{episode}, {}) } or next;
		return { title => delete $use->{title}, use => $use };
	}
	return;
}

sub _write_pictures {
	my ($o, @charts) = @_;
	my $folder = $o->{pictures};
	mkdir $folder;
	die fill(N__('{folder}: not a folder: name one for the pictures'), folder => $folder) . "\n"
		if !-d $folder;
	for my $c (@charts) {
		my $file = "$folder/$c->[0]." . ($o->{png} ? 'png' : 'svg');
		write_picture($file, Tipme::Chart->svg($c->[1]));
		put(one_line($file), "\n");
	}
	return;
}

sub _episode {
	my (@args) = @_;
	my ($o, $exit) = options(\@args, $HELP{episode}, 1, 'output|o=s', 'live=s');
	return $exit            if !$o;
	return _live($o, @args) if defined $o->{live};
	require Tipme::Diagnosis;
	require Tipme::Episode;
	require Tipme::Library;
	require Tipme::Profile::Episode;
	require Tipme::Responses;
	my $episode   = Tipme::Episode->open(Tipme::Library->folder_of($args[0]));
	my $diagnosis = Tipme::Diagnosis->new($episode);
	my $profile   = Tipme::Profile::Episode::profile(
		$episode, [ $diagnosis->servers ],
		Tipme::Responses::responses($diagnosis)
	);
	my $file = $o->{output} // $episode->id . '.json';
	_write_profile($file, $profile);
	put(one_line($file), "\n");
	return 0;
}

# Its owner's alone, as what `record` writes.
sub _write_profile {
	my ($file, $profile) = @_;
	my $mask = umask 0077;
	write_bytes($file, Cpanel::JSON::XS->new->utf8->canonical->encode($profile));
	umask $mask;
	return;
}

my %SECONDS = ('' => 1, s => 1, min => 60, h => 3600, d => 86400);

sub _live {
	my ($o, @args) = @_;
	return _misuse('episode', N__('--live: takes no episode')) if @args;
	my ($n, $unit) = $o->{live} =~ /\A([1-9][0-9]{0,6})(s|min|h|d|)\z/
		or return _misuse(
		'episode', N__('--live {time}: 90s, 10min or 4h is meant'),
		time => $o->{live}
		);
	require Tipme::Profile::Live;
	my $file  = $o->{output} // POSIX::strftime('profile-%Y%m%d-%H%M%S.json', localtime);
	my $tipme = defined $ENV{TIPME_BUILDDIR} ? "$ENV{TIPME_BUILDDIR}/tipme" : 'tipme';
	my $live  = Tipme::Profile::Live->new(tipme => $tipme);
	local @SIG{qw(INT TERM HUP)} = (sub { $live->stop }) x 3;
	complain('profile', fill(N__('counting to {file}: ^C ends it'), file => one_line($file)));
	$live->run($n * $SECONDS{$unit}, sub { _write_profile($file, $_[0]) });
	put(one_line($file), "\n");
	return 0;
}

sub _cpu {
	my (@args) = @_;
	my ($o, $exit) =
		options(\@args, $HELP{cpu}, 1, 'output|o=s', 'event=i', 'from=f', 'to=f', 'json');
	return $exit if !$o;
	require Tipme::Profile::Cpu;
	my $use   = Tipme::Profile::Cpu::around($args[0], $o);
	my $title = delete $use->{title};
	write_picture($o->{output}, Tipme::Chart->svg(Tipme::Profile::Cpu::cpu_chart($use, $title)))
		if defined $o->{output};
	if ($o->{json}) { print_json({ version => 1, %$use }) }
	else            { put(_cpu_text($use)) }
	return 0;
}

sub _cpu_text {
	my ($use) = @_;
	my ($line, $rows) = Tipme::Profile::Cpu::cpu_text($use);
	my @took  = map { [ $_->{class}, $_->{count}, ms($_->{ns}) ] } @{ $use->{interrupts}{long} };
	my @heads = map { fill($_) } N__('long interrupts'), N__('count'), N__('together');
	return
		  "$line\n\n"
		. table($rows, 'rrrr')
		. (@took ? "\n" . table([ \@heads, @took ], 'lrr') : '');
}

sub _compare {
	my (@args) = @_;
	my ($o, $exit) =
		options(\@args, $HELP{compare}, 2, 'over=f', 'kind=s', 'app=s', 'junit=s', 'json');
	return $exit if !$o;
	return _misuse('compare', $NO_KIND, kind => $o->{kind}, kinds => "@KINDS") if _bad_kind($o);
	return _misuse('compare', N__('--over {n}: milliseconds from 0 are meant'), n => $o->{over})
		if defined $o->{over} && $o->{over} < 0;
	return _misuse('compare', N__('name two files of `tipme profile record`')) if @args < 2;
	require Tipme::Profile::Compare;
	my ($a, $b) = map { Tipme::Profile::File->read($_) } @args;
	my $compared = sub {
		return Tipme::Profile::Compare::compare(
			$a, $b, kind => $o->{kind}, app => $o->{app},
			over_ms => $o->{over} // 0
		);
	};
	# Programs read the one, a person the other.
	my $english = sub { Tipme::Profile::Compare::junit($compared->()) };
	write_bytes($o->{junit}, in_english($english)) if defined $o->{junit};
	my $c = $compared->();
	if   ($o->{json}) { print_json($c) }
	else              { put(Tipme::Profile::Compare::text($c)) }
	return $c->{slower} ? $OVER : 0;
}

1;
