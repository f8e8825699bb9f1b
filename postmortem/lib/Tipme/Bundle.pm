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
use Tipme::Latency;
use Tipme::Manifest;
use Tipme::NewFolder qw(new_folder_by);
use Tipme::Printable qw(one_line);
use Tipme::Record::Layout;

my $BEFORE_NS = 1_000_000_000;
my $AFTER_NS  = 500_000_000;
my $MAX_FILE  = 256 << 20;         # what a bundle may unpack to, all together
my $MAX_PACKED = 64 << 20;
# Records shrink to a tenth when they are packed. What shrinks to less than a fiftieth was made to fill memory, unless it is small.
my $MAX_RATIO  = 50;
my $SMALL      = 8 << 20;
my $NAME      = qr/\A(?:manifest\.json|schema|note\.txt|verdict\.(?:txt|json)|timeline\.svg|[a-z0-9-]{1,60}\.rec)\z/;
my $MAX_NAMES = 64;
my $PIECE     = 1 << 20;          # in memory at once
# What is read as a whole later may be no longer than its reader takes.
my %MAX_MEMBER = ('manifest.json' => $Tipme::Manifest::MAX_BYTES, schema => 262_144, 'note.txt' => 65_536);

# Of records in which text stands: what remains of it. What is not here and has text is left out.
my %TEXT = (rename => \&_comm, thread => \&_comm, stack => undef, function => undef, user_stack => undef, irq_name => undef, disk_name => undef, section => undef,
	module => sub { my ($self, $f) = @_; $f->{path} = _basename($f->{path}); return 1 },
	process => sub { my ($self, $f) = @_; $f->{exe} = $self->{named}{ $f->{pid} } ? _basename($f->{exe}) : ''; $f->{uid} = 0; return 1 },
	cgroup_name => sub { my ($self, $f) = @_; $f->{path} = "/cgroup-$f->{cgroup}" if !$f->{quota_us}; return 1 });
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

# new(EPISODE, DIAGNOSIS DATA, threads => Threads, note => 1 to take the user's words along, all => 1: not only the seconds of the problem)
sub new {
	my ($class, $ep, $d, %o) = @_;
	my $self = bless { ep => $ep, d => $d, %o, named => {}, dropped => {}, names => {} }, $class;
	my $i = $d->{interval};
	@$self{qw(from to)} = $i && !$o{all} ? ($i->{start_ns} - $BEFORE_NS, $i->{end_ns} + $AFTER_NS) : (0, 1 << 62);
	$self->_name_those_who_matter;
	return $self;
}

