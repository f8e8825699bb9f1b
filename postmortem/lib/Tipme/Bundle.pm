# SPDX-License-Identifier: GPL-2.0-only
# An episode as one redacted file for a stranger, and back: only what is on the list goes in, and only what is on the list comes out.
package Tipme::Bundle;

use strict;
use warnings;
use Archive::Tar ();
use Cpanel::JSON::XS ();
use Fcntl qw(O_RDONLY O_WRONLY O_CREAT O_EXCL O_NOFOLLOW O_NONBLOCK);
use IO::Uncompress::Gunzip qw($GunzipError);
use IO::Compress::Gzip qw($GzipError);
use Tipme::Cut;
use Tipme::Latency;
use Tipme::Manifest;
use Tipme::NewFolder qw(new_folder_by);
use Tipme::Printable qw(one_line);
use Tipme::Record::Layout;

my $MAX_FILE  = 256 << 20;         # what a bundle may unpack to, all together
my $MAX_PACKED = 64 << 20;
# Records shrink to a tenth when they are packed. What shrinks to less than a fiftieth was made to fill memory, unless it is small.
my $MAX_RATIO  = 50;
my $SMALL      = 8 << 20;
my $NAME      = qr/\A(?:manifest\.json|schema|note\.txt|verdict\.(?:txt|json)|timeline\.svg|report\.html|summary\.txt|[a-z0-9-]{1,60}\.rec)\z/;
my $MAX_NAMES = 64;
my $PIECE     = 1 << 20;          # in memory at once
# What is read as a whole later may be no longer than its reader takes.
my %MAX_MEMBER = ('manifest.json' => $Tipme::Manifest::MAX_BYTES, schema => 262_144, 'note.txt' => 65_536);

# Of records in which text stands: what remains of it. What is not here and has text is left out.
my %TEXT = (rename => \&_comm, thread => \&_comm, stack => undef, function => undef, user_stack => undef, irq_name => undef, disk_name => undef, section => undef,
	module => sub { my ($self, $f) = @_; $f->{path} = _basename($f->{path}); return 1 },
	process => sub { my ($self, $f) = @_; $f->{exe} = $self->{named}{ $f->{pid} } ? _basename($f->{exe}) : ''; $f->{uid} = 0; return 1 },
	cgroup_name => sub { my ($self, $f) = @_; $f->{path} = $self->_said($f->{path}) . "/cgroup-$f->{cgroup}" if $self->_said($f->{path}) ne $f->{path}; return 1 });
# Fields that tell which key it was: always 0 in a bundle.
my %ZERO = map { $_ => ['code'] } qw(input x_device x_input);
# Fields that told where the kernel lies before format 1.3: they become numbers of this bundle, each kind of its own.
my %ADDRESS = (
	work_queued => { work => 'work', function => 'function' }, work_start => { work => 'work', function => 'function' }, work_end => { work => 'work', function => 'function' },
	function => { function => 'function' }, lock_contention => { lock => 'lock' },
	(map { $_ => { stack_id => 'stack' } } qw(sched_waking thread proc_state stack)), user_stack => { stack_id => 'user' }, sample => { kernel_stack_id => 'stack', user_stack_id => 'user' });
my $NUMBERED_SINCE = 3;
my @MANIFEST = qw(format time kernel machine cpus page_size end_ns hz_note frequencies);
my @RECORDER = qw(version pid agents start_ns window_s post_s record_cost_ns);
my @SOURCE   = qw(source file coverage lost server_pid server_tid server_name display);

# new(EPISODE, DIAGNOSIS DATA, diagnosis => Diagnosis, threads => Threads, note => 1 to take the user's words along, detail => how much is kept, as Cut has it,
# all => 1: not only the seconds of the problem)
sub new {
	my ($class, $ep, $d, %o) = @_;
	my $self = bless { ep => $ep, d => $d, %o, named => {}, dropped => {}, names => {} }, $class;
	$self->{cut} = Tipme::Cut->new($o{diagnosis}, $d, detail => $o{all} ? 'whole' : $o{detail});
	@$self{qw(from to)} = ($self->{cut}->from, $self->{cut}->to);
	$self->_name_those_who_matter;
	return $self;
}

