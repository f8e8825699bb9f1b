#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Nothing is decided by words: in a language in which every sentence reads otherwise, the stories of
# other tests have the same verdicts, culprits and sums, the bundle leaves out the same, and the
# exit status is the same.
use strict;
use warnings;
use Test::More;
use Cpanel::JSON::XS ();
use File::Path       qw(make_path);
use File::Temp       qw(tempdir);
use FindBin          qw($Bin);
use lib "$Bin/../lib", "$Bin/lib", "$Bin/../../abi/lib", "$Bin/../../abi/generated";
use lib "$Bin/../../tests/lib";
use Tipme::Drawn       qw(in_turn);
use Tipme::Test::Files qw(slurp spew);
use Tipme::Test::Story;

use constant { CLIENT => 200, MS => 1_000_000 };
my @STORIES = qw(verdicts cpu-takers grabs disk-and-memory locks interference cpus
	functions stopped late sampled kinds);
# What a story checks beside its sentences: these must hold whatever the language is.
my $DECIDED =
	qr/: (?:verdict|names|share|not more than|the path has|the (?:kinds|states) add|those who)/;

plan skip_all => 'needs xgettext and msgfmt (Debian: gettext), Locale::TextDomain (libintl-perl)'
	if grep { system("$_ >/dev/null 2>&1") } 'xgettext --version', 'msgfmt --version',
	"$^X -MLocale::TextDomain -e 1";

my $tmp = tempdir(CLEANUP => 1);

# catalog(): a folder with a catalog of the language "xx", in which each sentence is a number and
# what is filled in; and how many sentences there are
sub catalog {
	my $dir = "$tmp/LocaleData/xx/LC_MESSAGES";
	make_path($dir);
	my @modules = grep { slurp($_) =~ /\bN__\(/ } map { glob "$Bin/../lib/Tipme/$_" } '*.pm',
		'*/*.pm';
	system(
		'xgettext', '--language=Perl', '--keyword', '--keyword=N__', '--no-wrap',
		'--from-code=UTF-8',
		'-o', "$tmp/tipme.pot", @modules
	) == 0 or die "xgettext: $?\n";
	my $n       = 0;
	my @entries = split /\n\n/, slurp("$tmp/tipme.pot");
	shift @entries;
	for (@entries) {
		my ($id)   = /^msgid (.*?)^msgstr/ms;
		my $filled = join ' ', $id =~ /(\{\w+\})/g;
		# Gettext wants line feeds where the sentence begins or ends with them.
		my $before = $id =~ /\A(?:""\n)?"\\n/ ? '\n' : '';
		my $after  = $id =~ /\\n"\s*\z/       ? '\n' : '';
		my $said   = sprintf "%s\xc2\xa7%d %s%s", $before, ++$n, $filled, $after;
		s/^msgstr ""\n?\z/msgstr "$said"\n/m;
	}
	spew(
		"$tmp/xx.po",                                                         join "\n",
		qq{msgid ""\nmsgstr "Content-Type: text\/plain; charset=UTF-8\\n"\n}, @entries
	);
	system('msgfmt', '-o', "$dir/tipme.mo", "$tmp/xx.po") == 0 or die "msgfmt: $?\n";
	return ($tmp, $n);
}

my ($perllib, $sentences) = catalog();
cmp_ok($sentences, '>', 250, "$sentences sentences have another wording");

# told(LANGUAGE, COMMAND ...): { out, exit }; in the C locale without one
sub told {
	my ($language, @command) = @_;
	local %ENV = (
		%ENV, PERL5LIB => join(':', $perllib, $ENV{PERL5LIB} // ()),
		$language ? (LC_ALL => 'C.UTF-8', LANGUAGE => $language) : (LC_ALL => 'C', LANGUAGE => '')
	);
	open my $pipe, '-|', @command or die "$command[0]: $!\n";
	my $out = do { local $/; <$pipe> }
		// '';
	close $pipe;
	return { out => $out, exit => $? >> 8 };
}

# The stories of other tests: each check that is no sentence holds in both languages; sentences do
# not.
for my $test (in_turn(5, 'stories in other words', @STORIES)) {
	my $told  = told('xx', 'sh', '-c', 'exec "$@" 2>/dev/null', 'sh', $^X, "$Bin/$test.t");
	my @lines = split /^/, $told->{out};
	my @not   = grep { /^not ok/ && $_ =~ $DECIDED } @lines;
	my $held  = grep { /^ok/     && $_ =~ $DECIDED } @lines;
	ok(!@not, "$test.t: in other words the same verdicts, culprits and sums: $held checks")
		or diag(@not);
	cmp_ok($held, '>', 20, "$test.t: ... many of them") if $test ne 'sampled';
	like($told->{out}, qr/^not ok/m, "$test.t: its sentences were others")
		if $test =~ /\A(?:verdicts|disk-and-memory|interference|locks)\z/;
}

# The programs themselves: exit status, what JSON has of a verdict, and what a bundle leaves out.
my $s = Tipme::Test::Story->new->enter(1000);
$s->builder->thread(901, 'hog', ts_ns => 900 * MS, state => 'runnable');
$s->run(1, 1000.1, 1900, 901, 'runnable', preempted => 1, next => CLIENT)->daemon(
	'exec_args', pid => 901,
	start_ns => 1901, uid => 1000, count => 2, total_len => 8, text => "hog\n--verysecret"
);
$s->builder->switch(1, 1901 * MS, CLIENT, 0, 'sleeping');
my $dir = $s->draw(1900.9)->hotkey(3000)->builder->write("$tmp/20261120-150301-3f2a");
my $unknown =
	Tipme::Test::Story->new->enter(1000)->run(1, 1000.25, 1001, CLIENT, 'sleeping')
	->wake(1, 1701, CLIENT, 0, undef, context => 'hardirq')
	->run(1, 1701.1, 1702, CLIENT, 'sleeping')->draw(1701.9)->hotkey(3000)
	->builder->write("$tmp/20261120-150301-3f2b");
$ENV{TIPME_LIBRARY} = "$tmp/library";
my @tipme = ($^X, "$Bin/../bin/tipme-postmortem");
my %json;
for my $language ('', 'xx') {
	my $told = told($language, @tipme, 'diagnose', $dir, '--json');
	is($told->{exit}, 0, 'a verdict: exit status 0');
	$json{$language} = Cpanel::JSON::XS->new->decode($told->{out});
	is(told($language, @tipme, 'diagnose', $unknown)->{exit}, 2, 'not known: exit status 2');
	unlink "$tmp/b.tipme";
	is(
		told($language, @tipme, 'bundle', $dir, '-o', "$tmp/b.tipme", '--yes')->{exit}, 0,
		'a bundle'
	);
	my $in_it = told('', 'gzip', '-dc', "$tmp/b.tipme")->{out};
	like($in_it, qr/verdict\.json/, 'it has a verdict');
	unlike($in_it, qr/verysecret/, 'and not how a program was called');
}
my ($here, $there) = map { $json{$_}{verdict} } '', 'xx';
isnt($here->{sentence}, $there->{sentence}, 'another sentence');
like($there->{sentence}, qr/\A\x{a7}\d+ /, 'all of it');
is_deeply(
	[ $here->{circumstance_codes}, $there->{circumstance_codes} ],
	[ ([ 'idle-cpu', 'called-as' ]) x 2 ],
	'the same circumstances'
);
delete @{$_}{qw(sentence head short door next circumstances)} for $here, $there;
delete $_->{blamed}{detail}                                   for $here, $there;
is_deeply($there, $here, 'and the same verdict');

done_testing();
