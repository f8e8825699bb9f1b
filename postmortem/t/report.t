#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# tipme report: whom to tell, of a Debian package, a script, a file of no package, the kernel, the X
# server, a Flatpak, a Snap, the machine's own setup; each form; what was reported before.
use strict;
use warnings;
use Test::More;
use Cpanel::JSON::XS ();
use File::Path       qw(make_path);
use File::Temp       qw(tempdir);
use FindBin          qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use Tipme::Package;
use Tipme::Test::Files qw(slurp);
use Tipme::Test::Story;
use Tipme::Test::Stacks qw(stack_text);

use constant { SERVER => 100, CLIENT => 200, MS => 1_000_000 };
my $tmp = tempdir(CLEANUP => 1);
$ENV{TIPME_LIBRARY} = "$tmp/library";
$ENV{HOME}          = "$tmp/home";
delete @ENV{qw(XDG_DATA_HOME TIPME_ROOT)};
mkdir "$tmp/$_" or die "$!\n" for qw(library home bin);
my $n = 0;

# tipme(ARGS): { out, err, exit }; nobody is there to answer a question
sub tipme {
	my (@args) = @_;
	my $pid = fork // die "fork: $!\n";
	if (!$pid) {
		open STDOUT, '>', "$tmp/out"  or die "$!\n";
		open STDERR, '>', "$tmp/err"  or die "$!\n";
		open STDIN,  '<', '/dev/null' or die "$!\n";
		exec $^X, "$Bin/../bin/tipme-postmortem", @args;
	}
	waitpid $pid, 0;
	my %r = (exit => $? >> 8);
	$r{$_} = slurp("$tmp/$_") for qw(out err);
	return \%r;
}

sub spit {
	my ($f, $text, $mode) = @_;
	make_path($f =~ s{/[^/]*\z}{}r);
	open my $h, '>', $f or die "$f: $!\n";
	print {$h} $text;
	close $h or die "$!\n";
	chmod $mode, $f if $mode;
	return;
}

sub flat { return $_[0] =~ s/\s+/ /gr }

# keep(STORY): its id in the library; slow(EXE, ARGS): xterm computed, and was that file
sub keep {
	my ($s) = @_;
	my $id  = sprintf '20261120-%06d-3f2a', 150_000 + $n++;
	$s->builder->{id} = $id;
	$s->builder->write("$tmp/library/$id");
	return $id;
}

sub slow {
	my ($exe, @args) = @_;
	my $s = Tipme::Test::Story->new(trigger => 2000)->key(1000, 400)->hotkey(1900);
	return $s->daemon('process', pid => CLIENT, start_ns => 1200, exe => $exe)->daemon(
		'exec_args', pid => CLIENT, start_ns => 1200, text => join "\n",
		@args ? @args : $exe
	);
}

# told(ID, ARGS): what --json says
sub told {
	my (@args) = @_;
	my $r = tipme('report', '--json', @args);
	return eval { Cpanel::JSON::XS->new->decode($r->{out}) } // { error => $r->{err} };
}

