# SPDX-License-Identifier: GPL-2.0-only
# The window and the command line tell the same of an episode: sentence, interval, stages, each
# part of the sum with its culprit, and what each thread on the path did.
package Tipme::SameNumbers;

use strict;
use warnings;
use Cpanel::JSON::XS qw(decode_json);
use Exporter         qw(import);

our @EXPORT_OK = qw(differences);

# differences(TIPME, EPISODE): { differ => [ what the window has otherwise ], compared => how many
# numbers and names }; TIPME is the command, EPISODE a folder.
sub differences {
	my ($tipme, $episode) = @_;
	my $said = _told($tipme, 'diagnose', '--json', $episode);
	my $dump = _told($tipme, 'gui',      '--dump', $episode);
	return { differ => ["$episode: no diagnosis"], compared => 0 } if $said !~ /\S/;
	my ($is, $has) = (_of_diagnosis(decode_json($said)), _of_window($dump));
	# The window has lanes for threads of the path; a thread without a lane has no numbers there.
	delete @$is{ grep { /^thread /  && !exists $has->{$_} } keys %$is };
	delete @$has{ grep { /^thread / && !exists $is->{$_} } keys %$has };
	my @differ = grep { ($is->{$_} // '') ne ($has->{$_} // '') } sort keys %{ { %$is, %$has } };
	return {
		compared => scalar keys %$is,
		differ   => [
			map {
				"$episode: $_: diagnose " . ($is->{$_} // '-') . ', window ' . ($has->{$_} // '-')
			} @differ
		]
	};
}

sub _told {
	my (@command) = @_;
	open my $pipe, '-|', @command or die "$command[0]: $!\n";
	local $/;
	return scalar(<$pipe>) // '';
}

# Each number by its name.
sub _of_diagnosis {
	my ($d) = @_;
	my %is  = (sentence => $d->{verdict}{sentence});
	my $i   = $d->{interval} or return \%is;
	$is{interval} = "$i->{start_ns} $i->{end_ns}";
	my $n = 0;
	for my $part (@{ $d->{totals}{blamed} }) {
		my $who = $part->{comm} // '';
		$who .= " ($part->{pid})" if $part->{pid};
		$is{ 'part ' . ++$n } = "$who $part->{ns}";
	}
	my %seen;
	for my $stage (@{ ($d->{event} // {})->{stages} // [] }) {
		$is{ "stage $stage->{name} " . ++$seen{ $stage->{name} } } =
			$stage->{ts_ns} - $i->{start_ns};
	}
	$is{"thread $_->{tid}"} = join ' ', @$_{qw(running_ns runnable_ns blocked_ns)}
		for @{ $d->{totals}{threads} // [] };
	return \%is;
}

sub _of_window {
	my ($dump) = @_;
	my ($n, %has, %seen) = (0);
	for (split /\n/, $dump) {
		my ($name, @f) = split /\t/;
		if    ($name eq 'sentence') { $has{sentence}         = _characters($f[0]) }
		elsif ($name eq 'interval') { $has{interval}         = "@f[0, 1]" }
		elsif ($name eq 'part')     { $has{ 'part ' . ++$n } = _characters($f[1]) . " $f[2]" }
		elsif ($name eq 'stage')    { $has{ "stage $f[0] " . ++$seen{ $f[0] } } = $f[1] }
		elsif ($name eq 'sum' && $f[0] eq 'thread') { $has{"thread $f[1]"} = "@f[2 .. 4]" }
	}
	return \%has;
}

sub _characters { my ($bytes) = @_; utf8::decode($bytes); return $bytes }

1;
