# SPDX-License-Identifier: GPL-2.0-only
# A PostgreSQL of the test's own: Debian's server, as an unprivileged user, on a socket in its
# folder and on a free port of loopback.
package Tipme::Test::Postgres;

use strict;
use warnings;
use File::Temp qw(tempdir);
use IO::Socket::INET;

# missing(): what keeps a server from running here, or undef
sub missing {
	return 'no PostgreSQL here: install postgresql'  if !defined _bin();
	return 'no DBD::Pg here: install libdbd-pg-perl' if !eval { require DBD::Pg; 1 };
	return 'no setpriv here: install util-linux' if !$> && system 'command -v setpriv > /dev/null';
	return;
}

sub _bin {
	return (sort { $b cmp $a } glob '/usr/lib/postgresql/*/bin')[0];
}

# new(safe => 1): a server that runs; it ends with the object. `safe`: it waits for the disk.
sub new {
	my ($class, %o) = @_;
	my $dir  = tempdir('tipme-pg-XXXXXX', TMPDIR => 1, CLEANUP => 1);
	my $self = bless { dir => $dir, owner => $$ }, $class;
	if (!$>) {
		chown scalar(getpwnam 'nobody'), scalar(getgrnam 'nogroup'), $dir or die "$dir: $!\n";
	}
	$self->_run(
		'initdb', '-D', "$dir/data", '-A', 'trust', '-U', 'postgres', '-N', '--no-locale',
		'-E',     'UTF8'
	);
	open my $conf, '>>', "$dir/data/postgresql.conf" or die "$!\n";
	print {$conf}
		"unix_socket_directories = '$dir'\nlisten_addresses = '127.0.0.1'\nmax_connections = 40\n",
		$o{safe} ? '' : "fsync = off\nfull_page_writes = off\n";
	close $conf or die "$!\n";
	$self->start;
	return $self;
}

# As who owns the files: never root.
sub _run {
	my ($self, $program, @args) = @_;
	my @as = $> ? () : qw(setpriv --reuid=nobody --regid=nogroup --clear-groups --);
	local $ENV{LC_ALL} = 'C.UTF-8';
	my $log     = "$self->{dir}/log";
	my $command = join ' ', map {quotemeta} @as, _bin() . "/$program", @args;
	chdir '/';
	return if !system "$command >> $log.$program 2>&1 < /dev/null";
	die "$program: " . qx{tail -n 20 $log.$program};
}

sub start {
	my ($self) = @_;
	my $probe = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 1) or die "no port: $!\n";
	$self->{port} = $probe->sockport;
	close $probe;
	$self->_run(
		'pg_ctl', '-D', "$self->{dir}/data", '-o', "-p $self->{port}", '-w', '-l',
		"$self->{dir}/server.log", 'start'
	);
	return;
}

# kill_now(): as if the machine lost its power, but for the page cache
sub kill_now {
	my ($self) = @_;
	open my $in, '<', "$self->{dir}/data/postmaster.pid" or die "$!\n";
	chomp(my $pid = <$in>);
	kill 'KILL', $pid;
	select undef, undef, undef, 0.05 while kill 0, $pid;
	# Its children notice, and end; only then may another begin.
	select undef, undef, undef, 0.05
		while grep { ($_->[1] // '') eq 'postgres' && $_->[2] } _of_group($self->{dir});
	return;
}

# Processes whose working folder is the server's.
sub _of_group {
	my ($dir) = @_;
	return map {
		my $to = readlink "$_/cwd";
		defined $to && $to =~ m{\A\Q$dir\E/} ? [ $_, 'postgres', 1 ] : ()
	} glob '/proc/[0-9]*';
}

sub stop {
	my ($self) = @_;
	eval { $self->_run('pg_ctl', '-D', "$self->{dir}/data", '-m', 'immediate', '-w', 'stop') };
	return;
}

# name(USER): as `--db` takes it
sub name {
	my ($self, $user) = @_;
	return "pg:host=$self->{dir};port=$self->{port};dbname=postgres;user=" . ($user // 'postgres');
}
sub port { return $_[0]{port} }

sub DESTROY { my ($self) = @_; local ($?, $@); $self->stop if $self->{owner} == $$; return }

1;
