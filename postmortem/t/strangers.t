#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# What a stranger may put in a reader's way: each attack is refused in one sentence, quickly, in
# little memory, and nothing outside is touched.
use strict;
use warnings;
use Test::More;
use Cpanel::JSON::XS   ();
use File::Path         qw(remove_tree);
use File::Temp         qw(tempdir);
use FindBin            qw($Bin);
use IO::Compress::Gzip ();
use POSIX              qw(mkfifo);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Bundle;
use Tipme::Diagnosis;
use Tipme::Episode;
use Tipme::Index;
use Tipme::Library;
use Tipme::RecordBytes;
use Tipme::Test::Files qw(slurp spew);
use Tipme::Test::Story;
use Tipme::Timeline::File qw(write_picture);

my $PATIENCE_S = 600;          # a loop that hangs ends the test, however slow the machine is
my $MEMORY_KB  = 200 << 10;    # what reading a stranger's file may take
my $program    = "$Bin/../bin/tipme-postmortem";
my $tmp        = tempdir(CLEANUP => 1);
local $ENV{TIPME_LIBRARY} = "$tmp/library";
mkdir $ENV{TIPME_LIBRARY}, 0700 or die "$!\n";
my $json = Cpanel::JSON::XS->new->canonical->pretty->allow_nonref;

# verb(ARGS): { out, err, exit, kb } of the real program; kb is the most memory that it had at one
# time
sub verb {
	my (@args) = @_;
	my $peak   = "$tmp/peak";
	my $pid    = fork // die "$!\n";
	if (!$pid) {
		open STDIN,  '<', '/dev/null' or POSIX::_exit(99);
		open STDOUT, '>', "$tmp/out"  or POSIX::_exit(99);
		open STDERR, '>', "$tmp/err"  or POSIX::_exit(99);
		alarm $PATIENCE_S;
		{
			no warnings "exec";
			exec $^X, '-e',
				'my $peak = shift; my $f = $0 = shift; sub END { open my $s, "<", "/proc/$$/status"; open my $o, ">", $peak; print {$o} grep { /^VmHWM/ } <$s> } do $f; die $@ if $@',
				$peak, $program, @args
		}
		POSIX::_exit(99);
	}
	waitpid $pid, 0;
	my ($kb) = -e $peak ? slurp($peak) =~ /(\d+) kB/ : ();
	unlink $peak;
	return {
		out  => slurp("$tmp/out"),                           err => slurp("$tmp/err"),
		exit => $? & 127 ? 'signal ' . ($? & 127) : $? >> 8, kb  => $kb
	};
}

sub one_sentence {
	my ($r, $what, $why) = @_;
	is($r->{exit}, 1, "$what: refused") or diag($r->{out});
	like($r->{err}, $why, "$what: in its own sentence");
	unlike($r->{err}, qr/ at \S+ line \d+|HASH|ARRAY/, "$what: no words of Perl");
	is(() = $r->{err} =~ /\n/g, 1, "$what: one line") or diag($r->{err});
}

my $dir      = Tipme::Test::Story->new->key(1000, 400)->hotkey(1900)->builder->write("$tmp/good");
my %manifest = %{ $json->decode(slurp("$dir/manifest.json")) };
%manifest = (
	%manifest, hz_note => 'no tick', suspends => [ { from_ns => 1, to_ns => 2, slept_ns => 3 } ],
	clock_steps => [ { from_ns => 1, to_ns => 2,      by_ns   => -3 } ],
	frequencies => [ { cpu     => 0, khz   => 800000, max_khz => 3000000 } ],
	recorder    => {
		%{ $manifest{recorder} }, limits => ['a limit'], agents => [12],
		classes => { io => $json->true, irq => undef }, record_cost_ns => { sched => 120 }
	}
);
$manifest{trigger} =
	{ %{ $manifest{trigger} }, before_ns => 5, measured_ms => 7, text => 'it hung' };
$_->{lost} = { pool => 3 } for @{ $manifest{sources} };

