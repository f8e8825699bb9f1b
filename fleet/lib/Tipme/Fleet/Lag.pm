# SPDX-License-Identifier: GPL-2.0-only
# One row of the table `lags`, of a bundle that a stranger made: nothing in it is believed to have
# the type, length or range that it should have.
package Tipme::Fleet::Lag;

use strict;
use warnings;
use Cpanel::JSON::XS ();
use Digest::SHA      qw(sha256_hex);
use Encode           ();
use Exporter         qw(import);
use Time::Local      qw(timegm_modern);
use Tipme::Bundle;
use Tipme::Enrolment;
use Tipme::Fleet::Database;
use Tipme::Printable qw(one_line);

our @EXPORT_OK = qw(of_bundle of_presence of_counts signature);

# Unit: characters. A name of a program, function or package; longer ones are cut.
my $MAX_NAME = 200;
# Unit: characters. The sentence of a verdict.
my $MAX_SENTENCE = 500;
# Unit: bytes. Of the files that say how long a recorder ran.
my $MAX_PRESENCE = 4096;
# Unit: bytes, and rows. A profile has at most 63 names and two of its own, each with five inputs.
my ($MAX_COUNTS, $MAX_ROWS) = (1 << 18, 325);
my %INPUT = map { $_ => 1 } qw(key button wheel touch motion);
# Answers of one row; nobody presses so often.
my $MAX_ANSWERS = 1e9;
# Unit: ns. A lag of a day is no lag.
my $MAX_WAITED_NS = 86_400 * 1_000_000_000;
# Unit: seconds since 1970. Before 2020 there was no tipme; a clock may be a day ahead.
my $FIRST   = 1_577_836_800;
my $AHEAD_S = 86_400;

