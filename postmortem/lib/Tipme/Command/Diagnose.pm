# SPDX-License-Identifier: GPL-2.0-only
# tipme diagnose: who made it slow, for how long, and the proof.
package Tipme::Command::Diagnose;

use strict;
use warnings;
use Tipme::CommandLine qw(options complain print_json);
use Tipme::Diagnosis;
use Tipme::Episode;
use Tipme::Felt;
use Tipme::Library;
use Tipme::Meant;
use Tipme::Phrases   qw(phrases);
use Tipme::Printable qw(put one_line);
use Tipme::Report::JSON;
use Tipme::Report::Text;
use Tipme::Told  qw(told);
use Tipme::Words qw(N__ fill);

my %SAID = phrases();
my $HELP = N__(<<'END');
usage: tipme diagnose [EPISODE] [-v] [--json] [--event N | --at TIME | --thread TID --from T --to T]
                      [--felt WORDS] [--keep | --forget]

Finds the input event that was answered unusually late (or not yet), and says who made it so: the
verdict, when it was, whom to ask, what to do, the largest causes. -v adds the sum, the stages, the
threads and the evidence.

EPISODE is an id, a folder, or `last`. --event takes the number that `tipme events` shows; --at
takes a time by the clock (HH:MM:SS, the slowest answer of that second), -SECONDS before the
hot-key, or a time in seconds, as the records have it. --thread with
--from and --to asks what a thread did in a stretch of time that you measured yourself, whether
an input event was there or not. --keep, with --event or --at: this is the moment that was meant;
the list, a report, a bundle, a picture are about it from now on, until --forget.

--felt says what it was like; the verdict is about such a moment if one was slow, and says so if
none was. WORDS, with commas between: typing, click, smooth (moving or scrolling was not), start (a
program took long to), all (everything stood still) or test; pointer-moved or pointer-stood; again
or once (whether it comes again and again). --keep goes with it, too.

{usually}
{unusual}

Exit status: 0; 2 where the verdict is "unknown"; 1 where it failed; 64 usage.

  tipme diagnose
  tipme diagnose 20261120-150301-3f2a --json | jq .verdict
  tipme diagnose last --at 15:02:58
  tipme diagnose last -v --at -3.5
  tipme diagnose last --event 12 --keep
  tipme diagnose last --felt all,pointer-moved,again
  tipme diagnose last --thread 4711 --from -2.5 --to -2.0
END

sub run {
	my ($class, @args) = @_;
	my ($o,     $exit) = options(
		\@args, $HELP,    1,      'json', 'verbose|v', 'event=i', 'at=t', 'thread=i', 'from=t',
		'to=t', 'felt=s', 'keep', 'forget'
	);
	return $exit if !$o;
	my $felt = defined $o->{felt} ? Tipme::Felt::parse($o->{felt}) : undef;
	if (defined $o->{felt} && !$felt) {
		return complain(
			'diagnose',
			fill(
				N__('--felt {word}: one word for each question: {words}'),
				word  => one_line($o->{felt}),
				words => join(', ', Tipme::Felt::words())
			)
		);
	}
	my $stretch = grep {defined} @$o{qw(thread from to)};
	if ($stretch && ($stretch < 3 || defined $o->{event} || defined $o->{at})) {
		return _misuse(
			N__('--thread, --from and --to go together, and with neither --event nor --at'));
	}
	my $asked = grep {defined} @$o{qw(event at)};
	my $said  = $asked || $felt;
	if ($o->{keep} && (!$said || $o->{forget}) || $o->{forget} && ($said || $stretch)) {
		return _misuse(N__('--keep goes with --event, --at or --felt, and --forget with none'));
	}
	return _misuse(N__('--felt does not go with --thread')) if $felt && $stretch;
	my @quiet   = Tipme::Library::is_path($args[0]) ? (warn => sub { }) : ();
	my $library = eval { Tipme::Library->open(@quiet) };
	my $why     = $@;
	my $dir     = $library ? $library->locate($args[0]) : Tipme::Library->folder_of($args[0]);
	my $id      = $library ? $library->id_of($dir)      : undef;
	my $usual   = sub {
		return $library ? eval { $library->usual(@_, $id) } : ();
	};
	my $diagnosis = Tipme::Diagnosis->new(Tipme::Episode->open($dir), baseline => $usual);
	if ($o->{forget}) {
		$_->($diagnosis->episode) for \&Tipme::Meant::forget, \&Tipme::Felt::forget;
	}
	# Words are about a moment that tipme chooses.
	Tipme::Felt::keep($diagnosis->episode, $o->{felt}) if $felt && $o->{keep};
	Tipme::Meant::forget($diagnosis->episode) if $felt && $o->{keep} && !$asked;
	my $d =
		defined $o->{thread}
		? $diagnosis->run_thread(@$o{qw(thread from to)})
		: $diagnosis->run(event => $o->{event}, at => $o->{at}, felt => $felt);
	_keep($diagnosis, $d) if $o->{keep} && $asked;
	my $chosen = !$asked && !$stretch || $o->{keep};
	if (!$library) {
		complain(
			'diagnose',
			fill(N__('the library was not asked: {why}'), why => told(one_line($why)))
		);
	} elsif (defined $id && $chosen) {
		_remember($library, $id, $d, $diagnosis);
	}
	if    ($o->{json})    { print_json(Tipme::Report::JSON::data($d)) }
	elsif ($o->{verbose}) { put(Tipme::Report::Text::page($d)) }
	else                  { put(Tipme::Report::Text::short($d)) }
	return $d->{verdict}{kind} eq 'unknown' ? 2 : 0;
}

# Whatever can be judged can be meant.
sub _keep {
	my ($diagnosis, $d) = @_;
	die 'nothing to keep: ' . lcfirst $d->{verdict}{sentence} if !$d->{event};
	Tipme::Meant::keep($diagnosis, $d->{event}{n});
	$d->{meant} = 1;
	return;
}

# The library keeps the verdict of the event that we chose ourselves. A verdict never fails because
# the library does.
sub _remember {
	my ($library, $id, $d, $diagnosis) = @_;
	my $v = $d->{verdict};
	eval {
		$library->set_verdict(
			$id,
			{
				%$v{qw(kind sentence share confidence)},
				blamed_comm => ($v->{blamed}                  // {})->{comm},
				client_comm => (($d->{event} // {})->{client} // {})->{comm},
				blamed_pid  => ($v->{blamed}                  // {})->{pid},
				interval_ns => $d->{interval} ? $d->{interval}{duration_ns} : undef
			}
		);
		$library->set_usual(
			$id,
			$diagnosis->usual_responses(
				$v->{kind} eq 'none' || !$d->{event} ? undef : $d->{event}{n}
			)
		);
		1;
	}
		or complain(
		'diagnose',
		fill(N__('the library was not told: {why}'), why => told(one_line($@)))
		);
}

sub _misuse {
	my ($why) = @_;
	return complain(
		'diagnose',
		fill(N__('{why}: see tipme {verb} --help'), why => fill($why), verb => 'diagnose')
	);
}

1;
