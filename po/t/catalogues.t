#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The catalogues: each says every sentence, and takes the same arguments. Files that desktops read
# have their words in each language, too. German verdicts, on the stories of other tests, have no
# English left; what JSON decides and the exit status stay.
#
# Who writes a sentence knows not every language: a few may wait for their translation ($FEW), none
# with TIPME_TEST_ALL=1. CONTRIBUTING.md says what to do about them.
use strict;
use warnings;
use utf8;
use Cpanel::JSON::XS ();
use Encode           qw(decode);
use File::Path       qw(make_path);
use File::Temp       qw(tempdir);
use FindBin          qw($Bin);
use Test::More;
use lib map {"$Bin/../../$_"} qw(postmortem/lib postmortem/t/lib abi/lib abi/generated tests/lib);
use Tipme::Drawn              qw(in_turn);
use Tipme::OwnLocale          qw(own_locale);
use Tipme::Test::Story;

my $SRC     = "$Bin/../..";
my $BUILD   = $ENV{TIPME_BUILDDIR} // '';
my $FEW     = $ENV{TIPME_TEST_ALL} ? 0 : 100;
my @STORIES = qw(verdicts cpu-takers grabs disk-and-memory locks interference cpus
	functions stopped late kinds);
# Words that no German sentence has; what stands in quotes, in backquotes or in brackets is a name.
my $ENGLISH =
	qr/\b(?:the|of|for|which|whom|and|is|not|had|been|waiting|waited|with|answered|no|to)\b/;

plan skip_all => 'needs xgettext and msgfmt (Debian: gettext), Locale::TextDomain (libintl-perl)'
	if grep { system("$_ >/dev/null 2>&1") } 'xgettext --version', 'msgfmt --version',
	"$^X -MLocale::TextDomain -e 1";
my $tmp = tempdir('tipme-po-XXXXXX', TMPDIR => 1, CLEANUP => 1);
binmode $_, ':encoding(UTF-8)' for Test::More->builder->output, Test::More->builder->failure_output;

sub slurp {
	my ($f) = @_;
	open my $h, '<:encoding(UTF-8)', $f or die "$f: $!\n";
	local $/;
	return scalar <$h>;
}

