#!/bin/bash
# e2e_hosts_network.sh: --fault=command with faults/inject/netns between hosts made of namespaces: what each fault of the
# network comes to, that no rank is blamed, and that nothing is left.
# timeout: 600
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/lib.sh"
# shellcheck source=ci/tests/rig/hosts.sh
source "$(dirname "$0")/../rig/hosts.sh"

make_hosts 3
cd "$work/own" || exit 1
command -v nft >/dev/null || { echo 'faults of the network: not tried: nft (nftables) is not installed'; finish; }

# clean: no process, no file and no change of the network is left on either host
clean() {
	local i
	no_process || return
	for i in 1 2; do
		[ -z "$(enter $i nft list ruleset)$(enter $i ls /dev/shm)$(enter 0 ls "$work/wire$i" 2>/dev/null)" ] &&
			[[ $(enter $i ip -br link show eth0) == *' UP '* ]] || return
	done
	# a link that is up again passes nothing for a moment: no mpirun comes through then
	enter 1 timeout 1 bash -c 'exec 3<>/dev/tcp/10.213.0.3/9' 2>&1 | grep -q refused
}

# broken RANK@CALL "FAULT" OUTCOMES CLASSES OPTION...: netns FAULT at that call, mended when the run is over and both
# sides have come to their verdict. Outcomes and classes are regular expressions.
broken() {
	from_host 2,2 "--fault=command:$1,run=netns $2,undo=sleep 4; netns mend node2" \
		--silent-after 1.5 --partition-timeout 4 "${@:5}"
	run "${command[@]}"
	holds "$2: not this fault's end, exit $rc: $(grep '^# verdict' "$work/out" || tail -n 4 "$work/out" "$work/err")" grep -qE "^# verdict: outcome=($3) class=($4) " "$work/out"
	holds "$2: a rank is blamed" grep -qE '^# verdict: .* ranks=- ' "$work/out"
	holds "$2: something is left" within 15 clean
}

broken 3@8 'cut node2' hang 'host-silent|partition'
broken 0@init 'stall node2' hang 'host-silent|partition'
broken 2@8 'stall node2 out node1' hang 'host-silent|partition' # one way
broken 3@8 'large-only node2' hang partition
expect_out '^# verdict: .* confidence=majority .* pair=node1>node2 side=fabric evidence='
holds 'large packets: two verdicts' [ "$(grep -c '^# verdict' "$work/out")" = 1 ]
broken 1@8 'reset node2' 'hang|error|died' '[a-z-]+'
broken 0@8 'gone node2' hang 'host-silent|partition'

# The run goes on where the network only gets worse. -T: the deadline of a call is for the network before.
for fault in 'slow node2 160mbit' 'lose node2 1' 'delay node2 0.005' 'cut node2; sleep 0.2; netns mend node2'; do
	from_host 2,2 "--fault=command:3,run=netns $fault,undo=netns mend node2" -T 5
	run "${command[@]}"
	expect_rc 0 "$fault"
	holds "$fault: something is left" within 10 clean
done

from_host 2,2 '--fault=command:3,run=netns cut node7'
run "${command[@]}"
expect_err 'ended with status 2: netns: no host node7'
expect_rc 2 'a host that does not exist'

# One direction between two of three hosts is shut before anything is sent; launcher and monitors do not need it.
netns stall node3 in node2
from_host 1,1,1
run "${command[@]}"
expect_rc 10 'one direction shut before init'
expect_out '^# verdict: outcome=hang class=partition ranks=- .* confidence=majority .* pair=[^ ]*node2>node3[^ ]* side=fabric '
holds 'one direction shut before init: something is left' within 10 no_process
netns mend node3

# MPI's own ports alone are shut in the midst of calls, as where data have another network than monitors
from_host 2,2 -b 8 -e 8 -n 100000000
export OMPI_MCA_btl_tcp_port_min_v4=21000 OMPI_MCA_btl_tcp_port_range_v4=100
# shellcheck disable=SC2154 # command: of from_host
start "${command[@]}"
"$BUILD/tests/tool_phase" "$token" timed 40 rank:0 18 >/dev/null || explain 'no rank in a timed call'
enter 2 nft "add table inet t; add chain inet t c { type filter hook input priority 0; };
	add rule inet t c tcp dport 21000-21099 drop; add rule inet t c tcp sport 21000-21099 drop"
limit=40 ended
expect_rc 10 'ports of data shut'
# how often what is lost was sent again by then depends on the connection's round trip
if grep -q '^# verdict: outcome=hang class=unexplained ranks=- ' "$work/out"; then
	late=$((late + 1))
	echo "LATE ports of data shut: nothing was sent again before the verdict"
else
	expect_out '^# verdict: outcome=hang class=partition ranks=- .* confidence=(inconclusive|majority) .* pair=[^ ]*node[12]>node[12][^ ]* side=fabric '
	expect_out '^#   What rank [0-3] \(node[12]\) sends to port [0-9]+ of [0-9.]+ \(node[12]\) is not acknowledged'
fi
holds 'ports of data shut: something is left' within 10 no_process
enter 2 nft delete table inet t
for slots in 1,1,1 2,2; do
	from_host $slots -b 8 -e 8
	run "${command[@]}"
	expect_rc 0 "healthy hosts with $slots slots"
	expect_no_out '^# (host|verdict)'
done
finish
