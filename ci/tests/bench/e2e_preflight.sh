#!/bin/bash
# e2e_preflight.sh: a pre-flight of healthy hosts of namespaces, and of hosts with a planted fault each,
# which its lines name with the host.
# timeout: 600
# quiet: waits for deadlines, and measures a network
source "$(dirname "$0")/../e2e/lib.sh"
# shellcheck source=ci/tests/bench/preflight.sh
source "$(dirname "$0")/preflight.sh"

four_hosts
# A double of perftest's program, which was never run here: node3 is slow.
cat >"$work/bin/ib_write_bw" <<'END'
#!/usr/bin/env python3
import socket, sys
words = sys.argv[1:]
port, host = int(words[words.index("-p") + 1]), words[-1] if words[-1].count(".") == 3 else None
if host is None:
    socket.create_server(("", port)).accept()
    sys.exit()
try:
    socket.create_connection((host, port))
except OSError:
    sys.exit(f"Couldn't connect to {host}:{port}")
rate = 12.5 if socket.gethostname() == "node3" or host.endswith(".4") else 92.4
print(f" #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n 1048576    500     {rate + 1}     {rate}     0.01")
END
chmod +x "$work/bin/ib_write_bw"
export PATH=$work/bin:$PATH
three
expect_rc 0 'three healthy hosts:'
for check in tcp rendezvous path-mtu loss; do expect_out "^PASS  $check .*; [13] hosts?\$"; done
for check in latency bandwidth; do expect_out "^PASS  $check "; done
expect_out '^PASS  all hosts: all_reduce on 3 ranks: data right'
expect_out '^PASS  all hosts: alltoallv on 3 ranks: data right'
expect_out '^PASS  all hosts: 3 of 3 pairs of ranks measured'
expect_no_out '^(ERROR|HUNG|SLOW|NOTE)'
three --no-calls
expect_rc 0 'healthy again:'
on3='exit 0' three --no-calls
expect_rc 11 'a host that does not come:'
expect_out "^ERROR $net\.4: meeting: 1 of 3 hosts did not come: $net\.4, rank 2\. "
OMPI_MCA_rmaps_base_mapping_policy=node on2='export NCCL_ALGO=Tree' run "$netns" run -s 2,2,2 "$work/wrap" $program --no-calls
expect_rc 11 'hosts that have ranks in turn:'
found ERROR node2 'NCCL_ALGO: rank 1: Tree; ranks 0,2: unset'
expect_out '^ERROR node2 \(rank 1 and 1 more\): '
# mpirun in Slurm's batch script, which starts the daemons of other hosts in a step
step='export SLURM_JOB_ID=80 PMI_JOBID=80.1 SLURM_STEP_ID=1 SLURM_STEP_NUM_NODES=2 SLURM_STEP_NUM_TASKS=2 SLURM_STEP_NODELIST=node[2-3]'
on1='export SLURM_JOB_ID=80 SLURM_NNODES=3' on2="$step SLURM_NODEID=0" on3="$step SLURM_NODEID=1" three --no-calls
expect_rc 0 'mpirun under Slurm:'
expect_out '^3 hosts, [0-9]+ ranks in .* 0 ERROR, 0 HUNG, 0 SLOW'

