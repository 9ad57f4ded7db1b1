#!/bin/bash
# e2e_slurm_hosts.sh: a Slurm of two hosts out of namespaces, of Debian's packages: srun starts ranks on both, and
# says what hangar says when a rank, a supervisor, or the link between the hosts is lost.
# timeout: 600
# alone: it installs packages and starts daemons
# shellcheck source=ci/tests/installed/slurm.sh
source "$(dirname "$0")/slurm.sh"
make_cluster 2

srun=("${at_switch[@]}" srun --mpi=pmix --kill-on-bad-exit=0 -N 2 -n 4 --ntasks-per-node 2 --overcommit "$BUILD/all_gather_perf" --backend mpi
	--topo none --silent-after 1.5 --partition-timeout 4)
run "${srun[@]}" -n 20 -w 1 -b 8 -e 64K -f 4
expect_rc 0 'two hosts:'
expect_out '^# hangar .* 4 ranks on 2 nodes'
# without PMIx ranks meet over TCP, at rank 0's host of Slurm's list
run "${at_switch[@]}" srun --mpi=none -N 2 -n 4 --ntasks-per-node 2 --overcommit "$BUILD/all_reduce_perf" --backend null --topo none -b 64K -e 64M -f 4
expect_rc 0 'without PMIx:'
expect_out '^# hangar .* 4 ranks on 2 nodes'
expect_out '^ +67108864 '
while read -r fault code verdict; do
	run "${srun[@]}" --fault="$fault"
	expect_rc "$code" "$fault:"
	expect_out "^# verdict: outcome=$verdict "
	holds "$fault: a job that goes on" within 20 is_empty
done <<END
drop-rank:3 10 hang class=missing-call ranks=3
stop-rank:0 10 hang class=rank-stopped ranks=0
kill-rank:3 14 died class=rank-killed ranks=3
kill-rank:0@init 14 died class=rank-killed ranks=0
END

# Each side says it and its ranks end. slurmstepd gives up after five tries to tell srun, which waits for ever.
is_said() { grep -qE '^# verdict: outcome=hang class=(host-silent|partition) ranks=- .* hosts=node[12]( |$)' "$work/out"; }
no_rank() { ! pids_of_run | sed 's,.*,/proc/&/exe,' | xargs -r readlink | grep -q all_gather_perf; }
start "${srun[@]}" '--fault=command:3,run=netns cut node2,undo=sleep 4; netns mend node2'
holds 'no verdict of a cut' within 30 is_said
holds 'ranks that go on behind a cut' within 15 no_rank
scancel -u root
ended
expect_no_out '^# verdict: .* ranks=[0-9]'
finish
