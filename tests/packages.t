#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Debian's packages. Always: they hold exactly what `make install` installs, and name what is built
# with. With TIPME_TEST_ALL=1 also: in clean roots of Debian 12 and 13 they are built twice with
# the same hash. In fresh roots they are installed, tell a true verdict, are removed, and leave
# nothing when they are purged; that Debian's lintian has no error or warning. Debian's rpm builds
# the others.
#
# TIPME_TEST_KEEP=FOLDER: what was built, and what a part said that went well, stays there, by the
# commit and the scripts that made it. Run again, the test takes it from there and goes on.
use strict;
use warnings;
use Digest::SHA qw(sha256_hex);
use File::Path  qw(make_path);
use File::Temp  qw(tempdir);
use Test::More;

my ($SRC, $BUILD) =
	map { $ENV{$_} // die "$_ is not set: run it by make check\n" } qw(TIPME_SRCDIR TIPME_BUILDDIR);
my $tmp = tempdir('tipme-packages-XXXXXX', TMPDIR => 1, CLEANUP => 1);

lists();
modules();
network();
needs();
spec();
if ($ENV{TIPME_TEST_ALL}) {
SKIP: {
		skip 'not root: a clean root needs it', 1 if $>;
		my ($lacks) =
			grep { system "command -v $_ >/dev/null 2>&1" } qw(mmdebstrap dpkg-source);
		skip "no $lacks here: install the packages of class all in .ci/packages", 1
			if defined $lacks;
		for my $suite (split ' ', $ENV{TIPME_TEST_SUITES} // 'bookworm trixie') {
			subtest "Debian $suite" => sub { clean_root($suite) };
		}
	}
	subtest 'RPM packages' => sub { rpm_packages() };
}
done_testing;

# Each module of the sources is installed: a verb that misses one fails on every machine but ours.
sub modules {
	my %there = map { m{/(Tipme/.*)} ? ($1 => 1) : () }
		qx{cd "$tmp/installed" && find . -name '*.pm'} =~ /(\S+)/g;
	my @missing;
	for my $dir (qw(abi/lib postmortem/lib fleet/lib helper/bench)) {
		push @missing,
			map {"$dir/$_"}
			grep { !$there{$_} } qx{cd "$SRC/$dir" && find Tipme -name '*.pm'} =~ /(\S+)/g;
	}
	is_deeply \@missing, [], 'each module of the sources is installed';
	return;
}

# Nobody but the fleet's package can reach another machine: no other program can look up its
# address, and no other module knows a network or a database server.
sub network {
	my $words = 'getaddrinfo|gethostbyname|inet_(pton|aton)|IO::Socket::(INET|IP)|LWP::|HTTP::Tiny|'
		. 'Net::[A-Z]|DBD::Pg';
	my @files = map {s/\A\Q$tmp\E\/installed\///r} split /\n/,
		qx{grep -rlaE '$words' "$tmp/installed"};
	is_deeply \@files, ['usr/share/tipme/fleet/Tipme/Fleet/Database.pm'],
		'a network is known to the database of a fleet alone';
	return;
}

# What the packages list is what is installed: nothing forgotten, nothing that is not there.
sub lists {
	my $log = qx{make -C "$BUILD" install DESTDIR="$tmp/installed" 2>&1};
	is $?, 0, 'make install' or return diag $log;
	my @installed = split /\n/,
		qx{cd "$tmp/installed" && find . -type f -o -type l | sed 's|^\\./||' | sort};
	my %listed;
	for my $list (glob "$SRC/debian/*.install") {
		my ($package) = $list =~ m{([^/]+)\.install$};
		for my $pattern (grep {/\S/} split /\n/, slurp($list)) {
			my @found = grep { matches($pattern, $_) } @installed;
			ok scalar @found, "$package: $pattern is installed";
			push @{ $listed{$_} }, $package for @found;
		}
	}
	is_deeply [ grep { !$listed{$_} } @installed ], [], 'each installed file is in a package';
	is_deeply [ grep { @{ $listed{$_} // [] } > 1 } @installed ], [], '... and in one only';
	return;
}

# A line of an .install file is a file, a folder or a pattern; dh_install knows no more of them
# here.
sub matches {
	my ($pattern, $file) = @_;
	my $re = join '[^/]*', map {quotemeta} split /\*/, $pattern, -1;
	return $file =~ m{^$re(?:/|$)};
}

# All of .ci/packages that a build takes, but the tools that any Debian build has.
sub needs {
	my %wanted =
		map { $_ => 1 }
		slurp("$SRC/debian/control") =~ /^Build-Depends:(.*?)^\S/ms
		? $1 =~ /([a-z0-9][a-z0-9.+-]+)/g
		: ();
	my %given = map { $_ => 1 }
		qw(autoconf automake libtool make gcc libc6-dev pkg-config perl util-linux procps);
	my @missing = grep { /-dev$/ && !$wanted{$_} && !$given{$_} }
		slurp("$SRC/.ci/packages") =~ /^build (\S+)$/mg;
	is_deeply \@missing, [], 'Build-Depends has each library of .ci/packages';
	# Where this is a warning here, it is an error there: hardening makes it one.
	like slurp("$BUILD/Makefile"), qr/^TIPME_CFLAGS =.* -Wformat-security /m,
		'our own builds warn of what hardened ones refuse';
	my ($version) = slurp("$SRC/configure.ac") =~ /^AC_INIT\(\[tipme\], \[([\d.]+)\]/m;
	like slurp("$SRC/debian/changelog"), qr/\Atipme \(\Q$version\E\)/,
		'the newest entry of changelog is this version';
	return;
}

# What a spec's macros mean; those of systemd are none of Debian's rpm.
my %MACRO;

# The RPM spec packs the same files, under the names that its macros have there, and rpm reads it.
sub spec {
	my $text = slurp("$SRC/packaging/tipme.spec");
	%MACRO = (
		_bindir      => 'usr/bin', _libexecdir => 'usr/libexec', _datadir => 'usr/share',
		_mandir      => 'usr/share/man',
		_unitdir     => 'usr/lib/systemd/system', _userunitdir => 'usr/lib/systemd/user',
		_sysusersdir => 'usr/lib/sysusers.d',     _tmpfilesdir => 'usr/lib/tmpfiles.d',
		_sysconfdir  => 'etc',                    _libdir      => 'usr/lib', _usrsrc => 'usr/src'
	);
	for my $list (glob "$SRC/debian/*.install") {
		my ($package) = $list =~ m{/tipme-?(\w*)\.install$};
		my $head      = '%files' . (length $package ? " $package" : '');
		my ($files)   = $text =~ /^\Q$head\E\n(.*?)^\n/ms;
		my @packed =
			map { s/%\{(\w+)\}/$MACRO{$1} \/\/ "?$1"/er =~ s/^\///r } grep {/^%\{/} split /\n/,
			$files // '';
		s{(/man/.*)\*$}{$1} for @packed;
		is_deeply [ sort @packed ], [ sort grep {/\S/} split /\n/, slurp($list) ],
			"the spec's $head has what the Debian package has";
	}
	my ($version) = slurp("$SRC/configure.ac") =~ /^AC_INIT\(\[tipme\], \[([\d.]+)\]/m;
	like $text,              qr/^Version: +\Q$version\E$/m, '... this version';
	like slurp("$SRC/NEWS"), qr/\A\Q$version\E\b/,          '... of which NEWS tells';
SKIP: {
		skip 'no rpmspec here: install rpm', 1 if system 'command -v rpmspec > /dev/null';
		my $said = qx{rpmspec --parse "$SRC/packaging/tipme.spec" 2>&1 >/dev/null};
		is "$? $said", '0 ', 'rpm reads it';
	}
	return;
}

# As far as Debian's rpm can: built of `make dist`, without the names that packages have elsewhere.
sub rpm_packages {
	plan skip_all => 'no rpmbuild here: install rpm' if system 'command -v rpmbuild > /dev/null';
	my $top = "$tmp/rpm";
	my $log = qx{mkdir -p "$top/SOURCES" && make -C "$BUILD" dist 2>&1};
	is $?, 0, 'make dist' or return diag substr $log, -10_000;
	my ($archive) = slurp("$SRC/packaging/tipme.spec") =~ /^Source0: +(\S+)$/m;
	my ($version) = slurp("$SRC/packaging/tipme.spec") =~ /^Version: +(\S+)$/m;
	$archive =~ s/%\{name\}/tipme/;
	$archive =~ s/%\{version\}/$version/;
	ok rename("$BUILD/$archive", "$top/SOURCES/$archive"), "... makes the spec's $archive";
	my @defined = map {"--define '$_'"} "_topdir $top", 'debug_package %{nil}',
		'_build_id_links none',
		(map {"$_ /$MACRO{$_}"} qw(_unitdir _userunitdir _sysusersdir _tmpfilesdir)),
		map {"systemd_$_() :"} qw(post preun postun);
	delete local @ENV{ grep {/^TIPME_|^MAKE|^MFLAGS/} keys %ENV };
	$log = qx{rpmbuild -bb --nodeps --nocheck @defined "$SRC/packaging/tipme.spec" 2>&1};
	is $?, 0, 'rpmbuild' or return diag substr $log, -20_000;

	for my $list (glob "$SRC/debian/*.install") {
		my ($package) = $list =~ m{([^/]+)\.install$};
		my ($rpm)     = glob "$top/RPMS/*/$package-$version-*.rpm";
		my %has       = map { s{^/usr/lib64/}{/usr/lib/}r => 1 } split /\n/, qx{rpm -qlp "$rpm"};
		my @missing   = grep {
			my $pattern = "/$_";
			!grep { matches($pattern, $_) || matches("$pattern.gz", $_) } keys %has
		} grep {/\S/} split /\n/, slurp($list);
		is_deeply \@missing, [], "$package: has what the Debian package has"
			or diag join "\n", sort keys %has;
	}
	my ($needs, $gives) = map {
		my $asked = $_;
		+{ map { s/ .*//r => 1 } split /\n/, qx{rpm -qp --$asked "$top"/RPMS/*/*.rpm} }
	} qw(requires provides);
	is_deeply [ grep { /Tipme::/ && !$gives->{$_} } sort keys %$needs ], [],
		'each module of ours that one needs is in one of them';
	my $rpm   = qq{rpm --root "$top/root" --dbpath /rpmdb};
	my $names = join ' ', map {m{([^/]+)\.install$}} glob "$SRC/debian/*.install";
	my $said =
		qx{mkdir "$top/root" && $rpm --nodeps --noscripts -i "$top"/RPMS/*/*.rpm 2>&1 && $rpm -V --nodeps tipme};
	is $?, 0, 'all are installed side by side' or diag $said;
	qx{$rpm --noscripts -e $names 2>&1};
	is qx{find "$top/root" -type f -not -path '*/rpmdb/*'}, '', '... and erased: no file is left';
	return;
}

sub clean_root {
	my ($suite) = @_;
	my $source = kept_folder($suite);
	my $log =
		qx{cd "$SRC" && rm -rf "$source/tipme" && git archive --prefix=tipme/ HEAD | tar -x -C "$source" && cd "$source" && dpkg-source -b tipme 2>&1};
	is $?, 0, 'a source package' or return diag $log;
	my @sums = map { build($suite, $source, $_) } 1, 2;
	is $sums[0], $sums[1], 'two builds have the same hashes';
	# What is not there can be neither judged nor installed.
	isnt $sums[0], '', '... of packages that there are' or return;
	my $said = part(
		$source, 'life',
		sub { in_root($suite, 'apt', "$SRC/tests/packages-life", "$source/1", $source) }
	);
	is $?, 0, 'installed, demo, removed, purged' or diag $said;
	like $said, qr/The verdict is true/,                          '... with a true verdict';
	like $said, qr/^fleet: SQLite and PostgreSQL say the same$/m, '... a fleet of it';
	like $said, qr/^upgraded: the episode is there, and its verdict is the same$/m,
		'... an upgrade keeps the library';
	like $said, qr/^upgraded: what people have set stays, and the fleet says the same$/m,
		'... settings and the fleet';
	like $said, qr/^polkit: says what will be recorded$/m, '... polkit asks in words';
	like $said, qr/^autopkgtest: passed$/m,                '... and autopkgtest runs the demo';
	like $said, qr/^lintian: no error or warning$/m,       "... lintian of $suite finds nothing";
SKIP: {
		skip 'no piuparts here: install the packages of class all in .ci/packages', 1
			if system 'command -v piuparts > /dev/null';
		# systemd, which sysusers bring, leaves folders of its own: it is there before.
		my $base    = "$source/base.tar.gz";
		my $there   = 'passwd,systemd-sysv,libpam-systemd';
		my $make    = "mmdebstrap --mode=root --variant=apt --include=$there $suite $base";
		my $options = "-d $suite -b $base --scriptsdir /etc/piuparts/scripts --no-eatmydata"
			. ' --warn-on-debsums-errors --do-not-verify-signatures';
		$said = part(
			$source, 'piuparts',
			sub { scalar qx{$make 2>&1 && cd "$source/1" && piuparts $options *.changes 2>&1} }
		);
		is $?, 0, 'piuparts finds nothing' or diag substr $said, -20_000;
	}
	return;
}

# A folder for what is made of this suite; kept, it is named by all that shapes it.
sub kept_folder {
	my ($suite) = @_;
	my $keep    = $ENV{TIPME_TEST_KEEP} // $tmp;
	my ($tree)  = qx{git -C "$SRC" rev-parse HEAD^{tree}} =~ /^(\w+)$/ or die "$SRC: no commit\n";
	my $made = sha256_hex(join "\n", $tree, map { slurp("$SRC/tests/packages-$_") } qw(build life));
	my $folder = "$keep/$suite-" . substr $made, 0, 16;
	make_path($folder);
	return $folder;
}

# What a part of the test says, and its status in $?; taken from an earlier run that kept it.
sub part {
	my ($folder, $name, $code) = @_;
	my $kept = "$folder/$name.said";
	if (-e $kept) {
		note "$name: went well before, in $folder";
		$? = 0;
		return slurp($kept);
	}
	my $begin  = time;
	my $said   = $code->();
	my $status = $?;
	diag sprintf '%s: %d s', $name, time - $begin;
	if (!$status) {
		open my $out, '>', "$kept.new" or die "$kept: $!\n";
		print {$out} $said and close $out and rename "$kept.new", $kept or die "$kept: $!\n";
	}
	$? = $status;
	return $said;
}

# Builds in a new root, in a folder of its own; the first time with the tests of a build.
# Returns the hashes of the packages.
sub build {
	my ($suite, $source, $n) = @_;
	make_path("$source/$n");
	my $said = part(
		$source,
		"build-$n",
		sub {
			in_root(
				$suite,     'build', "$SRC/tests/packages-build", $source, "$source/$n",
				"build-$n", $n > 1 ? 'nocheck' : ()
			);
		}
	);
	is $?, 0, "build $n in a clean root" or diag substr $said, -30_000;
	return scalar qx{cd "$source/$n" && sha256sum *.deb};
}

# Runs a script in a new root of that Debian, with two folders copied in as /in and out of /out.
sub in_root {
	my ($suite, $variant, $script, $in, $out, @args) = @_;
	my @hooks = map {"--customize-hook=$_"} "copy-in $script /root",
		"mkdir -p \"\$1/in\" \"\$1/out\"", "sync-in $in /in",
		"chroot \"\$1\" sh /root/" . join(' ', $script =~ s{.*/}{}r, @args), "sync-out /out $out";
	my $command = join ' ', map { "'" . s/'/'\\''/gr . "'" } 'mmdebstrap', '--mode=root',
		'--dpkgopt=force-unsafe-io', '--variant=' . ($variant eq 'build' ? 'buildd' : 'apt'),
		@hooks, $suite, '/dev/null';
	# What is tested there is not what was built here.
	delete local @ENV{ grep {/^TIPME_/} keys %ENV };
	return scalar qx{$command 2>&1};
}

sub slurp {
	my ($file) = @_;
	open my $h, '<', $file or die "$file: $!\n";
	local $/;
	return scalar <$h>;
}
