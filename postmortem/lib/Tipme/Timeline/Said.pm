# SPDX-License-Identifier: GPL-2.0-only
# A part of Timeline: what the picture says in words: its title, the stages, the foot.
package Tipme::Timeline::Said;

use strict;
use warnings;
use Tipme::CommandLine qw(ms with_commas local_time);
use Tipme::Printable   qw(one_line);
use Tipme::Responses   qw(kind_words);
use Tipme::Words       qw(N__ fill);

my %SLEEP = (
	sleeping  => N__('sleeping'),           disk_sleep => N__('uninterruptible sleep'),
	lock_wait => N__('waiting for a lock'), stopped    => N__('stopped')
);

my %STAGE_WORDS = (
	interrupt => N__('interrupt'),
	input     => N__('{event} arrives'),
	read      => N__('{server} reads it'),
	server    => N__('{server} wakes up'),
	device    => N__('{server} works on it'),
	deliver   => N__('sent to {client}'),
	client    => N__('{client} runs'),
	request   => N__('{client} draws'),
	drawn     => N__('{client} has drawn'),
	painting  => N__('the compositor paints'),
	born      => N__('{client} is made'),
	feedback  => N__('on the screen'),
	free      => N__('{client} is free again')
);
my @STAGE_ORDER =
	qw(interrupt input server device deliver born client request drawn painting feedback free);

# A bundle does not tell how long those sleep that have no part in the answer.
sub _sleep_words {
	my ($self, $i) = @_;
	my $state = fill($SLEEP{ $i->{state} } // $i->{state});
	return $state if $self->{known};
	return fill(N__('{state} for {time}'), state => $state, time => ms($i->{to} - $i->{from}));
}

sub _stages {
	my ($self) = @_;
	my $e      = $self->{diag}{event} or return;
	my %words  = (
		event  => kind_words($e->{kind}),
		server => one_line($e->{server}{name} // fill(N__('the server'))),
		client => one_line($e->{client} ? $e->{client}{comm} : fill(N__('the client')))
	);
	my %of = map { $_->{name} => $_ } @{ $e->{stages} };
	return map {
		my $label = fill($STAGE_WORDS{$_}, %words);
		{ name => $_, label => $label, ts => $of{$_}{ts_ns}, certainty => $of{$_}{certainty} };
	} grep { $of{$_} } @STAGE_ORDER;
}

sub _words {
	my ($self) = @_;
	my ($ep, $d, $i) = @$self{qw(ep diag interval)};
	my $m   = $ep->manifest;
	my @sub = (
		fill(N__('Episode {id}'), id => one_line($m->{id})),
		local_time(one_line($m->{time} // '')),
		'Linux ' . one_line($m->{kernel} // '?'),
		one_line($m->{cpus} // '?') . ' CPUs'
	);
	push @sub, '"' . one_line($ep->note) . '"' if length one_line($ep->note // '');
	return (
		title       => $d->{verdict}{sentence}, subtitle => join(" \x{2022} ", @sub),
		footer      => $self->_footer,
		start_label => $i->{guessed} ? fill(N__('a second before'))
		: !$d->{event} ? fill(N__('it stood still'))
		: kind_words($d->{event}{kind}),
		end_label => $i->{guessed} || !$d->{event} ? ''
		: ($i->{certainty} // '') ne 'open' ? fill(N__('on the screen'))
		: $i->{gone}                        ? fill(N__('the client has gone'))
		:                                     fill(N__('no answer yet'))
	);
}

sub _footer {
	my ($self) = @_;
	my ($ep, $d, $i) = @$self{qw(ep diag interval)};
	my @parts = (
		fill(
			N__('{n} kernel records in the interval'),
			n => with_commas($self->{ev}->count_between(@$i{qw(start_ns end_ns)}))
		),
		fill(N__('{n} records lost'), n => with_commas($ep->lost_count))
	);
	if    ($self->{known}) { push @parts, fill(N__('dots: not told in this bundle')) }
	elsif (($self->_covered)[0] > $self->{from} || ($self->_covered)[1] < $self->{to}) {
		push @parts, fill(N__('dots: no records'));
	}
	push @parts,
		fill(
		N__('{share} % of the interval charged on exact evidence'),
		share => sprintf('%.0f', 100 * $d->{verdict}{exact})
		) if !$i->{guessed};
	return join " \x{2022} ", @parts, map { one_line($_) } $ep->damage;
}

1;
