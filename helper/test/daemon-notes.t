# SPDX-License-Identifier: GPL-2.0-only
# Who watches learns of triggers and episodes, and is told apart from the user's programs; the
# user's words come into the episode.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use JSON::PP ();
use Test::More;
use Tipme::TestDaemon qw(complete manifest slurp wait_until);

plan skip_all => 'recording needs root (run it with sudo)' if $>;
my ($WATCH, $NOTE, $TRIGGER, $REPLY, $SAVED, $TRIGGERED) = (5, 6, 2, 16, 17, 18);
my $d = Tipme::TestDaemon->new(args => [ '--post', 1 ]);
is + ($d->start)[0], 0, 'start' or BAIL_OUT('no recorder');

sub ask {
	my ($socket, $verb, $arg, $text) = @_;
	send $socket, Tipme::TestDaemon::message($verb, $arg, $text), 0;
	return [ Tipme::TestDaemon::answer($socket) ];
}

my $watcher = $d->connection;
is ask($watcher, $WATCH, 0, '')->[1], 0, 'somebody watches';
my $asker = $d->connection;
my $id    = JSON::PP->new->decode(ask($asker, $TRIGGER, 2, '')->[2])->{id};
my @told  = Tipme::TestDaemon::answer($watcher);
is_deeply [ @told[ 0, 1 ] ], [ $TRIGGERED, 0 ], 'the watcher is told of the trigger';
like $told[2], qr/\A\Q$id\E\nhotkey\n\d+\.\d\z/, 'of its kind, and of how many seconds are kept';
is ask($asker, $NOTE, 0, "$id\nit hung early")->[1], 0,
	'words while recording goes on after the trigger';
my @saved = Tipme::TestDaemon::answer($watcher);
is_deeply \@saved, [ $SAVED, 0, $d->library . "/$id" ],
	'the watcher is told where the episode lies';
is((Tipme::TestDaemon::answer($asker))[0], $SAVED, '... and who asked for it is told, too');
my $path = $saved[2];
is slurp("$path/note.txt"), 'it hung early', 'the words are in it';
is_deeply manifest($path)->{recorder}{agents}, [$$],
	'the watching process is named in the manifest';

my $said = ask($asker, $NOTE, 0, "$id\nit hung \x1b[2Jlate \xff\nand twice");
is_deeply $said, [ $REPLY, 0, qq({"id": "$id"}) ], 'other words, later' or diag explain $said;
is slurp("$path/note.txt"), "it hung ?[2Jlate ?\nand twice", 'they stand there instead, cleaned';
is sprintf('%o', (stat "$path/note.txt")[2] & 07777), '600', 'for the owner alone';
is_deeply [ glob "$path/.note*" ], [], 'nothing half-written is left';
is ask($asker, $NOTE, 0, "$id\n")->[1], 0, 'words are taken back' for 1, 2;
ok !-e "$path/note.txt", '... and then there are none';

for my $odd (
	[ "../$id\nx", 22, 'a path' ], [ "20261120-150301-3f2a", 2, 'an episode that is not there' ],
	[ '',          22, 'nothing' ],
	[ "$id-\nx",   22, 'more than an id' ]
	)
{
	my $r = ask($asker, $NOTE, 0, $odd->[0]);
	is $r->[1], $odd->[1], "$odd->[2] is refused";
	like $r->[2], qr/: see|begins with/, '... by a sentence';
}
# A link in the library leads nowhere.
symlink '/tmp', $d->library . '/20261120-150301-0000';
is ask($asker, $NOTE, 0, "20261120-150301-0000\nx")->[1], 20, 'a link is not followed';
ok !-e '/tmp/note.txt', '... and nothing stands behind it';
unlink $d->library . '/20261120-150301-0000';

close $watcher;
my $other = $d->connection;
ask($other, $TRIGGER, 0, '');
my ($verb, $error, $second) = Tipme::TestDaemon::answer($other);
is "$verb $error", "$SAVED 0", 'another episode';
is_deeply manifest($second)->{recorder}{agents}, [$$],
	'who watched in these seconds is named still';
$d->stop;
done_testing;
