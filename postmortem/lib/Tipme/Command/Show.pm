# SPDX-License-Identifier: GPL-2.0-only
# tipme show: the facts of one episode, or its records in order of time.
package Tipme::Command::Show;

use strict;
use warnings;
use Cpanel::JSON::XS ();
use Tipme::Command::List;
use Tipme::CommandLine
	qw(options complain print_json terminal_json ms with_commas bytes_text local_time table);
use Tipme::Episode;
use Tipme::Library;
use Tipme::Notes     qw(tags_of);
use Tipme::Printable qw(put one_line printable characters);
use Tipme::Told      qw(told);
use Tipme::Words     qw(N__ fill);

my $HELP = N__(<<'END');
usage: tipme show [EPISODE] [--json] [--records FROM..TO [--limit N]]

What an episode is: when, why, by which sources, what they cover and what they lost. EPISODE is an
id of `tipme list`, the beginning of one, or a folder; without it, the newest. With --records, all
its records between two times, merged over all sources: milliseconds from the trigger (before it:
negative), or nanoseconds of the clock, as other verbs print them, with ns behind; --limit 0
prints all.

  tipme show
  tipme show 20261120-150301-3f2a --json
  tipme show last --records -1000..-900 --limit 50
END

my $DEFAULT_LIMIT = 1000;    # records; more than anybody reads

sub run {
	my ($class, @args) = @_;
	my ($o,     $exit) = options(\@args, $HELP, 1, 'json', 'records=s', 'limit=i');
	return $exit if !$o;
	my $library = Tipme::Library->open;
	my $episode = Tipme::Episode->open($library->locate($args[0]));
	return _records($episode, $o) if defined $o->{records};
	my $id  = $library->id_of($episode->dir);
	my $row = defined $id ? $library->episode($id) : undef;
	if ($o->{json}) { print_json(_data($episode, $row)) }
	else            { put(_text($episode, $row, $library)) }
	return 0;
}

sub _data {
	my ($e, $row) = @_;
	my %d = map { $_ => $e->manifest->{$_} }
		qw(id time kernel machine cpus trigger end_ns recorder sources format);
	return {
		%d, path => $e->dir, note => characters($e->note), tags => [ tags_of($e->dir) ],
		lost    => $e->lost, damage => [ $e->damage ],
		verdict => $row ? Tipme::Command::List::verdict_data($row) : undef
	};
}

