# SPDX-License-Identifier: GPL-2.0-only
# By which number a fleet knows this machine. A machine takes part only by `tipme fleet join`; the
# number is random, another one for each fleet, and a new one at any time.
package Tipme::Enrolment;

use strict;
use warnings;
use Fcntl      qw(O_WRONLY O_CREAT O_EXCL O_NOFOLLOW O_RDONLY);
use File::Path qw(make_path);

our $ID   = qr/\A[0-9a-f]{32}\z/;
our $NAME = qr/\A[A-Za-z0-9][A-Za-z0-9._-]{0,63}\z/;
my $BYTES = 16;    # random bytes of a machine's number: nobody guesses 128 bits

# folder(): where this user's enrolments lie, one file each
sub folder {
	my $config = $ENV{XDG_CONFIG_HOME};
	$config = "$ENV{HOME}/.config" if !length($config // '') && defined $ENV{HOME};
	die "no folder for settings: set HOME\n" if !defined $config;
	return "$config/tipme/fleets";
}

# fleets(): names of those that this user's bundles may be for
sub fleets {
	opendir my $d, folder() or return;
	return sort grep { $_ =~ $NAME } readdir $d;
}

# id(FLEET): the number there, or undef where it was not joined. Dies where the file is none of
# ours.
sub id {
	my ($fleet) = @_;
	my $file = _file($fleet);
	sysopen my $in, $file, O_RDONLY | O_NOFOLLOW or do {
		return if $!{ENOENT};
		die "$file: $!\n";
	};
	my $text = <$in> // '';
	chomp $text;
	die "$file: holds no enrolment: leave and join the fleet again\n" if $text !~ $ID;
	return $text;
}

# join_fleet(FLEET, again => 1): a new number; `again`: in place of the one that is there. Returns
# it.
sub join_fleet {
	my ($fleet, %o) = @_;
	my $file = _file($fleet);
	my $have = id($fleet);
	die "$fleet: joined already: `tipme fleet rotate $fleet` gives it a new number\n"
		if defined $have && !$o{again};
	die "$fleet: not joined: run `tipme fleet join $fleet` first\n" if !defined $have && $o{again};
	open my $random, '<:raw', '/dev/urandom' or die "/dev/urandom: $!\n";
	my $got = read($random, my $bytes, $BYTES);
	die "/dev/urandom: too little was read\n" if ($got // 0) != $BYTES;
	my $id = unpack 'H*', $bytes;
	make_path(folder(), { mode => 0700 });
	my $new = "$file.$$";
	sysopen my $out, $new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600 or die "$new: $!\n";
	print {$out} "$id\n" and close $out and rename $new, $file
		or die "$file: $!: is the disk full?\n";
	return $id;
}

# leave(FLEET): forgets the number; what was sent stays where it was sent.
sub leave {
	my ($fleet) = @_;
	my $file = _file($fleet);
	unlink $file or die $!{ENOENT} ? "$fleet: was not joined\n" : "$file: $!\n";
	return;
}

sub _file {
	my ($fleet) = @_;
	die "'$fleet' is no name of a fleet: letters, digits, dots, dashes; at most 64\n"
		if $fleet !~ $NAME;
	return folder() . "/$fleet";
}

1;
