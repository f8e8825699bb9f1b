# SPDX-License-Identifier: GPL-2.0-only
# The library: the user's episode folders, and a SQLite table of them that is made again from the
# folders at any time.
package Tipme::Library;

use strict;
use warnings;
use Cwd            ();
use Fcntl          qw(:flock O_RDONLY O_RDWR O_CREAT O_NOFOLLOW O_NONBLOCK S_ISREG);
use File::Basename qw(dirname);
use Tipme::Episode ();
use Tipme::Manifest;
use Tipme::Notes     qw(note_of tags_of);
use Tipme::Printable qw(printable);
use Tipme::Words     qw(N__ fill);

our $ID = qr/[0-9]{8}-[0-9]{6}-[0-9a-f]{4}/;
my $APPLICATION_ID = 0x5449504d;    # TIPM
my $AT_A_TIME      = 1000;          # episodes looked at between two commits of the table
my $USUAL_EPISODES = 50;            # how many are looked at for what is usual

our $MACHINE = '/var/lib/tipme';    # a recorder that root has started keeps episodes there, by user

# folder(): where the library of this user lies.
sub folder { return (_places())[0] }

# Our library, and where else episodes of this user may lie: a recorder without root's rights keeps
# them at home, one with them in the machine's folder.
sub _places {
	return $ENV{TIPME_LIBRARY} if defined $ENV{TIPME_LIBRARY} && length $ENV{TIPME_LIBRARY};
	my $machine = "$MACHINE/$<";
	my ($share) = grep { defined && m{\A/} } $ENV{XDG_DATA_HOME},
		defined $ENV{HOME} ? "$ENV{HOME}/.local/share" : undef;
	return $machine if !defined $share;
	return $> && !-e $machine ? ("$share/tipme", $machine) : ($machine, "$share/tipme");
}

# elsewhere(): { folder, ids [...] } of other folders in which this user has episodes
sub elsewhere {
	my ($self) = @_;
	my (undef, @others) = $self->{named} ? () : _places();
	return grep { @{ $_->{ids} } } map { { folder => $_, ids => [ _ids_in($_) ] } } @others;
}

# open(folder => DIR): the library, with its table up to date. Without the folder, or where it
# cannot be written, the table lives in memory: it holds nothing that the folders do not.
sub open {
	my ($class, %o) = @_;
	eval { require DBI; require DBD::SQLite; 1 }
		or die
		"library: the Perl module DBD::SQLite is not installed: install it (Debian: libdbd-sqlite3-perl)\n";
	my $self = bless {
		folder => $o{folder} // folder(), named => defined $o{folder},
		warn => $o{warn} // sub { print STDERR printable($_[0]), "\n" }
	}, $class;
	# Root leaves nothing of its own in a user's library, and reads no table that a stranger made.
	my $there = -d $self->{folder};
	$self->{theirs} = (stat _)[4] if $there && (stat _)[4] != $>;
	my $ours = $there && -w _ && !defined $self->{theirs};
	$self->{unread} = 1 if $there && !$ours;
	$self->{dbh}    = $ours ? $self->_open_file : $self->_open_table(':memory:');
	$self->scan;
	return $self;
}

