# SPDX-License-Identifier: GPL-2.0-only
# Which package a file of this machine came with, and where its makers take reports: dpkg, rpm,
# Flatpak, Snap, AppImage, or none. Nothing but what is installed here is looked at.
package Tipme::Package;

use strict;
use warnings;
use Tipme::Printable qw(characters one_line);

my $MAX_FILE = 1 << 20;    # bytes of a description that is read

# new(root => '/'): where the machine's files lie, for a machine that is another one
sub new {
	my ($class, %o) = @_;
	return bless { root => ($o{root} // '') =~ s{/+\z}{}r }, $class;
}

# of(FILE, cgroup => PATH of its control group): { system: dpkg, rpm, flatpak, snap, appimage or
# none, name, version, source, home, tracker, tracker_from, distribution }; undef: not known
sub of {
	my ($self, $file, %o) = @_;
	my $p = $self->_flatpak($file, $o{cgroup} // '') // $self->_snap($file) // _appimage($file)
		// $self->_dpkg($file) // $self->_rpm($file) // { system => 'none' };
	$self->_tracker($p);
	for (values %$p) { $_ = one_line(characters($_)) if defined }
	return $p;
}

# os(): of the distribution, { id, name, version, bugs, home }
sub os {
	my ($self) = @_;
	return $self->{os} if $self->{os};
	my $text = $self->read('/etc/os-release') // $self->read('/usr/lib/os-release') // '';
	my %f    = $text =~ /^([A-Z_]+)=(.*)$/mg;
	for (values %f) { s/\A(["'])(.*)\1\z/$2/s; s/\\([\\"'\$`])/$1/g }
	return $self->{os} = {
		id      => $f{ID}          // 'linux',
		like    => $f{ID_LIKE}     // '',
		name    => $f{PRETTY_NAME} // $f{NAME} // 'Linux',
		version => $f{VERSION_ID},
		bugs    => $f{BUG_REPORT_URL},
		home    => $f{HOME_URL}
	};
}

# versions(PACKAGES): { name => version } of those that dpkg or rpm has here
sub versions {
	my ($self, @names) = @_;
	@names = grep {/\A[A-Za-z0-9][\w.+-]*\z/} @names;
	my @ask = $self->_has('/var/lib/dpkg/status')
		? (
		'dpkg-query', '--admindir', "$self->{root}/var/lib/dpkg", '-W', '-f',
		'${Package}\t${Version}\n'
		)
		: ('rpm', $self->_rpm_root, '-q', '--qf', '%{NAME}\t%{VERSION}-%{RELEASE}\n');
	# Both say by their exit status that one of the names is not there.
	my ($text) = _said(@ask, @names);
	return { ($text // '') =~ /^([^\t\n]+)\t([^\t\n]+)$/mg };
}

# kernel_module(FUNCTION): the module that it is in; undef: the kernel itself, or not known
sub kernel_module {
	my ($self, $function) = @_;
	open(my $in, '<', "$self->{root}/proc/kallsyms") or return;
	while (my $line = <$in>) {
		return $1 if $line =~ /\A[0-9a-f]+ \w \Q$function\E\t\[(\w+)\]$/;
	}
	return;
}

# driver(MODULE, RELEASE of the kernel): { file, description, intree, package }; undef: not known
sub driver {
	my ($self, $module, $release) = @_;
	return if $module !~ /\A\w+\z/ || $release !~ /\A[\w.+~-]+\z/;
	my $text =
		_ask('modinfo', '-b', length $self->{root} ? $self->{root} : '/', '-k', $release, $module);
	return if !defined $text;
	my %f;
	for (split /\n/, $text) { $f{$1} //= $2 if /\A(\w+):\s*(.*)\z/ }
	my $file = ($f{filename} // '') =~ s/\A\Q$self->{root}\E//r;
	return {
		module => $module, file => $file, description => $f{description}, version => $f{version},
		intree => $f{intree} ? 1 : 0, package => $self->of($file)
	};
}

# --- what each packaging knows ---

# In its own file system, or by the name that its control group has.
sub _flatpak {
	my ($self, $file, $cgroup) = @_;
	my ($id) = $cgroup =~ m{/app-flatpak-([A-Za-z0-9_.-]+?)-\d+\.scope(?:/|\z)};
	($id) = $file =~ m{/flatpak/app/([A-Za-z0-9_.-]+)/} if !defined $id;
	return if !defined $id;
	for my $base ('/var/lib/flatpak', map {"$_/.local/share/flatpak"} $ENV{HOME} // ()) {
		my $app = "$base/app/$id/current/active";
		next if !$self->_has("$app/metadata");
		my ($xml) =
			grep {defined} map { $self->read("$app/files/share/$_") } "metainfo/$id.metainfo.xml",
			"metainfo/$id.appdata.xml", "appdata/$id.appdata.xml";
		my ($version) = ($xml // '') =~ /<release\b[^>]*\bversion="([^"]*)"/;
		return { system => 'flatpak', name => $id, version => $version, _appstream($xml) };
	}
	return { system => 'flatpak', name => $id };
}

sub _snap {
	my ($self, $file)     = @_;
	my ($name, $revision) = $file =~ m{\A(?:/var/lib/snapd)?/snap/([a-z0-9-]+)/([^/]+)/} or return;
	my $yaml     = $self->read("/snap/$name/$revision/meta/snap.yaml") // '';
	my %f        = $yaml =~ /^([a-z-]+):\s*(\S.*?)\s*$/mg;
	my ($issues) = $yaml =~ /^\s+issues:[ \t]*(?:\n\s*-\s*)?(\S+)/m;
	s/\A(["'])(.*)\1\z/$2/ for grep {defined} values %f, $issues;
	my $tracker = $issues // $f{contact};
	return {
		system => 'snap', name => $name, version => $f{version} // $revision, tracker => $tracker,
		tracker_from => defined $tracker ? 'snap.yaml' : undef
	};
}

# It is mounted while it runs.
sub _appimage {
	my ($file) = @_;
	my ($name) = $file =~ m{/\.mount_([^/]+?)[A-Za-z0-9]{6}/} or return;
	return { system => 'appimage', name => $name };
}

sub _dpkg {
	my ($self, $file) = @_;
	return if !$self->_has('/var/lib/dpkg/status');
	my @dir = ('--admindir', "$self->{root}/var/lib/dpkg");
	# Since /bin is /usr/bin, either may be in the list.
	my ($name) = map {
		(_ask('dpkg-query', @dir, '-S', $_) // '') =~
			/\A(?!diversion )([^:,\s]+)(?::\w+)?(?:, [^:]+)*: /
			? $1
			: ()
	} $file, $file =~ m{\A/usr(/.*)} ? $1 : "/usr$file" or return;
	my @field = qw(Version source:Package source:Version Homepage Bugs Origin Maintainer);
	my %f;
	@f{@field} = map { length ? $_ : undef }
		split /\t/,
		_ask('dpkg-query', @dir, '-W', '-f', join('\t', map {"\${$_}"} @field) . '\n', $name) // '',
		-1;
	my $bugs = $f{Bugs};
	# Signed kernels are copies: their bugs are those of the source that was signed.
	$f{'source:Package'} =~ s/\Alinux-signed(?:-\w+)?\z/linux/ if defined $f{'source:Package'};
	return {
		system => 'dpkg', name => $name, version => $f{Version}, source => $f{'source:Package'},
		home   => $f{Homepage}, origin => $f{Origin},
		defined $bugs ? (tracker => $bugs, tracker_from => 'the field Bugs of the package') : ()
	};
}

# Debian's rpm looks for a database elsewhere.
my @RPM_DATABASES = qw(/var/lib/rpm /usr/lib/sysimage/rpm);

sub _rpm_root {
	my ($self)     = @_;
	my ($database) = grep { $self->_has($_) } @RPM_DATABASES;
	return (
		defined $database    ? ('--dbpath', $database)     : (),
		length $self->{root} ? ('--root',   $self->{root}) : ()
	);
}

sub _rpm {
	my ($self, $file) = @_;
	return if !grep { $self->_has($_) } @RPM_DATABASES;
	my $line = _ask(
		'rpm', $self->_rpm_root, '-qf', '--qf',
		join('\t', map {"%{$_}"} qw(NAME VERSION RELEASE SOURCERPM BUGURL URL)) . '\n', $file
	);
	my ($name, $version, $release, $source, $bugs, $home) =
		map { defined && $_ ne '(none)' ? $_ : undef } split /\t/,
		(split /\n/, $line // '')[0] // '';
	return if !defined $version;
	return {
		system => 'rpm', name => $name, version => "$version-$release",
		source => ($source // '') =~ s/-[^-]+-[^-]+\.src\.rpm\z//r, home => $home,
		defined $bugs ? (tracker => $bugs, tracker_from => 'the field BugURL of the package') : ()
	};
}

# --- where reports go ---

# tracker: of the makers, as the package says, or what it brings for software centres;
# distribution: of who made the package.
sub _tracker {
	my ($self, $p) = @_;
	return if $p->{system} !~ /\A(?:dpkg|rpm)\z/;
	my $os = $self->os;
	%$p = (%$p, _appstream($self->_metainfo($p->{name})))
		if !defined $p->{tracker} && $p->{system} eq 'dpkg';
	my $source = $p->{source} // $p->{name};
	my $debian = $os->{id} eq 'debian' && ($p->{origin} // 'Debian') eq 'Debian';
	my $ubuntu = $os->{id} eq 'ubuntu' && ($p->{origin} // 'Ubuntu') =~ /\A(?:Ubuntu|Debian)\z/;
	$p->{distribution} =
		  $debian              ? "https://bugs.debian.org/src:$source"
		: $ubuntu              ? "https://bugs.launchpad.net/ubuntu/+source/$source/+filebug"
		: defined $p->{origin} ? undef
		:                        $os->{bugs};
	return;
}

sub _metainfo {
	my ($self, $package) = @_;
	return if $package !~ /\A[a-z0-9][a-z0-9.+-]*\z/;
	my ($list) = grep {defined} map { $self->read("/var/lib/dpkg/info/$_.list") } $package,
		"$package:amd64", "$package:arm64";
	my @file = ($list // '') =~ m{^(/usr/share/(?:metainfo|appdata)/[^/\n]+\.xml)$}mg;
	my ($xml) = grep {defined} map { $self->read($_) } @file;
	return $xml;
}

# The tracker and the home of a component, as AppStream has them.
sub _appstream {
	my ($xml) = @_;
	my %url   = ($xml // '') =~ m{<url\s+type="([a-z-]+)"\s*>\s*([^<\s]+)\s*</url>}g;
	my %as    = (amp => '&', lt => '<', gt => '>', quot => '"', apos => q('));
	s/&(amp|lt|gt|quot|apos);/$as{$1}/g for values %url;
	return (
		home => $url{homepage},
		defined $url{bugtracker} ? (tracker => $url{bugtracker}, tracker_from => 'AppStream') : ()
	);
}

# --- files and programs ---

sub _has { my ($self, $file) = @_; return -e "$self->{root}$file" }

sub read {
	my ($self, $file) = @_;
	open(my $in, '<', "$self->{root}$file") or return;
	read($in, my $text, $MAX_FILE);
	return $text;
}

# What a program says; undef: it is not there, or it failed. No shell reads it.
sub _ask { my ($text, $failed) = _said(@_); return $failed ? undef : $text }

sub _said {
	my (@command) = @_;
	local ($?, $!) = (0, 0);
	my $pid = open(my $out, '-|') // return (undef, 1);    ## no critic (RequireBriefOpen)
	if (!$pid) {
		$ENV{LC_ALL} = 'C';
		open STDERR, '>', '/dev/null';
		{ no warnings 'exec'; exec { $command[0] } @command }
		require POSIX;
		POSIX::_exit(127);
	}
	my $text = do { local $/; <$out> };
	close $out;
	return ($text, $?);
}

1;
