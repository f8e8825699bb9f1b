# SPDX-License-Identifier: GPL-2.0-only
# tipme fleet: whether this machine takes part in a fleet, and the verbs for whoever looks after
# one, which are a package of their own.
package Tipme::Command::Fleet;

use strict;
use warnings;
use Cpanel::JSON::XS   ();
use POSIX              ();
use Tipme::CommandLine qw(options replaceable said_yes table with_commas);
use Tipme::Enrolment;
use Tipme::Printable qw(put one_line);
use Tipme::Words     qw(N__ fill);

my $USAGE_ERROR = 64;
my %HELP        = (
	join => N__(<<'END'),
usage: tipme fleet join NAME

This machine may take part in the fleet NAME: it gets a random number there, which is kept in
your settings. Only `tipme bundle --fleet NAME`, `tipme fleet present NAME` and `tipme fleet
counts NAME` write it into a file. Nothing is sent by tipme.

  tipme fleet join office
END
	leave => N__(<<'END'),
usage: tipme fleet leave NAME

Forgets the number. What was sent stays where it was sent.

  tipme fleet leave office
END
	rotate => N__(<<'END'),
usage: tipme fleet rotate NAME

A new number: what is sent from now on cannot be tied to what was sent before.

  tipme fleet rotate office
END
	joined => N__(<<'END'),
usage: tipme fleet joined

The fleets in which this machine takes part.

  tipme fleet joined
END
	present => N__(<<'END'),
usage: tipme fleet present NAME --hours N [--week N] -o FILE

A small file for the fleet's spool: in this week (or that one, counted from 1970-01-05) a
recorder ran here for N hours. Without it nobody can tell few lags from little use. It has the
number of this machine, the kernel's version, and tipme's.

  tipme fleet present office --hours 38 -o /var/spool/tipme/here.tipme-presence
END
	counts => N__(<<'END'),
usage: tipme fleet counts NAME PROFILE [--app NAME ...] [--yes] -o FILE

A small file for the fleet's spool, of what `tipme profile record` has written: for each
application and kind of input how many answers came, how many too late (after 150 ms; of motion
75 ms), and how long all took together. It tells the week in which the profile began, and no time
that is finer. What goes in is shown, and you are asked; --yes says that you have agreed.

  --app NAME  only this application; may be given again for others

  tipme fleet counts office monday.json -o /var/spool/tipme/monday.tipme-counts
  tipme fleet counts office monday.json --app gedit --yes -o gedit.tipme-counts
END
);

my $USAGE = N__(<<'END');
usage: tipme fleet VERB [ARGUMENT ...]

On a machine that takes part:
  join, leave, rotate, joined   whether, and by which number
  present                       for how long a recorder ran, as a file
  counts                        what a profile counted, as a file
For whoever looks after a fleet (package tipme-fleet):
  setup, roles, maintain        the database
  ingest                        such files and bundles from a folder into it
  top, trend, cluster, show     what it says
  report                        the same as a page

`tipme fleet VERB --help` tells more.
END

