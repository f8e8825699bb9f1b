# SPDX-License-Identifier: GPL-2.0-only
# An episode as one redacted file for a stranger, and back: only what is on the list goes in, and
# only what is on the list comes out.
package Tipme::Bundle;

use strict;
use warnings;
use Cpanel::JSON::XS ();
use Digest::SHA      qw(sha256_hex);
use List::Util       qw(max min);
use Tipme::Brought;
use Tipme::CommandLine qw(with_commas);
use Tipme::Cut;
use Encode qw(encode_utf8);
use Tipme::Gathered;
use Tipme::Latency;
use Tipme::RanDry;
use Tipme::Meant;
use Tipme::Notes     qw(tags_of);
use Tipme::Printable qw(one_line);
use Tipme::Progress;
use Tipme::Reasons;
use Tipme::Record::Layout;
use Tipme::RecordBytes qw(packed section file);

# Of records in which text stands: what remains of it. What is not here and has text is left out.
my %TEXT = (
	rename   => \&_comm, thread => \&_comm,  stack => undef, function => undef, user_stack => undef,
	irq_name => undef,   disk_name => undef, section => undef, kernel_message => undef,
	module   => sub { my ($self, $f) = @_; $f->{path} = _basename($f->{path}); return 1 },
	process  => sub {
		my ($self, $f) = @_;
		$f->{exe} = $self->{named}{ $f->{pid} } ? _basename($f->{exe}) : '';
		$f->{uid} = 0;
		return 1;
	},
	cgroup_name => sub {
		my ($self, $f) = @_;
		$f->{path} = $self->_said($f->{path}) . "/cgroup-$f->{cgroup}"
			if $self->_said($f->{path}) ne $f->{path};
		return 1;
	}
);
# What is never told, as whoever is asked reads it.
my %LEFT = (
	exec_args    => 'command lines', exec_environment => 'environments',
	input_device => 'names of input devices'
);
# Circumstances that say how somebody called a program.
our %CALLED = map { $_ => 1 } qw(called-as had-it-run);
# Fields that tell which key it was: always 0 in a bundle.
# Where windows lie on the screen is nobody's business.
my %ZERO = (
	(map { $_ => ['code'] } qw(input x_device x_input)),
	map { $_ => [qw(x y)] } qw(x_drawn x_painted x_redirect)
);
# Fields that told where the kernel lies before format 1.3: they become numbers of this bundle, each
# kind of its own.
my %ADDRESS = (
	work_queued => { work     => 'work', function => 'function' },
	work_start  => { work     => 'work', function => 'function' },
	work_end    => { work     => 'work', function => 'function' },
	function    => { function => 'function' }, lock_contention => { lock => 'lock' },
	network     => { socket   => 'socket' },
	(map { $_ => { stack_id => 'stack' } } qw(sched_waking thread proc_state stack)),
	user_stack => { stack_id        => 'user' },
	sample     => { kernel_stack_id => 'stack', user_stack_id => 'user' }
);
# Minor version of the format since which records have numbers for addresses.
my $NUMBERED_SINCE = 3;
my @MANIFEST       = qw(format time kernel machine cpus page_size end_ns hz_note frequencies state);
my @RECORDER = qw(version pid agents start_ns window_s post_s record_cost_ns record_cost_spread_ns);
my @SOURCE   = qw(source file coverage lost server_pid server_tid server_name display);

# new(EPISODE, DIAGNOSIS DATA, diagnosis => Diagnosis, threads => Threads, note => 1 to take the
# user's words and tags along, detail => how much is kept, as Cut has it, all => 1: not only the
# seconds of the problem, fleet => { name, machine }: for whom it is, and the number by which this
# machine is known there)
sub new {
	my ($class, $ep, $d, %o) = @_;
	my $self = bless { ep => $ep, d => $d, %o, named => {}, dropped => {}, names => {} }, $class;
	$self->{cut} = Tipme::Cut->new(
		$o{diagnosis}, $d, detail => $o{all} ? 'whole' : $o{detail},
		wider => $o{wider}
	);
	@$self{qw(from to)} = ($self->{cut}->from, $self->{cut}->to);
	$self->_name_those_who_matter;
	return $self;
}

# The processes that the verdict is about keep their names; all others are numbers, and so is who
# had no more than a small share of the interval.
my $SMALL = 0.02;

