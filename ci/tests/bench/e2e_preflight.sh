#!/bin/bash
# e2e_preflight.sh: a pre-flight of one host, of healthy hosts of namespaces, and of hosts with a planted fault each,
# which its lines name with the host.
# timeout: 1000
# quiet: waits for deadlines, and measures a network
source "$(dirname "$0")/../e2e/lib.sh"

program="$BUILD/preflight --backend mpi"
limit=90
# found WORD HOST PATTERN: a line that begins with the word and names the host; and no other host has one of ERROR or HUNG
found() {
	expect_out "^$1 *$2( \([^)]*\))?: .*$3"
	holds "$2 alone is to blame" bash -c '! grep -E "^(ERROR|HUNG)" "$1" | grep -vE "^(ERROR|HUNG) *$2[ :]"' - "$work/out" "$2"
}
alone() { run $program "$@"; }

alone --json
expect_rc 0 'one host:'
holds 'JSON' python3 -c '
import json, sys
hosts = {h["host"]: h for h in json.load(open(sys.argv[1]))}
assert hosts["all hosts"]["checks"]["data"] == "PASS" and not any(h["drain"] for h in hosts.values()), hosts' "$work/out"
alone --no-calls --save "$work/saved" --metrics "$work/p.prom"
expect_rc 0 'one host without calls:'
expect_out '^PASS: .*memlock nofile'
holds 'metrics' grep -q '^hangar_health_exit_code 0$' "$work/p.prom"
alone --json --drain-list
expect_rc 2
run bash -c "ulimit -n 200; exec $program --no-calls"
expect_rc 11 'few open files:'
found ERROR "$HOSTNAME" '200 open files'

# shellcheck source=ci/tests/rig/hosts.sh
source "$(dirname "$0")/../rig/hosts.sh"
make_hosts 4
# on_three [OPTION...]: with the words of $with before the program, on node3 those of $on3
cat >"$work/wrap" <<'END'
#!/bin/bash
[ "$HOSTNAME" != node3 ] || eval "${ON3:-:}"
exec "$@"
END
chmod +x "$work/wrap"
three() {
	local ON3=${on3:-}
	export ON3
	run "$netns" run -s 1,1,1 "$work/wrap" $program "$@"
	on3=
}
three
expect_rc 0 'three healthy hosts:'
expect_out '^PASS: .*tcp path-mtu loss latency bandwidth'
expect_out '^PASS  all hosts: all_reduce: data right'
expect_no_out '^(ERROR|HUNG|SLOW|NOTE)'
for again in 1 2 3; do
	three --no-calls
	expect_rc 0 "healthy again ($again):"
done

# planted ACTION... : a fault of node3's network
planted() { "$netns" "$1" node3 "${@:2}" || fail "netns $*"; }
closed() { "$netns" at node3 nft "add table inet own; add chain inet own in { type filter hook input priority 0; }; add rule inet own in tcp flags & (syn|ack) == syn tcp dport 41000-43500 $1"; }
planted lose 5
three --no-calls
expect_rc 13 'loss:'
expect_out '^SLOW  node3 \(rank 2\): .* of 200 packets to node[123] or back are lost'
expect_no_out '^ERROR'
planted mend
planted delay 0.02
three --no-calls
expect_rc 13 'delay:'
expect_out '^SLOW  node3 \(rank 2\): node3>node1: [4-9][0-9]{4} us to node1 and back'
planted mend
"$netns" at node3 ip link set eth0 mtu 1400
three --no-calls
expect_rc 11 'MTU:'
found ERROR node3 'packets of 1500 bytes do not reach node3'
expect_out '^SLOW  node3 .*the MTU is 1400 here, 1500 elsewhere'
"$netns" at node3 ip link set eth0 mtu 1500
closed drop
three --no-calls
expect_rc 11 'silent ports:'
found ERROR node3 'TCP ports of node3 cannot be reached: 4[0-9]{4}-4[0-9]{4} without an answer'
"$netns" at node3 nft delete table inet own
closed 'reject with tcp reset'
three --no-calls --drain-list
expect_rc 11 'refused ports:'
holds 'node3 alone is to be drained' cmp "$work/out" <(echo node3)
"$netns" at node3 nft delete table inet own

# faults of the host: in its own mounts, or in the environment of its rank
inside 3 bash -c "printf '127.0.0.1 localhost\n127.0.1.1 node3\n' >$work/own/hosts && mount --bind $work/own/hosts /etc/hosts"
three --no-calls
expect_rc 11 'loopback:'
found ERROR node3 'node3 is 127\.0\.1\.1 there'
inside 3 mount --bind "$work/names" /etc/hosts
on3='export NCCL_SOCKET_IFNAME=ib0' three --no-calls
expect_rc 11 'interface:'
found ERROR node3 'NCCL_SOCKET_IFNAME=ib0 is no interface that is up there; there are lo, eth0'
on3='export NCCL_SOCKET_IFNAME=lo' three --no-calls
found ERROR node3 'makes lo the interface'
on3='export NCCL_ALGO=Tree' three --no-calls
expect_rc 11 'settings:'
found ERROR node3 'NCCL_ALGO: rank 2: Tree; ranks 0,1: unset'
on3='ulimit -l 64' three --no-calls
expect_rc 13 'locked memory:'
found SLOW node3 'locked memory \(KiB\): 64 here'
on3='ulimit -n 200' three --no-calls
found ERROR node3 '200 open files'
inside 3 mount -t tmpfs -o size=32m tmpfs /dev/shm
three --no-calls
expect_rc 13 'small /dev/shm:'
found SLOW node3 '32 MiB, where NCCL and Open MPI keep memory'
inside 3 umount /dev/shm

# hangar_run --preflight: a job starts on good hosts alone
mkdir "$work/apart"
cp "$BUILD/hangar_run" "$work/apart/"
run "$work/apart/hangar_run" --preflight echo started
expect_rc 77 'no preflight beside it:'
holds 'the command started' [ ! -s "$work/out" ]
expect_err '^hangar_run: the command is not started'
on3= run "$netns" run -s 1,1,1 "$work/wrap" "$BUILD/hangar_run" --quiet --preflight echo started
expect_rc 0 'hangar_run --preflight:'
holds 'all three start' [ "$(grep -c '^started$' "$work/out")" = 3 ]
ON3='ulimit -n 200' run "$netns" run -s 1,1,1 env ON3='ulimit -n 200' "$work/wrap" "$BUILD/hangar_run" --quiet --preflight echo started
expect_rc 11 'hangar_run --preflight with few open files:'
expect_err '^ERROR node3 .*200 open files'

# a host that hangs in a call
on3='( sleep 3; kill -STOP $(pgrep -x preflight -n -P $(pgrep -x preflight -o -P $$)) ) &' three
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
holds 'the others are good' cmp "$work/good" <(printf '%s\n' $net.2 $net.3 $net.5)
holds 'JUnit' grep -q '<testcase classname="all hosts" name="calls"><failure type="hung"' "$work/junit.xml"
check 'no process is left' within 20 no_process
finish