# unread(): a sentence where the table of this library is not read, so that causes which were found
# before are not known; nothing where it is
sub unread {
	my ($self) = @_;
	return if !$self->{unread};
	return fill(
		N__('{folder} cannot be written: causes that were found before are not read here.'),
		folder => printable($self->{folder})
	) if !defined $self->{theirs};
	return fill(
		N__(
			'{folder} belongs to {owner}: what {owner} has found out before is not read here. '
				. 'Ask as {owner}, or find it out again.'
		),
		folder => printable($self->{folder}),
		owner  => printable(getpwuid($self->{theirs}) // "uid $self->{theirs}")
	);
}

# scan(): a row for each new episode folder, none for those that are gone; answers how many were
# added and dropped.
sub scan {
	my ($self) = @_;
	my %have = map { $_->[0] => $_->[1] }
		@{ $self->{dbh}->selectall_arrayref('SELECT id, stamp FROM episodes') };
	my (@new, %there);
	for my $id ($self->_folders) {
		$there{$id} = 1;
		push @new, $id if !defined $have{$id} || $have{$id} ne _stamp("$self->{folder}/$id");
	}
	# Other programs that look at the library wait while we write: so many rows at a time.
	while (my @some = splice @new, 0, $AT_A_TIME) {
		$self->_in_transaction(sub { $self->_add(@some) });
		$there{added} += @some;
	}
	my @gone = grep { !$there{$_} } sort keys %have;
	$self->_in_transaction(
		sub { $self->{dbh}->do('DELETE FROM episodes WHERE id = ?', undef, $_) for @gone })
		if @gone;
	return ($there{added} // 0, scalar @gone);
}

my $ROWS = <<'SQL';
SELECT e.*, v.kind, v.sentence, v.blamed_comm, v.blamed_pid, v.share, v.confidence, v.interval_ns, v.client_comm
FROM episodes e LEFT JOIN verdicts v ON v.episode_id = e.id
SQL

# episodes(): all rows with their verdicts, newest last.
sub episodes {
	my ($self) = @_;
	return @{ $self->{dbh}->selectall_arrayref("$ROWS ORDER BY e.time, e.id", { Slice => {} }) };
}

# episode(ID): one row, or nothing.
sub episode {
	my ($self, $id) = @_;
	return $self->{dbh}->selectrow_hashref("$ROWS WHERE e.id = ?", undef, $id);
}

# newest(N): the newest N rows, the newest last; count(): of all
sub newest {
	my ($self, $n) = @_;
	return reverse @{
		$self->{dbh}->selectall_arrayref(
			"$ROWS ORDER BY e.time DESC, e.id DESC LIMIT ?", { Slice => {} }, $n
		)
	};
}

sub count {
	my ($self) = @_;
	return scalar $self->{dbh}->selectrow_array('SELECT count(*) FROM episodes');
}

sub _ids {
	my ($self) = @_;
	return @{ $self->{dbh}->selectcol_arrayref('SELECT id FROM episodes ORDER BY time, id') };
}

# folder_of(WHAT): the same as locate, without a look at the library where WHAT is a path;
# folders_of(WHAT ...): of several
sub folder_of { my ($class, $what) = @_; return ($class->folders_of($what))[0] }

sub folders_of {
	my ($class, @what) = @_;
	my $library;
	return map { is_path($_) ? $_ : ($library //= $class->open)->locate($_) } @what;
}

sub is_path { my ($what) = @_; return defined $what && ($what =~ m{/} || -d $what) }

# locate(WHAT): the folder of an episode: a path, an id, the beginning of just one id; nothing or
# `last` is the newest.
sub locate {
	my ($self, $what) = @_;
	my @ids = $self->_ids;
	if (!defined $what || $what eq 'last') {
		return "$self->{folder}/$ids[-1]" if @ids;
		die fill(
			N__('{folder}: no episode there: make one with the hot-key or `tipme snap`'),
			folder => $self->{folder}
		) . "\n";
	}
	return $what if $what =~ m{/} || -d $what;
	die fill(N__('\'\': no episode has an empty name: name one, or say last (see `tipme list`)'))
		. "\n"
		if !length $what;
	my @match = grep { index($_, $what) == 0 } @ids;
	return "$self->{folder}/$match[0]" if length $what && @match == 1;
	my @there = @match || !length $what ? () : map {
		my $e = $_;
		map {"$e->{folder}/$_"} grep { index($_, $what) == 0 } @{ $e->{ids} }
	} $self->elsewhere;
	return $there[0] if @there == 1;
	$what = printable($what);
	die fill(
		N__('{what}: stands for {n} episodes: give more of the id (see `tipme list`)'),
		what => $what, n => scalar @match
		)
		. "\n"
		if @match;
	die fill(
		N__(
			'{what}: no such episode in {folder}: see `tipme list`, or give the path of an episode folder'
		),
		what   => $what,
		folder => $self->{folder}
	) . "\n";
}

# set_verdict(ID, { kind, sentence, blamed_comm, client_comm, blamed_pid, share, confidence,
# interval_ns }): what diagnose found.
sub set_verdict {
	my ($self, $id, $v) = @_;
	my @columns = qw(kind sentence blamed_comm client_comm blamed_pid share confidence interval_ns);
	return 0 if !$self->{dbh}->selectrow_array('SELECT 1 FROM episodes WHERE id = ?', undef, $id);
	my @values = map { $v->{$_} } @columns;
	$_ = printable($_ // '') for @values[ 0 .. 3 ];
	$self->_in_transaction(
		sub {
			$self->{dbh}->do(
					  'INSERT OR REPLACE INTO verdicts (episode_id, '
					. join(', ', @columns)
					. ') VALUES (?'
					. ', ?' x @columns . ')',
				undef, $id, @values
			);
		}
	);
	return 1;
}

# set_usual(ID, { kind, comm, events, median_ns } ...): what was usual in an episode; usual(KIND,
# COMM, NOT ID): (median of the newest episodes' medians, each as often as it has events; how many
# events), or nothing
sub set_usual {
	my ($self, $id, @usual) = @_;
	return 0 if !$self->{dbh}->selectrow_array('SELECT 1 FROM episodes WHERE id = ?', undef, $id);
	$self->_in_transaction(
		sub {
			$self->{dbh}->do('DELETE FROM usual WHERE episode_id = ?', undef, $id);
			$self->{dbh}->do(
				'INSERT OR REPLACE INTO usual (episode_id, kind, comm, events, median_ns) VALUES (?, ?, ?, ?, ?)',
				undef, $id, printable($_->{kind}), printable($_->{comm}), @$_{qw(events median_ns)}
			) for @usual;
		}
	);
	return 1;
}

sub usual {
	my ($self, $kind, $comm, $not) = @_;
	my $rows = $self->{dbh}->selectall_arrayref(
		'SELECT u.median_ns, u.events FROM usual u JOIN episodes e ON e.id = u.episode_id WHERE u.kind = ? AND u.comm = ? AND u.episode_id <> ? '
			. "ORDER BY e.time DESC, e.id DESC LIMIT $USUAL_EPISODES", undef, $kind,
		printable($comm), $not // ''
	);
	my ($n, $sum) = (0, 0);
	$n += $_->[1] for @$rows;
	for (sort { $a->[0] <=> $b->[0] } @$rows) {
		$sum += $_->[1];
		return ($_->[0], $n) if 2 * $sum >= $n;
	}
	return;
}

# id_of(DIR): the id, if DIR is an episode folder of this library.
sub id_of {
	my ($self, $dir) = @_;
	my ($here, $there) = map { Cwd::realpath($_) } $self->{folder}, $dir;
	return defined $here && defined $there && $there =~ m{^\Q$here\E/($ID)$} ? $1 : undef;
}

sub _folders { my ($self) = @_; return _ids_in($self->{folder}) }

sub _ids_in {
	my ($folder) = @_;
	opendir my $dh, $folder or return;
	# One look at each: a link is no folder for lstat.
	return sort grep { /^$ID\z/ && lstat("$folder/$_") && -d _ } readdir $dh;
}

# Size, time and number of the manifest, the note and the tags: they change when the episode does.
my @STAMPED = qw(manifest.json note.txt tags.txt);

sub _stamp {
	my ($dir) = @_;
	return _stamp_of(map { [ lstat "$dir/$_" ] } @STAMPED);
}

sub _stamp_of {
	return join ' ', map { $_ && @$_ ? join(',', @$_[ 1, 7, 9 ]) : '-' } @_;
}

my @COLUMNS =
	qw(problem time kernel cpus note tags trigger_kind trigger_text trigger_ns records lost bytes);

my %ABSENT = (
	(map { $_ => '' } @COLUMNS), (map { $_ => 0 } qw(records lost bytes)),
	cpus => undef, trigger_ns => undef
);

# Not REPLACE: that would take the verdict with it.
my $ADD =
	  'INSERT INTO episodes (id, stamp, '
	. join(', ', @COLUMNS)
	. ') VALUES (?, ?'
	. ', ?' x @COLUMNS . ') '
	. 'ON CONFLICT (id) DO UPDATE SET stamp = excluded.stamp, '
	. join(', ', map {"$_ = excluded.$_"} @COLUMNS);

sub _add {
	my ($self, @ids) = @_;
	my $add = $self->{dbh}->prepare_cached($ADD);
	for my $id (@ids) {
		my $dir   = "$self->{folder}/$id";
		my $files = _files($dir);
		my $row   = eval { _facts($dir, $files) } // { problem => _reason($@) };
		# The time of a damaged episode is still known: it stands in the name.
		$row->{time} ||= sprintf '%s-%s-%sT%s:%s:%sZ',
			$id =~ /^(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)/;
		my @values = map { $row->{$_} // $ABSENT{$_} } @COLUMNS;
		$add->execute($id, _stamp_of(@$files{@STAMPED}), @values);
	}
	return;
}

# What the list shows of an episode: from its manifest alone, since opening its files takes ten
# times as long. What is wrong inside them is said by whoever reads them; that one is missing is
# said here.
sub _facts {
	my ($dir, $files) = @_;
	$files //= _files($dir);
	my %size = map { S_ISREG($files->{$_}[2]) ? ($_ => $files->{$_}[7]) : () } keys %$files;
	# English: it is kept in the library.
	die "$dir: not an episode (no manifest.json): `tipme list` shows the episodes\n"
		if !exists $size{'manifest.json'};
	my $m       = Tipme::Manifest->facts($dir);
	my @missing = grep { !exists $size{$_} } 'schema', map { $_->{file} } @{ $m->{sources} };
	my %row     = (
		problem => @missing ? "$missing[0]: is missing, or no plain file" : '',
		time    => _text($m->{time}), kernel => _text($m->{kernel}), cpus => _count($m->{cpus}),
		note    => exists $size{'note.txt'} ? note_of($dir)            : '',
		tags    => exists $size{'tags.txt'} ? join(' ', tags_of($dir)) : ''
	);
	my $t = $m->{trigger};
	@row{qw(trigger_kind trigger_text trigger_ns)} =
		(_text($t->{kind}), _text($t->{text}), _count($t->{ns}));
	for my $s (@{ $m->{sources} }) {
		$row{records} += _count($_->{records})
			for grep { ref eq 'HASH' } @{ ref $s->{coverage} eq 'ARRAY' ? $s->{coverage} : [] };
		my $lost = ref $s->{lost} eq 'HASH' ? $s->{lost} : {};
		$row{lost} += _count($lost->{$_})
			for grep { $lost->{$_} && !Tipme::Episode::lost_stack($_) } keys %$lost;
	}
	$row{bytes} += $_ for values %size;
	return \%row;
}

# What is right in DIR, as lstat tells of it; one look at each.
sub _files {
	my ($dir) = @_;
	opendir my $dh, $dir or return {};
	my %files;
	for my $name (readdir $dh) {
		next if $name eq '.' || $name eq '..';
		my @s = lstat "$dir/$name" or next;
		$files{$name} = \@s;
	}
	return \%files;
}

sub _text  { return ref $_[0] || !defined $_[0] ? '' : printable($_[0]) }
sub _count { return defined $_[0] && !ref $_[0] && $_[0] =~ /^[0-9]{1,18}\z/ ? $_[0] + 0 : 0 }

# The user's sentence, without Perl's place.
sub _reason {
	my $why = printable($_[0]);
	$why =~ s/ at \S+ line \d+\.?\s*\z//;
	$why =~ s/\s+/ /g;
	return $why;
}

# --- the table ---

# One at a time: who finds a damaged table sets it aside, and nobody else has it open half way.
sub _open_file {
	my ($self) = @_;
	my $file = "$self->{folder}/library.sqlite";
	sysopen my $lock, "$self->{folder}/library.lock", O_RDWR | O_CREAT | O_NOFOLLOW, 0600
		or die
		"library: $self->{folder}/library.lock: $!: give the folder to yourself, or name another in TIPME_LIBRARY\n";
	flock $lock, LOCK_EX;
	my $old = umask 077;
	my $dbh = eval { $self->_open_table($file) };
	if (!$dbh) {
		my $why = $@;
		if (   $why =~ /newer tipme/
			|| $why !~ /malformed|not a database|corrupt|not a tipme library|disk image/)
		{
			umask $old;
			die $why;
		}
		$self->_set_aside($file, $why);
		$dbh = $self->_open_table($file);
	}
	umask $old;
	return $dbh;
}

sub _open_table {
	my ($self, $file) = @_;
	my $dbh = DBI->connect(
		"dbi:SQLite:dbname=$file", '', '',
		{
			RaiseError => 1, PrintError => 0, AutoCommit => 1, sqlite_unicode => 1,
			sqlite_use_immediate_transaction => 1
		}
	);
	$dbh->sqlite_busy_timeout(10_000);
	my ($check) = $dbh->selectrow_array('PRAGMA quick_check(1)');
	die "$file: corrupt: $check\n"        if $check ne 'ok';
	$dbh->do('PRAGMA journal_mode = WAL') if $file ne ':memory:';
	$dbh->do('PRAGMA foreign_keys = ON');
	_migrate($dbh, $file);
	return $dbh;
}

# The numbered files of schema/, each in one transaction with the number that says it is done.
sub _migrate {
	my ($dbh, $file) = @_;
	my ($id)     = $dbh->selectrow_array('PRAGMA application_id');
	my ($at)     = $dbh->selectrow_array('PRAGMA user_version');
	my ($tables) = $dbh->selectrow_array('SELECT count(*) FROM sqlite_master');
	die "$file: not a tipme library\n" if $id != $APPLICATION_ID && ($id || $at || $tables);
	my @steps = _schema_files();
	die
		"library: $file was written by a newer tipme (schema $at, this one knows $steps[-1][0]): update tipme\n"
		if $at > $steps[-1][0];
	for my $step (grep { $_->[0] > $at } @steps) {
		_transaction(
			$dbh,
			sub {
				$dbh->do($_) for _statements($step->[1]), "PRAGMA application_id = $APPLICATION_ID",
					"PRAGMA user_version = $step->[0]";
			}
		);
	}
}

# schema/ lies beside lib/ in the source tree, and beside the installed modules.
sub _schema_files {
	my $base  = dirname(__FILE__);
	my ($dir) = grep {-d} "$base/../../schema", "$base/../schema";
	die "library: no folder schema near $base: install tipme again\n" if !defined $dir;
	opendir my $dh, $dir or die "library: $dir: $!: install tipme again\n";
	return map { /^(\d{4})-/ ? [ $1 + 0, "$dir/$_" ] : () } sort grep {/\.sql$/} readdir $dh;
}

sub _statements {
	my ($file) = @_;
	CORE::open my $fh, '<:encoding(UTF-8)', $file
		or die "library: $file: $!: install tipme again\n";
	my $text = do { local $/ = undef; <$fh> };
	$text =~ s/^--.*$//mg;
	return grep {/\S/} split /;\s*$/m, $text;
}

sub _set_aside {
	my ($self, $file, $why) = @_;
	my $n = 1;
	$n++ while -e "$file.damaged-$n";
	rename $file, "$file.damaged-$n"
		or die "library: $file is damaged and cannot be set aside: $!: remove it\n";
	# The log of changes belongs to the damaged table; a new one must not find it.
	for my $log (grep { -e "$file$_" } qw(-wal -shm)) {
		rename "$file$log", "$file.damaged-$n$log"
			or die "library: $file$log cannot be set aside: $!: remove it\n";
	}
	$self->{warn}->('tipme: library: its table was damaged ('
			. _reason($why)
			. "): kept as $file.damaged-$n, made again from the folders");
}

sub _in_transaction { return _transaction($_[0]{dbh}, $_[1]) }

sub _transaction {
	my ($dbh, $do) = @_;
	$dbh->begin_work;
	return if eval { $do->(); $dbh->commit; 1 };
	my $why = $@;
	eval { $dbh->rollback };
	die $why;
}

1;
