# SPDX-License-Identifier: GPL-2.0-only
# What the culprit of a verdict is on this machine: a program of a package, a script, a program of
# no package, a part of the kernel, or how the machine was set up.
package Tipme::Culprit;

use strict;
use warnings;
use Tipme::Kinds;
use Tipme::Package;
use Tipme::Printable qw(one_line);
use Tipme::Reason    qw(tags_of);
use Tipme::Words     qw(N__ fill);

# Interpreters: what they run is to be told, not they.
my $INTERPRETER = qr/\A(?:python[\d.]*|perl[\d.]*|ruby[\d.]*|node(?:js)?|php[\d.]*|lua[\d.]*|
	(?:ba|da|z|k|fi)?sh|tclsh[\d.]*|wish[\d.]*|gjs(?:-console)?|guile[\d.]*|java)\z/x;
# Their options that take the next word.
my %TAKES =
	map { $_ => 1 } qw(-W -X -I -M -cp -classpath --module-path -r --require -L -C --rcfile);
# Verdicts that are about what somebody set up or did here, not about a mistake in a program.
my %SET_UP = map { $_ => 1 } qw(cpu-throttled stopped host-steal);
my %LIMIT  = map { $_ => 1 } qw(disk-limit disk-held);
# Verdicts that are about the kernel and its drivers.
my %KERNEL = map { $_ => 1 } qw(irq-time irqs-off gpu-wait device-wait);

# of(DATA of a diagnosis, DIAGNOSIS, package => Tipme::Package): {
#   what      program, script, kernel, setup or unknown
#   comm, pid, exe, script: names the script or its module; here only, a bundle has neither
#   function, module, build_ids: [ [ file, build-id ] ... ] of the functions that were seen
#   driver    { module, file, description, package } of a kernel module
#   package   as Tipme::Package has it
#   how       how the setup is changed, in words }
sub of {
	my ($class, $d, $diagnosis, %o) = @_;
	my ($v, $packages) = ($d->{verdict}, $o{package} // Tipme::Package->new);
	my $b    = $v->{blamed} // {};
	my $self = bless {
		%$b{ grep { exists $b->{$_} } qw(comm pid) }, packages => $packages,
		d => $d, threads => $diagnosis->threads, episode => $diagnosis->episode
	}, $class;
	my $f = $v->{function};
	@$self{qw(function module)} = @$f{qw(function module)} if $f;
	$self->_process if $self->{pid};
	$self->{what} = $self->_what($v, $b);
	$self->_kernel if $self->{what} eq 'kernel';
	$self->{how}       = $v->{next} if $self->{what} eq 'setup';
	$self->{build_ids} = $self->_build_ids;
	$self->{package}   = $self->_package;
	return $self;
}

# data(): the same for JSON
sub data {
	my ($self) = @_;
	return {
		map      { $_ => $self->{$_} }
			grep { defined $self->{$_} }
			qw(what comm pid exe script function module build_ids driver package how)
	};
}

# name(english => 1): what a title calls it, in the user's language; english: as it is compared
sub name {
	my ($self, %o) = @_;
	my $say = $o{english} ? sub { return $_[0] } : \&fill;
	return $say->(N__('Linux kernel'))
		. (defined $self->{module} && $self->{module} ne 'kernel' ? ": $self->{module}" : '')
		if $self->{what} eq 'kernel';
	return $self->{script} =~ s{\A.*/}{}r if defined $self->{script};
	return $self->{package}{name} // $self->{comm} // '?';
}

sub _what {
	my ($self, $v, $b) = @_;
	return 'unknown' if $v->{kind} =~ /\A(?:none|unknown)\z/;
	my $detail = $b->{detail_code} // '';
	return 'setup' if $SET_UP{ $v->{kind} } || ($v->{idle_cpus} // {})->{pinned} || $LIMIT{$detail};
	return 'kernel' if $KERNEL{ $v->{kind} } || ($self->{module} // '') eq 'kernel';
	return 'kernel' if $self->{pid} && $self->_at->{kernel};
	return !$self->{pid} ? 'unknown' : defined $self->{script} ? 'script' : 'program';
}

sub _end {
	my ($self) = @_;
	return ($self->{d}{interval} // {})->{end_ns} // $self->{episode}->trigger_ns;
}
sub _at { my ($self) = @_; return $self->{threads}->at($self->{pid}, $self->_end) }

# What the process was called with, and from which file. Where an interpreter ran, its script.
sub _process {
	my ($self) = @_;
	my ($threads, $pid, $t) = ($self->{threads}, $self->{pid}, $self->_end);
	my $exe = $threads->exe($pid, $t);
	return if !defined $exe || !length $exe;
	$self->{exe} = $exe =~ s/ \(deleted\)\z//r;
	my ($base) = $self->{exe} =~ m{([^/]+)\z};
	return if $base !~ $INTERPRETER;
	my @args = split /\n/, $threads->called($pid, $t) // '';
	shift @args;

	while (@args) {
		my $word = shift @args;
		if ($word =~ /\A-[a-zA-Z]*m\z/ || $word eq '-jar') { $self->{script} = shift @args; last }
		# What was given on the command line is the user's own.
		if ($word =~ /\A-[a-zA-Z]*[ce]\z/) {
			$self->{script} = fill(N__('a program on the command line'));
			last;
		}
		if ($TAKES{$word}) { shift @args; next }
		next if $word =~ /\A-/;
		$self->{script} = $word;
		last;
	}
	return;
}

sub _package {
	my ($self) = @_;
	my $packages = $self->{packages};
	# Whoever opens a bundle has other packages, and the files have no folders.
	return { system => 'elsewhere' } if $self->{episode}->manifest->{bundle};
	if ($self->{what} eq 'kernel') {
		my $release = $self->{episode}->manifest->{kernel} // '';
		return $packages->of("/boot/vmlinuz-$release");
	}
	my $file = $self->{what} eq 'script' ? $self->{script} : $self->{exe};
	my $seen = $self->{pid}              ? $self->{threads}->facts($self->{pid}, $self->_end) : {};
	my $of   = $self->{threads}->cgroup($seen->{cgroup});
	return $packages->of(
		defined $file && $file =~ m{\A/} ? $file : '?',
		cgroup => $of ? $of->{path} : undef
	);
}

# The module of a kernel function, from the names of this kernel; what modinfo says of it.
sub _kernel {
	my ($self) = @_;
	return if !defined $self->{function};
	my $module = $self->{packages}->kernel_module($self->{function}) // return;
	$self->{module} = $module;
	$self->{driver} =
		$self->{packages}->driver($module, $self->{episode}->manifest->{kernel} // '');
	return;
}

# Of the files in which the functions of the culprit lie.
sub _build_ids {
	my ($self)  = @_;
	my @modules = $self->{threads}->modules;
	my ($base)  = ($self->{exe} // '') =~ m{([^/]+)\z};
	my %want    = map { $_ => 1 } grep { defined && $_ ne 'kernel' } $self->{module}, $base;
	my %seen;
	my @of = grep { length $_->{build_id} && $want{ $_->{path} =~ s{\A.*/}{}sr } } @modules;
	return [
		map  { [ $_->{path} =~ s{\A.*/}{}sr, $_->{build_id} ] }
		grep { !$seen{ $_->{build_id} }++ } @of
	];
}

1;
