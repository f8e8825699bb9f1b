# SPDX-License-Identifier: GPL-2.0-only
# The index of an episode: all records of all sources merged by time in a Berkeley DB, for looks at
# a stretch of time.
# It is a cache: whatever is doubtful about it, it is built again from the record files.
package Tipme::Index;

use strict;
use warnings;
use Fcntl            qw(:flock O_RDWR O_CREAT O_NOFOLLOW O_EXCL O_WRONLY O_RDONLY);
use Cpanel::JSON::XS ();
use Digest::SHA      qw(sha256_hex hmac_sha256_hex);
use File::Temp       ();
use Tipme::Index::Merge;
use Tipme::Library;

my $VERSION = 1;
my $BLOCK =
	336;    # records under one key: packing is what makes the index fast; as many as fill a page
my $META_KEY = "\xff" x 16;    # behind every time
my $PAGE     = 16_384;         # bytes of a page of the table
my $CACHE    = 16 << 20;       # bytes in memory

# open(EPISODE): the index, built if there is none that this user's tipme made from these very
# files.
sub open {
	my ($class, $episode) = @_;
	eval { require BerkeleyDB; 1 }
		or die
		"index: the Perl module BerkeleyDB is not installed: install it (Debian: libberkeleydb-perl)\n";
	my $self = bless { episode => $episode, token => _token() }, $class;
	$self->_choose_folder;
	my $lock = $self->_lock;
	$self->{raw} = $self->_raw_digest;
	$self->_use_existing or $self->_build;
	return $self;
}

# count(), disordered(): records in it; records left out because their time ran back too far.
# built(): 1 if it was made just now.
sub count      { return $_[0]{stamp}{count} }
sub disordered { return $_[0]{stamp}{disordered} }
sub built      { return $_[0]{built} ? 1 : 0 }
sub file       { return "$_[0]{folder}/index.db" }