sub run {
	my ($class, $verb, @args) = @_;
	if (!defined $verb) {
		print STDERR "tipme: fleet: no verb: see tipme fleet --help\n";
		return $USAGE_ERROR;
	}
	if ($verb eq '--help' || $verb eq '-h') { put(fill($USAGE)); return 0 }
	return $class->can("_$verb")->(@args) if $HELP{$verb};
	if (!eval { require Tipme::Fleet::Command; 1 }) {
		die $@ if $@ !~ m{\ACan't locate Tipme/Fleet/Command\.pm};
		die "$verb: is not installed: install the package tipme-fleet\n"
			if $verb =~ /\A[a-z]{3,10}\z/;
	}
	return Tipme::Fleet::Command->run($verb, @args)
		if Tipme::Fleet::Command->can('verbs') && grep { $_ eq $verb } Tipme::Fleet::Command->verbs;
	print STDERR 'tipme: fleet: ', one_line($verb), ": no such verb: see tipme fleet --help\n";
	return $USAGE_ERROR;
}

# The one name that these verbs take.
sub _named {
	my ($verb, $args, @spec) = @_;
	my ($o, $exit) = options($args, $HELP{$verb}, 1, @spec);
	return ($o, undef, $exit) if !$o;
	return ($o, $args->[0]) if @$args;
	print STDERR "tipme: fleet $verb: name a fleet\n";
	return (undef, undef, $USAGE_ERROR);
}

sub _join {
	my (@args) = @_;
	my ($o, $fleet, $exit) = _named('join', \@args);
	return $exit if !$o;
	my $id = Tipme::Enrolment::join_fleet($fleet);
	put(
		"joined: in files for $fleet this machine is $id\n",
		"`tipme bundle --fleet $fleet` makes one; nothing is sent by itself.\n"
	);
	return 0;
}

sub _leave {
	my (@args) = @_;
	my ($o, $fleet, $exit) = _named('leave', \@args);
	return $exit if !$o;
	Tipme::Enrolment::leave($fleet);
	put("left: no file carries the number any more\n");
	return 0;
}

sub _rotate {
	my (@args) = @_;
	my ($o, $fleet, $exit) = _named('rotate', \@args);
	return $exit if !$o;
	put('from now on this machine is ', Tipme::Enrolment::join_fleet($fleet, again => 1), "\n");
	return 0;
}

sub _joined {
	my (@args) = @_;
	my ($o, $exit) = options(\@args, $HELP{joined}, 0);
	return $exit if !$o;
	my @fleets = Tipme::Enrolment::fleets();
	put(@fleets ? map { "$_  " . (Tipme::Enrolment::id($_) // '') . "\n" } @fleets : "none\n");
	return 0;
}

# Unit: seconds. 1970-01-05 was a Monday.
my ($WEEK_S, $FIRST_S) = (7 * 86_400, 4 * 86_400);

sub _present {
	my (@args) = @_;
	my ($o, $fleet, $exit) = _named('present', \@args, 'hours=f', 'week=i', 'output|o=s');
	return $exit if !$o;
	for (qw(hours output)) {
		next if defined $o->{$_};
		print STDERR "tipme: fleet present: --$_ is missing: see tipme fleet present --help\n";
		return $USAGE_ERROR;
	}
	die "--hours $o->{hours}: a week has 0 to 168\n" if $o->{hours} < 0 || $o->{hours} > 168;
	my $id = Tipme::Enrolment::id($fleet)
		// die "$fleet: not joined: run `tipme fleet join $fleet` first\n";
	my %said = (
		fleet   => $fleet, machine => $id, week => $o->{week} // int((time - $FIRST_S) / $WEEK_S),
		hours   => $o->{hours} + 0, kernel => (POSIX::uname())[2],
		version => 'tipme ' . ($ENV{TIPME_VERSION} // '')
	);
	_write($o->{output}, \%said);
	return 0;
}

sub _counts {
	my (@args) = @_;
	my ($o, $exit) = options(\@args, $HELP{counts}, 2, 'app=s@', 'yes', 'output|o=s');
	return $exit if !$o;
	my ($fleet, $profile) = @args;
	my $lacks =
		  @args < 2            ? 'name a fleet and a profile'
		: defined $o->{output} ? undef
		:                        '--output is missing';
	if (defined $lacks) {
		print STDERR "tipme: fleet counts: $lacks: see tipme fleet counts --help\n";
		return $USAGE_ERROR;
	}
	my $id = Tipme::Enrolment::id($fleet)
		// die "$fleet: not joined: run `tipme fleet join $fleet` first\n";
	require Tipme::Profile::ForFleet;
	my $of = Tipme::Profile::ForFleet::counts_of($profile, apps => $o->{app});
	put(
		"What goes into the file:\n",
		table(
			[
				[ '  application', 'input', 'answers', 'late', 'waited' ],
				map { _shown($_) } @{ $of->{counts} }
			],
			'llrrr'
		),
		one_line(
				  "the week of the profile, kernel $of->{kernel}, $of->{version}, "
				. "and the number of this machine in $fleet"
		),
		"\n"
	);
	if (!$o->{yes} && !(-t STDIN && said_yes('Write ' . one_line($o->{output}) . '?'))) {
		print STDERR 'tipme: fleet counts: not written: ',
			-t STDIN ? 'you did not agree' : 'cannot ask without a terminal',
			": review the list, then add --yes\n";
		return 1;
	}
	_write($o->{output}, { %$of, fleet => $fleet, machine => $id });
	return 0;
}

sub _shown {
	my ($c) = @_;
	return [
		'  ' . one_line($c->{application}), $c->{input},      with_commas($c->{answers}),
		with_commas($c->{late}),            sprintf '%.1f s', $c->{waited_ns} / 1e9
	];
}

# Whole or not at all.
sub _write {
	my ($file, $said) = @_;
	replaceable($file);
	my $new = "$file.$$";
	open my $out, '>:raw', $new or die "$new: $!: choose another place with -o\n";
	print {$out} Cpanel::JSON::XS->new->canonical->ascii->encode($said) . "\n"
		and close $out
		and rename $new, $file
		or do { my $why = $!; unlink $new; die "$file: $why: is the disk full?\n" };
	put(one_line($file), " written\n");
	return;
}

1;
