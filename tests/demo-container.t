#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The demo in containers: its own processes, no network, no user but one, who is called root there
# and may do something inside, or nothing at all; or is an ordinary one. The first verdict counts.
# It is another story where a witness says that the machine stood still: then it is told again.
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;
use lib "$ENV{TIPME_SRCDIR}/tests/lib";
use Tipme::Witness qw(undisturbed);

plan skip_all => 'not root: entering a container needs it' if $>;

for my $container (
	[ 'its root',                    [qw(-r)] ],
	[ 'an ordinary user',            [qw(--user --map-user=1000 --map-group=1000)], 'powerless' ],
	[ 'a root without capabilities', [qw(-r)],                                      'powerless' ]
	)
{
	my ($who, $map, $powerless) = @$container;
	my @enter = (
		'unshare', @$map, qw(-m -p -n --fork --mount-proc),
		$powerless ? qw(setpriv --bounding-set=-all --inh-caps=-all --no-new-privs) : ()
	);
SKIP: {
		skip 'no user namespaces here', 3 if system("@enter true 2>/dev/null");
		local $ENV{HOME} = tempdir(CLEANUP => 1);
		delete local $ENV{TIPME_LIBRARY};
		my ($rc, $text) = demo(@enter);
		if ($who =~ /without/) {
			isnt($rc, 0, "in a container, $who: no terminal runs for such a one");
			like(
				$text, qr/^tipme: demo: xterm ended at once: .*be an ordinary user there$/m,
				'... which is told, with what to do'
			);
			next;
		}
		is($rc, 0, "in a container, $who: a true verdict") or diag($text);
		like($text, qr/The verdict is true.*^missing\s+bpf/ms, '... and what it lacks is told');
		my ($path) = $text =~ /^episode\s+(\S+)$/m;
		ok($path && -s "$path/manifest.json", '... from an episode in its home');
	}
}
done_testing;

sub demo {
	my (@enter) = @_;
	my $said = undisturbed(
		sub {
			my $text = qx{@enter "$ENV{TIPME_BUILDDIR}/tipme" demo --cause stopped --seed 3 2>&1};
			return [ $? >> 8, $text ];
		}
	);
	return @$said;
}