# --- a package of this machine: the file of xterm, which the tests need anyhow ---
my $id     = keep(slow('/usr/bin/xterm'));
my $xterm  = told($id);
my $debian = slurp('/etc/os-release') =~ /^ID="?debian"?$/m;
SKIP: {
	skip 'this machine has no dpkg of Debian', 9 if !$debian || !-e '/var/lib/dpkg/info/xterm.list';
	my ($version) = `dpkg-query -W -f '\${Version}' xterm`;
	is_deeply(
		[ @{ $xterm->{culprit}{package} }{qw(system name version source distribution)} ],
		[ 'dpkg', 'xterm', $version, 'xterm', 'https://bugs.debian.org/src:xterm' ],
		'a package: name, version, tracker'
	);
	is($xterm->{form}, 'debian', '... the form is that of Debian');
	like(
		$xterm->{text}, qr/^Package: xterm\nVersion: \Q$version\E\nSeverity: normal\n/m,
		'... with its pseudo headers'
	);
	my $r = tipme(
		'report',          $id, '--did', 'I typed `ls`', '--often', 'each morning', '-o',
		"$tmp/report.txt", '--yes'
	);
	is($r->{exit}, 0, '... written') or diag($r->{err});
	my $body = slurp("$tmp/report.txt");
	unlike($body, qr/^(?:To|Subject|Package): /m, '... without what reportbug makes itself');
	like(
		flat($body),
		qr/What I did: I typed `ls`.*it computed.*How often: each morning.*Versions: program xterm package xterm \Q$version\E/,
		'... steps, sentence, versions'
	);
	skip 'reportbug is not installed', 3 if !-x '/usr/bin/reportbug';
	chmod 0755, $tmp;
	chmod 0644, "$tmp/report.txt";
	# Root may not; then it is whoever has no rights.
	my @as = $> ? () : qw(setpriv --reuid=65534 --regid=65534 --clear-groups);
	my $mail =
		qx(cd $tmp && HOME=$tmp/home EDITOR=true @as reportbug --offline --no-query-bts --no-check-available --no-bug-script --no-verify --ui=text --email=tester\@mail.debian.org --realname=Tester --mode=expert -S normal -s latency --template --body-file=report.txt xterm 2>&1 < /dev/null);
	is($?, 0, 'reportbug takes the text') or diag($mail);
	like($mail,       qr/^Package: xterm$/m,                  '... makes its head');
	like(flat($mail), qr/I typed `ls`.*Where the time went:/, '... and keeps ours') or diag($mail);
}

# --- a script: its author is told, not the makers of Python ---
my $script = "$tmp/work/todo.py";
spit($script, "print()\n");
my $s = told(keep(slow('/usr/bin/python3.11', 'python3', '-X', 'dev', $script, '--secret', 'x')));
is($s->{culprit}{what},            'script', 'a script');
is($s->{culprit}{script},          $script,  '... which');
is($s->{culprit}{package}{system}, 'none',   '... of no package');
is($s->{form},                     'text',   '... in plain text');
unlike($s->{text}, qr/--secret/, '... without how it was called');
is(
	told(keep(slow('/usr/bin/python3', 'python3', '-c', 'import this')))->{culprit}{script},
	'a program on the command line', 'python -c'
);
is(
	told(keep(slow('/usr/bin/python3', 'python3', '-m', 'http.server')))->{culprit}{script},
	'http.server', 'python -m'
);
is(told(keep(slow('/usr/lib/jvm/bin/java', 'java', '-cp', 'x', '-jar', '/opt/edit.jar')))
		->{culprit}{script}, '/opt/edit.jar', 'java -jar');

# --- a file of no package ---
spit("$tmp/work/prog", "x\n");
my $r = tipme('report', keep(slow("$tmp/work/prog")));
like(
	flat($r->{out}), qr{Tell whoever made xterm: its file \S+/work/prog belongs to no package\.},
	'a file of no package'
);
is($r->{exit}, 0, '... is a report like others');

# --- the X server ---
SKIP: {
	skip 'no Xorg package here', 1 if !$debian || !-e '/var/lib/dpkg/info/xserver-xorg-core.list';
	my $x = Tipme::Test::Story->new(trigger => 4000)->enter(1000)
		->run(1, 1000.25, 1001, CLIENT, q(sleeping));
	$x->daemon(q(process), pid => SERVER, start_ns => 1100, exe => q(/usr/lib/xorg/Xorg))
		->wake(1, 1000.9, SERVER, CLIENT, q(epoll))->run(0, 1001, 1601, SERVER, q(sleeping));
	$x->builder->x(1001.1 * MS, q(x_wakeup))->x(
		1001.2 * MS, q(x_request), pid => CLIENT, client => 4, duration_ns => 599 * MS,
		major => 74, sequence => 1, count => 1
	)->x(
		1600.5 * MS, q(x_damage), pid => CLIENT, client => 4, major => 74, width => 6,
		height => 13
	)->x(1600.9 * MS, q(x_sleep));
	$x->hotkey(3000);
	is(told(keep($x))->{culprit}{package}{name}, 'xserver-xorg-core', 'the X server');
}

