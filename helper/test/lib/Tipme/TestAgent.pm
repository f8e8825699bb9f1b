# SPDX-License-Identifier: GPL-2.0-only
# An agent on an X server of the test's own, as an ordinary user to whom the build tree may be
# closed; keys pressed by XTEST, by number.
package Tipme::TestAgent;
use strict;
use warnings;
use Carp       qw(croak);
use Exporter   qw(import);
use File::Copy qw(copy);
use File::Path qw(make_path);
use FindBin;
use Time::HiRes       qw(sleep);
use Tipme::TestDaemon qw(slurp wait_until);

our @EXPORT_OK = qw(command press public start_agent);

my ($SRC, $BUILD) =
	map { $ENV{$_} // croak "$_ is not set: run it by make check" } qw(TIPME_SRCDIR TIPME_BUILDDIR);

# public(DIR, PROGRAM ...): a tree below DIR with the programs of the session, the post-mortem and
# these, for everybody to run; returns its path
sub public {
	my ($dir, @more) = @_;
	my $public = "$dir/public";
	for my $program (
		qw(helper/agent/tipme-agent helper/agent/tipme-dialog helper/xclient/tipme-x-observer
		helper/cli/tipme), @more
		)
	{
		next if !-e "$BUILD/$program";
		make_path("$public/$program" =~ s{/[^/]*$}{}r);
		copy("$BUILD/$program", "$public/$program") && chmod 0755, "$public/$program"
			or croak "$public/$program: $!";
	}
	system('cp', '-rL', "$SRC/postmortem", "$SRC/abi", $public) == 0
		&& system('chmod', '-R', 'a+rX', $public) == 0
		or croak "$public: not copied";
	my $in_tree = slurp("$BUILD/tipme");
	$in_tree =~ s/^TIPME_(SRC|BUILD)DIR=.*/TIPME_$1DIR='$public'/gm;
	# Perl ends where a folder of modules is closed to it, as one below another's home is.
	$in_tree =~ s/\$\{PERL5LIB:\+:\$PERL5LIB\}// or croak "$BUILD/tipme: another PERL5LIB";
	open my $out, '>', "$public/tipme" or croak "$public/tipme: $!";
	print {$out} $in_tree;
	close $out;
	chmod 0755, "$public/tipme";
	return $public;
}

# command(DISPLAY, COMMAND ...): runs it on a display, as root; returns what it prints
sub command {
	my ($x, @command) = @_;
	local %ENV = (%ENV, $x->env);
	open my $pipe, '-|', @command or croak "$command[0]: $!";
	local $/;
	my $out = <$pipe> // '';
	close $pipe;
	return $out;
}

# press(DISPLAY, KEYCODE ...): goes down in this order, up in the other
sub press {
	my ($x, @codes) = @_;
	command(
		$x, 'xdotool', (map { ('keydown', $_) } @codes),
		(map { ('keyup', $_) } reverse @codes)
	);
	return;
}

# start_agent(DISPLAY, PUBLIC, OPTION ...): returns its pid and the file with what it says
sub start_agent {
	my ($x, $public, @options) = @_;
	my $log = "$x->{dir}/agent-" . ++$x->{agents};
	local $ENV{TIPME_BUILDDIR} = $public;
	delete $ENV{TIPME_BUILDDIR} if $x->{without_variable};
	local $ENV{LOG} = $log;
	delete local @ENV{qw(DBUS_SESSION_BUS_ADDRESS XDG_RUNTIME_DIR)} if !$x->{bus};
	local $ENV{HOME} = $x->{dir};
	delete local $ENV{XDG_CACHE_HOME};    # root's
	my $pid = $x->spawn(
		'sh', '-c', 'exec "$0" "$@" >>"$LOG" 2>&1', "$public/helper/agent/tipme-agent",
		@options
	);
	wait_until(sub { -e $log });
	return ($pid, $log);
}

1;
