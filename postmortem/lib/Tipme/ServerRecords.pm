# SPDX-License-Identifier: GPL-2.0-only
# What an X server saved itself, since nobody listened when the hot-key was pressed, as an episode:
# without the kernel's records.
package Tipme::ServerRecords;

use strict;
use warnings;
use Cpanel::JSON::XS ();
use Fcntl            qw(O_RDONLY O_NONBLOCK);
use POSIX            qw(strftime);
use Tipme::NewFolder qw(new_folder);
use Tipme::Record::Layout;
use Tipme::Record::SchemaText;

my $MAX_FILE = 512 << 20;    # bytes; what is larger is no copy of a ring
my $MAGIC    = 'TIPMEREC';
# As the writer's machine has it: another order reads as another number.
my $ORDER   = 0x01020304;
my $X_HOOKS = 4;             # source of records (abi/records.def)
my $SECTION = 1;             # record `section` (abi/records.def)
my $TID_AT  = 12;            # in the head of each record

# is_one(FILE): does it begin as a record file does?
sub is_one {
	my ($class, $path) = @_;
	sysopen my $in, $path, O_RDONLY | O_NONBLOCK or return 0;
	return 0 if !-f $in;
	binmode $in;
	read $in, my $magic, length $MAGIC;
	return ($magic // '') eq $MAGIC ? 1 : 0;
}

# unpack_to(FILE, FOLDER): makes the folder
sub unpack_to {
	my ($class, $path, $folder) = @_;
	my ($bytes, $time) = _slurp($path);
	my $head = _fields($Tipme::Record::Layout::STRUCT{file_header}, $bytes, 0)
		// die "$path: was cut: not even its header is there\n";
	die "$path: format $head->{major}.$head->{minor}, byte order "
		. sprintf('0x%08x', $head->{byte_order})
		. ": this program reads format $Tipme::Record::Layout::MAJOR of machines like this one\n"
		if $head->{major} != $Tipme::Record::Layout::MAJOR || $head->{byte_order} != $ORDER;
	die
		"$path: not what an X server saves, but a part of an episode: name the folder that it is in, with `tipme show`\n"
		if $head->{source} != $X_HOOKS || -e ($path =~ s{[^/]*\z}{}r) . 'manifest.json';
	my @threads = _threads($path, $bytes, $head->{header_len});
	my %files   = map { $_->{file} => _header($head, length $_->{bytes}) . $_->{bytes} } @threads;
	return new_folder(
		$folder,
		{
			%files, schema => $Tipme::Record::SchemaText::TEXT,
			'manifest.json' =>
				Cpanel::JSON::XS->new->canonical->pretty->encode(_manifest($head, $time, @threads))
		}
	);
}

sub _slurp {
	my ($path) = @_;
	open my $in, '<:raw', $path or die "$path: $!\n";
	die "$path: " . (-s $in) . " bytes: more than an X server saves\n" if -s $in > $MAX_FILE;
	my $time = (stat $in)[9];
	local $/;
	return (scalar(<$in>) // '', $time);
}

sub _fields {
	my ($layout, $bytes, $at) = @_;
	return if length($bytes) < $at + $layout->{size};
	my %f;
	@f{ @{ $layout->{names} } } = unpack $layout->{template}, substr $bytes, $at, $layout->{size};
	return \%f;
}

# Each ring is one section, that of the thread that serves the clients first: { file, tid, bytes,
# first_ns, last_ns, count }
sub _threads {
	my ($path, $bytes, $at) = @_;
	my (@threads, %of);
	while ($at < length $bytes) {
		my $s = _fields($Tipme::Record::Layout::RECORD{$SECTION}, $bytes, $at);
		my $len =
			   $s
			&& $s->{type} == $SECTION
			&& $s->{body_len} <= length $bytes ? 8 * $s->{len8} + $s->{body_len} : 0;
		die "$path: at byte $at: no whole section: the file was cut, or is damaged\n"
			if !$len || $at + $len > length $bytes;
		my $body = $at + 8 * $s->{len8};
		my $tid = $s->{body_len} >= $TID_AT + 4 ? unpack 'V', substr $bytes, $body + $TID_AT, 4 : 0;
		my $file = 'x-' . (@threads ? "$threads[0]{tid}-$tid" : $tid) . '.rec';
		push @threads,
			$of{$tid} = {
			file    => $file,         tid   => $tid, bytes => '', first_ns => $s->{first_ns},
			last_ns => $s->{last_ns}, count => 0
			}
			if !$of{$tid};
		my $t = $of{$tid};
		$t->{bytes} .= substr $bytes, $at, $len;
		$t->{count} += $s->{count};
		$t->{first_ns} = $s->{first_ns} if $s->{first_ns} < $t->{first_ns};
		$t->{last_ns}  = $s->{last_ns}  if $s->{last_ns} > $t->{last_ns};
		$at += $len;
	}
	die "$path: no records in it\n" if !@threads;
	return @threads;
}

sub _header {
	my ($head, $len) = @_;
	my $l = $Tipme::Record::Layout::STRUCT{file_header};
	return pack $l->{template} =~ s/Z/a/gr,
		map { $_ eq 'body_len' ? $len : $_ eq 'header_len' ? $l->{size} : $head->{$_} }
		@{ $l->{names} };
}

sub _manifest {
	my ($head, $time, @threads) = @_;
	my @sources = map {
		{
			source     => 'x_hooks', file        => $_->{file}, server_pid => $threads[0]{tid},
			server_tid => $_->{tid}, server_name => 'X server',
			coverage   => [
				{
					cpu     => 0, first_ns => $_->{first_ns}, last_ns => $_->{last_ns},
					records => $_->{count}
				}
			],
			lost => {}
		}
	} @threads;
	return {
		format  => { major => $head->{major}, minor => $Tipme::Record::Layout::MINOR },
		id      => "x-$threads[0]{tid}-$head->{trigger_ns}",
		time    => strftime('%Y-%m-%dT%H:%M:%SZ', gmtime $time),
		trigger => { kind => 'hotkey', ns => $head->{trigger_ns}, text => '' },
		end_ns  => $head->{created_ns}, sources => \@sources
	};
}

1;