# The processes that the verdict is about keep their names; all others are numbers.
sub _name_those_who_matter {
	my ($self) = @_;
	my ($d, $t) = @$self{qw(d threads)};
	my %pid = map { $_ => 1 } grep { defined } (map { ($_->{pid}, $_->{blamed}{pid}) } @{ $d->{path} }), (map { $_->{pid} } @{ $d->{totals}{blamed} }), @{ ($d->{verdict}{blamed} // {})->{pids} // [] },
		($d->{verdict}{blamed} // {})->{pid}, (map { ($_->{client} // {})->{pid}, $_->{server}{pid} } $d->{event} // ()), (map { $_->{server_pid} } @{ $self->{ep}->manifest->{sources} });
	$pid{ $_->[0] } = 1 for map { $t->ancestors($_, $self->{ep}->trigger_ns) } ($d->{verdict}{blamed} // {})->{pid} // ();
	$self->{named} = \%pid;
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

sub _basename { my ($path) = @_; return $path =~ m{([^/]*)\z} ? $1 : '' }

# files(): [ name, content ], in order; what went in and what did not is known after that
sub files {
	my ($self) = @_;
	my $ep = $self->{ep};
	my @f;
	for my $file ($ep->files) { push @f, [ $file->{name}, $self->_records($file) ] }
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
	$out{bundle} = { version => 1, from_ns => $self->{from}, to_ns => $self->{to} < 1 << 62 ? $self->{to} : undef };
	# What was cut away is not covered any more.
	for my $c (map { @{ $_->{coverage} } } grep { $_->{source} ne 'tipmed' } @{ $out{sources} }) { $c->{first_ns} = $self->{from} if $c->{first_ns} < $self->{from} }
	return Cpanel::JSON::XS->new->canonical->pretty->encode(\%out);
}

# A file's sections anew, with the records of the seconds in question and without what must not be told.
sub _records {
	my ($self, $file) = @_;
	my $ep = $self->{ep};
	my $code = $ep->record;
	my $body = '';
	for my $s (grep { $_->{file} eq $file->{name} } $ep->sections) {
		my $named = $s->{source} eq 'tipmed';
		next if !$named && ($s->{first_ns} > $self->{to} || $s->{last_ns} < $self->{from});
		my ($list, $buf) = $ep->section_records($s);
		my ($out, $n, $first, $last) = ('', 0);
		for (@$list) {
			my ($ts, $off, $len) = @$_;
			next if !$named && ($ts < $self->{from} || $ts > $self->{to});
			my $bytes = $self->_redacted($code, substr $$buf, $off, $len) // next;
			$out .= $bytes;
			$n++;
			$first //= $ts;
			$last = $ts;
		}
		$body .= _section($code, $s, $first, $last, $n, length $out) . $out if $n;
	}
	my $l = $Tipme::Record::Layout::STRUCT{file_header};
	my %h = (%{ $file->{header} }, header_len => $l->{size}, body_len => length $body);
	return pack($l->{template} =~ s/Z(\d+)/a$1/gr, map { $h{$_} } @{ $l->{names} }) . $body;
}

sub _section {
	my ($code, $s, $first, $last, $n, $len) = @_;
	my $l = $code->layout('section');
	my %f = (ts_ns => $first, type => 1, len8 => $l->{size} / 8, gen => 0, tid => 0, source => $code->value_of('source', $s->{source}), cpu => $s->{cpu}, first_ns => $first, last_ns => $last, count => $n, body_len => $len);
	return pack $l->{template}, map { $f{$_} } @{ $l->{names} };
}

# The bytes of a record as they may be told, or undef: kinds that this program does not know, and texts that are on no list, stay here.
sub _redacted {
	my ($self, $code, $bytes) = @_;
	my ($name, $f) = $code->decode(\$bytes, 0);
	if (!defined $name) { $self->{dropped}{'records of kinds that this program does not know'}++; return }
	my $l = $code->layout($name);
	my $text = $l->{template} =~ /[Za]/;
	if ($text && !exists $TEXT{$name}) { $self->{dropped}{ { exec_args => 'command lines', exec_environment => 'environments', input_device => 'names of input devices' }->{$name} // "records '$name'" }++; return }
	my $change = $TEXT{$name};
	my $address = $self->{ep}->manifest->{format}{minor} < $NUMBERED_SINCE ? $ADDRESS{$name} : undef;
	return $bytes if !$change && !$ZERO{$name} && !$address;
	return if $change && !$change->($self, $f);
	$f->{$_} = 0 for @{ $ZERO{$name} // [] };
	$f->{$_} = $self->_number($address->{$_}, $f->{$_}) for sort keys %{ $address // {} };
	return _packed($l, $f);
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
sub diagnosis {
	my ($self) = @_;
	my $d = $self->{d};
	my ($texts, $codes) = map { $_ // [] } @{ $d->{verdict} }{qw(circumstances circumstance_codes)};
	my @keep = grep { ($codes->[$_] // 'called-as') ne 'called-as' } 0 .. $#$texts;
	my %v = (%{ $d->{verdict} }, circumstances => [ @$texts[@keep] ], circumstance_codes => [ @$codes[@keep] ]);
	return { %$d, verdict => \%v, trigger => { %{ $d->{trigger} }, text => Tipme::Latency::words($d->{trigger}{text}) } };
}

# told(): what a bundle holds and what was left out: { names [...], dropped { what => how many } }
sub told { my ($self) = @_; return { names => [ sort keys %{ $self->{names} } ], dropped => $self->{dropped} } }

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
