# SPDX-License-Identifier: GPL-2.0-only
# An episode as one redacted file for a stranger, and back: only what is on the list goes in, and
# only what is on the list comes out.
package Tipme::Bundle;

use strict;
use warnings;
use Cpanel::JSON::XS ();
use Digest::SHA      qw(sha256_hex);
use List::Util       qw(max min);
use Encode           qw(encode_utf8);
use Tipme::Brought;
use Tipme::Bundle::Core;
use Tipme::Bundle::Manifest;
use Tipme::Bundle::Named;
use Tipme::Bundle::Records;
use Tipme::Bundle::Redacted;
use Tipme::Cut;
use Tipme::Cut::Stretches qw(joined);
use Tipme::Gathered;
use Tipme::Latency;
use Tipme::RanDry;
use Tipme::Meant;
use Tipme::Notes qw(tags_of);
use Tipme::Reasons;

# Circumstances that say how somebody called a program.
our %CALLED = map { $_ => 1 } qw(called-as had-it-run);

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
	@$self{qw(named said)} = Tipme::Bundle::Named::of($ep, $d, $self->{threads});
	return $self;
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
					Tipme::Bundle::Core::of_path($_, $self->{named}))
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
	my $wider = joined(@$had, @new);
	my ($all, $i) = (0, $ours->{interval});
	$all += min($_->[1], $i->{end_ns}) - max($_->[0], $i->{start_ns}) for @$wider;
	return $all <= max($WIDE_NS, $WIDE_SHARE * $i->{duration_ns}) ? $wider : undef;
}

# parts(SYSTEM, FILES): as Tipme::Bundle::Parts has them, which loads what draws and exports
sub parts {
	my ($self, $system, @files) = @_;
	require Tipme::Bundle::Parts;
	return Tipme::Bundle::Parts::of(
		@{ $self->{opened} // [ _opened(@files) ] }, $system, left_out => $self->{dropped},
		quiet => $self->{cut}->detail eq 'none',
		told  => sub { return $self->diagnosis_of(@_) }
	);
}

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

# core_of(DATA): what must be the same for whoever opens a bundle, as Core has it, with the names
# that it keeps
# data(): what whoever opens it comes to; of the path alone it may have fewer stretches than DATA of
# made()
sub data    { return $_[0]{d} }
sub core_of { my ($self, $d) = @_; return Tipme::Bundle::Core::core($d, $self->{named}) }

# How a process was called is not told. Who took the memory has no name where it has no part.
sub _circumstances {
	my ($d) = @_;
	my ($texts, $codes) = map { $_ // [] } @{ $d->{verdict} }{qw(circumstances circumstance_codes)};
	return [ map { $texts->[$_] } grep { !$CALLED{ $codes->[$_] // '' } } 0 .. $#$texts ];
}

# files(): [ name, content ], in order; what went in and what did not is known after that
sub files {
	my ($self) = @_;
	my $ep = $self->{ep};
	my @f;
	my %own = map { $_ => $self->{$_} } qw(ep d diagnosis threads cut named dropped fleet);
	my $redacted =
		Tipme::Bundle::Redacted->new(%own, names => $self->{names}, said => $self->{said});
	my $records = Tipme::Bundle::Records->new(%own, redacted => $redacted);
	# What the daemon wrote comes last: only then it is known who is spoken of.
	my %done = map { $_->{name} => [ $_->{name}, $records->of($_) ] }
		sort { ($a->{source} eq 'tipmed') <=> ($b->{source} eq 'tipmed') } $ep->files;
	push @f, map { $done{ $_->{name} } } $ep->files;
	$records->count;
	my $schema = $ep->schema_text;
	unshift @f, [ 'manifest.json', Tipme::Bundle::Manifest->new(%own)->text ],
		[ 'schema', $schema ];
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
