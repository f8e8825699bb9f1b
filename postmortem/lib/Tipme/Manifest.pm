# SPDX-License-Identifier: GPL-2.0-only
# The manifest of an episode: each field that this program reads has the type that docs/formats.md
# says, or the episode is refused in a sentence.
package Tipme::Manifest;

use strict;
use warnings;
use Cpanel::JSON::XS ();
use Fcntl            qw(O_RDONLY O_NOFOLLOW O_NONBLOCK);
use Tipme::Record::Layout;

# A recorder on 4,096 CPUs writes half of this. A hostile megabyte of JSON becomes 100 MB in memory.
our $MAX_BYTES = 1 << 20;

my $MAX_LIST  = 65_536;    # entries of one list of a manifest; more is no manifest of ours
my $MAX_FILES = 64;        # files of one episode
my $MAX_TEXT  = 65_536;    # bytes of one text
# A count that is larger is cut to this, so that it stays a number.
my $MAX_COUNT = 999_999_999_999_999_999;
my $FAST      = Cpanel::JSON::XS->new->utf8->max_depth(32);
my $FILE_NAME = qr/\A[a-z0-9-]{1,60}\.rec\z/;

# --- types: each takes (value, name, complain) and answers with the value to keep ---
sub _integer {
	my ($v, $what, $bad) = @_;
	return defined $v && !ref $v && $v =~ /\A\d{1,18}\z/ ? $v : $bad->("$what is no whole number");
}

sub _signed {
	my ($v, $what, $bad) = @_;
	return
		defined $v && !ref $v && $v =~ /\A-?\d{1,18}\z/ ? $v : $bad->("$what is no whole number");
}

sub _number {
	my ($v, $what, $bad) = @_;
	return
		   defined $v
		&& !ref $v
		&& $v =~ /\A\d{1,18}(?:\.\d{1,18})?\z/ ? $v : $bad->("$what is no number");
}

sub _text {
	my ($v, $what, $bad) = @_;
	return defined $v && !ref $v && length $v <= $MAX_TEXT ? $v : $bad->("$what is no text");
}

sub _flag {
	my ($v, $what, $bad) = @_;
	return !defined $v
		|| Cpanel::JSON::XS::is_bool($v) ? $v : $bad->("$what is neither true, false nor null");
}

# What another program counted may be any number of 64 bits: beyond what we count with, it is only
# `very many`.
sub _count {
	my ($v, $what, $bad) = @_;
	return defined $v && !ref $v && $v =~ /\A\d{19,20}\z/ ? $MAX_COUNT : _integer(@_);
}

sub _like {
	my ($pattern, $words) = @_;
	return sub {
		my ($v, undef, $bad) = @_;
		return defined $v && !ref $v && $v =~ $pattern ? $v : $bad->($words);
	}
}