# The processes that the verdict is about keep their names; all others are numbers.
sub _name_those_who_matter {
	my ($self) = @_;
	my ($d, $t) = @$self{qw(d threads)};
	my %pid = map { $_ => 1 } grep { defined } (map { ($_->{pid}, $_->{blamed}{pid}) } @{ $d->{path} }), (map { $_->{pid} } @{ $d->{totals}{blamed} }), @{ ($d->{verdict}{blamed} // {})->{pids} // [] },
		($d->{verdict}{blamed} // {})->{pid}, (map { ($_->{client} // {})->{pid}, $_->{server}{pid} } $d->{event} // ()), (map { $_->{server_pid} } @{ $self->{ep}->manifest->{sources} });
	# Who started those who are blamed, and who let them go on, is named in the verdict, too.
	my $end = ($d->{interval} // {})->{end_ns} // $self->{ep}->trigger_ns;
	for my $pid (grep { $_ } map { $_->{pid} } @{ $d->{totals}{blamed} }) { my ($up) = $t->ancestors($pid, $end); $pid{ $up->[0] } = 1 if $up }
	$self->{said} = join "\n", grep { defined } $d->{verdict}{sentence}, map { ($_->{reason}, map { $_->{detail} } $_->{blamed}, @{ $_->{among} // [] }) } @{ $d->{path} };
	$pid{$_} = 1 for $self->{said} =~ /\(pid (\d+)\)/g;
	$pid{ $_->[0] } = 1 for map { $t->ancestors($_, $self->{ep}->trigger_ns) } ($d->{verdict}{blamed} // {})->{pid} // ();
	$self->{named} = \%pid;
}

# made(EPISODE, DIAGNOSIS, DATA, OPTIONS of new): (the bundle that tells least and from which verdict and sums come out as they are here, its files)
sub made {
	my ($class, $ep, $diagnosis, $d, %o) = @_;
	my $want = core($d);
	# What is not proven rests on what is not there, too.
	for my $detail ($o{all} || !$d->{interval} || defined $d->{verdict}{why} && @{ $d->{candidates} // [] } ? 'whole' : @Tipme::Cut::DETAIL) {
		my $b = $class->new($ep, $d, %o, diagnosis => $diagnosis, threads => $diagnosis->threads, detail => $detail);
		my @files = $b->files;
		return ($b, @files) if $detail eq 'whole';
		my $again = eval { _judged(@files) };
		return ($b, @files) if $again && core($again) eq $want;
	}
	return;
}

# report(FILES): a page for a browser, made of nothing but what is in these files; a picture of more than 150 KB is left to `tipme timeline`
my $MAX_PICTURE = 150 << 10;

sub report {
	my ($self, @files) = @_;
	require File::Temp;
	require Tipme::Diagnosis;
	require Tipme::Episode;
	require Tipme::Page;
	require Tipme::Timeline;
	require Tipme::Timeline::Picture;
	my $dir = File::Temp->newdir;
	for my $f (@files) { open my $h, '>:raw', "$dir/$f->[0]" or die "$dir: $!\n"; print {$h} $f->[1] and close $h or die "$dir: $!\n" }
	my $ep = Tipme::Episode->open("$dir");
	my $diagnosis = Tipme::Diagnosis->new($ep);
	my $d = $diagnosis->run;
	my $svg = Tipme::Timeline::Picture->svg(Tipme::Timeline->collect($diagnosis, $d));
	utf8::decode($svg);
	my %out = %{ $self->{dropped} };
	return Tipme::Page::report($self->diagnosis_of($d), manifest => $ep->manifest, svg => length $svg <= $MAX_PICTURE ? $svg : undef, left_out => [ map { "$out{$_} $_" } sort keys %out ]);
}

sub _judged {
	my (@files) = @_;
	require File::Temp;
	require Tipme::Diagnosis;
	require Tipme::Episode;
	my $dir = File::Temp->newdir;
	for my $f (@files) { open my $h, '>:raw', "$dir/$f->[0]" or die "$dir: $!\n"; print {$h} $f->[1] and close $h or die "$dir: $!\n" }
	return Tipme::Diagnosis->new(Tipme::Episode->open("$dir"))->run;
}

# core(DATA): what must be the same for whoever opens a bundle, as one text: event, interval, stages, path, sums and verdict
sub core {
	my ($d) = @_;
	my $who = sub { my ($w) = @_; return $w && { map { $_ => $w->{$_} } qw(kind pid tid comm ns state detail) } };
	my $v = $d->{verdict};
	return Cpanel::JSON::XS->new->canonical->allow_blessed->encode([ { map { $_ => $v->{$_} } qw(kind sentence share_ns share confidence exact) }, $who->($v->{blamed}), $d->{interval},
		$d->{event} && [ $d->{event}{n}, map { [ @$_{qw(name ts_ns certainty)} ] } @{ $d->{event}{stages} } ],
		[ map { my $p = $_; [ (map { $p->{$_} } qw(from_ns to_ns tid pid comm state exact reason)), $who->($p->{blamed}), map { $who->($_) } @{ $p->{among} // [] } ] } @{ $d->{path} } ],
		@{ $d->{totals} }{qw(kinds states threads)}, [ map { $who->($_) } @{ $d->{totals}{blamed} } ] ]);
}

sub _comm {
	my ($self, $f) = @_;
	my $who = $self->{threads}->at($f->{tid}, $f->{ts_ns});
	my $kernel = exists $f->{flags} ? $f->{flags} & 1 : $who->{kernel};
	my $pid = $f->{pid} // $who->{pid};
	if ($kernel || $self->{named}{$pid}) { $self->{names}{ one_line($f->{comm}) }++ if !$kernel }
	else                                 { $f->{comm} = "process-$pid"; $self->{dropped}{'names of processes that have no part in it'}++ }
	$f->{uid} = 0 if exists $f->{uid};
	return 1;
}

# The longest beginning of a path that the verdict says: what lies below it has to be known as such.
sub _said {
	my ($self, $path) = @_;
	$path =~ s{/[^/]*\z}{} while length $path && $self->{said} !~ m{(?<![^\s"])\Q$path\E(?![^\s",.;:])};
	return $path;
}

sub _basename { my ($path) = @_; return $path =~ m{([^/]*)\z} ? $1 : '' }

# files(): [ name, content ], in order; what went in and what did not is known after that
sub files {
	my ($self) = @_;
	my $ep = $self->{ep};
	my @f;
	# What the daemon wrote comes last: only then it is known who is spoken of.
	my %done = map { $_->{name} => [ $_->{name}, $self->_records($_) ] } sort { ($a->{source} eq 'tipmed') <=> ($b->{source} eq 'tipmed') } $ep->files;
	push @f, map { $done{ $_->{name} } } $ep->files;
	my $schema = $ep->schema_text;
	unshift @f, [ 'manifest.json', $self->_manifest ], [ 'schema', $schema ];
	if ($self->{note} && defined $ep->note) { push @f, [ 'note.txt', $ep->note ] }
	elsif (defined $ep->note)               { $self->{dropped}{'the note'}++ }
	return @f;
}

sub _manifest {
	my ($self) = @_;
	my $m = $self->{ep}->manifest;
	my %out = map { $_ => $m->{$_} } grep { defined $m->{$_} && (!ref $m->{$_} || $_ eq 'format') } @MANIFEST;
	$out{id} = $m->{id};
	$out{trigger} = { ns => $m->{trigger}{ns} + 0, kind => $m->{trigger}{kind}, text => Tipme::Latency::words($m->{trigger}{text}) };
	my $r = ref $m->{recorder} eq 'HASH' ? $m->{recorder} : {};
	$out{recorder} = { map { $_ => $r->{$_} } grep { defined $r->{$_} } @RECORDER };
	$out{sources} = [ map { my $s = $_; +{ map { $_ => $s->{$_} } grep { defined $s->{$_} } @SOURCE } } @{ $m->{sources} } ];
	$out{bundle} = { version => 2, detail => $self->{cut}->detail, from_ns => $self->{from}, to_ns => $self->{to} < 1 << 62 ? $self->{to} : undef, $self->_pinned };
	# What was cut away is not covered any more.
	for my $c (map { @{ $_->{coverage} } } grep { $_->{source} ne 'tipmed' } @{ $out{sources} }) { $c->{first_ns} = $self->{from} if $c->{first_ns} < $self->{from} }
	return Cpanel::JSON::XS->new->canonical->pretty->encode(\%out);
}

# The event of the verdict, by its number here, with what was usual here, and what the bundle has as sums only.
sub _pinned {
	my ($self) = @_;
	my $own = $self->{cut}->own or return;
	my $i = $self->{d}{interval};
	my ($e) = grep { $_->{n} == $own->{n} } $self->{diagnosis}->events;
	my $r = $self->{diagnosis}->answer_of($e) // {};
	my $exact = ($self->{diagnosis}->interval_of($e) // {})->{start_exact} ? 1 : 0;
	my %answer = (end_ns => $i->{end_ns}, (map { ($_ => $r->{$_} ? 1 : 0) } qw(open exact busy gone)), map { defined $r->{$_} ? ($_ => $r->{$_}) : () } qw(first_ns tid));
	$answer{damage_ns} = $r->{damage}{ts_ns} if $r->{damage};
	@answer{qw(asked_tid asked_ns)} = @{ $r->{asked} } if $r->{asked};
	return (event => { %$own, start_ns => $i->{start_ns}, start_exact => $exact, answer => \%answer, map { defined $i->{$_} ? ($_ => $i->{$_}) : () } qw(usual_ns usual_count usual_where) }, aside => $self->{cut}->aside($self->{diagnosis}->states(@$i{qw(start_ns end_ns)})));
}

# A file's sections anew, with the records of the seconds in question and without what must not be told.
sub _records {
	my ($self, $file) = @_;
	my $ep = $self->{ep};
	my $code = $ep->record;
	my ($body, %by) = ('');
	for my $s (grep { $_->{file} eq $file->{name} } $ep->sections) {
		my $named = $s->{source} eq 'tipmed';
		next if !$named && $s->{first_ns} > $self->{to};
		my $kept = $named ? sub { return $self->{cut}->names(@_, $self->{named}) } : sub { return $self->{cut}->keeps(@_) };
		my ($list, $buf) = $ep->section_records($s);
		my $of = $by{ $s->{cpu} } //= { section => $s, kept => [], carried => {} };
		# Names of functions and libraries are kept if a stack is that has them, so they are looked at last.
		for ($named ? _stacks_last($code, $list, $buf) : @$list) {
			my ($ts, $off, $len) = @$_;
			next if !$named && $ts > $self->{to};
			my ($bytes, $carry) = $self->_redacted($code, substr($$buf, $off, $len), $kept, $named);
			next if !defined $bytes;
			if (defined $carry) { $of->{carried}{$carry} = $bytes }
			else                { push @{ $of->{kept} }, [ unpack('Q<', $bytes), $bytes ] }
		}
	}
	for my $of (map { $by{$_} } sort { $a <=> $b } keys %by) {
		my @r = sort { $a->[0] <=> $b->[0] } map { [ unpack('Q<', $_), $_ ] } sort(values %{ $of->{carried} });
		@r = sort { $a->[0] <=> $b->[0] } @r, @{ $of->{kept} };
		my $out = join '', map { $_->[1] } @r;
		$body .= _section($code, $of->{section}, $r[0][0], $r[-1][0], scalar @r, length $out) . $out if @r;
	}
	my $l = $Tipme::Record::Layout::STRUCT{file_header};
	my %h = (%{ $file->{header} }, header_len => $l->{size}, body_len => length $body);
	return pack($l->{template} =~ s/Z(\d+)/a$1/gr, map { $h{$_} } @{ $l->{names} }) . $body;
}

sub _stacks_last {
	my ($code, $list, $buf) = @_;
	my %late = map { $code->number_of($_->[0]) => $_->[1] } [ stack => 1 ], [ function => 1 ], [ user_stack => 1 ], [ module => 2 ];
	my @by = ([], [], []);
	push @{ $by[ $late{ unpack 'x8C', substr $$buf, $_->[1], 9 } // 0 ] }, $_ for @$list;
	return map { @$_ } @by;
}

sub _section {
	my ($code, $s, $first, $last, $n, $len) = @_;
	my $l = $code->layout('section');
	my %f = (ts_ns => $first, type => 1, len8 => $l->{size} / 8, gen => 0, tid => 0, source => $code->value_of('source', $s->{source}), cpu => $s->{cpu}, first_ns => $first, last_ns => $last, count => $n, body_len => $len);
	return pack $l->{template}, map { $f{$_} } @{ $l->{names} };
}

# The bytes of a record as they may be told, or undef: kinds that this program does not know, and texts that are on no list, stay here.
sub _redacted {
	my ($self, $code, $bytes, $kept, $named) = @_;
	my ($name, $f) = $code->decode(\$bytes, 0);
	if (!defined $name) { $self->{dropped}{'records of kinds that this program does not know'}++; return }
	my ($since, $ts) = ($f->{since_ns}, $f->{ts_ns});
	my $carry = $named ? undef : $self->{cut}->carries($name, $f);
	if (!defined $carry && !$kept->($name, $f)) { $self->{dropped}{ Tipme::Cut::left_out($name) }++; return }
	my $l = $code->layout($name);
	my $text = $l->{template} =~ /[Za]/;
	if ($text && !exists $TEXT{$name}) { $self->{dropped}{ { exec_args => 'command lines', exec_environment => 'environments', input_device => 'names of input devices' }->{$name} // "records '$name'" }++; return }
	my $change = $TEXT{$name};
	my $address = $self->{ep}->manifest->{format}{minor} < $NUMBERED_SINCE ? $ADDRESS{$name} : undef;
	return $bytes if !$change && !$ZERO{$name} && !$address && $ts == $f->{ts_ns} && ($since // 0) == ($f->{since_ns} // 0);
	return if $change && !$change->($self, $f);
	$f->{$_} = 0 for @{ $ZERO{$name} // [] };
	$f->{$_} = $self->_number($address->{$_}, $f->{$_}) for sort keys %{ $address // {} };
	return (_packed($l, $f), $carry);
}

# 1 for the first of its kind that is met, 2 for the next; nothing (0) stays nothing.
sub _number {
	my ($self, $kind, $what) = @_;
	my $n = $self->{numbers}{$kind} //= {};
	return $what ? $n->{$what} //= 1 + keys %$n : 0;
}

sub _packed {
	my ($l, $f) = @_;
	my $last = $l->{names}[-1];
	my $open = $l->{template} =~ /\*\z/;
	my $len = $l->{size} + ($open ? 8 * int((length($f->{$last}) + 7) / 8) : 0);
	$len = 8 * 255 if $len > 8 * 255;
	my $b = pack $l->{template} =~ s/Z(\d+|\*)/a$1/gr, map { $_ eq 'len8' ? $len / 8 : $f->{$_} } @{ $l->{names} };
	return substr $b . "\0" x $len, 0, $len;
}

# The diagnosis as it may be told: how a process was called, and the user's words at the trigger, are nobody's business.
sub diagnosis { my ($self) = @_; return $self->diagnosis_of($self->{d}) }

sub diagnosis_of {
	my ($self, $d) = @_;
	my ($texts, $codes) = map { $_ // [] } @{ $d->{verdict} }{qw(circumstances circumstance_codes)};
	my @keep = grep { ($codes->[$_] // 'called-as') ne 'called-as' } 0 .. $#$texts;
	my %v = (%{ $d->{verdict} }, circumstances => [ @$texts[@keep] ], circumstance_codes => [ @$codes[@keep] ]);
	return { %$d, verdict => \%v, trigger => { %{ $d->{trigger} }, text => Tipme::Latency::words($d->{trigger}{text}) } };
}

# told(): what a bundle holds and what was left out: { names [...], dropped { what => how many }, detail: as Cut has it }
sub told { my ($self) = @_; return { names => [ sort keys %{ $self->{names} } ], dropped => $self->{dropped}, detail => $self->{cut}->detail } }

# write(FILE, FILES ...): a gzipped tar that did not exist before
sub write {
	my ($class, $path, @files) = @_;
	my $tar = Archive::Tar->new;
	for my $f (@files) { $tar->add_data(@$f, { mode => 0644, uid => 0, gid => 0, uname => '', gname => '', mtime => 0 }) or die "$path: $f->[0]: " . $tar->error . "\n" }
	my $plain = '';
	open my $h, '>', \$plain or die "$!\n";
	$tar->write($h) or die "$path: " . $tar->error . "\n";
	close $h;
	IO::Compress::Gzip::gzip(\$plain => \my $packed, -Minimal => 1) or die "$path: $GzipError\n";
	sysopen my $out, $path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600 or die "$path: $!: " . ($!{EEXIST} ? 'name a file that does not exist yet' : 'choose another place with -o') . "\n";
	binmode $out;
	print {$out} $packed and close $out or die "$path: $!: is the disk full?\n";
	return length $packed;
}

# unpack_to(FILE, FOLDER): makes the folder; only plain files with names of the list, bounded in number and size, none twice. In memory is a piece at a
# time, however much the file unpacks to.
sub unpack_to {
	my ($class, $path, $folder) = @_;
	my $read = _reader($path);
	return new_folder_by($folder, sub { _members($path, $read, $_[0]) });
}

# The tar is read by hand: nothing but plain members is understood, and nothing is believed that its sums do not bear out.
sub _members {
	my ($path, $read, $put) = @_;
	my ($at, %there) = (0);
	while (1) {
		my $h = $read->(512);
		last if length $h < 512 || $h !~ /[^\0]/;
		my ($name, $len) = _member($path, $at, $h);
		die "$path: member $name is there twice\n" if $there{$name}++;
		die "$path: more than $MAX_NAMES members\n" if keys %there > $MAX_NAMES;
		my $most = $MAX_MEMBER{$name} // $MAX_FILE;
		die "$path: $name: $len bytes, more than $most: not a bundle of tipme\n" if $len > $most;
		$put->($name, '');
		for (my $left = $len; $left > 0;) {
			my $piece = $read->($left < $PIECE ? $left : $PIECE);
			die "$path: member $name was cut\n" if !length $piece;
			$put->($name, $piece);
			$left -= length $piece;
		}
		my $rest = -$len % 512;
		$read->($rest) if $rest;
		$at += 512 + $len + $rest;
	}
	die "$path: no manifest.json in it: not a bundle of tipme\n" if !$there{'manifest.json'};
	return;
}

# (NAME, LENGTH) that a member's header says
sub _member {
	my ($path, $at, $h) = @_;
	my ($name, $size, $sum, $type, $magic) = unpack 'Z100 x24 Z12 x12 Z8 a1 x100 a5', $h;
	my $want = unpack '%32C*', substr($h, 0, 148) . ' ' x 8 . substr $h, 156;
	die "$path: at byte $at: not a tar file: not a bundle of tipme\n" if $magic ne 'ustar' || $sum !~ /\A\s*([0-7]+)\s*\z/ || oct $1 != $want;
	die "$path: member '" . one_line($name) . "': a bundle holds plain files only\n" if $type !~ /\A[0\0]\z/;
	die "$path: member '" . one_line($name) . "': no name that a bundle has\n" if $name !~ $NAME || substr($h, 345, 155) =~ /[^\0]/;
	die "$path: member $name: its size is no number\n" if $size !~ /\A\s*([0-7]{1,11})\s*\z/;
	return ($name, oct $1);
}

# A sub: read(N) answers with N unpacked bytes, or with fewer at the end of the file. A pipe is refused before it can make us wait.
sub _reader {
	my ($path) = @_;
	sysopen my $in, $path, O_RDONLY | O_NONBLOCK or die "$path: $!: name a file that `tipme bundle` wrote\n";
	die "$path: is no plain file\n" if !-f $in;
	my $packed = -s _;
	die "$path: $packed bytes: more than a bundle has\n" if $packed > $MAX_PACKED;
	binmode $in;
	my $z = IO::Uncompress::Gunzip->new($in, MultiStream => 0) or die "$path: $GunzipError: not a bundle of tipme\n";
	my $all = 0;
	return sub {
		my ($n) = @_;
		my $bytes = '';
		while (length $bytes < $n && (my $got = $z->read($bytes, $n - length $bytes, length $bytes)) != 0) {
			die "$path: $GunzipError: the file is damaged\n" if $got < 0;
		}
		$all += length $bytes;
		die "$path: unpacks to more than $MAX_FILE bytes: not a bundle of tipme\n" if $all > $MAX_FILE;
		die "$path: unpacks to more than $MAX_RATIO times its size: not a bundle of tipme\n" if $all > $SMALL && $all > $MAX_RATIO * $packed;
		return $bytes;
	};
}

1;
