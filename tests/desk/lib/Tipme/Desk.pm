# SPDX-License-Identifier: GPL-2.0-only
# The laboratory of real programs: a scene is a program, a cause, an action and a length; what
# tipme says is held against what was done.
package Tipme::Desk;
use strict;
use warnings;
use Carp        qw(croak);
use File::Copy  qw(copy);
use File::Temp  qw(tempdir);
use Time::HiRes qw(sleep time);
use Tipme::Desk::Causes;
use Tipme::Desk::Programs;
use Tipme::Desk::Scene;
use Tipme::Desk::Judge;
use Tipme::Desk::Wayland;
use Tipme::Desk::Wayland::Workload;
use Tipme::Display;
use Tipme::Nested;
use Tipme::Stage;
use Tipme::Workload;

use constant TRIES => 2;    # to have a program come up and draw, before a scene is void

my @BUILT = qw(tests/lab/cause tests/lab/xcause helper/workload/tipme-witness);

# What brings the programs' pictures to the screen, by the name of the world: nobody, a compositor
# on X11, or a Wayland compositor.
my %X11 = (bare => undef, composited => [qw(picom --config /dev/null --backend xrender)]);

sub worlds { return (sort keys %X11), Tipme::Nested::names() }

# lacks(WORLD): the first program that it needs and that is not installed; undef: none
sub lacks {
	my ($class, $world) = @_;
	my @wanted = exists $X11{$world} ? @{ $X11{$world} // [] }[0] // () : ($world, 'ss');
	for my $p (@wanted) {
		return $p if !grep { -x "$_/$p" } split /:/, $ENV{PATH};
	}
	return;
}

# Tipme::Desk->new(library => DIR, seed => N, calm => BOOLEAN, world => one of worlds()): recorder,
# X server, session, and somebody who types
sub new {
	my ($class, %o) = @_;
	my $world   = $o{world} // 'bare';
	my $wayland = !exists $X11{$world};
	# Records of Wayland are those of one user's compositors.
	my @ids   = Tipme::Display::ordinary();
	my @owner = $wayland ? ('--owner', $ids[0]) : ();
	chown @ids, $o{library} if $wayland;
	my $stage = ($wayland ? 'Tipme::Desk::Wayland' : 'Tipme::Stage')->new(
		library       => $o{library}, seed => $o{seed} // 1,
		recorder_args => [ '--post', 1, '--window', 30, @owner ]
	);
	my $self = bless { stage => $stage, fresh => 1, count => 0, calm => $o{calm}, world => $world },
		$class;
	$self->{bin} = "$stage->{work}/bin";
	mkdir $self->{bin} or croak "$self->{bin}: $!";
	for my $f (
		(map {"$ENV{TIPME_BUILDDIR}/$_"} @BUILT), Tipme::Desk::Causes::slow_files(),
		Tipme::Desk::Programs::files()
		)
	{
		my $to = "$self->{bin}/" . $f =~ s{.*/}{}r;
		copy($f, $to) or croak "$f: $!: build with --enable-lab=yes";
		chmod 0755, $to;
	}
	$stage->start_typist;
	my %session =
		(display => $stage->{display}, work => $stage->{work}, ids => $stage->{ids});
	$self->{workload} = $wayland
		? Tipme::Desk::Wayland::Workload->new(
		%session,
		compositor => $world,
		click      => sub { $stage->type_lines('click 1'); $stage->pressed(1) }
		)
		: Tipme::Workload->new(%session, compositor => $X11{$world});
	$stage->at_end(sub { $self->{workload}->close });
	return $self;
}

sub close { my ($self) = @_; $self->{stage}->close; return }

# run(SCENE): plays a drawn scene ({ program, cause, action, ms, load, seed }); returns the result
# of it
sub run {
	my ($self, $drawn) = @_;
	my $lacks = Tipme::Desk::Programs::lacks($drawn->{program})
		|| ($drawn->{cause} ne 'quiet'
		&& (Tipme::Desk::Causes::get($drawn->{cause})->{needs} // sub {''})->());
	my %drawn = (%$drawn, desktop => $self->{world});
	return { %drawn, skipped => $lacks } if $lacks;
	my ($result, $error);
	for my $try (1 .. TRIES) {
		if   (delete $self->{fresh}) { sleep 0.3 }
		else                         { $self->{stage}->restart_recorder }
		my $scene = Tipme::Desk::Scene->new($self, \%drawn, ++$self->{count});
		$result = eval { $scene->play; Tipme::Desk::Judge::judge($scene) };
		$error  = $@;
		$scene->clean;
		# One that fails before its press (the program did not come up) has shown nothing yet.
		last if $result || defined $scene->{key_ns};
	}
	return $result // {
		%drawn,
		void => 'the scene could not be played: ' . $error =~ s/ at \S+ line \d+\.?\n.*//sr
	};
}

1;
