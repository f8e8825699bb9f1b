# SPDX-License-Identifier: GPL-2.0-only
# tipme latency mttf|compare|schedulability: what follows from a measured distribution.
package Tipme::Command::Latency;

use strict;
use warnings;
use Cpanel::JSON::XS   ();
use Tipme::CommandLine qw(options complain print_json replaceable seconds table);
use Tipme::Latency::Help;
use Tipme::Latency::Result;
use Tipme::Latency::Schedule qw(read_tasks schedulability);
use Tipme::Latency::Tails    qw(as_plain as_range as_times holds says tails worst_level);
use Tipme::Latency::Underrun qw(a_day allowed clients client mttf works);
use Tipme::Latency::Worst;
use Tipme::Printable qw(put one_line);
use Tipme::Words     qw(N__ fill);

my %HELP        = Tipme::Latency::Help::texts();
my $USAGE_ERROR = 64;
my $OVER        = 2;                                            # exit status: over a threshold
my %SECONDS     = (s => 1, min => 60, h => 3600, d => 86400);
my $NO_RESULT   = N__('name a result of `tipme latency record -o FILE`');
my $WHICH =
	N__('report, mttf, compare, schedulability, model, campaign, mark, import or export is meant');
my $NO_ENDING = N__('{file}: .html, .svg or .png is meant');