# --- the kernel: function, module and driver of a machine that is faked ---
my $root = "$tmp/root";
spit(
	"$root/etc/os-release",
	qq(ID=fedora\nPRETTY_NAME="Fedora Linux 42"\nBUG_REPORT_URL="https://bugzilla.example.org/"\n)
);
spit(
	"$root/proc/kallsyms",
	"0000000000000000 t slow_scan\t[slowdisk]\n0000000000000000 T vfs_read\n"
);
my $k = slow('/usr/bin/xterm');
$k->builder->stack(77, stack_text('unknown-scan'));
$k->kernel(
	1, 1010 + 5 * $_, 'sample', tid => CLIENT, kernel_stack_id => 77, period_us => 5000,
	cpu => 1, kind => 'clock'
) for 0 .. 70;
my $kernel_id = keep($k);
{
	local $ENV{TIPME_ROOT} = $root;
	my $t = told($kernel_id);
	is($t->{culprit}{what}, 'kernel', 'a function of the kernel') or diag(explain $t);
	is("@{ $t->{culprit} }{qw(function module)}", 'slow_scan slowdisk', '... and its module');
	is($t->{form},                                'kernel',             '... goes to a list');
	like(
		$t->{text}, qr/\ATo: linux-kernel\@vger\.kernel\.org\nSubject: \[BUG\] slowdisk: xterm: /,
		'... as a mail'
	);

	# --- Flatpak and Snap ---
	my $app = 'org.example.Edit';
	spit("$root/var/lib/flatpak/app/$app/current/active/metadata", "[Application]\nname=$app\n");
	spit(
		"$root/var/lib/flatpak/app/$app/current/active/files/share/metainfo/$app.metainfo.xml",
		qq(<component><url type="bugtracker">https://gitlab.example.org/edit/-/issues?a=1&amp;b=2</url><releases><release version="4.2" date="2026-01-01"/></releases></component>)
	);
	my $f = slow('/app/bin/edit');
	$f->builder->thread(CLIENT, 'xterm', ts_ns => 900 * MS, cgroup => 60);
	$f->daemon(
		'cgroup_name', cgroup => 60,
		path => "/user.slice/app.slice/app-flatpak-$app-4711.scope"
	);
	$t = told(keep($f));
	is_deeply(
		[ @{ $t->{culprit}{package} }{qw(system name version tracker tracker_from)} ],
		[ 'flatpak', $app, '4.2', 'https://gitlab.example.org/edit/-/issues?a=1&b=2', 'AppStream' ],
		'a Flatpak'
	);
	is($t->{form}, 'markdown', '... whose tracker takes Markdown');
	like($t->{text}, qr/^## What I did$/m, '... with headings');
	spit(
		"$root/snap/edit/17/meta/snap.yaml",
		"name: edit\nversion: '3.1'\nlinks:\n  issues:\n    - https://github.com/example/edit/issues\n"
	);
	$t = told(keep(slow('/snap/edit/17/usr/bin/edit')));
	is_deeply(
		[ @{ $t->{culprit}{package} }{qw(system name version tracker)} ],
		[ 'snap', 'edit', '3.1', 'https://github.com/example/edit/issues' ], 'a Snap'
	);
	is(
		told(keep(slow('/tmp/.mount_EditorAbCdEf/usr/bin/edit')))->{culprit}{package}{system},
		'appimage', 'an AppImage'
	);
}

# --- a package that is faked, for the forms of other distributions ---
my %OS = (
	ubuntu => [
		'launchpad', "ID=ubuntu\nID_LIKE=debian\n",
		qr/^ProblemType: Bug\nPackage: edit 1\.2\nSourcePackage: edit-src\n/m,
		'https://bugs.launchpad.net/ubuntu/+source/edit-src/+filebug'
	],
	fedora => [
		'abrt', "ID=fedora\nBUG_REPORT_URL=https://bugzilla.example.org/\n",
		qr/^Version-Release number of selected component:\nedit 1\.2\n/m,
		'https://bugzilla.example.org/'
	]
);
for my $os (sort keys %OS) {
	my ($form, $release, $text, $url) = @{ $OS{$os} };
	local $ENV{TIPME_ROOT} = "$tmp/$os";
	spit("$tmp/$os/etc/os-release", $release);
	spit(
		"$tmp/$os/var/lib/dpkg/status",
		"Package: edit\nStatus: install ok installed\nSource: edit-src (1.2)\nVersion: 1.2\nArchitecture: all\nMaintainer: A <a\@example.org>\nDescription: x\n\n"
	);
	spit("$tmp/$os/var/lib/dpkg/info/edit.list", "/.\n/usr\n/usr/bin\n/usr/bin/edit\n");
	spit("$tmp/$os/var/lib/dpkg/info/format",    "1\n");
	my $t = told(keep(slow('/bin/edit')));
	is($t->{form}, $form, "$os: its form, and /bin is /usr/bin") or diag(explain $t);
	like($t->{text} // '', $text, "$os: its fields");

	if ($form eq 'launchpad') {
		is(
			join("\n", grep { !/\A(?:[A-Za-z][A-Za-z0-9.-]*: ?| )/ } split /\n/, $t->{text}), '',
			"$os: each line is a field, or goes on with one"
		);
	}
	is($t->{culprit}{package}{distribution}, $url, "$os: its tracker");
}

# --- the package of a kernel: Debian's are signed copies, of which nobody takes reports ---
spit("$tmp/debian/etc/os-release", "ID=debian\n");
spit(
	"$tmp/debian/var/lib/dpkg/status",
	"Package: linux-image-6.1.0-9-amd64\nStatus: install ok installed\nSource: linux-signed-amd64 (6.1.27+1)\nVersion: 6.1.27-1\nArchitecture: amd64\nMaintainer: A <a\@example.org>\nDescription: x\n\n"
);
spit(
	"$tmp/debian/var/lib/dpkg/info/linux-image-6.1.0-9-amd64.list",
	"/.\n/boot\n/boot/vmlinuz-6.1.0-9-amd64\n"
);
spit("$tmp/debian/var/lib/dpkg/info/format", "1\n");
my $linux = Tipme::Package->new(root => "$tmp/debian")->of('/boot/vmlinuz-6.1.0-9-amd64');
is_deeply(
	[ @$linux{qw(name version source distribution)} ],
	[
		'linux-image-6.1.0-9-amd64', '6.1.27-1',
		'linux',                     'https://bugs.debian.org/src:linux'
	],
	'a kernel: its bugs are those of the source'
);

# --- an RPM package, in a database that rpm itself made ---
SKIP: {
	skip 'rpmbuild is not installed', 4 if !grep { -x "$_/rpmbuild" } split /:/, $ENV{PATH};
	my $at = "$tmp/rpm";
	spit(
		"$at/edit.spec", join "\n", 'Name: edit', 'Version: 4.2', 'Release: 1.fc42', 'Summary: x',
		'License: MIT',
		'BugURL: https://bugs.example.org/edit', 'BuildArch: noarch', '%description', 'x',
		'%install', 'mkdir -p %{buildroot}/usr/bin',
		'echo x > %{buildroot}/usr/bin/edit', '%files', '/usr/bin/edit', ''
	);
	spit(
		"$at/root/etc/os-release",
		qq(ID=fedora\nPRETTY_NAME="Fedora Linux 42"\nBUG_REPORT_URL="https://bugzilla.example.org/"\n)
	);
	spit("$at/root/usr/bin/edit", "x\n");
	make_path("$at/root/var/lib/rpm");
	my $made =
		qx(rpmbuild -bb --quiet --nodeps -D "_topdir $at/top" -D "_rpmdir $at" "$at/edit.spec" 2>&1 &&
		rpm --root "$at/root" --dbpath /var/lib/rpm --initdb 2>&1 &&
		rpm --root "$at/root" --dbpath /var/lib/rpm -i --justdb --nodeps --noscripts \
			"$at/noarch/edit-4.2-1.fc42.noarch.rpm" 2>&1);
	# Only root may look into another root.
	skip "rpm cannot work in a root of its own here: $made", 4 if $?;
	local $ENV{TIPME_ROOT} = "$at/root";
	my $t = told(keep(slow('/usr/bin/edit')));
	is_deeply(
		[ @{ $t->{culprit}{package} }{qw(system name version source tracker distribution)} ],
		[
			'rpm', 'edit', '4.2-1.fc42', 'edit', 'https://bugs.example.org/edit',
			'https://bugzilla.example.org/'
		],
		'an RPM package, as rpm has it'
	) or diag(explain $t);
	is($t->{form}, 'abrt', '... in the form of ABRT');
	like($t->{text}, qr/^Summary: xterm: .*\nComponent: edit$/m, '... with its component');
	like(
		$t->{text}, qr/^Version-Release number of selected component:\nedit 4\.2-1\.fc42$/m,
		'... and version'
	);
}

# --- how the machine is set up: no report, but how to change it ---
my $stopped = Tipme::Test::Story->new(trigger => 4000)->enter(1000, no_wake => 1);
$stopped->builder->thread(600, 'bash', ts_ns => 5 * MS);
$stopped->run(0, 949, 950.5, 600, 'sleeping')->wake(0, 950, CLIENT, 600, 'poll')
	->run(1, 950.1, 950.2, CLIENT, 'stopped')->run(0, 2999, 3001, 600, 'sleeping')
	->wake(0, 3000, CLIENT, 600)->run(1, 3000.1, 3002, CLIENT, 'sleeping')->draw(3001.9)
	->hotkey(3800);
$r = tipme('report', keep($stopped));
like(
	flat($r->{out}), qr/This is how the machine is set up, or what somebody did: .* Find out why/,
	'the own setup'
);
unlike($r->{out}, qr/^What I did/m, '... has no report');

# --- nothing without consent; what was reported is remembered ---
$id = keep(slow("$tmp/work/prog"));
spit(
	"$tmp/bin/xdg-email", "#!/bin/sh\nfor a; do printf '%s\\0' \"\$a\"; done > '$tmp/mail'\n",
	0755
);
spit("$tmp/bin/xdg-open", "#!/bin/sh\nprintf %s \"\$1\" > '$tmp/url'\n", 0755);
local $ENV{PATH} = "$tmp/bin:$ENV{PATH}";
$r = tipme('report', $id, '--mail', '-o', "$tmp/one.txt");
is($r->{exit}, 1, 'nobody agreed');
ok(!-e "$tmp/mail" && !-e "$tmp/one.txt", '... nothing was written or opened');
like($r->{out}, qr/^Where the time went:/m, '... but all of it was shown');
unlike(tipme('report', $id)->{out}, qr/reported the same/, '... nor remembered');
$r = tipme('report', $id, '--mail', '--yes', '-o', "$tmp/one.txt");
is($r->{exit}, 0, 'agreed') or diag($r->{err});
my @mail = split /\0/, slurp("$tmp/mail");
is($mail[2], (split /\n/, slurp("$tmp/one.txt"))[0], 'the mail program gets the title ...');
like($mail[4], qr/Signature: [0-9a-f]{16}/, '... and the text');
$r = tipme('report', keep(slow("$tmp/work/prog")));
like(
	flat($r->{out}), qr/This machine reported the same signature before: \S+ \S+, episode $id\./,
	'the same signature: said'
);
is((stat "$tmp/library/history.jsonl")[2] & 07777, 0600, 'the history is for its user only');
spit("$tmp/library/history.jsonl", slurp("$tmp/library/history.jsonl") . "not json\n\xff\n");
like(tipme('report', $id)->{out}, qr/reported the same/, 'a damaged line: passed over');

{
	local $ENV{TIPME_ROOT} = $root;
	$r = tipme('report', keep(slow('/snap/edit/17/usr/bin/edit')), '--open', '--yes');
	is($r->{exit},        0,                                        '--open') or diag($r->{err});
	is(slurp("$tmp/url"), 'https://github.com/example/edit/issues', '... opens the tracker');
}

# --- what is wrong ---
is(tipme('report', $id, '--form', 'fax')->{exit}, 64, 'no such form: usage');
like(
	tipme('report', $id, '--form', 'debian')->{err},
	qr/^tipme: report: --form debian: the culprit is of no package/, 'a form that needs a package'
);
like(
	tipme('report', $id, '-o', "$tmp/one.txt", '--yes')->{err}, qr/is there already/,
	'what is there is not written over'
);

# --- names that were made to harm ---
my $evil = slow("$tmp/work/prog");
$evil->builder->thread(CLIENT, "\e[31m|x\n`a`", ts_ns => 900 * MS);
my $evil_id = keep($evil);
my $bad     = tipme('report', $evil_id, '--form', 'markdown')->{out};
unlike($bad,                                         qr/\e/, 'a hostile name: no escape sequence');
unlike(told($evil_id, '--form', 'markdown')->{text}, qr/[^\\]`a/, '... and no mark');
done_testing();
