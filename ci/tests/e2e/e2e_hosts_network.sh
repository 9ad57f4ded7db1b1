#!/bin/bash
# e2e_hosts_network.sh: --fault=net-* and host-gone between two hosts made of namespaces: what they come to, that no rank is
# blamed, and that nothing is left.
# timeout: 240
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/lib.sh"
# shellcheck source=ci/tests/rig/hosts.sh
source "$(dirname "$0")/../rig/hosts.sh"

make_hosts 3
cd "$work/own" || exit 1

run "$BUILD/all_reduce_perf" --backend mpi --fault=net-cut
expect_rc 77 "on the machine's own network"
expect_err "net-cut needs a network namespace that is not the machine's own"
command -v nft >/dev/null || { echo 'faults of the network: not tried: nft (nftables) is not installed'; finish; }

# clean: no process, no file and no change of the network is left on either host
clean() {
	local i
	no_process || return
	for i in 1 2; do
		[ -z "$(enter $i nft list ruleset)$(enter $i ls /dev/shm)" ] &&
			[[ $(enter $i ip -br link show eth0) == *' UP '* ]] || return
	done
}

# broken SPEC OUTCOMES CLASSES OPTION...: regular expressions
broken() {
	from_host 2,2 "--fault=$1" --silent-after 1.5 --partition-timeout 4 "${@:4}"
	run "${command[@]}"
	holds "$1: not this fault's end" grep -qE "^# verdict: outcome=($2) class=($3) " "$work/out"
	holds "$1: a rank is blamed" grep -qE '^# verdict: .* ranks=- ' "$work/out"
	holds "$1: something is left" within 10 clean
}

broken net-cut:3 hang 'host-silent|partition'
broken net-stall:0@init hang 'host-silent|partition'
broken net-stall:2,peer=1,dir=out,when=after hang 'host-silent|partition'
broken net-loss-large:3 hang '[a-z-]+'
broken host-gone:3,hold=7 hang 'host-silent|partition'

# what a network can do without a verdict: the run goes on
for fault in net-slow:3,rate=20000 net-loss:1,loss=1 net-flap:3,times=2,down=0.2,up=0.2; do
	from_host 2,2 "--fault=$fault"
	run "${command[@]}"
	expect_rc 0 "$fault"
	holds "$fault: something is left" within 10 clean
done

from_host 2,2 --fault=net-stall:3,peer=2
run "${command[@]}"
expect_rc 2 'a peer on the same host'
expect_err 'rank 3 and its peer 2 are on one host'

# One direction between two of three hosts is shut before anything is sent; launcher and monitors do not need it.
enter 3 nft "add table inet t; add chain inet t c { type filter hook input priority 0; };
	add rule inet t c ip saddr $net.3 drop"
from_host 1,1,1
run "${command[@]}"
expect_rc 10 'one direction shut before init'
expect_out '^# verdict: outcome=hang class=partition ranks=- .* confidence=proved .* pair=node2>node3 side=fabric '
holds 'one direction shut before init: something is left' within 10 no_process
enter 3 nft delete table inet t

# MPI's own ports alone are shut in the midst of calls, as where data have another network than monitors
from_host 2,2 -b 8 -e 8 -n 100000000
export OMPI_MCA_btl_tcp_port_min_v4=21000 OMPI_MCA_btl_tcp_port_range_v4=100
# shellcheck disable=SC2154 # command: of from_host
start "${command[@]}"
"$BUILD/tests/tool_phase" "$token" timed 20 rank:0 18 >/dev/null || explain 'no rank in a timed call'
enter 2 nft "add table inet t; add chain inet t c { type filter hook input priority 0; };
	add rule inet t c tcp dport 21000-21099 drop; add rule inet t c tcp sport 21000-21099 drop"
limit=40 ended
expect_rc 10 'ports of data shut'
expect_out '^# verdict: outcome=hang class=partition ranks=- .* confidence=inconclusive .* pair=[^ ]*node[12]>node[12][^ ]* side=fabric '
expect_out '^# What rank [0-3] \(node[12]\) sends to port [0-9]+ of [0-9.]+ \(node[12]\) is not acknowledged: sent again [0-9]+ times'
holds 'ports of data shut: something is left' within 10 no_process
enter 2 nft delete table inet t
for slots in 1,1,1 2,2; do
	from_host $slots -b 8 -e 8
	run "${command[@]}"
	expect_rc 0 "healthy hosts with $slots slots"
	expect_no_out '^# (host|verdict)'
done
finish