sub run {
	my ($class, $what, @args) = @_;
	my $do = $class->can('_' . ($what // ''));
	if (!$do || !$HELP{$what}) {
		return complain(
			'latency',
			fill(N__('{why}: see tipme {verb} --help'), why => fill($WHICH), verb => 'latency')
		);
	}
	return $do->(@args);
}

sub _misuse {
	my ($what, $why, %value) = @_;
	return complain("latency $what", fill($why, %value));
}

sub _report {
	my (@args) = @_;
	my ($o, $exit) = options(\@args, $HELP{report}, 64, 'use=s', 'json', 'output|o=s');
	return $exit                         if !$o;
	return _misuse('report', $NO_RESULT) if !@args;
	require Tipme::Latency::Report;
	my $use     = Tipme::Latency::Worst::use_of($o->{use} // 'measured');
	my @results = map { Tipme::Latency::Result->read($_) } @args;
	if (defined $o->{output}) {
		_draw($o->{output}, $use, @results);
		put(_written($o->{output}));
		return 0;
	}
	if ($o->{json}) {
		print_json({ results => [ map { Tipme::Latency::Report::data($_, $use) } @results ] });
		return 0;
	}
	put(
		join "\n",
		map { Tipme::Latency::Report::text(Tipme::Latency::Report::data($_, $use), $_) } @results
	);
	return 0;
}

sub _model {
	my (@args) = @_;
	my ($o, $exit) = options(
		\@args, $HELP{model}, 0, 'client=s', 'modality=s', 'priority=i', 'duration=i', 'json',
		'output|o=s'
	);
	return $exit if !$o;
	my $modality = $o->{modality} // 'thread';
	if ($modality !~ /\A(?:thread|deferred)\z/ || $modality eq 'deferred' && $o->{priority}) {
		return _misuse(
			'model',
			N__(
				'--modality {name}: thread or deferred is meant, and a --priority for a thread only'
			),
			name => one_line($modality)
		);
	}
	my $c  = client($o->{client} // 'audio-256');
	my %in = (priority => [ 0, 98, 0 ], duration => [ 1, 86_400, 10 ]);
	for my $name (sort keys %in) {
		my ($least, $most, $usual) = @{ $in{$name} };
		$o->{$name} //= $usual;
		next if $o->{$name} >= $least && $o->{$name} <= $most;
		return _misuse(
			'model', N__('--{name} {value}: {least} to {most} is meant'),
			name  => $name,  value => $o->{$name},
			least => $least, most  => $most
		);
	}
	require Tipme::Latency::Model;
	my ($m, $json) = Tipme::Latency::Model::run($c, $modality, $o->{priority}, $o->{duration});
	_write($o->{output}, $json) if defined $o->{output};
	if   ($o->{json}) { print_json($m) }
	else              { put(Tipme::Latency::Model::text($m)) }
	return $m->{agree} ? 0 : $OVER;
}

sub _campaign {
	my (@args) = @_;
	my ($o, $exit) =
		options(\@args, $HELP{campaign}, 1, 'each=s', 'load=s@', 'use=s', 'threshold=i');
	return $exit                                     if !$o;
	return _misuse('campaign', N__('name a folder')) if !@args;
	my ($n, $unit) = ($o->{each} // '10min') =~ /\A([1-9][0-9]{0,5})(s|min|h|d)\z/;
	return _misuse(
		'campaign', N__('--each {time}: a time is meant, as in 30s, 10min, 1h'),
		time => $o->{each}
	) if !$n;
	my $use = Tipme::Latency::Worst::use_of($o->{use} // 'measured');
	require Tipme::Latency::Campaign;
	require Tipme::Latency::Model;
	require Tipme::Latency::Report;
	my %load;
	for my $text (@{ $o->{load} // [] }) {
		my ($name, $command) = $text =~ /\A([a-z][a-z0-9-]{0,30})=(.+)\z/s;
		if (   !defined $name
			|| $load{$name}
			|| grep { $_ eq $name } Tipme::Latency::Campaign::loads())
		{
			return _misuse(
				'campaign', N__('--load {text}: NAME=COMMAND is meant, each NAME once'),
				text => one_line($text)
			);
		}
		$load{$name} = $command;
	}
	my @results = Tipme::Latency::Campaign::run(
		$args[0], seconds => $n * $SECONDS{$unit}, load => \%load,
		program      => Tipme::Latency::Model::program(), say => sub { put("$_[0]\n") },
		threshold_us => $o->{threshold}
	);
	_draw("$args[0]/report.html", $use, @results);
	my ($idle, @loaded) = @results;
	my $stage = $idle->default_stage;
	put("\n");
	for my $r (@loaded) {
		my ($name) = $r->{file} =~ m{([^/]*)\.json\z};
		put(
			one_line(
				"$name: " . says(
					scalar worst_level(tails($idle, $r, $stage)),
					fill(N__('this load'))
				)
				)
				. "\n"
		);
	}
	put(fill(N__('{file} has the rest'), file => one_line("$args[0]/report.html")), "\n");
	return 0;
}

sub _mark {
	my (@args) = @_;
	my ($o, $exit) = options(\@args, $HELP{mark}, 1000);
	return $exit if !$o;
	my ($folder, @words) = @args;
	return _misuse('mark', N__('name the folder of a campaign, and say what happened')) if !@words;
	require Tipme::Latency::Campaign;
	put(one_line(Tipme::Latency::Campaign::mark($folder, "@words")), "\n");
	return 0;
}

sub _import {
	my (@args) = @_;
	my ($o, $exit) = options(\@args, $HELP{import}, 1, 'output|o=s', 'period=i');
	return $exit if !$o;
	return _misuse('import', N__('name a histogram, and the result with -o'))
		if !@args || !defined $o->{output};
	return _misuse('import', N__('--period {n}: 100 to 1000000 us are meant'), n => $o->{period})
		if defined $o->{period} && ($o->{period} < 100 || $o->{period} > 1_000_000);
	require Tipme::Latency::Foreign;
	my $result = Tipme::Latency::Foreign::import_text($args[0], period_us => $o->{period});
	_write($o->{output}, Cpanel::JSON::XS->new->canonical->ascii->encode($result) . "\n");
	put(_written($o->{output}));
	return 0;
}

sub _export {
	my (@args) = @_;
	my ($o, $exit) = options(\@args, $HELP{export}, 1, 'output|o=s', 'format=s');
	return $exit                                                 if !$o;
	return _misuse('export', N__('name a result, and --format')) if !@args || !defined $o->{format};
	require Tipme::Latency::Foreign;
	Tipme::Latency::Result->read($args[0]);
	open my $in, '<:raw', $args[0] or die "$args[0]: $!\n";
	my $text = Tipme::Latency::Foreign::export_text(
		Cpanel::JSON::XS->new->utf8->decode(do { local $/ = undef; <$in> }), $o->{format});

	if (defined $o->{output}) {
		_write($o->{output}, $text);
		put(_written($o->{output}));
	} else {
		put($text);
	}
	return 0;
}

sub _written {
	my ($file) = @_;
	return fill(N__('{file} written'), file => one_line($file)) . "\n";
}

# A page, or a picture of the stage that is meant where none is named.
sub _draw {
	my ($file, $use, @results) = @_;
	replaceable($file);
	if ($file =~ /\.(?:svg|png)\z/) {
		require Tipme::Latency::Pictures;
		require Tipme::Timeline::File;
		return Tipme::Timeline::File::write_picture(
			$file,
			Tipme::Latency::Pictures::histogram($results[0]->default_stage, @results)
		);
	}
	die fill($NO_ENDING, file => $file) . "\n" if $file !~ /\.html\z/;
	return _write($file, Tipme::Latency::Report::page($use, @results));
}

# Two on one scale: how often each was longer, as figure 5 of 1999.
sub _draw_both {
	my ($file, $says, $stage, $table, @results) = @_;
	require Tipme::Latency::Report;
	replaceable($file);
	if ($file =~ /\.(?:svg|png)\z/) {
		require Tipme::Latency::Pictures;
		require Tipme::Timeline::File;
		return Tipme::Timeline::File::write_picture(
			$file,
			Tipme::Latency::Pictures::tail($stage, $says, @results)
		);
	}
	die fill($NO_ENDING, file => $file) . "\n" if $file !~ /\.html\z/;
	return _write($file, Tipme::Latency::Report::both($stage, $says, $table, @results));
}

# Beside it first, and then in its place.
sub _write {
	my ($file, $bytes) = @_;
	replaceable($file);
	my $new = "$file.$$";
	open my $out, '>:raw', $new or die "$file: $!: choose another place with -o\n";
	print {$out} $bytes and close $out and rename $new, $file
		or do { my $why = $!; unlink $new; die "$file: $why: is the disk full?\n" };
	return;
}

sub _mttf {
	my (@args) = @_;
	my ($o, $exit) = options(\@args, $HELP{mttf}, 1, 'client=s@', 'clients', 'stage=s', 'json');
	return $exit if !$o;
	if ($o->{clients}) {
		put(
			table(
				[
					[ map { fill($_) } N__('name'), N__('slack, ms'), N__('what it is') ],
					map {
						[
							$_->{name}, sprintf('%.2f', Tipme::Latency::Underrun::slack_ms($_)),
							$_->{what}
						]
					} clients()
				],
				'lrl'
			)
		);
		return 0;
	}
	my $r     = _result('mttf', @args) // return $USAGE_ERROR;
	my $stage = $r->stage($o->{stage});
	my @rows  = map { mttf($r, $stage, $_) }
		$o->{client} ? map { client($_) } @{ $o->{client} } : clients();
	if ($o->{json}) {
		print_json(
			{ file => $r->{file}, stage => $stage, clients => [ map { _mttf_json($_) } @rows ] });
		return 0;
	}
	put(
		_about($r, $stage) . "\n" . table(
			[
				[
					map { fill($_) } N__('client'), N__('slack, ms'),     N__('late'),
					N__('underrun once in'),        N__('95 % interval'), N__('times a day'),
					N__('works here')
				],
				map { _mttf_row($_) } @rows
			],
			'lrrrlll'
		)
	);
	put("\n", holds($r), "\n", allowed(), "\n");
	return 0;
}

sub _result {
	my ($verb, $file) = @_;
	return Tipme::Latency::Result->read($file) if defined $file;
	_misuse($verb, $NO_RESULT);
	return;
}

sub _about {
	my ($r, $stage) = @_;
	return fill(
		N__('{file}: {stage}, {n} latencies in {time}; mean {mean} us, longest {longest} us'),
		file    => one_line($r->{file}), stage => $stage, n => $r->count($stage),
		time    => seconds($r->{duration_s}),
		mean    => sprintf('%.1f', $r->mean_us($stage)),
		longest => sprintf('%.1f', $r->max_us($stage))
	) . "\n";
}

sub _mttf_row {
	my ($m)   = @_;
	my $once  = defined $m->{mttf_s} ? seconds($m->{mttf_s}) : fill(N__('not seen'));
	my $range = (
		defined $m->{most_s}
		? fill(
			N__('{from} to {to}'), from => seconds($m->{least_s}), to => seconds($m->{most_s})
			)
		: fill(N__('more than {time}'), time => seconds($m->{least_s}))
	);
	my $day =
		defined $m->{mttf_s}
		? a_day($m->{per_day})
		: fill(N__('under {n}'), n => a_day($m->{most_per_day}));
	return [
		$m->{client}{name}, sprintf('%.2f', $m->{slack_ms}), $m->{late}, $once, $range, $day,
		works($m)
	];
}

sub _mttf_json { my ($m) = @_; return { %$m, client => { %{ $m->{client} } } } }

sub _compare {
	my (@args) = @_;
	my ($o, $exit) = options(\@args, $HELP{compare}, 2, 'stage=s', 'over=s', 'json', 'output|o=s');
	return $exit if !$o;
	my $over = $o->{over};
	if (defined $over && $over !~ /\A[0-9]{1,9}(?:\.[0-9]{1,9})?\z/) {
		return _misuse('compare', N__('--over {n}: a ratio is meant, as in 2'), n => $over);
	}
	return _misuse('compare', N__('name two results of `tipme latency record -o FILE`'))
		if @args < 2;
	my ($a, $b) = map { Tipme::Latency::Result->read($_) } @args;
	my $stage = $b->stage($a->stage($o->{stage}));
	my @rows  = tails($a, $b, $stage);
	my $says  = says(scalar worst_level(@rows), 'B');
	($a->{letter}, $b->{letter}) = qw(A B);
	my @table = (
		[
			map { fill($_) } N__('above'), N__('A an hour'), N__('B an hour'), N__('B to A'),
			N__('95 % interval')
		],
		map { _tail_row($_) } @rows
	);
	_draw_both($o->{output}, $says, $stage, \@table, $a, $b) if defined $o->{output};
	if ($o->{json}) {
		print_json(
			{
				a        => $a->{file}, b => $b->{file}, stage => $stage, levels => \@rows,
				sentence => $says
			}
		);
	} else {
		put(      "$says\n\nA "
				. _about($a, $stage) . 'B '
				. _about($b, $stage) . "\n"
				. table(\@table, 'rrrrl') . "\n"
				. holds($a, $b)
				. "\n");
	}
	return defined $over && (grep { $_->{least} > $over } @rows) ? $OVER : 0;
}

sub _tail_row {
	my ($r) = @_;
	return [
		seconds($r->{level_us} / 1e6), (map { as_plain($_) } @$r{qw(a_per_h b_per_h)}),
		as_times($r->{ratio}), as_range(@$r{qw(least most)})
	];
}

sub _schedulability {
	my (@args) = @_;
	my ($o, $exit) = options(\@args, $HELP{schedulability}, 2, 'once-in=s', 'stage=s', 'json');
	return $exit if !$o;
	my ($n, $unit) = ($o->{'once-in'} // '1h') =~ /\A([0-9]{1,6})(s|min|h|d)\z/;
	return _misuse(
		'schedulability', N__('--once-in {time}: a time is meant, as in 10min, 1h, 1d'),
		time => $o->{'once-in'}
	) if !$n;
	return _misuse(
		'schedulability',
		N__('name a result of `tipme latency record -o FILE` and a file of tasks')
	) if @args < 2;
	my $r       = Tipme::Latency::Result->read($args[0]);
	my @tasks   = read_tasks($args[1]);
	my $stage   = $r->stage($o->{stage});
	my $seconds = $n * $SECONDS{$unit};
	my $worst   = $r->level($stage, 1 / $seconds) // die fill(
		N__(
			'{file}: it watched for {time}; what happens once in {once} takes at least that long: record for longer, or say --once-in'
		),
		file => $r->{file},
		time => seconds($r->watched_s($stage)),
		once => seconds($seconds)
	) . "\n";
	my $s = schedulability($worst, $r->mean_us($stage), @tasks);

	if ($o->{json}) {
		print_json({ %$s, stage => $stage, worst_us => $worst, once_in_s => $seconds });
	} else {
		put(
			_about($r, $stage),
			fill(
				N__('exceeded once in {time}: {worst}'),
				time  => seconds($seconds),
				worst => seconds($worst / 1e6)
			),
			"\n"
		);
		put(
			fill(
				N__(
					'load {load} % of a CPU; without latencies: Liu and Layland {bound} %, hyperbolic {product} (2 is the bound)'
				),
				load    => sprintf('%.1f', 100 * $s->{load}),
				bound   => sprintf('%.1f', 100 * $s->{liu_layland}),
				product => sprintf('%.3f', $s->{hyperbolic})
			),
			"\n\n"
		);
		put(
			table(
				[
					[
						(
							map { fill($_) } N__('task'), N__('pseudo worst case'), N__('response'),
							N__('deadline')
						),
						''
					],
					map { _task_row($_) } @{ $s->{tasks} }
				],
				'lrrrl'
			)
		);
	}
	return $s->{meets} ? 0 : $OVER;
}

sub _task_row {
	my ($t) = @_;
	return [
		one_line($t->{name}),
		(map { defined $_ ? seconds($_ / 1e6) : '-' } @$t{qw(blocking_us response_us deadline_us)}),
		fill($t->{meets} ? N__('meets it') : N__('misses it'))
	];
}

1;
