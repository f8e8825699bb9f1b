# SPDX-License-Identifier: GPL-2.0-only
# What became of problems on this machine: a file of the library, with a line of JSON for each
# report that was written and each cure that was checked. Episodes may go; this stays.
package Tipme::History;

use strict;
use warnings;
use Cpanel::JSON::XS ();
use Fcntl            qw(O_RDONLY O_WRONLY O_CREAT O_EXCL O_NOFOLLOW O_NONBLOCK);
use POSIX            qw(strftime);
use Tipme::Library;
use Tipme::Printable qw(characters);

my $NAME    = 'history.jsonl';
my $MAX     = 4 << 20;           # bytes; what is older than the newest $KEEP lines goes before that
my $KEEP    = 5_000;             # lines that stay
my $VERSION = 1;

# open(FOLDER): that of the library, or, where this user may not write there, of the user's own data
sub open {
	my ($class, $folder) = @_;
	my $self = bless { file => _folder($folder // Tipme::Library::folder()) . "/$NAME" }, $class;
	return $self;
}

sub _folder {
	my ($folder) = @_;
	return $folder if -d $folder && -w _ && (stat _)[4] == $>;
	my ($share) = grep { defined && m{\A/} } $ENV{XDG_DATA_HOME},
		defined $ENV{HOME} ? "$ENV{HOME}/.local/share" : undef;
	return defined $share ? "$share/tipme" : $folder;
}

sub file { return $_[0]{file} }

# all(WHAT): the entries of a kind (report, check), oldest first; a line that is none is passed over
sub all {
	my ($self, $what) = @_;
	return grep { $_->{what} eq $what } $self->_lines;
}

# add(WHAT, { episode, signature, ... }): dies with a sentence where it cannot be kept
sub add {
	my ($self, $what, $entry) = @_;
	my $new = {
		%$entry, what => $what, version => $VERSION,
		time => strftime('%Y-%m-%dT%H:%M:%SZ', gmtime)
	};
	my @all = ($self->_lines, $new);
	splice @all, 0, @all - $KEEP if @all > $KEEP;
	my $json  = Cpanel::JSON::XS->new->canonical->ascii;
	my $text  = join '', map { $json->encode(_characters($_)) . "\n" } @all;
	my $file  = $self->{file};
	my ($dir) = $file =~ m{\A(.*)/};
	mkdir $dir, 0700 if !-d $dir;
	my $beside = "$file.$$";
	sysopen(my $out, $beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600)
		or die "$beside: $!: what was reported is not remembered\n";

	if (!print {$out} $text or !close $out or !rename $beside, $file) {
		my $why = $!;
		unlink $beside;
		die "$file: $why: what was reported is not remembered\n";
	}
	return $new;
}

sub _lines {
	my ($self) = @_;
	sysopen(my $in, $self->{file}, O_RDONLY | O_NOFOLLOW | O_NONBLOCK) or return;
	return if !-f $in || -s _ > $MAX;
	my $json = Cpanel::JSON::XS->new->utf8->max_depth(8);
	return grep { ref eq 'HASH' && ($_->{version} // 0) == $VERSION && defined $_->{what} }
		map {
		scalar eval { $json->decode($_) }
		} <$in>;
}

sub _characters {
	my ($v) = @_;
	return { map { $_ => _characters($v->{$_}) } keys %$v } if ref $v eq 'HASH';
	return [ map { _characters($_) } @$v ]                  if ref $v eq 'ARRAY';
	return defined $v && !ref $v && $v !~ /\A-?\d+(?:\.\d+)?\z/ ? characters($v) : $v;
}

1;
