#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# What an X server saved itself becomes an episode: the same events, and nothing of the kernel; what
# is no such file is refused.
use strict;
use warnings;
use Test::More;
use File::Copy qw(copy);
use File::Temp qw(tempdir);
use FindBin    qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Bundle;
use Tipme::Diagnosis;
use Tipme::Episode;
use Tipme::Responses qw(responses);
use Tipme::ServerRecords;
use Tipme::Test::Story;

my $tmp = tempdir(CLEANUP => 1);
mkdir "$tmp/saved" or die;
my $story = Tipme::Test::Story->new->key(1000, 400)->hotkey(3000);
my $whole = Tipme::Episode->open($story->builder->write("$tmp/whole"));
my $file  = "$tmp/saved/tipme-x-100-4000000000.rec";
copy("$tmp/whole/x-100.rec", $file) or die "$file: $!";

ok(Tipme::ServerRecords->is_one($file), 'a record file is seen as one');
ok(!Tipme::ServerRecords->is_one($_), "$_ is none") for $0, $tmp, "$tmp/nothing";
my $own = Tipme::Episode->open(Tipme::ServerRecords->unpack_to($file, "$tmp/own"));
is_deeply([ $own->damage ], [], 'nothing of it is damaged');
is($own->trigger_ns, $whole->trigger_ns, 'the hot-key is its trigger');
my ($mine, $theirs) = map {
	[
		map {
			join ' ', $_->{kind}, $_->{server_ns}, $_->{deliver_ns} // '-',
				$_->{client} ? $_->{client}{pid} : '-', $_->{hotkey}
		} responses(Tipme::Diagnosis->new($_))
	]
} $own, $whole;
is_deeply($mine, $theirs, 'its events are those of the episode that the recorder would have made');
my $verdict = Tipme::Diagnosis->new($own)->run->{verdict};
is($verdict->{kind}, 'unknown', 'who it was is not known');
like(
	$verdict->{sentence},
	qr/answered a key press after 400 ms, .* could not be explained: the kernel was not recorded\.$/,
	'... and how long it took is'
);

sub refused {
	my ($what, $bytes, $why) = @_;
	my $path = "$tmp/saved/" . ($what =~ tr/ /-/r) . '.rec';
	open my $out, '>:raw', $path or die;
	print {$out} $bytes and close $out or die;
	my $done = eval { Tipme::ServerRecords->unpack_to($path, "$path.episode") };
	ok(!defined $done, "$what: refused");
	like($@, $why, "$what: says why");
	ok(!-e "$path.episode", "$what: no folder is left behind");
	return;
}

open my $in, '<:raw', $file or die;
my $bytes = do { local $/; <$in> };
refused('cut',               substr($bytes, 0, -5), qr/no whole section: the file was cut/);
refused('cut in its header', substr($bytes, 0, 30), qr/was cut: not even its header/);
refused('no records',        substr($bytes, 0, 64), qr/no records in it/);
refused('of another format', substr($bytes, 0, 12) . "\x09\0" . substr($bytes, 14), qr/format 9\./);
refused(
	'of another source', substr($bytes, 0, 20) . "\x06\0\0\0" . substr($bytes, 24),
	qr/not what an X server saves/
);
refused(
	'with a section that is too long',
	substr($bytes, 0, 64 + 48) . "\xff" x 8 . substr($bytes, 64 + 56), qr/no whole section/
);
ok(
	!defined eval { Tipme::ServerRecords->unpack_to("$tmp/whole/x-100.rec", "$tmp/part") },
	'a part of an episode is refused'
);
like($@, qr/a part of an episode/, '... and says why');
ok(
	!defined eval { Tipme::ServerRecords->unpack_to($file, "$tmp/own") },
	'a folder that exists is left alone'
);
# A disk that is full, here a limit: nothing is left of it, so that it can be tried again.
my $limited = fork // die "fork: $!";
if (!$limited) {
	$SIG{XFSZ} = 'IGNORE';
	exec 'sh', '-c', 'ulimit -f 1; exec "$@"', 'sh', $^X, (map {"-I$_"} @INC),
		'-MTipme::ServerRecords', '-e',
		'exit(eval { Tipme::ServerRecords->unpack_to(@ARGV); 1 } ? 0 : $@ =~ /File too large: is the disk full/ ? 7 : 8)',
		$file, "$tmp/full";
}
waitpid $limited, 0;
is($? >> 8, 7, 'no room: it says so');
is_deeply([ glob "$tmp/full*" ], [], '... and leaves nothing');
done_testing;
