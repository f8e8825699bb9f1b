# SPDX-License-Identifier: GPL-2.0-only
# tipme export: the records of an episode in formats that other programs read.
package Tipme::Command::Export;

use strict;
use warnings;
use Fcntl              qw(O_WRONLY O_CREAT O_EXCL);
use Tipme::CommandLine qw(options complain replaceable with_commas);
use Tipme::Episode;
use Tipme::Index;
use Tipme::Kernel;
use Tipme::Library;
use Tipme::Printable qw(put one_line printable);
use Tipme::Told      qw(told);
use Tipme::Words     qw(N__ fill);

my $HELP = N__(<<'END');
usage: tipme export [EPISODE] --format perfetto|chrome|ftrace|text -o FILE [--from MS] [--to MS]

Writes an episode's records for other programs. perfetto: its own trace format, for
ui.perfetto.dev; chrome: JSON trace events, for chrome://tracing and others; ftrace: the kernel's
text of scheduling, as trace_pipe prints it; text: all records, one a line. --from and --to, in
milliseconds from the trigger (before it: negative), take a part. What you export is not redacted:
for others, use `tipme bundle`.

  tipme export last --format perfetto -o slow.pftrace
  tipme export 20261120-150301-3f2a --format chrome -o slow.json --from -2000
  tipme export last --format ftrace -o slow.txt
END

my %WRITER = map { lc $_ => "Tipme::Export::$_" } qw(Perfetto Chrome Ftrace Text);

sub run {
	my ($class, @args) = @_;
	my ($o,     $exit) = options(\@args, $HELP, 1, 'format=s', 'output|o=s', 'from=f', 'to=f');
	return $exit if !$o;
	my $writer = $WRITER{ $o->{format} // '' } // return _no_format($o->{format});
	my $file   = $o->{output} // return complain('export', fill(N__('no file named: say -o FILE')));
	my $episode = Tipme::Episode->open(Tipme::Library->folder_of($args[0]));
	my ($n, $left) = _write(
		$writer, $episode, $file,
		map { defined $o->{$_} ? $episode->trigger_ns + int($o->{$_} * 1e6) : undef } qw(from to)
	);
	put(fill(N__('{file}: {n} records'), file => one_line($file), n => with_commas($n)), "\n");
	complain('export', $_) for _left_out($n, $left), _only_path($o->{format}, $episode);
	complain('export', one_line(told($_))) for $episode->damage;
	return 0;
}

sub _no_format {
	my ($format) = @_;
	my $why =
		defined $format
		? N__('no format {format}: say --format perfetto, chrome, ftrace or text')
		: N__('no format given: say --format perfetto, chrome, ftrace or text');
	return complain('export', fill($why, format => printable($format // '')));
}

sub _left_out {
	my ($n, $left) = @_;
	return if !$left;
	return fill(
		N__(
			'{n} of {all} records omitted: they have no place in this format: --format text keeps all'
		),
		n   => with_commas($left),
		all => with_commas($n + $left)
	);
}

sub _only_path {
	my ($format, $episode) = @_;
	return if $format !~ /\A(?:perfetto|chrome)\z/;
	return if (($episode->manifest->{bundle} // {})->{detail} // '') ne 'path';
	return fill(
		N__(
			'this bundle has stretches of threads: between them a viewer draws what came last. Its trace.pftrace has the stretches alone.'
		)
	);
}

# A writer may have whole(): all records at once by a program in C; () where that is not there.
sub _quickly {
	my ($class, $episode, $h, $file, $from, $to) = @_;
	my @done = $class->can('whole') ? eval { $class->whole($episode, $h, $from, $to) } : ();
	die "$file: " . $@ =~ s/\n\z//r . ": make room there, or choose another place with -o\n" if $@;
	return @done if @done;
	truncate $h, 0;
	sysseek $h, 0, 0;
	return;
}

sub _one_by_one {
	my ($class, $episode, $h, $file, $from, $to) = @_;
	my ($n, $left) = (0, 0);
	my $w = $class->new(
		episode => $episode,
		threads => Tipme::Kernel->new($episode)->threads,
		out     => sub {
			print {$h} @_ or die "$file: $!: make room there, or choose another place with -o\n";
		}
	);
	$w->begin;
	my $all = 0;
	$all += $_->{count} for $episode->sections;
	Tipme::Index->open($episode)->each(
		$from, $to,
		sub {
			my ($bytes, $where) = @_;
			Tipme::Progress::show('writing records', $n + $left, $all) if !(($n + $left) % 1024);
			my ($name, $f) = $episode->record->decode(\$bytes, 0);
			defined $name && $w->record($name, $f, $where, \$bytes) ? $n++ : $left++;
			return 0;
		}
	);
	$w->end;
	return ($n, $left);
}

# Beside its place, then renamed: no half export. Each writer has begin(), record(NAME, FIELDS,
# WHERE) (false: left out), end(), giving bytes to `out`.
sub _write {
	my ($class, $episode, $file, $from, $to) = @_;
	require(($class =~ s{::}{/}gr) . '.pm');
	replaceable($file);
	unlink "$file.tmp";
	sysopen my $h, "$file.tmp", O_WRONLY | O_CREAT | O_EXCL
		or die "$file: $!: choose another place with -o\n";
	binmode $h;
	my ($n, $left) = (0, 0);
	my $ok = eval {
		# Names of stacks and functions stand at time 0: they are no events.
			   ($n, $left) = _quickly($class, $episode, $h, $file, $from // 1, $to)
			or ($n, $left) = _one_by_one($class, $episode, $h, $file, $from // 1, $to);
		close $h or die "$file: $!: make room there, or choose another place with -o\n";
		rename "$file.tmp", $file or die "$file: $!: choose another place with -o\n";
	};
	if (!$ok) {
		my $why = $@;
		close $h;
		unlink "$file.tmp";
		die $why;
	}    # by hand, or Perl complains of the full disk once more
	return ($n, $left);
}

1;
