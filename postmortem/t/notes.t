#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# tipme note and tipme tag: what they keep, take back and refuse; a crash at any step leaves the old
# or the new; nothing of it leaves without being asked for.
use strict;
use warnings;
use utf8;
use Test::More;
use Cpanel::JSON::XS qw(decode_json);
use Encode           qw(encode_utf8);
use File::Temp       qw(tempdir);
use FindBin          qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Notes       qw(note_of set_note set_tags tags_of undo_note);
use Tipme::Test::Files qw(spew);
use Tipme::Test::Story;

my $tmp = tempdir(CLEANUP => 1);
my $lib = "$tmp/library";
mkdir $lib, 0700 or die "$!\n";
@ENV{qw(TIPME_LIBRARY LC_ALL TZ)} = ($lib, 'C', 'UTC');
my @id = map {"20261120-15030$_-3f2a"} 1, 2;
Tipme::Test::Story->new->key(1000, 400)->hotkey(1900)->builder->write("$lib/$_") for @id;

# tipme(VERB ...): (exit status, output, complaints)
sub tipme {
	my (@args) = map { encode_utf8($_) } @_;
	my $pid = fork // die "fork: $!\n";
	if (!$pid) {
		open STDOUT, '>', "$tmp/out" or die "$!\n";
		open STDERR, '>', "$tmp/err" or die "$!\n";
		exec $^X, "$Bin/../bin/tipme-postmortem", @args;
	}
	waitpid $pid, 0;
	return ($? >> 8, map { slurp("$tmp/$_") } qw(out err));
}

sub slurp {
	my ($f) = @_;
	open my $h, '<:encoding(UTF-8)', $f or return;
	local $/;
	return <$h> // '';
}

sub row {
	my ($id) = @_;
	return grep { $_->{id} eq $id } @{ decode_json((tipme('list', '--json'))[1])->{episodes} };
}

my $dir = "$lib/$id[0]";
is_deeply([ tipme('note', $id[0]) ], [ 0, "no note\n", '' ], 'no note yet');
is_deeply(
	[ (tipme('note', $id[0], '--undo'))[ 0, 2 ] ],
	[ 1, "tipme: note: nothing to undo: the note was not changed yet\n" ], '... and nothing to undo'
);
is_deeply(
	[ tipme('note', $id[0], "  it hung \e[2J\x07 während ich tippte\n") ],
	[ 0, "it hung ? während ich tippte\n", '' ], 'a note, harmless for a terminal'
);
is(slurp("$dir/note.txt"), 'it hung ? während ich tippte',  '... is beside the episode');
is(sprintf('%o', (stat "$dir/note.txt")[2] & 07777), '600', '... for its owner alone');
is((row($id[0]))[0]{note}, 'it hung ? während ich tippte',  '... and in the list');
tipme('note', $id[0], 'no, it was the menu');
is((tipme('note', $id[0], '--undo'))[1], "it hung ? während ich tippte\n", 'undo: as it was');
is(
	(tipme('note', $id[0], '--undo'))[1], "no, it was the menu\n",
	'... and once more: changed again'
);
is((tipme('note', $id[0], '--clear'))[1], "no note\n", 'cleared');
ok(!-e "$dir/note.txt", '... without a file');
is((tipme('note', $id[0], '--undo'))[1], "no, it was the menu\n", '... which can be undone');

is_deeply(
	[ tipme('tag', @id, '--add', 'Éditeur', '--add', 'reported') ],
	[ 0, join('', map {"$_: reported éditeur\n"} @id), '' ], 'tags of two episodes'
);
is_deeply((row($id[1]))[0]{tags}, [qw(reported éditeur)], '... in the list');
like((tipme('list'))[1],         qr/\[reported éditeur\]/,       '... for people, too');
like((tipme('show', $id[0]))[1], qr/^  tags +reported éditeur/m, '... and in show');
is((tipme('tag', $id[0], '--remove', 'reported'))[1], "$id[0]: éditeur\n", 'one is removed');
is((tipme('tag', $id[0], '--undo'))[1], "$id[0]: reported éditeur\n", '... and back');
for my $bad ('two words', '', '-x', 'x' x 41, "a\nb", '../x', 'a,b') {
	my ($exit, undef, $why) = tipme('tag', $id[0], "--add=$bad");
	is($exit, 1, 'no tag: ' . ($bad =~ s/\n/\\n/r));
	like($why, qr/\Atipme: tag: '.*': not a tag: one word of at most 40 /s, '... said');
}
is((tipme('tag', $id[0], 'nothing', '--add', 'x'))[0], 1,   'one of two is not there: it fails');
is((tipme('tag', $id[0]))[1], "$id[0]: reported éditeur\n", '... and the other is as it was');
is((tipme('note', $id[0], 'x' x 65_537))[0], 1, 'a note of more than 64 KiB is refused');

# What a crash, or a stranger, may have left there.
spew("$dir/.note.txt.tmp", 'half');
ok(set_note($dir, 'whole'),  'a half-written file of a crash is in nobody\'s way');
ok(!-e "$dir/.note.txt.tmp", '... and gone');
unlink "$dir/tags.txt";
symlink '/etc/passwd', "$dir/tags.txt" or die "$!\n";
is_deeply([ tags_of($dir) ], [], 'a link is not followed');
set_tags($dir, 'own');
ok(!-l "$dir/tags.txt", '... but replaced');
spew("$dir/tags.txt", "ok\n\e[2J\nA\nok\n" . join '', map {"t$_\n"} 1 .. 99);
is(scalar(my @few = tags_of($dir)), 32, 'of a stranger\'s file 32 tags are taken');
ok(!(grep { !/\A[a-z0-9]+\z/ } @few), '... words only');
unlink "$dir/.note.txt.before";
ok(!undo_note($dir), 'without the state before there is nothing to undo');

# Killed at each write: what is read is the old note or the new one.
my %seen;
for my $n (1 .. 40) {
	set_note($dir, 'old');
	my $pid = fork // die "fork: $!\n";
	if (!$pid) { set_note($dir, $_ % 2 ? 'new' : 'old') for 1 .. 1000; POSIX::_exit(0) }
	select undef, undef, undef, 0.001 * $n;
	kill 'KILL', $pid;
	waitpid $pid, 0;
	$seen{ note_of($dir) }++;
}
is_deeply(
	[ grep { !/\A(?:old|new)\z/ } keys %seen ], [],
	'killed at any moment: the old note or the new one'
);

SKIP: {
	skip 'needs root', 1 if $>;
	chown 65_534, 65_534, $dir;
	ok(!eval { set_note($dir, 'by root') }, 'root writes nothing into the episode of another user');
	chown 0, 0, $dir;
}

# Nothing of it leaves without being asked for.
set_note($dir, 'notesecret');
set_tags($dir, 'tagsecret');
my (undef, $shown) = tipme('bundle', $id[0], '-o', "$tmp/a.tipme", '--yes');
like($shown =~ s/\s+/ /gr, qr/the note; the tags/, 'the bundle says that it leaves them out');
unlike(qx{gzip -dc "$tmp/a.tipme"}, qr/notesecret|tagsecret/, '... and does');
tipme('bundle', $id[0], '-o', "$tmp/b.tipme", '--yes', '--with-note');
my ($exit, $opened) = tipme('open', "$tmp/b.tipme", '-o', "$tmp/opened");
is($exit, 0, 'a bundle with both opens');
like($opened, qr/^The sender says: notesecret$/m,  '... and says the note');
like($opened, qr/^The sender's tags: tagsecret$/m, '... and the tags');
ok(!-e "$tmp/opened/.note.txt.before", '... without what was there before');
done_testing();