# --- wrong types: each value of a manifest, replaced by a value of each type ---
# Three of the types for each value, the next three for the next one; with TIPME_TEST_ALL=1 all.
# A recorder of a later version may say more; what it says under a known name has the known type.
sub places {
	my ($v, @path) = @_;
	return ref $v eq 'HASH' ? map { ([ @path, $_ ], places($v->{$_}, @path, $_)) }
		sort keys %$v : ref $v eq 'ARRAY' ? map { ([ @path, $_ ], places($v->[$_], @path, $_)) }
		0 .. $#$v : ();
}

sub with {
	my ($path, $value) = @_;
	my $copy = $json->decode($json->encode(\%manifest));
	my ($at, @way) = ($copy, @$path);
	my $last = pop @way;
	$at = ref $at eq 'HASH' ? $at->{$_} : $at->[$_] for @way;
	(ref $at eq 'HASH' ? $at->{$last} : $at->[$last]) = $value;
	return $copy;
}

# All that verbs make of an episode, in this process: undef, or what is wrong with the way in which
# it ended.
sub complaint {
	my ($folder) = @_;
	my @warnings;
	local $SIG{__WARN__} = sub { push @warnings, @_ };
	eval {
		my $ep        = Tipme::Episode->open($folder);
		my $diagnosis = Tipme::Diagnosis->new($ep);
		my $d         = $diagnosis->run;
		Tipme::Report::Text::page($d);
		$json->encode(Tipme::Report::JSON::data($d));
		Tipme::Bundle->new($ep, $d, diagnosis => $diagnosis, threads => $diagnosis->threads)->files;
		Tipme::Command::Show::_text($ep, undef);
		$json->encode(Tipme::Report::JSON::clean(Tipme::Command::Show::_data($ep, undef)));
		Tipme::Timeline->collect($diagnosis, $d);
		"Tipme::Export::$_"
			->new(episode => $ep, threads => $diagnosis->threads, out => sub { })->begin
			for qw(Text Chrome Ftrace Perfetto);
		Tipme::Library::_facts($folder);
	};
	my $why = join '', @warnings, $@;
	return $why =~ / at \S+ line \d+|HASH\(|ARRAY\(/ ? $why : undef;
}
require "Tipme/$_.pm" for 'Command/Show', 'Timeline', 'Report/Text', 'Report/JSON',
	map {"Export/$_"} qw(Text Chrome Ftrace Perfetto);
{
	spew("$dir/manifest.json", $json->encode(\%manifest));
	is(complaint($dir), undef, 'the whole manifest itself is read');
	my %wrong = (
		string => 'x',         number => 7,     negative => -1, fraction => 0.5, long => '9' x 40,
		true   => $json->true, null   => undef, list => [], object => {}, 'list of lists' => [ [] ],
		'object of objects' => { a => {} }
	);
	my @types = sort keys %wrong;
	my (%bad, $n);
	for my $path (places(\%manifest)) {
		for my $type ($ENV{TIPME_TEST_ALL} ? @types : @types[ 0 .. 2 ]) {
			spew("$dir/manifest.json", $json->encode(with($path, $wrong{$type})));
			my $why = complaint($dir);
			$bad{ join('.', @$path) . " = $type" } = $why if defined $why;
			$n++;
		}
		push @types, splice @types, 0, 3;
	}
	Test::More->builder->skip('TIPME_TEST_ALL=1 has each type for each value, and 6 MB of sections')
		if !$ENV{TIPME_TEST_ALL};
	is_deeply(
		\%bad, {},
		"$n manifests with a value of a wrong type: read, or refused in a sentence"
	) or diag(explain(\%bad));
	spew("$dir/manifest.json", $json->encode({ %manifest, recorder => 'x' }));
	one_sentence(
		verb('diagnose', $dir), 'a recorder that is a text',
		qr/^tipme: diagnose: \S+manifest\.json: recorder is no object: not a manifest of tipme$/
	);
	spew(
		"$dir/manifest.json",
		$json->encode(with([ 'sources', 0, 'lost', 'pool' ], '18446744073709551615'))
	);
	is(
		Tipme::Episode->open($dir)->lost_count,
		999_999_999_999_999_999 + 3 * $#{ $manifest{sources} },
		'a count beyond all measure does not make an episode unreadable'
	);
	spew("$dir/manifest.json", $json->encode(\%manifest));
}

# --- a picture: nothing that lies under its temporary names is followed ---
SKIP: {
	my ($converter) = grep {-x} map {"$_/rsvg-convert"} split /:/, $ENV{PATH};
	skip 'no rsvg-convert (Debian: librsvg2-bin)', 6 if !$converter;
	my $svg =
		'<svg xmlns="http://www.w3.org/2000/svg" width="4" height="4"><rect width="4" height="4"/></svg>';
	spew("$tmp/victim", 'precious');
	symlink "$tmp/victim", "$tmp/slow.$_" or die "$!\n" for 'png.tmp', 'png.tmp.svg', 'svg.tmp';
	ok(eval { write_picture("$tmp/slow.$_", $svg); 1 }, "$_: written, though a link was laid")
		or diag($@)
		for qw(png svg);
	is(slurp("$tmp/victim"), 'precious', '... and what the link points to is as it was');
	like(slurp("$tmp/slow.png"), qr/\A\x89PNG/, '... the PNG is one');
	ok(!-l "$tmp/slow.png", '... and no link');
	is_deeply([ grep { !-l } glob "$tmp/slow.*tmp*" ], [], '... nothing temporary is left');
}

# --- pipes, on which one would wait for ever ---
mkfifo("$tmp/pipe.tipme", 0600) or die "$!\n";
one_sentence(
	verb('open', "$tmp/pipe.tipme", '-o', "$tmp/piped"), 'a pipe for a bundle',
	qr/^tipme: open: \S+pipe\.tipme: is no plain file/
);
{
	my $in = "$ENV{TIPME_LIBRARY}/20261120-150301-3f2a";
	Tipme::Test::Story->new->key(1000, 400)->builder->write($in);
	mkfifo("$in/note.txt", 0600) or die "$!\n";
	my $r = verb('list');
	is($r->{exit}, 0, 'a pipe for a note: the library is listed') or diag($r->{err});
	unlink "$in/note.txt";
}

# --- what is small and unpacks to much ---
sub member {
	my ($name, $size) = @_;
	my $h = pack 'a100 a8 a8 a8 a12 a12 a8 a1 a100 a6 a2 x247', $name, '0000644', '0000000',
		'0000000', sprintf('%011o', $size), '0' x 11, ' ' x 8, '0', '', 'ustar', '00';
	substr $h, 148, 8, sprintf "%06o\0 ", unpack '%32C*', $h;
	return $h;
}

# bomb(NAME, [ MEMBER, BEGINNING, PIECE, TIMES ] ...): a bundle, written in pieces so that the test
# itself stays small
sub bomb {
	my ($name, @members) = @_;
	my $z = IO::Compress::Gzip->new("$tmp/$name", -Level => 1) or die;
	for (@members) {
		my ($member, $begin, $piece, $times) = @$_;
		my $size = length($begin) + length($piece) * $times;
		$z->print(member($member, $size), $begin);
		$z->print($piece) for 1 .. $times;
		$z->print("\0" x (-$size % 512));
	}
	$z->print("\0" x 1024);
	$z->close;
	return "$tmp/$name";
}

sub refused_bomb {
	my ($what, $file, $why) = @_;
	my $r = verb('open', $file, '-o', "$tmp/bombed");
	one_sentence($r, $what, $why) if $why;
	unlike($r->{err}, qr/ at \S+ line \d+/, "$what: no words of Perl");
	cmp_ok($r->{kb} // 1e9, '<', $MEMORY_KB, "$what: in less than 200 MB");
	ok(!-e "$tmp/bombed" && !-e "$tmp/bombed.part", "$what: nothing is left") if $why;
	remove_tree("$tmp/bombed");
	note(
		sprintf '%s: %d MB at most: %s', $what, $r->{kb} / 1024,
		$r->{err} || $r->{out} =~ s/\n.*//sr
	);
}
my $MB          = "\0" x (1 << 20);
my %rest        = (schema => slurp("$dir/schema"), 'kernel.rec' => slurp("$dir/kernel.rec"));
my $kernel_only = $json->encode(
	{ %manifest, sources => [ grep { $_->{file} eq 'kernel.rec' } @{ $manifest{sources} } ] });
my @begin  = ([ 'manifest.json', $kernel_only, '', 0 ], [ 'schema', $rest{schema}, '', 0 ]);
my $ep     = Tipme::Episode->open($dir);
my $layout = $Tipme::Record::Layout::STRUCT{file_header};
my $header = sub {
	my %h = (%{ ($ep->files)[0]{header} }, header_len => $layout->{size}, body_len => $_[0]);
	return pack $layout->{template} =~ s/Z(\d+)/a$1/gr, map { $h{$_} } @{ $layout->{names} };
};
my $record  = pack 'Q<CCvV', 2_000_000_000, $ep->record->number_of('sched_waking'), 2, 0, 200;
my $section = sub {
	Tipme::RecordBytes::section_head(
		$ep->record, { source => 'kernel_bpf', cpu => 0 }, 1_999_000_000,
		2_000_000_000,                                     @_
	);
};
refused_bomb(
	'200 MB of nothing', bomb('zeros', [ 'manifest.json', '', $MB, 200 ]),
	qr/manifest\.json: \d+ bytes, more than/
);
refused_bomb(
	'many files of it', bomb('many', @begin, map { [ "x-$_.rec", '', $MB, 1 ] } 1 .. 60),
	qr/unpacks to more than 50 times/
);
refused_bomb(
	'a manifest of empty lists',
	bomb(
		'lists',
		[ 'manifest.json', '{"format":{"major":1,"minor":0},"x":[[]', ',[]' x 1000, 1300 ],
		$begin[1]
	),
	qr/manifest/
);
my $empty   = length $section->(0, 0);
my $records = $section->(1 << 16, 1 << 20) . $record x (1 << 16);
for ([ 50, qr/unpacks to more than 50 times/ ], [ $ENV{TIPME_TEST_ALL} ? 6 : 2, undef ]) {
	my ($mb, $why) = @$_;
	refused_bomb(
		"a section of $mb MB",
		bomb(
			'section', @begin,
			[ 'kernel.rec', $header->(($mb << 20) + $empty) . $section->(0, $mb << 20), $MB, $mb ]
		),
		$why
	);
	refused_bomb(
		"$mb MB of records, all of one moment",
		bomb('records', @begin, [ 'kernel.rec', $header->($mb * length $records), $records, $mb ]),
		$why
	);
	refused_bomb(
		"$mb MB of sections with a record each",
		bomb(
			'sections',
			@begin,
			[
				'kernel.rec', $header->(($mb << 13) * (16 + $empty)), $section->(1, 16) . $record,
				$mb << 13
			]
		),
		$why
	);
}

# --- removed while it is read ---
for my $step (qw(_read_manifest _read_schema _order_sections)) {
	my $gone = Tipme::Test::Story->new->key(1000, 400)->hotkey(1900)->builder->write("$tmp/gone");
	no strict 'refs';
	no warnings 'redefine';
	my $real = \&{"Tipme::Episode::$step"};
	local *{"Tipme::Episode::$step"} = sub { rename $gone, "$tmp/.gone.tmp"; $real->(@_) };
	my $open = eval { Tipme::Episode->open($gone) };
	my $why  = $@;
	if ($open) {
		ok(
			Tipme::Diagnosis->new($open)->run->{interval} && !$open->damage,
			"removed before $step: what is open is read"
		);
	} else {
		like(
			$why, qr{^\S+/gone: was removed meanwhile: `tipme list` shows the episodes$},
			"removed before $step: said"
		);
	}
	if ($open) {
		ok(
			!eval { $open->schema_text } && $@ =~ /was removed meanwhile/,
			'... what is not, is not, and that is said'
		);
	}
	remove_tree("$tmp/.gone.tmp");
}

# --- DEL is a control character, too ---
spew("$dir/note.txt", "a\x7fb");
like(verb('show', $dir, '--json')->{out}, qr/"a\\u007fb"/, 'DEL is escaped in --json');

done_testing();
