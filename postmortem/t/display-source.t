#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Where keys and pictures pass is asked of one interface: nothing above it knows a record of an X
# server, and a source that is none is judged like one.
use strict;
use warnings;
use Test::More;
use File::Temp qw(tempdir);
use FindBin    qw($Bin);
use lib "$Bin/lib", "$Bin/../lib", "$Bin/../../abi/generated", "$Bin/../../abi/lib";
use Tipme::DisplaySource;
use Tipme::Record::Layout;
use Tipme::Test::Story;

use constant {
	MS     => 1_000_000, CLIENT => Tipme::Test::Story::CLIENT,
	SERVER => Tipme::Test::Story::SERVER
};

# 1. By name: only what handles records as such (bundles, exports) may name them.
my %MAY   = map  { $_ => 1 } qw(Cut.pm Bundle/Redacted.pm);
my ($lib) = grep {-d} map {"$_/postmortem/lib/Tipme"} grep {defined} $ENV{TIPME_SRCDIR},
	"$Bin/../..";
my @RECORD = grep {/\Ax_/} map { $_->{name} } values %Tipme::Record::Layout::RECORD;
cmp_ok(scalar @RECORD, '>', 10, 'the X records: ' . @RECORD);
my $names = join '|', map {quotemeta} @RECORD;
my $n     = 0;

for my $path (sort split /\n/, qx{find '$lib' -name '*.pm'}) {
	my ($file) = $path =~ m{\A\Q$lib\E/(.*)\z};
	next if $MAY{$file} || $file =~ m{\A(?:Export|DisplaySource)/};
	open my $h, '<', $path or die "$path: $!\n";
	my @found;
	while (<$h>) {
		push @found, "line $.: $1"
			if !/\A\s*#|\@CLASSES =/ && /\b($names|DisplaySource::(?!is_of|unnamed)\w+)\b/;
	}
	close $h;
	$n++;
	is("@found", '', "$file names no X record and no class of source") if @found;
}
cmp_ok($n, '>', 60, "of $n modules none names an X record, or a class of source");

# 2. By use: the same story told by hooks, and by a source of facts that has no X records at all.
package Tipme::DisplaySource::MadeUp {
	use parent -norequire, 'Tipme::DisplaySource';
	our @facts;

	sub sources {
		my ($class, $ep) = @_;
		my $x = $class->new(
			file => 'x-' . main::SERVER . '.rec', pid => main::SERVER,
			tid  => main::SERVER, name => 'made-up', source => 'wayland', exact => 1
		);
		push @{ $x->{ $_->[0] } }, { %{ $_->[1] } } for @facts;
		$x->sort_facts;
		return $x;
	}

	sub refine {
		my ($self, $e) = @_;
		return if $e->{refined}++;
		my $turn = $self->turn_of(
			$self->kernel->states($e->{device_ns} - 100 * main::MS, $e->{device_ns} + main::MS),
			$self->{tid}, $e->{device_ns}
		) or return;
		@$e{qw(wakeup_ns asleep_ns)} = @$turn{qw(from asleep)};
		return;
	}
}

sub story {
	return Tipme::Test::Story->new(@_)->enter(1000)->run(1, 1000.25, 1900, CLIENT, 'sleeping')
		->draw(1899.8)->hotkey(2500);
}
my $dir  = tempdir(CLEANUP => 1);
my $hook = story()->diagnose("$dir/hooks");
is($hook->{verdict}{kind}, 'app-compute', 'told by hooks: the client computed');

my ($x) = Tipme::DisplaySource->load_all(Tipme::Episode->open("$dir/hooks"));
my @TOLD = qw(device deliver draw chord);
@Tipme::DisplaySource::MadeUp::facts = map {
	my $fact = $_;
	map { [ $fact => $_ ] } $x->all($fact)
} @TOLD;
{
	local @Tipme::DisplaySource::CLASSES = ('Tipme::DisplaySource::MadeUp');
	local $INC{'Tipme/DisplaySource/MadeUp.pm'} = __FILE__;
	my $d = Tipme::Diagnosis->new(Tipme::Episode->open("$dir/hooks"))->run;
	is_deeply(
		[ @{ $d->{verdict} }{qw(kind)}, $d->{verdict}{blamed}{pid}, $d->{event}{n} ],
		[ 'app-compute',                CLIENT,                     $hook->{event}{n} ],
		'told by a source with four facts: the same verdict, of the same event'
	);
	is($d->{event}{server}{source}, 'wayland',                 '... and its source is named');
	is($d->{interval}{end_ns},      $hook->{interval}{end_ns}, '... the same end');
	cmp_ok($d->{verdict}{share}, '>', 0.99, '... and the same share');
}

# 3. A source may say that a picture was shown later than it was drawn, and by whom; or not yet.
is(
	(Tipme::DisplaySource->none->shown({}, [], 1))[0], undef,
	'without a compositor a picture is shown when it is drawn'
);

done_testing();