# planted ACTION... : a fault of node3's network
planted() { "$netns" "$1" node3 "${@:2}" || fail "netns $*"; }
# closed HOST PORTS WORDS: what becomes of new connections to these
closed() { "$netns" at "$1" nft "add table inet own; add chain inet own in { type filter hook input priority 0; }; add rule inet own in tcp flags & (syn|ack) == syn tcp dport $2 $3"; }
opened() { "$netns" at "$1" nft delete table inet own; }
planted slow 8mbit
three --no-calls
expect_rc 13 'a slow link of one of three:'
expect_out '^SLOW  node3 \(rank 2\): node[123]>node[123]: [0-9]+ Mbit/s to node[123] over four streams, '
expect_no_out '^SLOW  .*(node1>node2|node2>node1)'
run "$netns" run -s 0,1,1 "$work/wrap" $program --no-calls
expect_rc 13 'one of two:'
expect_out '^SLOW  node2 or node3: node.>node.: [0-9]+ Mbit/s to node[23] over four streams, '
planted mend
run "$netns" run -s 1,1 "$work/wrap" $program --no-calls --min-mbit 1000000
expect_rc 13 'a floor:'
expect_out '^SLOW .* Mbit/s to node[12] over four streams, where --min-mbit asks for 1000000'
planted delay 0.02
planted lose 5
on2='export NCCL_SOCKET_IFNAME=ib0' three --no-calls
expect_rc 11 'loss, delay, and a wrong interface:'
expect_out '^SLOW  node3 \(rank 2\): .* of 200 packets to node[123] or back are lost'
expect_out '^SLOW  node3 \(rank 2\): node[123]>node[123]: [0-9]{5,7} us to node[123] and back'
found ERROR node2 'NCCL_SOCKET_IFNAME=ib0 is no interface that is up there; there are lo, eth0'
planted mend
"$netns" at node3 ip link set eth0 mtu 1400
closed node3 41000-43500 drop
on2='ulimit -l 64; export NCCL_ALGO=Tree TORCH_DISTRIBUTED_DEBUG=DETAIL' three --no-calls
expect_rc 11 'MTU and silent ports; settings and locked memory:'
guilty='node[23]'
found ERROR node3 'packets of 1500 bytes do not reach node3'
found ERROR node3 'TCP ports of node3 cannot be reached: 4[0-9]{4}-4[0-9]{4} without an answer'
found ERROR node2 'NCCL_ALGO: rank 1: Tree; ranks 0,2: unset'
found ERROR node2 'TORCH_DISTRIBUTED_DEBUG: rank 1: DETAIL; ranks 0,2: unset'
expect_out '^SLOW  node3 .*the MTU is 1400 here, 1500 elsewhere'
expect_out '^SLOW  node2 .*locked memory \(KiB\): 64 here'
"$netns" at node3 ip link set eth0 mtu 1500
opened node3
closed node3 41000-43500 'reject with tcp reset'
on2='ulimit -n 200; export NCCL_SOCKET_IFNAME=lo' three --no-calls --json --save "$work/saved"
expect_rc 11 'refused ports, few open files, the loopback interface:'
holds 'what the lines say' python3 -c '
import json, sys
hosts = {h["host"]: h for h in json.load(open(sys.argv[1]))["hosts"]}
def texts(host, weight): return " ".join(f["text"] for f in hosts[host]["findings"] if f["weight"] == weight)
assert "refused" in texts("node3", "drain") and "200 open files" in texts("node2", "drain") and "makes lo the interface" in texts("node2", "drain")
assert [name for name, h in hosts.items() if h["drain"]] == ["node2", "node3"], hosts' "$work/saved"
opened node3

# NICs at 9000 and a hop at 1500 that says nothing: hosts meet without mpirun, which would hang, and name it. Beside it a
# host whose leader does not come: its own line is HUNG, and its exit code.
mtu() { for i in 1 2 3; do "$netns" at node$i ip link set eth0 mtu "$1"; done; }
mtu 9000
HANGAR_E2E=$token "$netns" at node2 "$BUILD/preflight" --hosts node1,node2 >"$work/lonely" 2>&1 &
apart=$!
for i in 2 3; do
	HANGAR_E2E=$token "$netns" at node$i "$BUILD/preflight" --hosts node1,node2,node3 >"$work/at$i" 2>&1 &
done
run "$netns" at node1 "$BUILD/preflight" --hosts node1,node2,node3
expect_rc 11 'a broken path MTU:'
expect_out '^ERROR several hosts: node1>node3: packets of 9000 bytes do not reach node3, small ones do'
expect_out '^3 hosts, '
wait $apart
holds 'a host apart: no exit 10' [ $? = 10 ]
holds "a host apart: $(cat "$work/lonely")" grep -q "^HUNG  node2: meeting: rank 0's host is not reached" "$work/lonely"
mtu 1500
run "$netns" at node1 "$BUILD/preflight" --hosts node2,node3
expect_rc 2 'a host that is not in --hosts:'

