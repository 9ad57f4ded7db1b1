#!/bin/bash
# e2e_preflight_host.sh: a pre-flight of one host, and of ranks of which two are slow with each other.
# timeout: 600
# quiet: waits for deadlines, and measures pairs of ranks
source "$(dirname "$0")/../e2e/lib.sh"
# shellcheck source=ci/tests/bench/preflight.sh
source "$(dirname "$0")/preflight.sh"

alone --json
expect_rc 0 'one host:'
holds 'JSON' python3 -c '
import json, sys
hosts = {h["host"]: h for h in json.load(open(sys.argv[1]))["hosts"]}
assert hosts["all hosts"]["checks"]["data"] == "PASS" and not any(h["drain"] for h in hosts.values()), hosts' "$work/out"
alone -g 1 --only-calls
expect_rc 0 'one rank:'
for check in data busbw pairs; do expect_out "^N/A   $check .*; needs two ranks"; done
expect_out '\(one rank: no call leaves it\)$'
expect_out '^N/A   all hosts: all_reduce on 1 rank: [0-9]'
expect_no_out 'data right|^PASS.* data'
NCCL_SOCKET_IFNAME=ib7 alone --no-calls
expect_rc 11 'one host, an interface that is none:'
found ERROR "$HOSTNAME" 'NCCL_SOCKET_IFNAME=ib7 is no interface that is up there'
alone --no-calls --save "$work/saved" --metrics "$work/p.prom"
expect_rc 0 'one host without calls:'
expect_out '^PASS  nofile  *files that a rank may open: NCCL takes several a peer; 1 host$'
expect_out '^N/A   verbs-bandwidth  *ib_write_bw between hosts; needs ib_write_bw \(perftest\) and an active port on'
holds 'metrics' grep -q '^hangar_health_exit_code 0$' "$work/p.prom"
for both in '--json --drain-list' '--no-calls --only-calls'; do
	# shellcheck disable=SC2086 # words
	alone $both
	expect_rc 2 "$both:"
done
# srun without PMIx: the host is looked at and is not to blame; health meets over TCP
export SLURM_JOB_ID=80 SLURM_STEP_ID=0 SLURM_STEP_NUM_NODES=1 SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=0
alone
expect_rc 11 'srun without PMIx:'
expect_out '^PASS  nofile '
expect_out '^ERROR all hosts: calls: none were made: srun started 2 tasks without PMIx.* srun --mpi=pmix'
expect_out '; 0 to be drained$'
run env HANGAR_RENDEZVOUS_SECONDS=1 "$BUILD/health"
expect_rc 10 'health by srun without PMIx, of which one task came:'
expect_err 'rank 1 of 2 did not come to a socket of this host within 1 s'
SLURM_STEP_NUM_TASKS=1 alone --no-calls
expect_rc 0 'a step of one task:'
unset SLURM_JOB_ID SLURM_STEP_ID SLURM_STEP_NUM_NODES SLURM_STEP_NUM_TASKS SLURM_PROCID
NCCL_P2P_DISABLE=1 alone --no-calls
expect_rc 0 'a setting that is alike and slow:'
expect_out "^NOTE  $HOSTNAME.*: NCCL_P2P_DISABLE=1: GPUs of a host send through its memory"
# another program has the port at which ranks would meet
python3 -c '
import socket, time
s = socket.create_server(("", 0))
print(s.getsockname()[1], flush=True)
time.sleep(120)' >"$work/port" &
holder=$!
within 20 test -s "$work/port"
MASTER_PORT=$(<"$work/port") run bash -c "ulimit -n 200; exec $program --no-calls"
expect_rc 11 'few open files, and a port that is taken:'
found ERROR "$HOSTNAME" '200 open files'
found ERROR "$HOSTNAME" "another program has port $(<"$work/port"), which MASTER_PORT"
kill $holder
# a list of nodes to drain has Slurm's names
SLURMD_NODENAME=n7 run bash -c "ulimit -n 200; exec $program --no-calls --drain-list"
holds 'nodes to drain' [ "$(<"$work/out")" = n7 ]

# one pair is slow: rank 1 takes 30 ms longer for each large message to rank 2
cat >"$work/slow.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
int MPI_Isend(const void *data, int n, void *type, int to, int tag, void *comm, void *request)
{
	int (*next)(const void *, int, void *, int, int, void *, void *);
	const char *rank = getenv("OMPI_COMM_WORLD_RANK");
	*(void **)&next = dlsym(RTLD_NEXT, "MPI_Isend");
	if (n > 1000000 && to == 2 && rank && *rank == '1')
	{
		if (getenv("ENDS"))
			_exit(3);
		usleep(30000);
	}
	return next(data, n, type, to, tag, comm, request);
}
END
cc -shared -fPIC -o "$work/slow.so" "$work/slow.c" -ldl
LD_PRELOAD=$work/slow.so alone -g 4 --only-calls
expect_rc 13 'a slow pair:'
expect_out "^SLOW  $HOSTNAME \(ranks 0-3\): ranks 1 and 2: .* MB/s between these two \($HOSTNAME; link: not known\), where such pairs have"
expect_no_out '^SLOW .*ranks (0 and|[12] and 3)'
expect_out '^SLOW  all hosts: 6 of 6 pairs of ranks measured'
expect_out '^N/A   busbw .*; needs two ranks, for which'
expect_out '\(nothing is predicted for these ranks\)$'
expect_out '^PASS  data  *the results of all calls are right; all hosts, 4 ranks$'
expect_out '^1 host, 4 ranks in '
expect_out '^PASS  all hosts: all_reduce on 4 ranks: data right, [0-9]+\.[0-9] us \(4 KiB\)'
ENDS=1 LD_PRELOAD=$work/slow.so alone -g 4 --only-calls
expect_rc 11 'a rank that ends, in a bare start:'
expect_out '^ERROR .*calls: rank-exited, rank 1 '

# MPI_Init ends every rank, as where srun and Open MPI have no PMI in common: that is no host's fault
echo '#include <unistd.h>
int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) { _exit(1); }' >"$work/init.c"
cc -shared -fPIC -o "$work/init.so" "$work/init.c"
LD_PRELOAD=$work/init.so alone -g 2 --only-calls
expect_rc 11 'MPI_Init ends every rank:'
expect_out '^ERROR all hosts: calls: rank-exited, rank 0,1 '
expect_out '; 0 to be drained$'
check "no process is left" within 20 no_process
finish
