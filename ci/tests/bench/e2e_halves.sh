#!/bin/bash
# e2e_halves.sh: a host that hangs in a call of the pre-flight, and one whose MPI traffic is lost, which halves name.
# timeout: 600
# quiet: waits for deadlines
source "$(dirname "$0")/../e2e/lib.sh"
# shellcheck source=ci/tests/bench/preflight.sh
source "$(dirname "$0")/preflight.sh"

four_hosts
# a host that hangs in a call
# shellcheck disable=SC2016 # for the other shell
on3='own=$$; rank() { pgrep -x preflight -n -P "$(pgrep -x preflight -o -P $own)"; }
	( for i in {1..100}; do rank >/dev/null 2>&1 && break; sleep 0.1; done; sleep 2; kill -STOP $(rank) ) &' three --only-calls --size 16M
expect_rc 10 'a rank that is stopped:'
found HUNG node3 'rank-stopped, rank 2 \(node3\)'

# a host whose MPI traffic is lost, which no check of the network sees: halves name it, with good company
for i in 1 2 3 4; do
	echo "$net.$((i + 1)) slots=1"
done >"$work/hosts"
"$netns" at node3 nft 'add table inet own; add chain inet own in { type filter hook input priority 0; }; add rule inet own in tcp dport 47000-47100 drop;
	add chain inet own out { type filter hook output priority 0; }; add rule inet own out tcp dport 47000-47100 drop'
export OMPI_MCA_plm_rsh_agent="$netns agent" OMPI_MCA_btl=tcp,self OMPI_MCA_oob_tcp_if_include=$net.0/24 OMPI_MCA_btl_tcp_if_include=$net.0/24 \
	OMPI_MCA_orte_tmpdir_base=$work/tmp OMPI_MCA_btl_tcp_port_min_v4=47000 OMPI_MCA_btl_tcp_port_range_v4=100
limit=240
run "$netns" at node0 ci/halves --backend mpi --hostfile "$work/hosts" --hostfile-out "$work/good" --junit "$work/junit.xml"
expect_out '^HUNG  all hosts: calls: .*no rank is named'
expect_rc 11 'MPI traffic of one host is lost:'
expect_out '^ERROR node3: company: calls hang where it takes part, and end well without it \(2 rounds of halves\)'
# on a machine that is busy with other work a good half may take longer than its deadline, too
cmp -s "$work/good" <(printf '%s\n' $net.2 $net.3 $net.5) || late "the good hosts' calls"
holds 'JUnit' grep -q '<testcase classname="all hosts" name="calls"><failure type="hung"' "$work/junit.xml"
holds 'JUnit of the halves' grep -q '<testcase classname="node3" name="company"><failure type="drain"' "$work/junit.xml"
within 20 no_process || for pid in $(pids_of_run); do
	echo "left: $pid $(tr '\0' ' ' <"/proc/$pid/cmdline") $(grep -E '^(State|PPid)' "/proc/$pid/status" | tr '\n' ' ')"
done
check 'no process is left' no_process
finish
