# SPDX-License-Identifier: GPL-2.0-only
# `tipme snap` on a terminal and in a pipe: what it says while one waits, and that it ends with the
# verdict.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Test::More;
use Tipme::TestDaemon qw(tipme tipmed);

plan skip_all => 'tipmed is not built here' if !-x tipmed();
plan skip_all => 'script is not installed' if !grep { -x "$_/script" } split /:/, $ENV{PATH};
my $d = Tipme::TestDaemon->new(args => [ '--post', 1 ]);
is + ($d->start)[0], 0, 'start' or BAIL_OUT('no recorder');

my ($rc, $out) = $d->snap;
is $rc, 0, 'in a pipe';
my ($id, $path, @rest) = split /\n/, $out;
like $id, qr/^\d{8}-\d{6}-[0-9a-f]{4}$/, '... the id comes first';
is $path, $d->library . "/$id", '... then the folder';
is_deeply \@rest, [], '... and nothing else';

# script(1) gives it a terminal.
($rc, $out) = $d->run('script', '-qec', tipme() . ' snap', '/dev/null');
$out =~ s/\r//g;
is $rc, 0, 'on a terminal' or diag $out;
($id) = $out =~ /\ARecording 1 more second\.\.\.\nSaved as (\d{8}-\d{6}-[0-9a-f]{4})\n\n/;
ok defined $id, '... what one waits for, and what it is saved as' or diag $out;
ok -e $d->library . "/$id/manifest.json", '... which is there';
my (undef, $verdict) = $d->run(tipme(), 'diagnose', $id);
my ($sentence) = $verdict =~ /\A(.+)\n/;
ok index($out, $sentence) > 0, '... then the verdict of that episode' or diag "$verdict\n---\n$out";
like $out, qr/\n\nStages, threads and evidence: tipme diagnose -v\. [^\n]+\n\z/,
	'... and what to do next';
$d->stop;

($rc, $out) = $d->run('script', '-qec', tipme() . ' snap', '/dev/null');
is $rc, 1, 'on a terminal without a recorder';
like $out, qr/\Atipme: snap: no recorder runs here: start it/, '... the reason alone';
done_testing;