# RDMA ports that are made up: node3's are slow, and its name is its loopback's
made_up() {
	# shellcheck disable=SC2016 # for the other shell
	inside "$1" bash -c 'cd "$0" && mkdir -p "$1/gids" "$1/gid_attrs/types" && cp -a /sys/class/net . && cd "$1" &&
		echo Ethernet >link_layer && echo "100 Gb/sec (4X EDR)" >rate && echo "4: ACTIVE" >state && echo "5: LinkUp" >phys_state &&
		echo 0000:0000:0000:0000:0000:ffff:0ad5:0001 >gids/0 && echo "RoCE v2" >gid_attrs/types/0 && mount --bind "$0" /sys/class' \
		"$work/own" infiniband/mlx5_0/ports/1
}
for i in 1 2 3; do
	made_up $i || fail "the ports of node$i"
done
inside 3 bash -c "printf '127.0.0.1 localhost\n127.0.1.1 node3\n' >$work/own/hosts && mount --bind $work/own/hosts /etc/hosts"
inside 2 mount -t tmpfs -o size=32m tmpfs /dev/shm
on2='export NCCL_IB_GID_INDEX=1' three --no-calls
expect_rc 11 'loopback, slow RDMA; small /dev/shm, a GID that is none:'
expect_out '^ERROR node3 .*node3 is 127\.0\.1\.1 there'
expect_out '^SLOW  node3 .*12500 Mbit/s to node[123] by ib_write_bw, over a port of 100000'
expect_no_out '(node(1>node2|2>node1): .*ib_write_bw|node[13] .*NCCL_IB_GID_INDEX)'
expect_out '^SLOW  node2 .*32 MiB, where NCCL and Open MPI keep memory'
expect_out '^ERROR node2 .*NCCL_IB_GID_INDEX=1 is no GID of RoCE v2 here'
inside 3 mount --bind "$work/names" /etc/hosts
inside 2 umount /dev/shm
# the port at which ranks will meet is closed, and node3 lacks a port that the others have
inside 3 umount /sys/class
closed node1 29511 drop
MASTER_PORT=29511 three --no-calls
expect_rc 11 'a closed port to meet at:'
expect_out '^ERROR node1 .*the port of node1 that MASTER_PORT or NCCL_COMM_ID names cannot be reached: 29511 without an answer'
expect_no_out '^(ERROR|HUNG) .*node[23] that'
expect_out '^SLOW  node3 .*none here, Ethernet 100 Gbit/s up elsewhere'
expect_out '^N/A   verbs-bandwidth '
opened node1
inside 1 umount /sys/class
inside 2 umount /sys/class

# hangar_run --preflight: a job starts on good hosts alone
mkdir "$work/apart"
cp "$BUILD/hangar_run" "$work/apart/"
run "$work/apart/hangar_run" --preflight echo started
expect_rc 77 'no preflight beside it:'
holds 'the command started' [ ! -s "$work/out" ]
expect_err '^hangar_run: the command is not started'
run "$BUILD/hangar_run" --quiet --preflight echo started
expect_rc 0 'hangar_run --preflight on one host:'
expect_err '^hangar_run: --preflight: not looked at: other hosts, the network between them, calls; mpirun or srun'
run "$netns" run -s 1,1,1 "$work/wrap" "$BUILD/hangar_run" --quiet --preflight echo started
expect_rc 0 'hangar_run --preflight:'
expect_err '^hangar_run: --preflight: not looked at: calls$'
holds 'all three start' [ "$(grep -c '^started$' "$work/out")" = 3 ]
on3='ulimit -n 200' run "$netns" run -s 1,1,1 "$work/wrap" "$BUILD/hangar_run" --quiet --preflight echo started
expect_rc 11 'hangar_run --preflight with few open files:'
expect_err '^ERROR node3 .*200 open files'

within 20 no_process || for pid in $(pids_of_run); do
	echo "left: $pid $(tr '\0' ' ' <"/proc/$pid/cmdline") $(grep -E '^(State|PPid)' "/proc/$pid/status" | tr '\n' ' ')"
done
check 'no process is left' no_process
finish