# entries(FILE): { id => [ translation, is it fuzzy? ] }, of what msgcat writes on one line each
sub entries {
	my ($file) = @_;
	open my $pipe, '-|:encoding(UTF-8)', 'msgcat', '--no-wrap', $file or die "msgcat: $!\n";
	my $text = do { local $/; <$pipe> };
	my %of;
	for (split /\n\n/, $text) {
		next if /^#~/m;
		my ($id) = /^msgid (".*"(?:\n".*")*)/m or next;
		my @said = /^msgstr(?:\[\d\])? (".*"(?:\n".*")*)/mg;
		$of{ plain($id) } =
			[ (grep { plain($_) eq '' } @said) ? '' : plain($said[0]), /^#,.*\bfuzzy\b/m ? 1 : 0 ];
	}
	delete $of{''};
	return \%of;
}

sub plain {
	my ($quoted) = @_;
	return join '', map { substr $_, 1, -1 } split /\n/, $quoted;
}

is system("$SRC/po/update", '--to', "$tmp/tipme.pot"), 0, 'what is to be translated is collected';
my $now = entries("$tmp/tipme.pot");
cmp_ok scalar keys %$now, '>', 900, keys(%$now) . ' sentences';
my $kept = entries("$SRC/po/tipme.pot");
few('sentences that po/tipme.pot has not: make update-po', grep { !$kept->{$_} } keys %$now);
my @languages = map {m{([^/]+)[.]po\z}} glob "$SRC/po/*.po";
ok scalar(grep { $_ eq 'de' } @languages), "languages: @languages";
catalogue($_) for @languages;
beside($_)    for @languages;
german();
done_testing;

sub few {
	my ($what, @those) = @_;
	cmp_ok scalar @those, '<=', $FEW, "$what: " . @those;
	diag "  $_" for @those;
	return;
}

sub catalogue {
	my ($name) = @_;
	my $folder = "$tmp/locale/$name/LC_MESSAGES";
	make_path($folder);
	my $said = qx{msgfmt --check -o "$folder/tipme.mo" "$SRC/po/$name.po" 2>&1};
	is "$?$said", '0', "$name: msgfmt finds no fault";
	my $in = entries("$SRC/po/$name.po");
	few(
		"$name: sentences without a translation",
		grep { !$in->{$_} || $in->{$_}[0] eq '' || $in->{$_}[1] } keys %$now
	);
	my @arguments = grep {
		my $id = $_;
		my @of = map {
			join ' ',
				sort { $a cmp $b } /(\{\w+\})/g
		} $id, $in->{$id}[0];
		$in->{$id}[0] ne '' && !$in->{$id}[1] && $of[0] ne $of[1]
	} grep { $in->{$_} } keys %$now;
	is_deeply \@arguments, [], "$name: the same {arguments}";
	open my $makefile, '<', "$SRC/po/Makefile.inc" or die "$!\n";
	ok scalar(grep {m{locale/\Q$name\E/LC_MESSAGES/tipme[.]mo}} <$makefile>), "$name: is installed";
	return;
}

# Files of other readers: what they have in English stands beside it in this language.
sub beside {
	my ($name) = @_;
	for my $file (qw(gui/data/io.github.tipme.Tipme.desktop helper/service/tipme-agent.desktop.in))
	{
		my $text = slurp("$SRC/$file");
		my @keys = grep { $_ ne 'Name' || $text !~ /^Name=tipme$/m }
			$text =~ /^(Name|GenericName|Comment|Keywords)=/mg;
		is_deeply [ grep { $text !~ /^\Q$_\E\[\Q$name\E\]=/m } @keys ], [], "$name: $file";
	}
	for my $file (
		qw(gui/data/io.github.tipme.Tipme.metainfo.xml gui/data/io.github.tipme.Tipme.xml
		helper/service/io.github.tipme.policy.in)
		)
	{
		my $text = slurp("$SRC/$file");
		my (%english, %there);
		$english{$1}++ while $text =~ /<(summary|p|comment|description|message)>\s*[^<\s]/g;
		$there{$1}++   while $text =~ /<(\w+) xml:lang="\Q$name\E">/g;
		is_deeply \%there, \%english, "$name: $file";
	}
	return;
}

sub told {
	my ($language, @command) = @_;
	local %ENV = (
		%ENV,
		PERL5LIB => join(
			':', map({"$SRC/$_"} qw(postmortem/lib postmortem/t/lib abi/lib abi/generated)),
			$ENV{PERL5LIB} // ()
		),
		TIPME_LOCALEDIR => "$tmp/locale",
		TIPME_LIBRARY   => "$tmp/library",
		TIPME_RUNDIR    => "$tmp/norecorder",
		LANGUAGE        => '',
		LOCPATH         => locale_once(),
		LC_ALL          => $language eq 'de' ? 'de_DE.UTF-8' : 'C'
	);
	open my $pipe, '-|', @command or die "$command[0]: $!\n";
	my $out = do { local $/; <$pipe> }
		// '';
	close $pipe;
	return { out => decode('UTF-8', $out), exit => $? >> 8 };
}

my $locales;
sub locale_once { return $locales //= own_locale("$tmp/locales", 'de_DE.UTF-8') // '' }

sub german {
	if (!length locale_once()) {
	SKIP: { skip 'no locale C.UTF-8 in a folder of its own here', 1 }
		return;
	}
	local $ENV{PERL5OPT}        = '-MTipme::Test::Told';
	local $ENV{TIPME_TEST_TOLD} = "$tmp/told";
	my @told = in_turn(4, 'stories in German', @STORIES);
	told('de', 'sh', '-c', 'exec "$@" >/dev/null 2>&1', 'sh', $^X, "$SRC/postmortem/t/$_.t")
		for @told;
	my ($undef, @reports) = split /\f/, slurp("$tmp/told");
	my %kinds = map { /\A(\S+)/ ? ($1 => 1) : () } @reports;
	cmp_ok scalar @reports, '>', @told < @STORIES ? 10 : 100, @reports . " reports of @told";
	cmp_ok scalar keys %kinds, '>=', 25, '... of ' . keys(%kinds) . ' kinds of verdicts'
		if @told == @STORIES;
	my %lines = map { $_ => 1 } map {
		split /
/, bare($_)
	} @reports;
	is_deeply [ grep { $_ =~ $ENGLISH } sort keys %lines ], [],
		'... no English in their ' . keys(%lines) . ' lines';
	delete @ENV{qw(PERL5OPT TIPME_TEST_TOLD)};
	verbs();
	return;
}

# Without names, options and commands, which may go over the end of a line.
sub bare {
	my ($text) = @_;
	return $text =~ s/`[^`]*`|"[^"
]*"|„[^“]*“|--[\w-]+//gr;
}

# Each verb, and each verb of a verb, whose help the modules have.
sub help_verbs {
	my %below = (
		fleet   => [qw(join leave rotate joined present counts)],
		latency => [qw(report campaign mark model import export mttf compare schedulability)],
		profile => [qw(report compare cpu episode)]
	);
	my @verbs =
		map { m{([^/]+)[.]pm\z} ? lc $1 : () } glob "$SRC/postmortem/lib/Tipme/Command/*.pm";
	return map {
		my $verb = $_;
		$below{$verb} ? map { [ $verb, $_ ] } @{ $below{$verb} } : [$verb]
	} @verbs;
}

# A help fits into a terminal of 100 columns, in each language.
sub narrow {
	my ($help) = @_;
	is_deeply [ grep { length > 100 } split /\n/, $help ], [], '... no line over 100 columns';
	return;
}

# What the command itself says: the list of verbs, their help, the doctor.
sub commands {
	# Why the kernel refuses something is said by the C library, which may have no German here.
	my @why    = map { local $! = $_; "$!" } 1 .. 133;
	my $kernel = join '|', map {quotemeta} @why;
	for my $command (
		['--help'], map({ [ $_, '--help' ] } qw(doctor stop status classes snap type demo)),
		map({ [ 'bench', $_, '--help' ] } qw(run compare report merge)),
		[ 'doctor', '-v' ], ['doctor']
		)
	{
		my ($here, $there) = map { told($_, "$BUILD/tipme", @$command) } 'C', 'de';
		is $there->{exit},  $here->{exit}, "tipme @$command: the same exit status";
		isnt $there->{out}, $here->{out},  '... other words';
		if ($command->[-1] eq '--help') { narrow($_->{out}) for $here, $there }
		my $own = $there->{out} =~ s/^  \S.*\n//gmr =~ s/$kernel//gr;
		is_deeply [ grep { $_ =~ $ENGLISH } split /\n/, bare($own) ], [], '... no English in them';
	}
	my %doctor = map {
		$_ => Cpanel::JSON::XS->new->decode(told($_, "$BUILD/tipme", 'doctor', '--json')->{out})
	} qw(C de);
	is_deeply [ map {"$_->{name} $_->{state}"} @{ $doctor{de}{checks} } ],
		[ map {"$_->{name} $_->{state}"} @{ $doctor{C}{checks} } ], '... and the same findings';
	return;
}

# Perl that is run in a language, with lines on its standard input; the lines it prints.
sub lines_told {
	my ($code, @lines) = @_;
	open my $out, '>:encoding(UTF-8)', "$tmp/lines" or die "$!\n";
	print {$out} map {"$_\n"} @lines;
	close $out or die "$!\n";
	return split /\n/, told('de', 'sh', '-c', 'exec "$@" <"$0"', "$tmp/lines", $^X, @$code)->{out};
}

# What the readers say of an episode that is cut: Perl and C alike.
sub damaged {
	my ($whole) = @_;
	my $dir = "$tmp/20261120-150301-3f2b";
	system 'cp', '-r', $whole, $dir;
	truncate "$dir/kernel.rec", (-s "$dir/kernel.rec") - 100 or die "$!\n";
	my $shown = told('de', $^X, "$SRC/postmortem/bin/tipme-postmortem", 'show', $dir)->{out};
	my ($said) = $shown =~ /^(kernel[.]rec: wurde abgeschnitten: \d+ von \d+ Bytes sind da)$/m;
	ok $said, 'what is cut is said by Perl in German' or diag $shown;
	$said //= '';
SKIP: {
		skip 'no window was built', 1 if !-x "$BUILD/gui/tipme-gui";
		like told('de', "$BUILD/gui/tipme-gui", '--dump', $dir)->{out},
			qr/^said\t\Q$said\E$/m, '... and by the window';
	}
	return;
}

# What the recorder cannot do here: all that its source says has words in German, too.
sub limits {
	my @said;
	for my $file (glob "$SRC/helper/daemon/*.c $SRC/helper/daemon/*/*.c") {
		my $code = slurp($file);
		while ($code =~ /tipmed_limit_add\(\s*[^,"]+,\s*((?:"(?:[^"\\]|\\.)*"\s*)+)/g) {
			my $format = join '', $1 =~ /"((?:[^"\\]|\\.)*)"/g;
			# Of parts only, or of parts that are none of a language: their wholes stand below.
			next if $format =~ /%s%s|\Ano %s|\A%s\z/;
			push @said, $format =~ s/(?<=\w)%s//gr =~ s/%[a-z]*[du]/3/gr =~ s/%s/x/gr;
		}
	}
	cmp_ok scalar @said, '>', 12, @said . ' sentences of the recorder';
	push @said, 'a better source was refused: x', 'no counters (x): no samples',
		'no CAP_BPF: the kernel source cannot be loaded', map {
			  "the kernel refuses the tracing program x (x): $_ is left out; "
			. 'TIPME_LIBBPF_DEBUG=1 shows its reasons'
		} 'class x', 'what belongs to it';
	my @told =
		lines_told([ '-MTipme::Told=told', '-CS', '-ne', 'chomp; print told($_), "\n"' ], @said);
	is_deeply [ map { $said[$_] } grep { ($told[$_] // '') eq $said[$_] } 0 .. $#said ], [],
		'... each of them in German';
	is_deeply [ grep { $_ =~ $ENGLISH } map { bare($_) } @told ], [], '... without English';
	is_deeply [
		lines_told(
			[ '-MTipme::Told=told', '-CS', '-ne', 'chomp; print told($_), "\n"' ],
			'something else: of another kind'
		)
		],
		['something else: of another kind'],
		'... all else as it is';
	return;
}

sub spew_latency {
	my ($file) = @_;
	open my $out, '>', $file or die "$file: $!\n";
	print {$out} Cpanel::JSON::XS->new->encode(
		{
			format     => 'tipme latency', version => 1, kernel => 'k', source => 'user',
			duration_s => 60, period_us => 1000,
			blocks     =>
				{ seconds => 1, last_s => 0, max_us => { total_user => [ (10) x 59, 1490 ] } },
			stages => [
				{
					stage   => 'total_user', count => 60_000, sum_ns => 600_012_000,
					max_ns  => 1_490_000,
					buckets => [ [ 10, 59_990 ], [ 1490, 10 ] ]
				}
			]
		}
	);
	close $out or die "$file: $!\n";
	return;
}

# Pages and texts of measurements.
sub measured {
	my ($dir) = @_;
	my @tipme = ($^X, "$SRC/postmortem/bin/tipme-postmortem");
	my ($profile, $latency) = ("$tmp/profile.json", "$tmp/latency.json");
	told('C', @tipme, 'profile', 'episode', $dir, '-o', $profile);
	spew_latency($latency);
	for my $command (
		[ qw(profile report), $profile, '--full' ], [ qw(profile compare), $profile, $profile ],
		[ qw(latency report), $latency ], [ qw(latency compare), $latency, $latency ],
		[ qw(latency mttf),   $latency ]
		)
	{
		my ($here, $there) = map { told($_, @tipme, @$command) } 'C', 'de';
		is $there->{exit},  $here->{exit}, "tipme @$command[ 0, 1 ]: the same exit status";
		isnt $there->{out}, $here->{out},  '... other words';
		is_deeply [ grep { $_ =~ $ENGLISH } split /\n/, bare($there->{out}) ], [],
			'... no English in them';
	}
	for my $command (
		[ qw(profile report), $profile, '--html', "$tmp/p.html" ],
		[ qw(latency report), $latency, '-o',     "$tmp/l.html" ]
		)
	{
		told('de', @tipme, @$command);
		my $page  = slurp($command->[-1]);
		my @texts = $page =~ m{<(?:text|title|h1|h2|p|th|td)\b[^>]*>([^<]+)<}g;
		cmp_ok scalar @texts, '>', 20, "tipme @$command[ 0, 1 ]: a page of " . @texts . ' texts';
		is_deeply [ grep { $_ =~ $ENGLISH } @texts ], [], '... without English';
	}
	return;
}

# The verbs: other words, the same decisions.
sub verbs {
	my $s = Tipme::Test::Story->new->enter(1000);
	$s->builder->thread(901, 'hog', ts_ns => 900_000_000, state => 'runnable');
	$s->run(1, 1000.1, 1900, 901, 'runnable', preempted => 1, next => 200);
	$s->builder->switch(1, 1_901_000_000, 200, 0, 'sleeping');
	mkdir "$tmp/library";
	my $dir   = $s->draw(1900.9)->hotkey(3000)->builder->write("$tmp/library/20261120-150301-3f2a");
	my @tipme = ($^X, "$SRC/postmortem/bin/tipme-postmortem");
	for my $command (
		[ 'diagnose', $dir ], [ 'diagnose', $dir, '-v' ], ['list'], [ 'list', '--week' ],
		[ 'check',    $dir ], [ 'report',   $dir ],
		[ 'bundle',   $dir, '-o', "$tmp/b.tipme" ],
		[ 'events',   $dir ], [ 'show', $dir ], map { [ @$_, '--help' ] } help_verbs()
		)
	{
		my ($here, $there) = map { told($_, @tipme, @$command) } 'C', 'de';
		my $name = "tipme $command->[0]" . (@$command > 2 ? " $command->[2]" : '');
		is $there->{exit},  $here->{exit}, "$name: the same exit status";
		isnt $there->{out}, $here->{out},  '... other words';
		unlike $there->{out}, qr/\x{c3}/, '... encoded once';
		my $own = $there->{out};

		if ($command->[0] eq 'report' && $command->[-1] ne '--help') {
			my $for_makers =
				Cpanel::JSON::XS->new->decode(told('C', @tipme, @$command, '--json')->{out})
				->{text};
			ok $own =~ s/\Q$for_makers\E//, '... but what is for the makers, in English';
		}
		if ($command->[-1] eq '--help') { narrow($_->{out}) for $here, $there }
		# Examples of a help are commands.
		$own =~ s/^  \S.*\n//mg if $command->[-1] eq '--help';
		# What goes into the file is shown as it is there.
		$own =~ s/^Versionen: .*?\n(?=\S|\n)//ms
			if $command->[0] eq 'bundle' && $command->[-1] ne '--help';
		is_deeply [ grep { $_ =~ $ENGLISH } split /\n/, bare($own) ], [],
			'... no English in them';
	}
	commands() if -x "$BUILD/tipme";
	damaged($dir);
	limits();
	measured($dir);
	my ($picture) = map {
		told('de', @tipme, 'timeline', $dir, '-o', "$tmp/de.svg");
		slurp("$tmp/de.svg")
	} 1;
	like $picture, qr/>Wer die CPUs hatte</, 'the picture of a timeline';
	my @written = $picture =~ m{<(?:text|title)[^>]*>([^<]*)<}g;
	cmp_ok scalar @written, '>', 30, '... ' . @written . ' texts in it';
	is_deeply [ grep { $_ =~ $ENGLISH } @written ], [], '... without English';
	my ($here, $there) =
		map {
		Cpanel::JSON::XS->new->decode(told($_, @tipme, 'diagnose', $dir, '--json')->{out})
			->{verdict}
		} 'C', 'de';
	like $there->{sentence},
		qr/\Axterm \(pid 200\) antwortete auf Tastendruck nach 901 ms, .*: es wartete .* auf eine CPU/,
		'a German verdict';
	is_deeply [ map { $there->{$_} } qw(kind share_ns confidence) ],
		[ map { $here->{$_} } qw(kind share_ns confidence) ], '... that decides the same';
	is $there->{blamed}{comm}, $here->{blamed}{comm}, '... and blames the same';
	my @summary = map {
		told($_, @tipme, 'bundle', $dir, '-o', "$tmp/to-$_.tipme", '--yes');
		scalar qx{tar xzOf "$tmp/to-$_.tipme" --wildcards '*summary.txt'};
	} 'C', 'de';
	like $summary[0], qr/answered a key press after 901 ms/, 'a bundle is for strangers';
	is $summary[1], $summary[0], '... and in English';
	return;
}
