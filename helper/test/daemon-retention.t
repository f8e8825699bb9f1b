# SPDX-License-Identifier: GPL-2.0-only
# The library stays within its limits: by count, size and age; what is pinned, or just saved, stays.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use File::Path qw(make_path);
use Test::More;
use Tipme::TestDaemon qw(complete tipme);

plan skip_all => 'tipmed is not built here' if !-x Tipme::TestDaemon::tipmed();
plan skip_all => 'recording needs root (run it with sudo)' if $>;

# An old episode of so many bytes, as a folder; saved so many days ago.
sub old {
	my ($d, $id, %o) = @_;
	my $dir = $d->library . "/$id";
	make_path("$dir/cache");
	for my $file (qw(manifest.json kernel.rec cache/index.db)) {
		open my $out, '>', "$dir/$file" or die;
		print {$out} $file eq 'manifest.json' ? qq({"trigger": {"kind": "@{[ $o{kind} // 'command' ]}", "ns": 1, "measured_ms": @{[ $o{ms} // 0 ]}}}) : 'x' x ($o{bytes} // 10);
		close $out;
		utime time - 86400 * ($o{days} // 0), time - 86400 * ($o{days} // 0), "$dir/$file";
	}
	if ($o{pinned}) { open my $out, '>', "$dir/pinned" or die }
	return $id;
}

# Starts a recorder on a library, saves one episode; returns which of the old ones are left.
sub left_of {
	my ($options, $fill) = @_;
	my $d = Tipme::TestDaemon->new(args => [ '--post', 0, '--source', 'proc_sampled', @$options ]);
	mkdir $d->library, 0700;
	$fill->($d);
	is +($d->start)[0], 0, "start @$options";
	my ($rc, $out) = $d->snap;
	is $rc, 0, 'snap';
	my ($new, $path) = split /\n/, $out;
	is_deeply complete($path), [], 'the new episode is complete';
	my $gone = $d->status->{gone};
	$d->stop;
	is_deeply [ map { s{.*/}{}r } glob $d->library . '/.??*' ], [], 'nothing is left half-removed';
	return join ' ', (map { s/^20250101-00000(\d)-.*/$1/r } grep { $_ ne $new } sort map { s{.*/}{}r } glob $d->library . '/2*'), "($gone gone)";
}
sub id { return sprintf '20250101-00000%d-000%d', $_[0], $_[0] }

is left_of([ '--keep', 3 ], sub { old($_[0], id($_)) for 1 .. 5 }), '4 5 (3 gone)', 'by count: the oldest went, and the new one counts';
is left_of([ '--keep', 3 ], sub { old($_[0], id($_), pinned => $_ < 3) for 1 .. 5 }), '1 2 (3 gone)', 'pinned ones stay, and count';
is left_of([ '--keep', 0, '--keep-mb', 5 ], sub { old($_[0], id($_), bytes => 1_000_000) for 1 .. 5 }), '4 5 (3 gone)', 'by size, caches included';
is left_of([ '--keep', 0, '--keep-mb', 0, '--keep-days', 7 ], sub { old($_[0], id($_), days => 20 - 4 * $_) for 1 .. 5 }), '4 5 (3 gone)', 'by age';
is left_of([ '--keep', 0, '--keep-mb', 0, '--keep-worst', 2 ], sub { old($_[0], id($_), kind => $_ == 1 ? 'hotkey' : 'auto', ms => (0, 0, 500, 300, 900, 400)[$_]) for 1 .. 5 }),
	'1 2 4 (2 gone)', 'of those that a threshold took the worst; what a human asked for stays';
is left_of([ '--keep', 0, '--keep-mb', 0, '--keep-worst', 0 ], sub { old($_[0], id($_), days => 4000, kind => 'auto') for 1 .. 5 }), '1 2 3 4 5 (0 gone)', 'without limits all stay';
is left_of([ '--keep', 1 ], sub { old($_[0], id(1)); my $l = $_[0]->library; mkdir "$l/precious"; symlink '/etc', "$l/20250101-000002-0002"; mkdir "$l/20250101-00000x-0003" }),
	'2 20250101-00000x-0003 (1 gone)', 'what is no episode is not touched, and no link is followed';
ok -e '/etc/passwd', 'really';

# What happens to the library while the recorder runs is seen, although it does not read each episode again.
{
	my $d = Tipme::TestDaemon->new(args => [ '--post', 0, '--source', 'proc_sampled', '--keep', 0, '--keep-mb', 6 ]);
	mkdir $d->library, 0700;
	old($d, id($_), bytes => 500_000) for 1 .. 3;
	my $left = sub { return join ' ', map { m{/20250101-00000(\d)} ? $1 : () } glob $d->library . '/2*' };
	my $spew = sub { open my $out, '>', $_[0] or die; print {$out} 'x' x $_[1]; close $out };
	is +($d->start)[0], 0, 'start';
	is +($d->snap)[0], 0, 'snap';
	is $left->(), '1 2 3', 'there is room for all';
	$spew->($d->library . '/' . id(1) . '/pinned', 0);
	$spew->($d->library . '/' . id(3) . '/cache/index.new', 4_000_000);
	rename $d->library . '/' . id(3) . '/cache/index.new', $d->library . '/' . id(3) . '/cache/index.db' or die;
	is +($d->snap)[0], 0, 'snap';
	is $left->(), '1 3', 'an index that grew takes room; what was pinned since stays';
	rename $d->library . '/' . id(3), $d->library . '/' . id(5) or die;
	old($d, id(4), bytes => 2_000_000);
	is +($d->snap)[0], 0, 'snap';
	is $left->(), '1 5', 'a new name is another episode, a new folder is seen';
	$d->stop;
}
done_testing;