# of_bundle(FILE, fleet => NAME): the row. Dies by a sentence about what is wrong with the file;
# without a fleet's name any fleet is accepted.
sub of_bundle {
	my ($file, %o) = @_;
	my $parts    = Tipme::Bundle->texts_of($file, 'manifest.json', 'verdict.json');
	my $manifest = _decoded($file, 'manifest.json', $parts->{'manifest.json'});
	my $d        = _decoded($file, 'verdict.json',  $parts->{'verdict.json'});
	my $enrolled = $manifest->{fleet};
	die "$file: carries no enrolment: it was not made for a fleet\n" if ref $enrolled ne 'HASH';
	my ($fleet, $machine) = @$enrolled{qw(name machine)};
	die "$file: its enrolment is none of tipme\n"
		if ref $fleet || ref $machine || ($machine // '') !~ $Tipme::Enrolment::ID;
	die "$file: is for another fleet\n" if defined $o{fleet} && ($fleet // '') ne $o{fleet};
	return _row($file, $machine, $manifest, $d);
}

sub _decoded {
	my ($file, $name, $text) = @_;
	die "$file: no $name in it\n" if !defined $text;
	my $data = eval { Cpanel::JSON::XS->new->utf8->max_depth(64)->decode($text) };
	die "$file: $name is no JSON object\n" if ref $data ne 'HASH';
	return $data;
}

sub _row {
	my ($file, $machine, $m, $d) = @_;
	my ($v, $i, $e) = map { _part($d->{$_}) } qw(verdict interval event);
	my $time = _time($file, $m->{time});
	my %row  = (
		machine     => $machine,
		episode     => _name($m->{id} // $d->{id}),
		time        => $time,
		week        => Tipme::Fleet::Database::week_of($time),
		application => _name(_part($e->{client})->{comm}),
		culprit     => _name(_part($v->{blamed})->{comm}),
		kind        => _name($v->{kind}),
		function    => _name(_part($v->{function})->{function}),
		stage       => _longest_stage($e, $i),
		kernel      => _name($m->{kernel}),
		hardware    => _hardware($m),
		version     => _name(_version($m, $v)),
		waited_ns   => scalar _whole($i->{duration_ns}, $MAX_WAITED_NS),
		usual_ns    => scalar _whole($i->{usual_ns},    $MAX_WAITED_NS),
		confidence  => _share($v->{confidence}),
		sentence    => _name($v->{sentence}, $MAX_SENTENCE),
	);
	die "$file: its verdict has no kind\n"        if !length $row{kind};
	die "$file: says of no lag how long it was\n" if !defined $row{waited_ns};
	die "$file: its episode has no name\n"        if !length $row{episode};
	$row{signature} = signature(@row{qw(kind culprit function stage)});
	return \%row;
}

sub _part { my ($v) = @_; return ref $v eq 'HASH' ? $v : {} }

# A name as it may stand on a terminal and in a page.
sub _name {
	my ($v, $most) = @_;
	return '' if !defined $v || ref $v;
	return substr one_line("$v"), 0, $most // $MAX_NAME;
}

sub _whole {
	my ($v, $most) = @_;
	return if !defined $v || ref $v || $v !~ /\A[0-9]{1,15}(?:\.[0-9]+)?\z/ || $v > $most;
	return int $v;
}

sub _share {
	my ($v) = @_;
	return defined $v && !ref $v && $v =~ /\A[01](?:\.[0-9]{1,20})?\z/ && $v <= 1 ? $v + 0 : undef;
}

# The manifest's time, UTC: seconds since 1970.
sub _time {
	my ($file, $text) = @_;
	my @t    = ref $text ? () : ($text // '') =~ /\A(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)/;
	my $time = @t        ? eval { timegm_modern(@t[ 5, 4, 3, 2 ], $t[1] - 1, $t[0]) } : undef;
	die "$file: says no time when it was\n"    if !defined $time;
	die "$file: is of a time that cannot be\n" if $time < $FIRST || $time > time + $AHEAD_S;
	return $time;
}

# The stage that took longest, by the name of its end.
sub _longest_stage {
	my ($e, $i) = @_;
	my @stages = ref $e->{stages} eq 'ARRAY' ? map { _part($_) } @{ $e->{stages} } : ();
	my ($longest, $name, $before) = (-1, '', _whole($i->{start_ns}, 1e18));
	for my $s (@stages) {
		my $at = _whole($s->{ts_ns}, 1e18) // next;
		($longest, $name) = ($at - $before, _name($s->{name}))
			if defined $before && $at - $before > $longest;
		$before = $at;
	}
	my $end = _whole($i->{end_ns}, 1e18);
	return defined $end && defined $before && $end - $before > $longest ? 'answer' : $name;
}

sub _hardware {
	my ($m) = @_;
	my $cpus = _whole($m->{cpus}, 65_536);
	return join ', ', grep {length} _name($m->{machine}), $cpus ? "$cpus CPUs" : '';
}

# The version of the culprit's package where the bundle has it.
sub _version {
	my ($m, $v) = @_;
	my $package = _part(_part($v->{blamed})->{package});
	return join ' ', grep {length} map { _name($_) } @$package{qw(name version)}
		if length _name($package->{version});
	my $own = _part($m->{recorder})->{version};
	return length _name($own) ? 'tipme ' . _name($own) : '';
}

# signature(KIND, CULPRIT, FUNCTION, STAGE): the same for lags that look alike, 16 digits
sub signature {
	my (@parts) = map { Encode::encode('UTF-8', $_) } @_;
	return substr sha256_hex(join "\0", @parts), 0, 16;
}

# of_presence(FILE, fleet => NAME): the row of the table `presence`, of what `tipme fleet present`
# wrote. Dies by a sentence.
sub of_presence {
	my ($file, %o) = @_;
	my $p = _small($file, $MAX_PRESENCE, %o);
	my ($week) = _week($file, $p);
	my $hours =
		   defined $p->{hours}
		&& !ref $p->{hours}
		&& $p->{hours} =~ /\A\d{1,3}(?:\.\d+)?\z/
		&& $p->{hours} <= 168 ? $p->{hours} + 0 : undef;
	die "$file: says of its week not for how many hours\n" if !defined $hours;
	return {
		machine => $p->{machine},       week    => $week, hours => $hours,
		kernel  => _name($p->{kernel}), version => _name($p->{version})
	};
}

# (week, its first second) of a small file: one that a recorder can have seen.
sub _week {
	my ($file, $p) = @_;
	my $week = _whole($p->{week}, 100_000);
	my $time = defined $week ? Tipme::Fleet::Database::week_time($week) : undef;
	die "$file: is of a time that cannot be\n"
		if !defined $time || $time < $FIRST || $time > time + $AHEAD_S;
	return ($week, $time);
}

# The object of a small file that is for our fleet, if one is named.
sub _small {
	my ($file, $most, %o) = @_;
	open my $in, '<:raw', $file or die "$file: $!\n";
	my $got = read $in, my $text, $most + 1;
	die "$file: $!\n"                      if !defined $got;
	die "$file: longer than $most bytes\n" if $got > $most;
	my $p = _decoded($file, 'it', $text);
	die "$file: its enrolment is none of tipme\n"
		if ref $p->{machine} || ($p->{machine} // '') !~ $Tipme::Enrolment::ID;
	die "$file: is for another fleet\n" if defined $o{fleet} && _name($p->{fleet}) ne $o{fleet};
	return $p;
}

# of_counts(FILE, fleet => NAME): rows of the table `counts`, of what `tipme fleet counts` wrote.
# Dies by a sentence.
sub of_counts {
	my ($file, %o) = @_;
	my $p = _small($file, $MAX_COUNTS, %o);
	my ($week, $time) = _week($file, $p);
	die "$file: says of which profile it is by no number\n"
		if ref $p->{profile} || ($p->{profile} // '') !~ /\A[0-9a-f]{16}\z/;
	my $counts = $p->{counts};
	die "$file: has no list of counts, or too long a one\n"
		if ref $counts ne 'ARRAY' || !@$counts || @$counts > $MAX_ROWS;
	my %of = (
		machine => $p->{machine},       profile => $p->{profile}, week => $week, time => $time,
		kernel  => _name($p->{kernel}), version => _name($p->{version})
	);
	return map { +{ %of, %{ _count($file, $_) } } } @$counts;
}

sub _count {
	my ($file, $of) = @_;
	my $c = _part($of);
	my ($answers, $late) = map { scalar _whole($c->{$_}, $MAX_ANSWERS) } qw(answers late);
	my $waited = _whole($c->{waited_ns}, $MAX_WAITED_NS);
	my $input  = _name($c->{input});
	die "$file: counts what is no kind of input\n" if !$INPUT{$input};
	die "$file: has counts that cannot be\n"
		if !defined $answers || !defined $late || !defined $waited || $late > $answers;
	return {
		application => _name($c->{application}),
		input       => $input, answers => $answers, late => $late, waited_ns => $waited
	};
}

1;