sub _name_those_who_matter {
	my ($self) = @_;
	my ($d, $t) = @$self{qw(d threads)};
	my $blamed = $d->{verdict}{blamed} // {};
	my %ns;
	$ns{ $_->{pid} } += $_->{ns} for grep { $_->{pid} } @{ $d->{totals}{blamed} };
	$ns{ $_->[0] }   += $_->[1]  for map {
		my $p = $_;
		map { [ $_, $p->{to_ns} - $p->{from_ns} ] } grep {$_} $p->{pid}, $p->{blamed}{pid}
	} @{ $d->{path} };
	my $least = $d->{interval} ? $SMALL * $d->{interval}{duration_ns} : 0;
	my @large = grep { $ns{$_} >= $least } keys %ns;
	my %pid   = map  { $_ => 1 } grep {defined} @large, @{ $blamed->{pids} // [] }, $blamed->{pid},
		(map { ($_->{client} // {})->{pid}, $_->{server}{pid} } $d->{event} // ()),
		map { $_->{server_pid} } @{ $self->{ep}->manifest->{sources} };
	# Who started those who are blamed (then, or at the end), and who let them go on, is named in
	# the verdict, too.
	my $end = ($d->{interval} // {})->{end_ns} // $self->{ep}->trigger_ns;
	for my $pid (@large) { my ($up) = $t->ancestors($pid, $end); $pid{ $up->[0] } = 1 if $up }
	$pid{ $_->{parent} } = 1
		for grep { $_->{parent} && $pid{ $_->{pid} // 0 } }
		map { ($_->{blamed}, @{ $_->{among} // [] }) } @{ $d->{path} };
	my @said = map {
		[
			$_->{to_ns} - $_->{from_ns}, grep {defined} $_->{reason},
			map { $_->{detail} } $_->{blamed}, @{ $_->{among} // [] }
		]
	} @{ $d->{path} };
	$self->{said} = join "\n", grep {defined} $d->{verdict}{sentence},
		map { @$_[ 1 .. $#$_ ] } @said;
	$pid{$_} = 1 for map {/\(pid (\d+)\)/g} $d->{verdict}{sentence} // '',
		map { @$_[ 1 .. $#$_ ] } grep { $_->[0] >= $least } @said;
	$pid{ $_->[0] } = 1
		for map { $t->ancestors($_, $self->{ep}->trigger_ns) } ($d->{verdict}{blamed} // {})->{pid}
		// ();
	my $r = $self->{ep}->manifest->{recorder};
	$pid{$_} =
		1
		for ref $r eq 'HASH'
		? grep { defined && !ref } $r->{pid}, @{ ref $r->{agents} eq 'ARRAY' ? $r->{agents} : [] }
		: ();
	$self->{named} = \%pid;
}

# made(EPISODE, DIAGNOSIS, DATA, OPTIONS of new): (the bundle that tells least and from which
# verdict and sums come out as they are here, its files); nothing, where only all of it would do,
# and nobody asked for that. Where the path of what was kept differs from ours, all threads are
# kept, and it is asked again.
my @REACH_NS   = (2_000_000, 25_000_000);    # on both sides of where they differ
my $WIDE_SHARE = 0.05;                       # so much of the interval may be kept so, or ...
my $WIDE_NS    = 60_000_000;                 # ... so much

sub made {
	my ($class, $ep, $diagnosis, $d, %o) = @_;
	# Where that fails, the moments are told as they were, and counted (told()).
	my $g = $o{all} ? undef : eval { Tipme::Gathered->of($diagnosis, $d) };
	my @made =
		$g
		? _made($class, $g->{diagnosis}->episode, @$g{qw(diagnosis data)}, %o, gathered => $g)
		: ();
	return @made
		&& $made[0]{cut}->detail eq 'path' ? @made : _made($class, $ep, $diagnosis, $d, %o);
}

sub _made {
	my ($class, $ep, $diagnosis, $d, %o) = @_;
	my $wider  = [];
	my @reach  = @REACH_NS;
	my @detail = $o{all} ? 'whole' : $d->{interval} ? @Tipme::Cut::DETAIL : 'none';
	while (my $detail = shift @detail) {
		my $b = $class->new(
			$ep, $d, %o, diagnosis => $diagnosis, threads => $diagnosis->threads,
			detail => $detail, wider => $wider
		);
		my @files = $b->files;
		return ($b, @files) if $detail eq 'whole' || $detail eq 'none';
		my ($theirs, $again) = eval { _opened(@files) };
		$b->{opened} = [ $theirs, $again ];
		return ($b, @files)
			if $again
			&& ($b->core_of($again) eq $b->core_of($d)
			|| $detail eq 'seconds' && ($b->{nearly} = Tipme::Brought::nearly($d, $again)));
		next if $detail ne 'path' || !$again;
		$wider = @reach ? $b->_wider($d, $again, $wider, shift @reach) : undef;
		unshift @detail, 'path' if $wider;
	}
	return;
}

# Where two paths differ, with REACH around both ends; undef: nowhere, or too much.
sub _wider {
	my ($self, $ours, $theirs, $had, $reach) = @_;
	my %seen;
	my @key = map {
		[
			map {
				Cpanel::JSON::XS->new->canonical->allow_blessed->encode(
					_of_path($_, $self->{named}))
			} @{ $_->{path} }
		]
	} $ours, $theirs;
	for my $side (0, 1) { $seen{$_} |= 1 << $side for @{ $key[$side] } }
	my @new;
	for my $side (0, 1) {
		my $path = ($ours, $theirs)[$side]{path};
		for my $k (grep { $seen{ $key[$side][$_] } != 3 } 0 .. $#$path) {
			push @new, map { [ $_ - $reach, $_ + $reach ] } @{ $path->[$k] }{qw(from_ns to_ns)};
		}
	}
	return if !@new;
	my $wider = Tipme::Cut::joined(@$had, @new);
	my ($all, $i) = (0, $ours->{interval});
	$all += min($_->[1], $i->{end_ns}) - max($_->[0], $i->{start_ns}) for @$wider;
	return $all <= max($WIDE_NS, $WIDE_SHARE * $i->{duration_ns}) ? $wider : undef;
}

# parts(FILES, system => { facts => [ [ what, value ] ], steps => { did, expected, often }, package
# => words, function => [ lines ] }): what is made of nothing but these files, for whoever has no
# tipme: report.html, verdict.txt, verdict.json, summary.txt, trace.pftrace. A picture of more than
# 600 KB is left to `tipme timeline`, a trace of more than 4 MB to `tipme export`.
my $MAX_PICTURE = 600 << 10;
my $MAX_TRACE   = 4 << 20;     # bytes of the trace for Perfetto
my $MAX_PATH    = 500;         # stretches of the path in the JSON of a bundle; more make it large

sub parts {
	my ($self, $system, @files) = @_;
	require Tipme::Export::Problem;
	require Tipme::Page;
	require Tipme::Report::JSON;
	require Tipme::Report::Text;
	require Tipme::Stacks;
	require Tipme::Timeline;
	require Tipme::Timeline::Picture;
	my ($diagnosis, $d) = @{ $self->{opened} // [ _opened(@files) ] };
	my $quiet = $self->{cut}->detail eq 'none';    # nothing is there that a picture could show
	my $svg =
		$quiet ? undef : Tipme::Timeline::Picture->svg(Tipme::Timeline->collect($diagnosis, $d));
	utf8::decode($svg) if defined $svg;
	my %out   = %{ $self->{dropped} };
	my $told  = $self->diagnosis_of($d);
	my $trace = $quiet ? undef : Tipme::Export::Problem->trace($diagnosis, $told);
	my $json  = Cpanel::JSON::XS->new->canonical->pretty->ascii;
	my $data  = Tipme::Report::JSON::data($told);
	# A path of thousands of turns is for programs, which make it anew.
	delete $data->{path} if @{ $data->{path} // [] } > $MAX_PATH;
	return (
		[ 'verdict.txt',  _utf8(Tipme::Report::Text::page($told, sent => 1)) ],
		[ 'verdict.json', $json->encode($data) ],
		[ 'summary.txt',  _utf8(Tipme::Report::Text::short($told, sent => 1)) ],
		[ 'system.json',  $json->encode($system) ],
		[
			'report.html',
			Tipme::Page::report(
				$told, manifest => $diagnosis->episode->manifest,
				svg      => length($svg // '') <= $MAX_PICTURE ? $svg : undef,
				left_out => [ map { with_commas($out{$_}) . " $_" } sort keys %out ],
				system   => $system, stacks => [ Tipme::Stacks::of($diagnosis, $d) ]
			)
		],
		defined $trace && length $trace <= $MAX_TRACE ? [ 'trace.pftrace', $trace ] : ()
	);
}

sub _utf8 { my ($s) = @_; utf8::encode($s); return $s }
# sealed(FILES): the same, with a manifest that says of each other part how long it is, and its sum
# (SHA-256)
sub sealed {
	my ($class, @files) = @_;
	my ($manifest) = grep { $_->[0] eq 'manifest.json' } @files;
	my $json       = Cpanel::JSON::XS->new->canonical->pretty;
	my $m          = $json->decode($manifest->[1]);
	$m->{bundle}{parts} = [
		map  { { name => $_->[0], bytes => length $_->[1], sha256 => sha256_hex($_->[1]) } }
		grep { $_ != $manifest } @files
	];
	return ([ 'manifest.json', $json->encode($m) ], grep { $_ != $manifest } @files);
}

# verify(FOLDER): dies where a part is not what the manifest of the bundle says; older bundles have
# no sums
sub verify {
	my ($class, $dir) = @_;
	require Tipme::Archive;
	require Tipme::Episode;
	my $parts = (Tipme::Episode->open($dir)->manifest->{bundle} // {})->{parts} // return;
	for my $part (@$parts) {
		next if !Tipme::Archive->takes($part->{name});
		my $sum = Digest::SHA->new(256);
		my $same =
			eval { $sum->addfile("$dir/$part->{name}", 'b'); $sum->hexdigest eq $part->{sha256} };
		die "$part->{name}: is not what was sent (its sum differs): ask for the file again\n"
			if !$same;
	}
	return;
}

# (diagnosis, its data) of files, as whoever opens them has it
sub _opened {
	my (@files) = @_;
	require File::Temp;
	require Tipme::Diagnosis;
	require Tipme::Episode;
	my $dir = File::Temp->newdir;
	for my $f (@files) {
		open my $h, '>:raw', "$dir/$f->[0]" or die "$dir: $!\n";
		print {$h} $f->[1] and close $h or die "$dir: $!\n";
	}
	my $diagnosis = Tipme::Diagnosis->new(Tipme::Episode->open("$dir"));
	$diagnosis->{folder} = $dir;    # which goes when it does
	return ($diagnosis, $diagnosis->run);
}

# core_of(DATA): what must be the same for whoever opens a bundle, as one text: event, interval,
# stages, path, sums and verdict, with the names that it keeps.
# core(DATA): the same, with all names
# data(): what whoever opens it comes to; of the path alone it may have fewer stretches than DATA of
# made()
sub data    { return $_[0]{d} }
sub core_of { my ($self, $d) = @_; return core($d, $self->{named}) }

sub core {
	my ($d, $named) = @_;
	my $v = $d->{verdict};
	return Cpanel::JSON::XS->new->canonical->allow_blessed->encode(
		[
			{ map { $_ => $v->{$_} } qw(kind sentence share_ns share confidence exact) },
			_of_who($v->{blamed}), $d->{interval},
			$d->{event}
				&& [
				$d->{event}{n}, map { [ @$_{qw(name ts_ns certainty)} ] } @{ $d->{event}{stages} }
				],
			[ map { _of_path($_, $named) } @{ $d->{path} } ],
			$v->{kind} eq 'none' || defined $v->{why}
			? ()
			: [
				map  {s/-untold\z//r}
				grep { !/\A(?:called-as|largest)\z/ } @{ $v->{circumstance_codes} // [] }
			],
			@{ $d->{totals} }{qw(kinds states)},
			[ map { +{ _same(%$_), comm => _name($_, $named) } } @{ $d->{totals}{threads} } ],
			[ map { _of_who($_, $named) } @{ $d->{totals}{blamed} } ]
		]
	);
}

sub _name {
	my ($w, $named) = @_;
	return $named && $w->{pid} && !$named->{ $w->{pid} } ? 'process' : $w->{comm};
}

# How a process was called is not told. Who took the memory has no name where it has no part.
sub _circumstances {
	my ($d) = @_;
	my ($texts, $codes) = map { $_ // [] } @{ $d->{verdict} }{qw(circumstances circumstance_codes)};
	return [ map { $texts->[$_] } grep { !$CALLED{ $codes->[$_] // '' } } 0 .. $#$texts ];
}

# A number that was part of a text on the way is the same number.
sub _same {
	return map { defined && !ref && /\A-?(?:0|[1-9]\d{0,17})\z/ ? $_ + 0 : $_ } @_;
}

sub _of_who {
	my ($w, $named) = @_;
	return $w
		&& {
		(map { $_ => _same($w->{$_}) } qw(kind pid tid ns state detail)),
		comm => _name($w, $named)
		};
}

sub _of_path {
	my ($p, $named) = @_;
	return [
		_same(@$p{qw(from_ns to_ns tid pid state exact reason)}), _name($p, $named),
		map { _of_who($_, $named) } $p->{blamed},                 @{ $p->{among} // [] }
	];
}

sub _comm {
	my ($self, $f) = @_;
	my $who    = $self->{threads}->at($f->{tid}, $f->{ts_ns});
	my $kernel = exists $f->{flags} ? $f->{flags} & 1 : $who->{kernel};
	my $pid    = $f->{pid} // $who->{pid};
	if ($kernel || $self->{named}{$pid}) { $self->{names}{ one_line($f->{comm}) }++ if !$kernel }
	else {
		$f->{comm} = "process-$pid";
		$self->{dropped}{'names of processes that have no part in it'}++;
	}
	$f->{uid} = 0 if exists $f->{uid};
	return 1;
}

# The longest beginning of a path that the verdict says: what lies below it has to be known as such.
sub _said {
	my ($self, $path) = @_;
	$path =~ s{/[^/]*\z}{}
		while length $path && $self->{said} !~ m{(?<![^\s"])\Q$path\E(?![^\s",.;:/])};
	return $path;
}

sub _basename { my ($path) = @_; return $path =~ m{([^/]*)\z} ? $1 : '' }

# files(): [ name, content ], in order; what went in and what did not is known after that
sub files {
	my ($self) = @_;
	my $ep = $self->{ep};
	my @f;
	# What the daemon wrote comes last: only then it is known who is spoken of.
	my %done = map { $_->{name} => [ $_->{name}, $self->_records($_) ] }
		sort { ($a->{source} eq 'tipmed') <=> ($b->{source} eq 'tipmed') } $ep->files;
	push @f, map { $done{ $_->{name} } } $ep->files;
	$self->{dropped}{ Tipme::Cut::left_out($_) } += $self->{passed}{$_}
		for keys %{ $self->{passed} };
	my $schema = $ep->schema_text;
	unshift @f, [ 'manifest.json', $self->_manifest ], [ 'schema', $schema ];
	if    ($self->{note} && defined $ep->note) { push @f, [ 'note.txt', $ep->note ] }
	elsif (defined $ep->note)                  { $self->{dropped}{'the note'}++ }
	my @tags = tags_of($ep->dir);

	if ($self->{note} && @tags) {
		push @f, [ 'tags.txt', encode_utf8(join '', map {"$_\n"} @tags) ];
	} elsif (@tags) {
		$self->{dropped}{'the tags'}++;
	}
	return @f;
}

sub _manifest {
	my ($self) = @_;
	my $m = $self->{ep}->manifest;
	my %out =
		map  { $_ => $m->{$_} }
		grep { defined $m->{$_} && (!ref $m->{$_} || /\A(?:format|frequencies|state)\z/) }
		@MANIFEST;
	$out{id} = $m->{id};
	my $t = $m->{trigger};
	$out{trigger} = {
		ns   => $t->{ns} + 0, kind => $t->{kind},
		text => (Tipme::Latency::words($t->{text}) || Tipme::RanDry::words($t->{text}))
	};
	# What was over before the last report is told as that.
	$out{trigger}{before_ns} = $t->{before_ns} + 0 if defined $t->{before_ns};
	my $r = ref $m->{recorder} eq 'HASH' ? $m->{recorder} : {};
	$out{recorder} = { map { $_ => $r->{$_} } grep { defined $r->{$_} } @RECORDER };
	$out{sources}  = [
		map {
			my $s = $_;
			+{ map { $_ => $s->{$_} } grep { defined $s->{$_} } @SOURCE }
		} @{ $m->{sources} }
	];
	# That the machine slept meanwhile is said of the verdict.
	my $i = $self->{d}{interval};
	$out{suspends} = [ $self->{ep}->suspends(@$i{qw(start_ns end_ns)}) ] if $i;
	$out{fleet}    = $self->{fleet}                                      if $self->{fleet};
	my @waits = $self->{diagnosis}{reasons}->own_waits;
	$out{bundle} = {
		version => 2, detail => $self->{cut}->detail, from_ns => $self->{from},
		to_ns   => $self->{to} < 1 << 62 ? $self->{to} : undef, (@waits ? (waits => \@waits) : ()),
		$self->_pinned
	};
	# What was cut away is not covered any more.
	for my $c (map { @{ $_->{coverage} } } grep { $_->{source} ne 'tipmed' } @{ $out{sources} }) {
		$c->{first_ns} = max($c->{first_ns}, $self->{cut}->begins);
	}
	return Cpanel::JSON::XS->new->canonical->pretty->encode(\%out);
}

# The event of the verdict, by its number here, with what was usual here, and what the bundle has as
# sums only.
sub _pinned {
	my ($self) = @_;
	my %named = map { $self->{threads}->at($_, $self->{ep}->trigger_ns)->{comm} => 1 }
		keys %{ $self->{named} };
	my %brought =
		$self->{cut}->detail eq 'whole'
		? ()
		: Tipme::Brought::sent($self->{d}, sub { return $named{ $_[0] } });
	$brought{quiet} = Tipme::Brought::quiet($self->{diagnosis}, $self->{d}{sampled})
		if $self->{cut}->detail eq 'none';
	my @idle = map { $_ ? (idle_cpus => $_) : () } $self->{cut}->idle_cpus;
	my $held =
		$self->{cut}->detail eq 'whole'
		? undef
		: $self->{diagnosis}{kernel}->woken_from_told($self->{named});
	push @idle, held_before => $held if $held;
	my $own = $self->{cut}->own or return (%brought, $self->_meant, @idle);
	my $i   = $self->{d}{interval};
	my ($e) = grep { $_->{n} == $own->{n} } $self->{diagnosis}->events;
	my $r   = $self->{diagnosis}->answer_of($e) // {};
	my @start =
		$e->{start}
		? (
		start => {
			map { $_ => $e->{start}{$_} } qw(pid client parent born_ns from_ns by by_pid by_client)
		}
		)
		: ();
	my $exact = ($self->{diagnosis}->interval_of($e) // {})->{start_exact} ? 1 : 0;

	if ($brought{press}) {
		$r     = Tipme::Cut::unproven_answer($self->{d}, $e);
		$exact = $self->{d}{event}{stages}[0]{certainty} eq 'exact' ? 1 : 0;
	}
	my %answer = (
		end_ns => $i->{end_ns}, (map { ($_ => $r->{$_} ? 1 : 0) } qw(open exact busy gone)),
		map { defined $r->{$_} ? ($_ => $r->{$_}) : () } qw(first_ns tid drawn_ns)
	);
	$answer{damage_ns} = $r->{damage}{ts_ns} if $r->{damage};
	$answer{frame} =
		{ map { defined $r->{frame}{$_} ? ($_ => $r->{frame}{$_}) : () }
			qw(ns exact pid told_ns asked_ns) }
		if $r->{frame};
	@answer{qw(asked_tid asked_ns)} = @{ $r->{asked} } if $r->{asked};
	my @held = ($e->{motion} // '') eq 'drag' ? (dragged => 1) : ();
	my $sent = $e->{deliver_record} // {};
	push @held, sent_to => $sent->{pid},
		came_ns => $sent->{sent_ns} // $e->{device_record}{kernel_ns}
		if $sent->{guessed} || defined $sent->{sent_ns};
	push @held, sent_by => $e->{server}{pid} if defined $sent->{sent_ns};
	return (
		%brought,
		event => {
			%$own, @start, @held, start_ns => $i->{start_ns}, start_exact => $exact,
			answer => \%answer,
			map { defined $i->{$_} ? ($_ => $i->{$_}) : () } qw(usual_ns usual_count usual_where)
		},
		aside => $self->{cut}->aside,
		idle  => $self->{cut}->idle($self->{diagnosis}{reasons}),
		asked => $self->{cut}->asked,
		@idle,
		map { $_ ? (disk_pause_ns => $_) : () } $self->{d}{verdict}{disk_pause_ns}
	);
}

# Where all events are there: which of them the sender has meant, or has described.
sub _meant {
	my $ns = Tipme::Felt::meant_ns(@{ $_[0] }{qw(diagnosis d)});
	return defined $ns ? (meant_ns => $ns) : ();
}

# A file's sections anew, with the records of the seconds in question and without what must not be
# told.
sub _records {
	my ($self, $file) = @_;
	my ($ep, $cut)    = @$self{qw(ep cut)};
	my $code = $ep->record;
	my ($body, %by) = ('');
	my @sections = grep { $_->{file} eq $file->{name} } $ep->sections;
	for my $k (0 .. $#sections) {
		my $s = $sections[$k];
		Tipme::Progress::show('choosing records', $k, scalar @sections);
		my $named = $s->{source} eq 'tipmed';
		next if !$named && $s->{first_ns} > $cut->ends;
		my $kept =
			$named
			? sub { return $cut->names(@_, $self->{named}) }
			: sub { return $cut->keeps(@_, $s->{cpu}) };
		my ($list, $buf) = $named ? $ep->section_records($s) : $self->_near($s);
		my $of = $by{ $s->{cpu} } //= { section => $s, kept => [], carried => {} };
		$self->_add_names($code, $of)
			if $s->{source} =~ /\A(?:kernel_|proc_)/ && !$self->{names_added}++;
		# Names of functions and libraries are kept if a stack is that has them, so they are looked
		# at last.
		for ($named ? _stacks_last($code, $list, $buf) : @$list) {
			my ($ts, $off, $len) = @$_;
			my ($bytes, $carry) =
				$self->_redacted($code, substr($$buf, $off, $len), $kept, $named, $of);
			next if !defined $bytes;
			if    (!length $bytes) { delete $of->{carried}{$carry} }
			elsif (defined $carry) { $of->{carried}{$carry} = $bytes }
			else                   { push @{ $of->{kept} }, [ unpack('Q<', $bytes), $bytes ] }
		}
	}
	for my $of (map { $by{$_} } sort { $a <=> $b } keys %by) {
		my @r = sort { $a->[0] <=> $b->[0] }
			map { [ unpack('Q<', $_), $_ ] } sort(values %{ $of->{carried} });
		@r = sort { $a->[0] <=> $b->[0] } @r, @{ $of->{kept} };
		$body .= section(
			$code, $of->{section}, join('', map { $_->[1] } @r), $r[0][0], $r[-1][0],
			scalar @r
		) if @r;
	}
	return file($file->{header}, $body);
}

# Most records lie outside of what is kept: these are told by their heads, and only counted. As
# section_records() of the episode, without them.
sub _near {
	my ($self, $s)      = @_;
	my ($cut,  $passed) = @$self{qw(cut passed)};
	return $self->{ep}->section_records($s) if $cut->detail eq 'whole';
	$self->{passed} = $passed //= {};
	my $name = $self->{name_of} //= {
		map { $_ => $Tipme::Record::Layout::RECORD{$_}{name} }
			keys %Tipme::Record::Layout::RECORD
	};
	my ($buf, $size) = ($self->{ep}->section_bytes($s), 32);
	# Records of one length: columns of times and kinds are passed over faster than records.
	if (length($buf) % $size || join('', unpack '(x9ax22)*', $buf) =~ /[^\x04]/) {
		(my $list, $buf) = $self->{ep}->section_records($s);
		my @near;
		for my $r (@$list) {
			my ($type, $tid) = unpack 'x8Cx3V', substr $$buf, $r->[1], 16;
			my $is = $name->{$type};
			if   (defined $is && $cut->passes($is, $r->[0], $tid)) { $passed->{$is}++ }
			else                                                   { push @near, $r }
		}
		return (\@near, $buf);
	}
	my ($k, $types, @near, %n)     = (-1, join '', unpack '(x8ax23)*', $buf);
	my ($from, $to, $first, $last) = ($cut->from, $cut->to, $cut->reach);
	my %early = map { $_ => 1 } grep { Tipme::Cut->carried($name->{$_}) } keys %$name;
	for my $ts (unpack '(Q<x24)*', $buf) {
		$k++;
		my $type = vec $types, $k, 8;
		if (
			   ($ts < $from || $ts > $to)
			&& $name->{$type}
			&& (   $ts < $first ? !$early{$type} : $ts > $last
				|| $cut->passes($name->{$type}, $ts, unpack 'V', substr $buf, $k * $size + 12, 4))
			)
		{
			$n{$type}++;
		} else {
			push @near, [ $ts, $k * $size, $size ];
		}
	}
	$passed->{ $name->{$_} } += $n{$_} for keys %n;
	return ([ sort { $a->[0] <=> $b->[0] || $a->[1] <=> $b->[1] } @near ], \$buf);
}

# How the threads of the path were called when they had their part: where the name came from may be
# left out.
sub _add_names {
	my ($self, $code, $of) = @_;
	return if $self->{cut}->detail ne 'path';
	my ($l, %last) = ($code->layout('rename'));
	# Whoever is blamed is called as its process is; that is the name of its first thread.
	my %own    = map { $_->{tid} => 1 } grep { $_->{tid} } @{ $self->{d}{path} };
	my $blamed = sub {
		my ($p) = @_;
		return
			grep { $_->{tid} && !$own{ $_->{tid} } && $_->{tid} == ($_->{pid} // 0) } $p->{blamed}
			// (), @{ $p->{among} // [] };
	};
	for my $p (
		map {
			my $p = $_;
			map      { [ $p->{from_ns}, @$_{qw(tid comm)} ] }
				grep { !$_->{pid} || $self->{named}{ $_->{pid} } } $p,
				$blamed->($p)
		} @{ $self->{d}{path} }
		)
	{
		my ($ts, $tid, $comm) = @$p;
		next if !$tid || !defined $comm || $comm eq '?' || ($last{$tid} // '') eq $comm;
		$last{$tid} = $comm;
		my %f = (
			ts_ns => $ts,  type => $code->number_of('rename'), len8 => $l->{size} / 8, gen => 0,
			tid   => $tid, comm => $comm
		);
		push @{ $of->{kept} }, [ $ts, pack $l->{template}, map { $f{$_} } @{ $l->{names} } ];
	}
	return;
}

sub _stacks_last {
	my ($code, $list, $buf) = @_;
	my %late = map { $code->number_of($_->[0]) => $_->[1] } [ stack => 1 ], [ function => 1 ],
		[ user_stack => 1 ], [ module => 2 ];
	my @by = ([], [], []);
	push @{ $by[ $late{ unpack 'x8C', substr $$buf, $_->[1], 9 } // 0 ] }, $_ for @$list;
	return map {@$_} @by;
}

# The bytes of a record as they may be told, or undef: kinds that this program does not know, and
# texts that are on no list, stay here.
sub _redacted {
	my ($self, $code, $bytes, $kept, $named, $of) = @_;
	my ($name, $f) = $code->decode(\$bytes, 0);
	if (!defined $name) {
		$self->{dropped}{'records of kinds that this program does not know'}++;
		return;
	}
	if (!Tipme::Cut->knows($name)) {
		$self->{dropped}{ $LEFT{$name} // "records '$name'" }++;
		return;
	}
	my ($since, $ts) = ($f->{since_ns}, $f->{ts_ns});
	my $carry = $named ? undef : $self->{cut}->carries($name, $f);
	if (!defined $carry && !$kept->($name, $f)) {
		# Told at another time, for whom it matters only.
		my @copies = $named ? () : $self->{cut}->copies($name, $f);
		push @{ $of->{kept} },
			map { [ $_->{ts_ns}, packed($code->layout($name), { %$f, %$_ }) ] } @copies;
		$self->{dropped}{ Tipme::Cut::left_out($name) }++;
		return;
	}
	return ('', $carry) if $f->{gone};
	my $l    = $code->layout($name);
	my $text = $l->{template} =~ /[Za]/;
	if ($text && !exists $TEXT{$name}) { $self->{dropped}{"records '$name'"}++; return }
	my $change = $TEXT{$name};
	my $address =
		$self->{ep}->manifest->{format}{minor} < $NUMBERED_SINCE ? $ADDRESS{$name} : undef;
	return $bytes
		if !$change
		&& !$ZERO{$name}
		&& !$address
		&& $ts == $f->{ts_ns}
		&& ($since // 0) == ($f->{since_ns} // 0);
	return if $change && !$change->($self, $f);
	$f->{$_} = 0                                        for @{ $ZERO{$name}       // [] };
	$f->{$_} = $self->_number($address->{$_}, $f->{$_}) for sort keys %{ $address // {} };
	return (packed($l, $f), $carry);
}

# 1 for the first of its kind that is met, 2 for the next; nothing (0) stays nothing.
sub _number {
	my ($self, $kind, $what) = @_;
	my $n = $self->{numbers}{$kind} //= {};
	return $what ? $n->{$what} //= 1 + keys %$n : 0;
}

# The diagnosis as it may be told: how a process was called, and the user's words at the trigger,
# are nobody's business.
sub diagnosis { my ($self) = @_; return $self->diagnosis_of($self->{d}) }

sub diagnosis_of {
	my ($self, $d) = @_;
	my %v = (%{ $d->{verdict} }, circumstances => _circumstances($d), circumstance_codes =>
			[ grep { !$CALLED{$_} } @{ $d->{verdict}{circumstance_codes} // [] } ]);
	return {
		%$d,
		verdict => \%v,
		trigger => {
			%{ $d->{trigger} },
			text => (
					   Tipme::Latency::words($d->{trigger}{text})
					|| Tipme::RanDry::words($d->{trigger}{text})
			)
		}
	};
}

# told(): what a bundle holds and what was left out: { names [...], dropped { what => how many },
# detail: as Cut has it, wide_ns: for how long all threads are kept with detail path, turns: how
# often the server took a CPU from the path for a moment, as it does for a key }
sub told {
	my ($self) = @_;
	return {
		names  => [ sort keys %{ $self->{names} } ], dropped => $self->{dropped},
		detail => $self->{cut}->detail, wide_ns => $self->{cut}->wide_ns, turns => $self->_turns,
		nearly => $self->{nearly} // 0
	};
}

sub _turns {
	my ($self) = @_;
	my $pid    = (($self->{d}{event} // {})->{server} // {})->{pid} // return 0;
	my @all    = Tipme::Gathered::moments($self->{d}{path}, $pid);
	return @all - (($self->{gathered} // {})->{groups} // 0);
}

# write(FILE, FILES ...), unpack_to(FILE, FOLDER), texts_of(FILE ...): as Tipme::Archive has them,
# which takes as long to load as half of the engine
sub _archive  { require Tipme::Archive; return 'Tipme::Archive' }
sub write     { my (undef, @what) = @_; return _archive()->write(@what) }
sub unpack_to { my (undef, @what) = @_; return _archive()->unpack_to(@what) }
sub texts_of  { my (undef, @what) = @_; return _archive()->texts_of(@what) }

1;
