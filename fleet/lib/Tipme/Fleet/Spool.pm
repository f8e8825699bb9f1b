# SPDX-License-Identifier: GPL-2.0-only
# The spool folder: whatever transport a fleet has puts bundles there; here they become rows.
#
# A file is taken by locking it, so many workers may run, and one that dies leaves nothing behind:
# its rows are there as a whole or not at all, and the file is taken again. A row that is there
# already stays one. What cannot be a bundle goes to `refused/`, with the reason beside it.
#
# Whoever may write there can put anything there, under any name: a link or a folder of theirs is
# never written into. What cannot be read or put aside stays, and is counted.
package Tipme::Fleet::Spool;

use strict;
use warnings;
use Fcntl qw(:flock :mode O_RDONLY O_WRONLY O_CREAT O_EXCL O_NOFOLLOW O_NONBLOCK O_DIRECTORY);
use POSIX ();
use Tipme::Fleet::Database;
use Tipme::Fleet::Lag qw(of_bundle of_presence of_counts);
use Tipme::Printable  qw(one_line);

# Unit: files. One transaction, and so many locked files at once.
my $BATCH = 64;
# Unit: seconds. A file that ends too early and is younger than this may still be written.
my $YOUNG_S  = 600;
my $BUNDLE   = qr/\A[^.].*\.tipme\z/s;
my $PRESENCE = qr/\A[^.].*\.tipme-presence\z/s;
my $COUNTS   = qr/\A[^.].*\.tipme-counts\z/s;
my @COUNTED  = qw(new known refused young);
my %ROWS     = (lags => \&of_bundle, presence => \&of_presence, counts => \&of_counts);

# new(FOLDER, database => NAME, jobs => N, fleet => NAME, keep => 1: taken files go to `taken/`, not
# away, now => SECONDS since 1970). Dies where FOLDER is none.
sub new {
	my ($class, $folder, %o) = @_;
	die "$folder: is no folder: name the spool that your transport fills\n" if !-d $folder;
	return bless { folder => $folder, jobs => 1, %o }, $class;
}

