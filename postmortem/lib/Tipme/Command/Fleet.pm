# SPDX-License-Identifier: GPL-2.0-only
# tipme fleet: whether this machine takes part in a fleet, and the verbs for whoever looks after one,
# which are a package of their own.
package Tipme::Command::Fleet;

use strict;
use warnings;
use Cpanel::JSON::XS ();
use POSIX ();
use Tipme::CommandLine qw(options replaceable);
use Tipme::Enrolment;
use Tipme::Printable qw(put one_line);

my $USAGE_ERROR = 64;
my %HELP = (
	join => "usage: tipme fleet join NAME\n\n"
		. "This machine may take part in the fleet NAME: it gets a random number there, which is kept in\n"
		. "your settings. Only `tipme bundle --fleet NAME` and `tipme fleet present NAME` write it into a\n"
		. "file. Nothing is sent by tipme.\n\n  tipme fleet join office\n",
	leave  => "usage: tipme fleet leave NAME\n\nForgets the number. What was sent stays where it was sent.\n\n  tipme fleet leave office\n",
	rotate => "usage: tipme fleet rotate NAME\n\nA new number: what is sent from now on cannot be tied to what was sent before.\n\n  tipme fleet rotate office\n",
	joined => "usage: tipme fleet joined\n\nThe fleets in which this machine takes part.\n\n  tipme fleet joined\n",
	present => "usage: tipme fleet present NAME --hours N [--week N] -o FILE\n\n"
		. "A small file for the fleet's spool: in this week (or that one, counted from 1970-01-05) a\n"
		. "recorder ran here for N hours. Without it nobody can tell few lags from little use. It has the\n"
		. "number of this machine, the kernel's version, and tipme's.\n\n"
		. "  tipme fleet present office --hours 38 -o /var/spool/tipme/here.tipme-presence\n",
);

my $USAGE = <<'END';
usage: tipme fleet VERB [ARGUMENT ...]

On a machine that takes part:
  join, leave, rotate, joined   whether, and by which number
  present                       for how long a recorder ran, as a file
For whoever looks after a fleet (package tipme-fleet):
  setup, roles, maintain        the database
  ingest                        bundles from a folder into it
  top, trend, cluster, show     what it says
  report                        the same as a page

`tipme fleet VERB --help` tells more.
END

sub run {
	my ($class, $verb, @args) = @_;
	if (!defined $verb) { print STDERR "tipme: fleet: no verb: see tipme fleet --help\n"; return $USAGE_ERROR }
	if ($verb eq '--help' || $verb eq '-h') { put($USAGE); return 0 }
	return $class->can("_$verb")->(@args) if $HELP{$verb};
	if (!eval { require Tipme::Fleet::Command; 1 }) {
		die $@ if $@ !~ m{\ACan't locate Tipme/Fleet/Command\.pm};
		die "$verb: is not installed: install the package tipme-fleet\n" if $verb =~ /\A[a-z]{3,10}\z/;
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
	put("joined: in files for $fleet this machine is $id\n",
		"`tipme bundle --fleet $fleet` makes one; nothing is sent by itself.\n");
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
	my $id = Tipme::Enrolment::id($fleet) // die "$fleet: not joined: run `tipme fleet join $fleet` first\n";
	replaceable($o->{output});
	my %said = (fleet => $fleet, machine => $id, week => $o->{week} // int((time - $FIRST_S) / $WEEK_S),
		hours => $o->{hours} + 0, kernel => (POSIX::uname())[2], version => 'tipme ' . ($ENV{TIPME_VERSION} // ''));
	my $new = "$o->{output}.$$";
	open my $out, '>:raw', $new or die "$new: $!: choose another place with -o\n";
	print {$out} Cpanel::JSON::XS->new->canonical->ascii->encode(\%said) . "\n" and close $out and rename $new, $o->{output}
		or do { my $why = $!; unlink $new; die "$o->{output}: $why: is the disk full?\n" };
	put(one_line($o->{output}), " written\n");
	return 0;
}

1;