sub _text {
	my ($e, $row, $library) = @_;
	my $m        = $e->manifest;
	my $id       = one_line($m->{id});
	my $recorder = ref $m->{recorder} eq 'HASH' ? $m->{recorder} : {};
	my @facts    = (
		[ fill(N__('folder')), one_line($e->dir) ],
		[
			fill(N__('time')),
			fill(
				N__('{time}, by {trigger}; recorded {more} more'),
				time    => local_time(one_line($m->{time})),
				trigger => _trigger($m->{trigger}), more => ms($e->end_ns - $e->trigger_ns)
			)
		],
		[
			fill(N__('machine')), join ', ',
			(map { one_line($_) } grep {defined} @$m{qw(kernel machine)}),
			defined $m->{cpus} ? one_line($m->{cpus}) . ' CPUs' : fill(N__('not told'))
		],
		[
			fill(N__('recorder')),
			defined $recorder->{version}
			? 'tipme ' . one_line($recorder->{version})
			: fill(N__('none'))
		]
	);
	push @facts, [ fill(N__('note')), one_line($e->note) ] if length($e->note // '');
	push @facts, [ fill(N__('tags')), join ' ', tags_of($e->dir) ] if tags_of($e->dir);
	my $text = fill(N__('Episode {id}'), id => $id) . "\n\n"
		. table([ map { [ "  $_->[0]", $_->[1] ] } @facts ], 'll');
	$text .= "\n" . _verdict($id, $row, $library) . "\n";
	return $text . "\n" . _coverage($e) . _losses($e) . join '',
		map { one_line(told($_)) . "\n" } $e->damage;
}

sub _verdict {
	my ($id, $row, $library) = @_;
	return one_line($row->{sentence}) if $row && defined $row->{kind};
	my $unread = $row && $library->unread;
	return defined $unread
		? "$unread\n  tipme diagnose $id"
		: fill(N__('Not diagnosed yet: tipme diagnose {id}'), id => $id);
}

sub _trigger {
	my ($t) = @_;
	my $kind = one_line($t->{kind} // '?');
	$kind = fill(N__('hot-key')) if $kind eq 'hotkey';
	return length one_line($t->{text} // '') ? "$kind: " . one_line($t->{text}) : $kind;
}

sub _coverage {
	my ($e) = @_;
	my @rows = (
		[
			map { fill($_) } N__('SOURCE'), N__('FILE'), N__('CPU'), N__('COVERS, s'),
			N__('TO TRIGGER'), N__('RECORDS')
		]
	);
	for my $c ($e->coverage) {
		my $seconds = sub { sprintf '%+.3f', ($_[0] - $e->trigger_ns) / 1e9 };
		push @rows, [
			one_line($c->{source}), one_line($c->{file}), $c->{cpu},
			sprintf('%.3f', ($c->{last_ns} - $c->{first_ns}) / 1e9),
			$seconds->($c->{first_ns}) . '..' . $seconds->($c->{last_ns}),
			with_commas($c->{records})
		];
	}
	my $bytes = 0;
	$bytes += $_->{size} for $e->files;
	return
		  table(\@rows, 'llrrrr')
		. fill(N__('{bytes} of records'), bytes => bytes_text($bytes)) . "\n";
}

sub _losses {
	my ($e) = @_;
	my $sums = Tipme::Episode::lost_sums($e->lost);
	my $text =
		  fill(N__('{n} records lost'), n => with_commas($sums->{records}))
		. _causes($sums->{record_causes}) . "\n";
	$text .=
		  fill(N__('{n} records are there without their stack'), n => with_commas($sums->{stacks}))
		. _causes($sums->{stack_causes}) . "\n"
		if $sums->{stacks};
	return $text;
}

sub _causes {
	my ($causes) = @_;
	return @$causes
		? ' (' . join(', ', map { "$_->[0] $_->[1] " . with_commas($_->[2]) } @$causes) . ')'
		: '';
}

# --- records ---

sub _records {
	my ($e,    $o)  = @_;
	my ($from, $to) = _range($o->{records}, $e->trigger_ns);
	my $limit = $o->{limit} // $DEFAULT_LIMIT;
	require Tipme::Index;
	my $index = Tipme::Index->open($e);
	my ($n, $print) = (0, $o->{json} ? _json_printer($e) : _text_printer($e));
	my $more = 0;
	$index->each(
		$from, $to,
		sub {
			return $more = 1 if $limit && $n >= $limit;
			$print->(@_, $n++);
			return 0;
		}
	);
	print $n ? "\n]}\n" : "{\"records\": []}\n" if $o->{json};
	complain(
		'show',
		fill(
			N__('more than {n} records there: give a shorter range, or --limit 0 for all'),
			n => $limit
		)
	) if $more;
	complain(
		'show',
		fill(N__('{n} records whose time ran back too far are left out'), n => $index->disordered)
	) if $index->disordered;
	complain('show', one_line(told($_))) for $e->damage;
	return 0;
}

# "FROM..TO" as nanoseconds; either may be missing.
sub _range {
	my ($text, $trigger) = @_;
	my $number = qr/([-+]?\d{1,15}(?:\.\d{1,9})?|\d{1,19}ns)?/;
	my ($from, $to) = $text =~ /\A$number\.\.$number\z/
		or die "--records "
		. printable($text)
		. ": not a range: say --records -1000..0, or FROMns..TOns\n";
	return
		map { !defined ? undef : /(.*)ns\z/ ? $1 + 0 : _at_least_zero($trigger + int($_ * 1e6)) }
		$from, $to;
}

sub _at_least_zero { return $_[0] < 0 ? 0 : $_[0] }

sub _text_printer {
	my ($e) = @_;
	my ($reader, $trigger) = ($e->record, $e->trigger_ns);
	return sub {
		my ($bytes, $w) = @_;
		my ($line) = $reader->text(\$bytes, 0);
		put(
			sprintf "%14.6f ms  cpu %-2d  %s  [%s@%d]\n", ($w->{ts} - $trigger) / 1e6, $w->{cpu},
			one_line($line), $w->{file}, $w->{offset}
		);
	};
}

sub _json_printer {
	my ($e) = @_;
	my $json = Cpanel::JSON::XS->new->canonical->ascii;
	return sub {
		my ($bytes, $w, $n) = @_;
		my ($name, $f) = $e->record->decode(\$bytes, 0);
		delete @$f{qw(len8 gen)};
		/\D/ and $_ = characters($_) for values %$f;
		my %r = (record => $name, fields => $f, %$w);
		print $n ? ",\n" : "{\"records\": [\n", terminal_json($json->encode(\%r));
	};
}

1;