# take(): all that lies there now. Returns { new, known, refused, young, stuck }: rows that were
# added, that were there, files that were refused, that may not be whole yet, that can neither be
# read nor put where they belong. Dies where the database does not do its part; what was not taken
# then stays.
sub take {
	my ($self) = @_;
	my $jobs = $self->{jobs};
	if ($jobs <= 1) {
		my $did = $self->_work(0);
		return { %$did, stuck => scalar keys %{ $did->{stuck} } };
	}
	my @pipes = map { $self->_start($_) } 0 .. $jobs - 1;
	my (%sum, %stuck, $failed);
	for my $pipe (@pipes) {
		while (my $line = readline $pipe) {
			if    ($line =~ /\Astuck (.*)/)   { $stuck{$1} = 1 }
			elsif ($line =~ /\A(\w+) (\d+)$/) { $sum{$1} += $2 }
			elsif ($line =~ /\Adied (.*)/)    { $failed //= $1 }
		}
		close $pipe or $failed //= 'a worker was ended';
	}
	die "$failed\n" if defined $failed;
	return { (map { $_ => $sum{$_} // 0 } @COUNTED), stuck => scalar keys %stuck };
}

# A worker as a process of its own, which says what it did through a pipe.
sub _start {
	my ($self, $n) = @_;
	my $pid = open my $pipe, '-|';
	die "no process for a worker: $!\n" if !defined $pid;
	return $pipe                        if $pid;
	my $did = eval { $self->_work($n) };
	if ($did) {
		print map {"$_ $did->{$_}\n"} @COUNTED;
		# Another worker may have met the same one; a name may hold anything.
		print map { 'stuck ' . unpack('H*', $_) . "\n" } keys %{ $did->{stuck} };
	} else {
		print 'died ' . one_line($@ =~ s/\s+\z//r) . "\n";
	}
	close STDOUT;
	POSIX::_exit(0);
}

sub _work {
	my ($self, $n) = @_;
	$self->{db} = Tipme::Fleet::Database->open($self->{database}, write => 1);
	my %did   = ((map { $_ => 0 } @COUNTED), stuck => {});
	my @names = $self->_names;
	# Workers begin at different places, so that they seldom want the same file.
	push @names, splice @names, 0, int(@names * $n / $self->{jobs});
	while (my @some = splice @names, 0, $BATCH) { $self->_take_batch(\%did, @some) }
	return \%did;
}

sub _names {
	my ($self) = @_;
	opendir my $d, $self->{folder} or die "$self->{folder}: $!\n";
	return sort grep { $_ =~ $BUNDLE || $_ =~ $PRESENCE || $_ =~ $COUNTS } readdir $d;
}

sub _take_batch {
	my ($self, $did, @names) = @_;
	my (%rows, @taken, @locks);
	for my $name (@names) {
		my $lock  = $self->_lock($name, $did) or next;
		my $table = $name =~ $PRESENCE ? 'presence' : $name =~ $COUNTS ? 'counts' : 'lags';
		my @found = eval { $ROWS{$table}->("$self->{folder}/$name", fleet => $self->{fleet}) };
		if (!@found) { $self->_refuse($name, $@, $did); next }
		push @locks,             $lock;
		push @taken,             $name;
		push @{ $rows{$table} }, @found;
	}
	for my $table (sort keys %rows) {
		my $new = $self->{db}->add($table, @{ $rows{$table} });
		$did->{new}   += $new;
		$did->{known} += @{ $rows{$table} } - $new;
	}
	$self->_done($_) or $did->{stuck}{$_} = 1 for @taken;
	return;
}

# The open file, or nothing where another worker has it or had it.
sub _lock {
	my ($self, $name, $did) = @_;
	my $file = "$self->{folder}/$name";
	my $in;
	if (!sysopen $in, $file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK) {
		$did->{stuck}{$name} = 1 if !$!{ENOENT};
		return;
	}
	return if !flock $in, LOCK_EX | LOCK_NB;
	# Taken by another between our look and our lock: the name is gone, or is another file's.
	my @of = ((stat $in)[ 0, 1 ], (lstat $file)[ 0, 1 ]);
	return if @of < 4 || $of[0] != $of[2] || $of[1] != $of[3];
	return $in;
}

# Whether it could be put where it belongs.
sub _done {
	my ($self, $name) = @_;
	return $self->_move($name, 'taken') if $self->{keep};
	return unlink "$self->{folder}/$name";
}

# Aside, with the reason, and counted; what may still be written stays.
sub _refuse {
	my ($self, $name, $why, $did) = @_;
	my $age = ($self->{now} // time) - ((lstat "$self->{folder}/$name")[9] // 0);
	return $did->{young}++
		if $age < $YOUNG_S && $why =~ /was cut|is damaged|not a bundle|no manifest/;
	$why =~ s/\A\Q$self->{folder}\E\///;
	my $to = $self->_move($name, 'refused') or return $did->{stuck}{$name} = 1;
	$did->{refused}++;
	unlink "$to/$name.why";
	sysopen my $out, "$to/$name.why", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600
		or die "$self->{folder}/refused: $!\n";
	print {$out} one_line($why =~ s/\s+\z//r) . "\n" and close $out
		or die "$self->{folder}/refused: $!: is the disk full?\n";
	return;
}

# The path of the folder where it is now, or nothing: then it stays where it was.
sub _move {
	my ($self, $name, $to) = @_;
	my $folder = $self->_own_folder($to) or return;
	rename "$self->{folder}/$name", "$folder/$name" or return;
	return $folder;
}

# A folder in the spool that nobody else can write to, as a path that stays with it, whatever is
# put under its name meanwhile; nothing where that name is a link or another's.
sub _own_folder {
	my ($self, $name) = @_;
	my $folder = "$self->{folder}/$name";
	mkdir $folder, 0700;
	my $in = $self->{own}{$name};
	if (!$in) {
		sysopen $in, $folder, O_RDONLY | O_NOFOLLOW | O_DIRECTORY or return;
		my ($mode, $owner) = (stat $in)[ 2, 4 ];
		return if $owner != $> || $mode & (S_IWGRP | S_IWOTH);
		$self->{own}{$name} = $in;
	}
	return "/proc/self/fd/" . fileno $in;
}

1;