# each(FROM, TO, CALLBACK): all records of [FROM, TO) in order of time; FROM or TO may be undef.
# CALLBACK gets the record's bytes and
# { ts, file, offset, source, cpu }; it ends the walk by returning something true.
sub each {
	my ($self, $from, $to, $cb) = @_;
	my ($key, $block) = (pack('Q>', $from // 0), '');
	my $cursor = $self->{db}->db_cursor or die $self->file . ": no cursor: $BerkeleyDB::Error\n";
	my $status = $cursor->c_get($key, $block, BerkeleyDB::DB_SET_RANGE());
	# The block before may reach into the range; those before that end before it begins.
	if ($status == 0) {
		my ($k, $b) = ($key, $block);
		($key, $block) = ($k, $b) if $cursor->c_get($k, $b, BerkeleyDB::DB_PREV()) == 0;
	}
	while ($status == 0 && $key ne $META_KEY) {
		return if $self->_each_of_block(\$block, $from, $to, $cb);
		$status = $cursor->c_get($key, $block, BerkeleyDB::DB_NEXT());
	}
	die $self->file
		. ": cannot be read: $BerkeleyDB::Error: run the command again, the index is then made anew\n"
		if $status != 0 && $status != BerkeleyDB::DB_NOTFOUND();
}

sub _each_of_block {
	my ($self, $block, $from, $to, $cb) = @_;
	my ($at, $end, $head) = (0, length $$block, $Tipme::Index::Merge::HEAD);
	while ($at < $end) {
		my ($ts, $file, $off, $source, $cpu) = unpack $Tipme::Index::Merge::TEMPLATE,
			substr $$block, $at, $head;
		my $len = 8 * vec $$block, $at + $head + 9, 8;
		return 1 if defined $to && $ts >= $to;
		if (!defined $from || $ts >= $from) {
			my %where = (
				ts => $ts, file => $self->{stamp}{files}[$file], offset => 8 * $off, cpu => $cpu,
				source => $self->{stamp}{sources}[$source]
			);
			return 1 if $cb->(substr($$block, $at + $head, $len), \%where);
		}
		$at += $head + $len;
	}
	return 0;
}

# --- where it lies, and whose it is ---

# In the episode, if that is our own; else in a folder that ends with us: root must leave nothing of
# its own in a user's episode.
sub _choose_folder {
	my ($self) = @_;
	my $dir    = $self->{episode}->dir;
	my @s      = stat $dir;
	if (!@s || $s[4] != $> || !-w $dir) {
		$self->{temp}   = File::Temp->newdir('tipme-index-XXXXXX', TMPDIR => 1);
		$self->{folder} = $self->{temp}->dirname;
		return;
	}
	$self->{folder} = "$dir/cache";
	die "$self->{folder}: is a link: an episode holds plain folders only: remove it\n"
		if -l $self->{folder};
	mkdir $self->{folder}, 0700
		or -d $self->{folder}
		or die "$self->{folder}: $!: is the disk full?\n";
	# A strange `cache` is not followed nor believed; what belongs to another user cannot be
	# replaced, either.
	die "$self->{folder}: belongs to another user: remove it\n" if (stat $self->{folder})[4] != $>;
}

# Held while looking and building, so that a second reader waits and then takes the first one's; it
# ends with the process.
sub _lock {
	my ($self) = @_;
	sysopen my $fh, "$self->{folder}/index.lock", O_RDWR | O_CREAT | O_NOFOLLOW, 0600
		or die "$self->{folder}/index.lock: $!: remove the folder $self->{folder}\n";
	flock $fh, LOCK_EX or die "$self->{folder}/index.lock: $!\n";
	return $fh;
}

# A random number of this user: with it we sign the stamps of the indexes that we made, so that none
# from elsewhere is opened.
sub _token {
	my ($dir) = grep { -d && -w _ && (stat _)[4] == $> } Tipme::Library::folder();
	$dir //= _state_folder();
	my $file = "$dir/index.token";
	for (1, 2) {
		if (sysopen my $in, $file, O_RDONLY | O_NOFOLLOW) {
			sysread $in, my $token, 64;
			return $token if defined $token && length $token == 64 && (stat $in)[4] == $>;
			unlink $file;
		}
		_write_token($file);
	}
	die "$file: cannot be read: remove it\n";
}

sub _state_folder {
	my $dir = ($ENV{XDG_STATE_HOME} // ($ENV{HOME} // '/nonexistent') . '/.local/state') . '/tipme';
	require File::Path;
	File::Path::make_path($dir, { mode => 0700, error => \my $problems });
	return $dir if -d $dir && -w _;
	die
		"index: no place to remember that an index is ours: make $dir, or name a folder in XDG_STATE_HOME\n";
}

# Whole or not at all, and whoever came first has made it.
sub _write_token {
	my ($file) = @_;
	CORE::open my $random, '<:raw', '/dev/urandom' or die "/dev/urandom: $!\n";
	sysread $random, my $bytes, 32;
	my $new = "$file.$$";
	unlink $new;
	sysopen my $out, $new, O_WRONLY | O_CREAT | O_EXCL, 0600 or die "$new: $!: is the disk full?\n";
	(syswrite($out, unpack 'H*', $bytes) // 0) == 64 && close $out
		or die "$new: $!: is the disk full?\n";
	link $new, $file;
	unlink $new;
}

# --- is the one that is there good? ---

sub _use_existing {
	my ($self) = @_;
	my $stamp  = $self->_read_stamp or return 0;
	my $index  = _file_digest($self->file);
	return 0 if !defined $index || $stamp->{index} ne $index;
	$self->{stamp} = $stamp;
	return $self->_attach;
}

sub _read_stamp {
	my ($self) = @_;
	sysopen my $fh, "$self->{folder}/index.stamp", O_RDONLY | O_NOFOLLOW or return;
	return if -s $fh > 65_536;
	my $text = do { local $/ = undef; <$fh> };
	my ($hmac, $json) = ($text // '') =~ /\A([0-9a-f]{64}) (\{.*\})\n\z/s or return;
	return if $hmac ne hmac_sha256_hex($json, $self->{token});
	my $stamp = eval { Cpanel::JSON::XS->new->utf8->decode($json) } or return;
	return if $stamp->{version} != $VERSION || $stamp->{raw} ne $self->{raw};
	return $stamp;
}

# Opened only when the stamp says that these bytes are ours; the last record must say the same as
# the stamp.
sub _attach {
	my ($self) = @_;
	no warnings 'once';
	my $db = BerkeleyDB::Btree->new(
		-Filename  => $self->file, -Flags => BerkeleyDB::DB_RDONLY(),
		-Cachesize => $CACHE
	) or return 0;
	my $meta = '';
	return 0 if $db->db_get(my $key = $META_KEY, $meta) != 0 || $meta ne _meta($self->{stamp});
	$self->{db} = $db;
	return 1;
}

# What the last record of the database says: a database without it was never finished.
sub _meta {
	my ($stamp) = @_;
	return Cpanel::JSON::XS->new->canonical->ascii->encode(
		{ map { $_ => $stamp->{$_} } qw(version count raw disordered) });
}

# The record files and the schema, by name, size and content.
sub _raw_digest {
	my ($self) = @_;
	my $dir = $self->{episode}->dir;
	return sha256_hex(
		join '',
		map      { "$_ " . (_file_digest("$dir/$_") // 'missing') . "\n" } 'schema',
		sort map { $_->{name} } $self->{episode}->files
	);
}

sub _file_digest {
	my ($path) = @_;
	sysopen my $fh, $path, O_RDONLY | O_NOFOLLOW or return;
	binmode $fh;
	return Digest::SHA->new(256)->addfile($fh)->hexdigest . ' ' . (-s $fh);
}

# --- building ---

# Beside, then renamed; the stamp after it. A crash in between leaves an index without its stamp,
# which is built again.
sub _build {
	my ($self) = @_;
	my $new = $self->file . '.tmp';
	unlink grep { -e || -l } $new, "$self->{folder}/index.stamp", "$self->{folder}/index.stamp.tmp";
	$self->{stamp} = $self->_fill($new);
	_sync($new);
	rename $new, $self->file or die $self->file . ": $!: is the disk full?\n";
	$self->{stamp}{index} = _file_digest($self->file);
	$self->_write_stamp;
	$self->_attach or die $self->file . ": cannot be read back: $BerkeleyDB::Error\n";
	$self->{built} = 1;
}

sub _fill {
	my ($self, $new) = @_;
	my $full = sub { die "$new: $BerkeleyDB::Error: is the disk full?\n" };
	my $old  = umask 077;
	my $db   = BerkeleyDB::Btree->new(
		-Filename => $new, -Flags => BerkeleyDB::DB_CREATE() | BerkeleyDB::DB_EXCL(), -Mode => 0600,
		-Property => BerkeleyDB::DB_CHKSUM(), -Pagesize => $PAGE, -Cachesize => $CACHE
	);
	umask $old;
	$full->() if !$db;
	my ($n, $blocks) = (0, 0);
	my $merge = Tipme::Index::Merge->new($self->{episode});
	my $put   = sub {
		my ($entries) = @_;
		my ($ts, undef, undef, undef, $cpu) = unpack $Tipme::Index::Merge::TEMPLATE, $entries->[0];
		# Numbered as well: many records of one CPU may have the same time.
		$db->db_put(pack('Q>S>N', $ts, $cpu, $blocks++), join '', @$entries) == 0 or $full->();
		$n += @$entries;
	};
	$merge->run($BLOCK, $put);
	my $stamp = {
		version => $VERSION, count => $n, disordered => $merge->disordered, raw => $self->{raw},
		files   => $merge->files, sources => $merge->sources
	};
	$db->db_put(my $key = $META_KEY, _meta($stamp)) == 0 && $db->db_sync == 0 or $full->();
	$db->db_close == 0                                                        or $full->();
	return $stamp;
}

sub _write_stamp {
	my ($self) = @_;
	my $json   = Cpanel::JSON::XS->new->canonical->ascii->encode($self->{stamp});
	my $file   = "$self->{folder}/index.stamp";
	sysopen my $fh, "$file.tmp", O_WRONLY | O_CREAT | O_EXCL, 0600
		or die "$file.tmp: $!: is the disk full?\n";
	print {$fh} hmac_sha256_hex($json, $self->{token}), " $json\n";
	close $fh or die "$file.tmp: $!: is the disk full?\n";
	_sync("$file.tmp");
	rename "$file.tmp", $file or die "$file: $!\n";
}

sub _sync {
	my ($file) = @_;
	require IO::Handle;
	CORE::open my $fh, '+<', $file or die "$file: $!\n";
	$fh->sync or die "$file: $!: is the disk full?\n";
}

1;
