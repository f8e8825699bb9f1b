# SPDX-License-Identifier: GPL-2.0-only
# A client that runs in an emulated machine beside some loads, held against what is predicted of it.
package Tipme::ModelRun;
use strict;
use warnings;
use Cpanel::JSON::XS ();
use Exporter         qw(import);
use File::Temp       qw(tempdir);
use Test::More;
use Tipme::Latency::Model;
use Tipme::Latency::Underrun qw(client);
use Tipme::Statistics        qw(poisson_interval);

our @EXPORT_OK = qw(model);

# A client that computes for a tenth of its cycle, and what it has beside it.
my $CLIENT = '2x4:0.4';
my %LOAD   = (
	nothing => 'sleep 1000',
	packing => 'while :; do gzip -c /usr/bin/perl; done > /dev/null',
	files => 'while :; do dd if=/dev/zero of=/tmp/copied bs=64k count=200 2> /dev/null; sync; done',
);

# model(VM): a client that runs for real, and what the latencies of the same cycles predict, by it
# and by `tipme latency mttf`. It is judged here: an emulator takes its time for that.
sub model {
	my ($vm)   = @_;
	my $client = client($CLIENT);
	my $file   = tempdir(CLEANUP => 1) . '/model.json';
	for my $load (sort keys %LOAD) {
		for my $how ('--priority 80', '--deferred') {
			my $text = $vm->run(
				sprintf q(sh -c '%s' & L=$!; /tipme-latency model-run --buffers %d --cycle %.0f )
					. '--compute %.0f --duration 10 %s 2>&1; kill $L; wait $L 2> /dev/null',
				$LOAD{$load}, $client->{buffers}, 1000 * $client->{cycle_ms},
				1000 * $client->{compute_ms}, $how
			);
			my ($json) = $text =~ /^(\{.*\})$/ms;
			my $o = eval { Cpanel::JSON::XS->new->decode($json // '') }
				or fail("a client, $how, beside $load"), diag($text), next;
			my $m = Tipme::Latency::Model::judged($client, $o->{model});
			ok($m->{agree}, "a client, $how, beside $load: predicted as counted");
			open my $out, '>', $file or BAIL_OUT("$file: $!");
			print {$out} $json;
			close $out;
			my $late = mttf_late($file);
			my ($least, $most) = poisson_interval($late // 0);
			ok(
				defined $late && $least <= $m->{missed_most} && $most >= $m->{missed_least},
				'... and by mttf'
			);
			diag sprintf
				'%s beside %s: %d missed, %d predicted, %s by mttf, of %d; the longest %.1f ms',
				$how, $load, @$m{qw(missed predicted)}, $late // 'none', @$m{qw(cycles longest_ms)};
		}
	}
	return;
}

# How many of its latencies were above the client's slack.
sub mttf_late {
	my ($file) = @_;
	my $said   = qx{"$ENV{TIPME_BUILDDIR}/tipme" latency mttf "$file" --client $CLIENT --json};
	my $o      = eval { Cpanel::JSON::XS->new->decode($said) } or diag($said), return;
	return $o->{clients}[0]{late};
}

1;
