# SPDX-License-Identifier: GPL-2.0-only
# A worked example of docs/examples.md, done word for word in a copy of the tree.
package Tipme::Test::Example;

use strict;
use warnings;
use Tipme::Test::Files qw(slurp spew);
use Exporter           qw(import);
use File::Path         qw(make_path);

our @EXPORT_OK = qw(steps tree slurp spew);

# steps(ROOT, TITLE): of the example with this title, [ file, what the line has before which the
# lines go (undef: the file is new), the lines ]
sub steps {
	my ($root, $title) = @_;
	my ($example) = slurp("$root/docs/examples.md") =~ /^## \Q\u$title\E\n(.*?)(?=^## |\z)/ms
		or die "docs/examples.md: no example of $title\n";
	my @steps;
	my $where = qr/(?:before the line with `([^`]+)`|new):/;
	push @steps, [ $1, $2, $3 ] while $example =~ /^\d+\. `([^`]+)`, $where.*?^```\n(.*?)^```$/msg;
	return @steps;
}

# tree(FOLDER, ROOT, PARTS, STEPS): makes a copy of these parts of the tree, and does the steps
# there
sub tree {
	my ($copy, $root, $parts, @steps) = @_;
	make_path($copy);
	for my $part (@$parts) {
		my @cp = ('sh', '-c', 'cd "$1" && cp --parents -rL "$2" "$3"', 'sh', $root, $part, $copy);
		system(@cp) == 0 or die "$part: not copied\n";
	}
	system 'chmod', '-R', 'u+w', $copy;
	for my $step (@steps) {
		my ($file, $before, $new) = @$step;
		if (!defined $before) { spew("$copy/$file", $new); next }
		my $text = slurp("$copy/$file");
		$text =~ s/^(?=[^\n]*\Q$before\E)/$new/m
			or die "docs/examples.md: $file: no line with $before\n";
		spew("$copy/$file", $text);
	}
	return;
}

1;
