# SPDX-License-Identifier: GPL-2.0-only
# Strangers at the socket: rubbish, floods, peers that do not read, X servers that lie. Recording goes on.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use IPC::Open2 qw(open2);
use JSON::PP ();
use Socket;
use Test::More;
use Time::HiRes qw(sleep);
use Tipme::TestDaemon qw(slurp tipme records_of wait_until);

plan skip_all => 'recording needs root (run it with sudo)' if $>;
my $d = Tipme::TestDaemon->new(args => [ '--post', 0 ]);
my ($rc, undef, $err) = $d->start;
is $rc, 0, 'start' or BAIL_OUT("no recorder: $err");
my $pid = $d->pid;
my $fds = fds();

# Rubbish.
srand 1996;
my $c = $d->connection;
my $answers = 0;
for (1 .. 2000) {
	my $bytes = join '', map { chr int rand 256 } 0 .. rand 80;
	substr $bytes, 0, 4, pack 'L<', 0x4d504954 if rand() < 0.5 && length $bytes > 20;
	send($c, $bytes, 0) // last;
	my (undef, $error) = Tipme::TestDaemon::answer($c);
	$answers++ if $error;
}
is $answers, 2000, '2000 times rubbish: each answered by an error';
send $c, pack('L< S< S< L< L<', 0x4d504954, 1, 999, 0, 0), 0;
is_deeply [ (Tipme::TestDaemon::answer($c))[ 0, 1 ] ], [ 16, 38 ], 'an unknown verb: ENOSYS';
send $c, pack('L< S< S< L< L<', 0x4d504954, 2, 3, 0, 0), 0;
is +(Tipme::TestDaemon::answer($c))[1], 93, 'another version: EPROTONOSUPPORT';
send $c, Tipme::TestDaemon::message(3, 0, 'x' x 65000), 0;
is +(Tipme::TestDaemon::answer($c))[1], 0, 'the longest message is taken';
send $c, pack('L< S< S< L< L<', 0x4d504954, 1, 3, 0, 65001) . 'x' x 65001, 0;
is +(Tipme::TestDaemon::answer($c))[1], 90, 'one byte more is not: EMSGSIZE';
close $c;

# A peer that asks and never reads.
my $deaf = $d->connection;
my $flags = 0;
for (1 .. 3000) { send($deaf, Tipme::TestDaemon::message(3, 0, ''), MSG_DONTWAIT) // last }
is $d->status->{pid}, $pid, 'a peer that never reads hinders nobody';
close $deaf;

# Many connections.
my @many = grep { defined } map { $d->connection } 1 .. 80;
my ($full_rc, undef, $full) = $d->run(tipme(), 'status');
like $full, qr/too many connections/, 'when all places are taken, that is said';
close $_ for @many;
@many = ();
is $d->status->{pid}, $pid, 'when they are gone, all is well';

# X servers.
my ($good, $good_in, $good_out) = x_client('good');
like $good_out, qr/^0 /, 'an honest X server is taken';
my @status = @{ $d->status->{x_servers} };
is scalar @status, 1, 'status shows it';
is $status[0]{name}, 'Xtest ?[31m', 'under a harmless name';
my %refused = (unsealed => qr/^\d+ .*not sealed/, nofd => qr/^\d+ .*no memory came/);
for my $mode (sort keys %refused) {
	my ($p, $in, $out) = x_client($mode);
	like $out, $refused{$mode}, "$mode: refused";
	done($p, $in);
}
my @liars = map { [ x_client($_) ] } qw(random hugehead);
like $_->[2], qr/^0 /, 'a liar is taken: its records will show' for @liars;
my ($snap_rc, $snap_out) = $d->snap;
is $snap_rc, 0, 'snap with them';
my $path = (split /\n/, $snap_out)[1];
my ($head, @records) = records_of("$path/x-$good.rec");
is scalar(grep { /^x_request .*pid=4711/ } @records), 1000, 'all records of the honest one';
is scalar(grep { /^x_request .*pid=4712 .*count=0/ } @records), 1, 'and the request that it is executing';
my $m = JSON::PP->new->utf8->decode(slurp("$path/manifest.json"));
my %source = map { ($_->{file} => $_) } @{ $m->{sources} };
is $source{"x-$good.rec"}{display}, 77, 'manifest: display';
is $source{"x-$good.rec"}{server_tid}, $good, 'manifest: thread';
for my $l (@liars) {
	my (undef, @r) = records_of("$path/x-$l->[0].rec");
	is scalar(grep { !/^(?:x_|section )/ } @r), 0, 'of a liar there are X records or none';
	ok exists $source{"x-$l->[0].rec"}{lost}{impossible}, 'and what could not be is counted';
}

# A server that is killed.
kill 'KILL', $good;
done($good, $good_in);
ok wait_until(sub { !grep { $_->{pid} == $good && $_->{connected} } @{ $d->status->{x_servers} } }), 'a killed X server is gone';
my ($dead_rc, $dead_out) = $d->snap;
my (undef, @dead) = records_of((split /\n/, $dead_out)[1] . "/x-$good.rec");
is scalar(grep { /^x_request .*pid=4711/ } @dead), 1000, 'but its last records can still be saved';
done(@$_[ 0, 1 ]) for @liars;

# More servers than places.
my @crowd = map { [ x_client('good') ] } 1 .. 17;
is scalar(grep { $_->[2] =~ /^0 / } @crowd), 16, 'sixteen X servers at most (those that are gone make room)';
is scalar(grep { $_->[2] =~ /^\d+ 16 X servers/ } @crowd), 1, 'the next is told so';
done(@$_[ 0, 1 ]) for @crowd;

is $d->status->{pid}, $pid, 'it is still the same recorder';
ok wait_until(sub { fds() <= $fds + 0 }), 'and has no descriptor more than at first' or diag(fds(), " instead of $fds");
$d->stop;
done_testing;

sub fds { return scalar(() = glob "/proc/$pid/fd/*") }

# Starts one; (pid, its input, its answer).
sub x_client {
	my ($mode) = @_;
	my $p = open2(my $out, my $in, "$ENV{TIPME_BUILDDIR}/helper/test/daemon-x-client", $mode);
	return ($p, $in, scalar(<$out>) // '');
}

sub done { my ($p, $in) = @_; close $in; waitpid $p, 0; return }
