# SPDX-License-Identifier: GPL-2.0-only
# The library stays within its limits: by count, size and age; what is pinned, or just saved, stays.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use File::Path qw(make_path);
use JSON::PP   ();
use Test::More;
use Tipme::TestDaemon qw(complete slurp tipme);

plan skip_all => 'tipmed is not built here'                if !-x Tipme::TestDaemon::tipmed();
plan skip_all => 'recording needs root (run it with sudo)' if $>;

# An old episode of so many bytes, as a folder; saved so many days ago.
sub old {
	my ($d, $id, %o) = @_;
	my $dir = $d->library . "/$id";
	make_path("$dir/cache");
	for my $file (qw(manifest.json kernel.rec cache/index.db)) {
		open my $out, '>', "$dir/$file" or die;
		my %trigger = (
			kind => $o{kind} // 'command', ns => $o{ns} // 1, measured_ms => $o{ms} // 0,
			defined $o{by} ? (by => $o{by}) : ()
		);
		print {$out} $file eq 'manifest.json'
			? JSON::PP->new->encode({ boot_id => $o{boot} // '', trigger => \%trigger })
			: 'x' x ($o{bytes} // 10);
		close $out;
		utime time - 86400 * ($o{days} // 0), time - 86400 * ($o{days} // 0), "$dir/$file";
	}
	if ($o{pinned}) { open my $out, '>', "$dir/pinned" or die }
	return $id;
}

# The boots that a library knows: four before this one.
my $NOW = slurp('/proc/sys/kernel/random/boot_id') =~ s/\s//gr;
sub boot { my ($n) = @_; return $n > 4 ? $NOW : sprintf '00000000-0000-4000-8000-%012d', $n }

sub boots {
	my ($d) = @_;
	open my $out, '>', $d->library . '/boots' or die;
	print {$out} map { boot($_) . "\n" } 1 .. 4;
	close $out;
	return;
}

# Starts a recorder on a library, saves one episode; returns which of the old ones are left.
sub left_of {
	my ($options, $fill) = @_;
	my $d = Tipme::TestDaemon->new(args => [ '--post', 0, '--source', 'proc_sampled', @$options ]);
	mkdir $d->library, 0700;
	$fill->($d);
	is + ($d->start)[0], 0, "start @$options";
	my ($rc, $out) = $d->snap;
	is $rc, 0, 'snap';
	my ($new, $path) = split /\n/, $out;
	is_deeply complete($path), [], 'the new episode is complete';
	my $gone = $d->status->{gone};
	$d->stop;
	is_deeply [ map {s{.*/}{}r} glob $d->library . '/.??*' ], [], 'nothing is left half-removed';
	return join ' ',
		(
		map {s/^20250101-00000(\d)-.*/$1/r}
		grep { $_ ne $new } sort map {s{.*/}{}r} glob $d->library . '/2*'
		),
		"($gone gone)";
}
sub id { return sprintf '20250101-00000%d-000%d', $_[0], $_[0] }

is left_of([ '--keep', 3 ], sub { old($_[0], id($_)) for 1 .. 5 }), '4 5 (3 gone)',
	'by count: the oldest went, and the new one counts';
is left_of([ '--keep', 3 ], sub { old($_[0], id($_), pinned => $_ < 3) for 1 .. 5 }),
	'1 2 (3 gone)', 'pinned ones stay, and count';
is left_of(
	[ '--keep', 0, '--keep-mb', 5 ],
	sub { old($_[0], id($_), bytes => 1_000_000) for 1 .. 5 }
	),
	'4 5 (3 gone)',
	'by size, caches included';
is left_of(
	[ '--keep', 0, '--keep-mb', 0, '--keep-days', 7 ],
	sub { old($_[0], id($_), days => 20 - 4 * $_) for 1 .. 5 }
	),
	'4 5 (3 gone)', 'by age';
is left_of(
	[ '--keep', 0, '--keep-mb', 0, '--keep-worst', 2 ],
	sub {
		old(
			$_[0], id($_), kind => $_ == 1 ? 'hotkey' : 'auto',
			ms => (0, 0, 500, 300, 900, 400)[$_]
		) for 1 .. 5;
	}
	),
	'1 2 4 (2 gone)', 'of those that a threshold took the worst; what a human asked for stays';
is left_of(
	[ '--keep', 0, '--keep-mb', 0, '--keep-worst', 0 ],
	sub { old($_[0], id($_), days => 4000, kind => 'auto') for 1 .. 5 }
	),
	'1 2 3 4 5 (0 gone)',
	'without limits all stay';
is left_of(
	[ '--keep', 1 ],
	sub {
		old($_[0], id(1));
		my $l = $_[0]->library;
		mkdir "$l/precious";
		symlink '/etc', "$l/20250101-000002-0002";
		mkdir "$l/20250101-00000x-0003";
	}
	),
	'2 20250101-00000x-0003 (1 gone)', 'what is no episode is not touched, and no link is followed';
ok -e '/etc/passwd', 'really';

# What happens to the library while the recorder runs is seen, although it does not read each
# episode again. What it saves itself is small beside these, however many threads there are.
{
	my $d = Tipme::TestDaemon->new(
		args => [ '--post', 0, '--source', 'proc_sampled', '--keep', 0, '--keep-mb', 60 ]);
	mkdir $d->library, 0700;
	old($d, id($_), bytes => 5_000_000) for 1 .. 3;
	my $left = sub {
		return join ' ', map { m{/20250101-00000(\d)} ? $1 : () } glob $d->library . '/2*';
	};
	my $spew = sub { open my $out, '>', $_[0] or die; print {$out} 'x' x $_[1]; close $out };
	is + ($d->start)[0], 0, 'start';
	is + ($d->snap)[0],  0, 'snap';
	is $left->(), '1 2 3', 'there is room for all';
	$spew->($d->library . '/' . id(1) . '/pinned',          0);
	$spew->($d->library . '/' . id(3) . '/cache/index.new', 40_000_000);
	rename $d->library . '/' . id(3) . '/cache/index.new',
		$d->library . '/' . id(3) . '/cache/index.db'
		or die;
	is + ($d->snap)[0], 0,     'snap';
	is $left->(),       '1 3', 'an index that grew takes room; what was pinned since stays';
	rename $d->library . '/' . id(3), $d->library . '/' . id(5) or die;
	old($d, id(4), bytes => 20_000_000);
	is + ($d->snap)[0], 0,     'snap';
	is $left->(),       '1 5', 'a new name is another episode, a new folder is seen';
	$d->stop;
}
# Ids begin with what a clock said, which may have been wrong: number 1 was taken last.
is left_of(
	[ '--keep', 3 ],
	sub { boots($_[0]); old($_[0], id($_), boot => boot(5), ns => 100 - $_) for 1 .. 5 }
	),
	'1 2 (3 gone)', 'of one boot: the oldest by its own clock went';
is left_of(
	[ '--keep', 3 ],
	sub { boots($_[0]); old($_[0], id($_), boot => boot(6 - $_), ns => $_ * 1000) for 1 .. 5 }
	),
	'1 2 (3 gone)', 'of several boots: those of the oldest went';
is left_of(
	[ '--keep', 3 ],
	sub {
		boots($_[0]);
		old($_[0], id($_), boot => $_ < 4 ? boot(4) : 'nonsense', ns => $_) for 1 .. 5;
	}
	),
	'2 3 (3 gone)', 'of a boot that nobody knows: before all others';
is left_of(
	[ '--keep', 3 ],
	sub {
		open my $out, '>', $_[0]->library . '/boots' or die;
		print {$out} "x\n" x 10, "\0" x 5000, 'y' x 100_000;
		old($_[0], id($_)) for 1 .. 5;
	}
	),
	'4 5 (3 gone)', 'a damaged list of boots';
is left_of(
	[ '--keep', 3 ],
	sub { symlink '/etc/passwd', $_[0]->library . '/boots'; old($_[0], id($_)) for 1 .. 5 }
	),
	'4 5 (3 gone)', 'a link in its place is not followed';
like slurp('/etc/passwd'), qr/^root:/, '... nor written to';
is left_of(
	[ '--keep', 0, '--keep-mb', 0, '--keep-days', 7 ],
	sub {
		boots($_[0]);
		old($_[0], id($_), days => 20, boot => boot($_ > 3 ? 5 : 4), ns => 1e6) for 1 .. 5;
	}
	),
	(slurp('/proc/uptime') =~ /^(\d+)/)[0] > 7 * 86400 ? '(5 gone)' : '4 5 (3 gone)',
	'by age: none is older than this boot that was taken in it';

# What others ask for does not make the owner's go.
is left_of([ '--keep', 4 ], sub { old($_[0], id($_), $_ > 3 ? (by => 61001) : ()) for 1 .. 5 }),
	'1 2 3 5 (1 gone)', 'of four, three the owner asked for, which stay, and a quarter others';
is left_of(
	[ '--keep', 8 ],
	sub { old($_[0], id($_), $_ < 5 ? (by => $_ < 2 ? 61002 : 61001) : ()) for 1 .. 5 }
	),
	'1 4 5 (2 gone)', 'of two users the one gives way who has more';
is left_of(
	[ '--keep', 0, '--keep-mb', 8 ],
	sub { old($_[0], id($_), bytes => 900_000, $_ < 4 ? (by => 61001) : ()) for 1 .. 5 }
	),
	'3 4 5 (2 gone)', 'by size, too';
done_testing;
