# SPDX-License-Identifier: GPL-2.0-only
# The weights of all control groups, as the files of the groups say them, beside the records of
# them.
package Tipme::Weights;
use strict;
use warnings;
use Exporter qw(import);

our @EXPORT_OK = qw($LIST_WEIGHTS weights_of weights_differ);

# A shell command: of each group of the hierarchies that have CPUs its number, "root" or "-", what
# all get at first, its weight or "none", its folder.
our $LIST_WEIGHTS = <<'END';
awk '$3 == "cgroup2" { print $2, "cpu.weight", 100 }
$3 == "cgroup" && $4 ~ /(^|,)cpu(,|$)/ { print $2, "cpu.shares", 1024 }' /proc/self/mounts |
while read -r root file first; do
find "$root" -type d -printf '%i %p\n' | while read -r id dir; do
r=-; w=none; [ "$dir" != "$root" ] || r=root
[ ! -r "$dir/$file" ] || read -r w < "$dir/$file"
echo "$id $r $first $w $dir"
done; done
END

# What that has printed: { folder => "number weight" }, by the scale of the records; undef where it
# is what all have at first, of which there is none. A root's says just that.
sub weights_of {
	my ($text) = @_;
	my %of;
	for (split /\n/, $text) {
		my ($id, $root, $first, $w, $dir) = split ' ', $_, 5;
		my $weight = $root eq 'root' ? 1000 : $w eq 'none' ? 0 : int(1000 * $w / $first) || 1;
		$of{$dir} = $weight != 1000 || $root eq 'root' ? "$id $weight" : undef;
	}
	return \%of;
}

# weights_differ(BEFORE, AFTER, RECORDS as text): what is said by the files alone, or by the records
# alone; of groups that came, went or changed meanwhile nothing is.
sub weights_differ {
	my ($before, $after, @records) = @_;
	my (%told, %may, @wrong);
	for (map { +{/(\w+)=(\S+)/g} } grep {/\bcgroup_weight /} @records) {
		$told{"$_->{cgroup} $_->{weight}"}++;
	}
	$may{$_} = 1 for grep {defined} values %$before, values %$after;
	for my $dir (sort keys %$before) {
		my ($is, $was) = ($after->{$dir}, $before->{$dir});
		next if !defined $is || !defined $was || $is ne $was;
		push @wrong, "$dir: $is is not told" if !$told{$is};
	}
	push @wrong, map {"$_ is told, and of no group"} grep { !$may{$_} } sort keys %told;
	return @wrong;
}

1;