# list(OF, MAX); object(FIELD => TYPE ...): a field whose name ends in ! must be there, null is as
# good as absent; each(OF): any names
sub _list {
	my ($of, $max) = @_;
	return sub {
		my ($v, $what, $bad) = @_;
		ref $v eq 'ARRAY' && @$v <= ($max // $MAX_LIST)
			or $bad->(
			"$what is no list" . (ref $v eq 'ARRAY' ? ' of at most ' . ($max // $MAX_LIST) : ''));
		$_ = $of->($_, "an entry of $what", $bad) for @$v;
		return $v;
	};
}

sub _object {
	my (%type) = @_;
	my %must   = map { /\A(.*)!\z/ ? ($1 => 1) : () } keys %type;
	%type = map { s/!\z//r => $type{$_} } keys %type;
	return sub {
		my ($v, $what, $bad) = @_;
		ref $v eq 'HASH' or $bad->("$what is no object");
		for my $field (sort keys %type) {
			if (!defined $v->{$field}) { delete $v->{$field}; next if !$must{$field} }
			$v->{$field} =
				$type{$field}->($v->{$field}, $what eq 'it' ? $field : "$field of $what", $bad);
		}
		return $v;
	};
}

sub _each {
	my ($of) = @_;
	return sub {
		my ($v, $what, $bad) = @_;
		ref $v eq 'HASH' or $bad->("$what is no object");
		for (sort keys %$v) {
			/\A[a-z_0-9]{1,40}\z/ or $bad->("$what has a name that no recorder writes");
			$v->{$_} = $of->($v->{$_}, "$_ of $what", $bad);
		}
		return $v;
	};
}

# What tells of the machine: names with texts, numbers, lists and objects of these, no deeper.
sub _facts {
	my ($depth) = @_;
	my $inner   = $depth ? _facts($depth - 1) : undef;
	my $list    = $inner && _list($inner, 256);
	return sub {
		my ($v, $what, $bad) = @_;
		return $list->(@_) if $list && ref $v eq 'ARRAY';
		return defined $v && !ref $v && length $v <= 256 ? $v : $bad->("$what is no text")
			if !$inner || ref $v ne 'HASH';
		keys %$v <= 256 or $bad->("$what has too many entries");
		for (sort keys %$v) {
			/\A[a-z_0-9.]{1,64}\z/ or $bad->("$what has a name that no recorder writes");
			$v->{$_} = $inner->($v->{$_}, "$_ of $what", $bad);
		}
		return $v;
	};
}

sub _cost { my ($v) = @_; return ref $v eq 'HASH' ? _each(\&_number)->(@_) : _number(@_) }

my $SOURCE = _object(
	'source!'   => _like(qr/\A[a-z_]{1,30}\z/, 'a source without a name'),
	'file!'     => _like($FILE_NAME,           'a file name that no recorder writes'),
	server_name => \&_text,
	coverage    => _list(
		_object(
			cpu => \&_integer, first_ns => \&_integer, last_ns => \&_integer, records => \&_count
		)
	),
	lost => _each(\&_count),
	map { $_ => \&_integer } qw(server_pid server_tid observer_pid display)
);
my $TOP = _object(
	'format!'  => _object('major!' => \&_integer, 'minor!' => \&_integer),
	'id!'      => _like(qr/\A[A-Za-z0-9_-]{1,80}\z/, 'no id'),
	'trigger!' => _object(
		'ns!' => \&_integer, before_ns => \&_integer, measured_ms => \&_number, kind => \&_text,
		text  => \&_text
	),
	'sources!' => _list($SOURCE, $MAX_FILES),
	(map { $_ => \&_text } qw(time kernel machine boot_id hz_note)),
	(map { $_ => \&_integer } qw(cpus page_size end_ns)),
	suspends    => _list(_object(map { ("$_!" => \&_integer) } qw(from_ns to_ns slept_ns)), 64),
	clock_steps =>
		_list(_object('from_ns!' => \&_integer, 'to_ns!' => \&_integer, 'by_ns!' => \&_signed), 64),
	state       => _facts(3),
	frequencies => _list(_object(map { $_ => \&_integer } qw(cpu khz max_khz))),
	bundle      => _object(
		detail        => \&_text,
		disk_pause_ns => \&_integer,
		meant_ns      => \&_integer,
		event         => _object(
			'n!'           => \&_integer, 'ns!'    => \&_integer, 'start_ns!' => \&_integer,
			'start_exact!' => \&_integer, dragged  => \&_integer, sent_to     => \&_integer,
			sent_by        => \&_integer, shown_by => \&_integer, came_ns     => \&_integer,
			usual_ns       => \&_integer,
			usual_count    => \&_integer,
			usual_where    => \&_text,
			start          => _object(
				map { ("$_!" => \&_integer) }
					qw(pid client parent born_ns from_ns by by_pid by_client)
			),
			'answer!' => _object(
				'end_ns!' => \&_integer,
				'open!'   => \&_integer,
				'exact!'  => \&_integer,
				(
					map { $_ => \&_integer }
						qw(first_ns tid busy gone damage_ns asked_tid asked_ns drawn_ns)
				),
				frame => _object(map { $_ => \&_integer } qw(ns exact pid told_ns asked_ns))
			)
		),
		aside => _list(
			_object(
				'tid!' => \&_integer,
				map { ("${_}_ns!" => \&_signed) }
					qw(running runnable blocked absent irq softirq net_running)
			),
			4096
		),
		idle  => _list(_object('tid!' => \&_integer, 'idle!' => \&_integer), 4096),
		asked =>
			_list(_object('tid!' => \&_integer, 'who!' => \&_integer, still => \&_integer), 4096),
		parts => _list(
			_object(
				'name!'   => \&_text, 'bytes!' => \&_integer,
				'sha256!' => _like(qr/\A[0-9a-f]{64}\z/, 'a sum that is none')
			),
			64
		),
		idle_cpus   => _list(_object('cpu!' => \&_integer, 'idle_ns!' => \&_integer), 65536),
		held_before => _list(_object('pid!' => \&_integer, 'times!'   => \&_integer), 4096)
	),
	recorder => _object(
		version               => \&_text, limits => _list(\&_text), agents => _list(\&_integer),
		classes               => _each(\&_flag), record_cost_ns => \&_cost,
		record_cost_spread_ns => _each(_list(\&_number, 2)),
		copy                  => _each(\&_integer),
		map { $_ => \&_integer } qw(pid start_ns window_s post_s)
	)
);

# read(BYTES, PATH): the manifest as data; dies with one sentence. Fields that this program does not
# know stay as they are.
sub read {
	my ($class, $bytes, $path) = @_;
	my $m = eval { Cpanel::JSON::XS->new->utf8->max_depth(32)->decode($bytes) };
	if (!defined $m) {
		(my $why = $@) =~ s/ at \S+ line \d+\.?\n?\z//;
		die "$path: not JSON: $why\n";
	}
	my $bad = sub { die "$path: $_[0]: not a manifest of tipme\n" };
	ref $m eq 'HASH' && ref $m->{format} eq 'HASH' or $bad->('no format');
	_refuse_other_major($m->{format}, $path, $bad);
	$TOP->($m, 'it', $bad);
	$m->{$_} //= [] for qw(suspends sources);
	for my $s (@{ $m->{sources} }) {
		$s->{coverage} //= [];
		$s->{lost}     //= {};
		for my $c (@{ $s->{coverage} }) { $c->{$_} //= 0 for qw(cpu first_ns last_ns records) }
	}
	return $m;
}

# facts(DIR): the manifest for who only lists it: only what makes it one is looked at, all else as
# it stands. Dies as read() does.
sub facts {
	my ($class, $dir) = @_;
	my $path = "$dir/manifest.json";
	sysopen my $in, $path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK or die "$path: $!\n";
	die "$path: is no plain file: an episode holds plain files only\n" if !-f $in;
	die "$path: " . (-s _) . " bytes, more than $MAX_BYTES: not an episode of tipme\n"
		if -s _ > $MAX_BYTES;
	sysread $in, my $bytes, -s _;
	my $m = eval { $FAST->decode($bytes) };
	my $good =
		   ref $m eq 'HASH'
		&& ref $m->{format} eq 'HASH'
		&& ($m->{format}{major} // '') eq $Tipme::Record::Layout::MAJOR
		&& ref $m->{trigger} eq 'HASH'
		&& ref $m->{sources} eq 'ARRAY'
		&& @{ $m->{sources} } <= $MAX_FILES
		&& !grep { ref ne 'HASH' || !defined $_->{file} || $_->{file} !~ $FILE_NAME }
		@{ $m->{sources} };
	return $good ? $m : $class->read($bytes, $path);
}

# Before all else: a later format may have other types.
sub _refuse_other_major {
	my ($format, $path, $bad) = @_;
	_integer($format->{$_}, "format $_", $bad) for qw(major minor);
	my $ours = $Tipme::Record::Layout::MAJOR;
	die
		"$path: format $format->{major}.$format->{minor}: this program reads format $ours: use the tipme that wrote it, or a later one\n"
		if $format->{major} != $ours;
	return;
}

1;
