# SPDX-License-Identifier: GPL-2.0-only
# What `tipme doctor` says first, and that it says once what sudo would mend; all of it with -v.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Test::More;
use JSON::PP          ();
use Tipme::TestDaemon qw(tipme tipmed);

my $d = Tipme::TestDaemon->new;
delete $ENV{DISPLAY};

# looks(RUNNER): checks the short form against --json of the same user; runs `tipme doctor ...` by
# RUNNER
sub looks {
	my ($who, $run) = @_;
	my (undef, $json) = $run->('doctor', '--json');
	my $all = JSON::PP->new->utf8->decode($json);
	my ($rc, $out, $err) = $run->('doctor');
	is $err, '',                                 "$who: no complaint";
	is $rc,  $all->{recording_possible} ? 0 : 1, '... the exit status is the answer';
	my $first =
		 !$all->{recording_possible} ? qr/\AYou: nothing can be recorded\.\n/
		: $all->{sampled_only}       ? qr/\AYou: samples only\./
		:                              qr/\AYou: exact\.\n/;
	like $out,   $first,                                '... the first line says what is recorded';
	unlike $out, qr/^ok /m,                             '... nothing of what is well';
	like $out,   qr/\nEach check: tipme doctor -v\n\z/, '... and where the rest is';
	my (undef, $long) = $run->('doctor', '-v');
	my @named = $long =~ /^(?:ok|limited|missing) +(\S+)/mg;
	is_deeply \@named, [ map { $_->{name} } @{ $all->{checks} } ], '... -v has each check';
	return ($all, $out);
}

looks('who runs this test', sub { $d->run(tipme(), @_) });
SKIP: {
	skip 'not root: nobody else can be asked', 1 if $>;
	my ($all, $out) = looks('an ordinary user', sub { $d->run_as_nobody(@_) });
	my @sudo = grep { ($_->{action} // '') =~ /^run it with sudo/ } @{ $all->{checks} };
	note scalar(@sudo) . ' checks that sudo would mend';
	unlike $out, qr/run it with sudo/, '... sudo is named once, in the first line';
	like $out, qr/\AYou: samples only\. With sudo: exact/, '... which says what it gives'
		if $all->{sampled_only};
	my @rest =
		map  { $_->{name} }
		grep { $_->{state} ne 'ok' && ($_->{action} // '') !~ /^run it with sudo/ }
		@{ $all->{checks} };
	is_deeply [ $out =~ /^(?:limited|missing) +(\S+)/mg ], \@rest,
		'... and what sudo does not mend is listed';
}
for my $case ([ '-v', 'extra' ], [ '-v', '--json' ], ['-q']) {
	my ($rc, $out, $err) = $d->run(tipme(), 'doctor', @$case);
	is $rc, 64, "tipme doctor @$case: usage";
	like $err, qr/\Atipme: doctor: $case->[-1]: not understood/, '... the word is named';
}
done_testing;
