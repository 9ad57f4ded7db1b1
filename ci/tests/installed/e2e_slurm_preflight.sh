#!/bin/bash
# e2e_slurm_preflight.sh: in a Slurm of three hosts a pre-flight by srun and by mpirun, with and without PMIx, with a bad node,
# and as the prolog; a program of hangar_run whose rank dies, where Slurm kills what a node's last task leaves behind; and a drain.
# timeout: 600
# alone: it installs packages and starts daemons
# shellcheck source=ci/tests/installed/slurm.sh
source "$(dirname "$0")/slurm.sh"
freezer=$(awk '$3 == "cgroup" && $4 ~ /(^|,)freezer(,|$)/ { print $2; exit }' /proc/mounts)
[ -n "$freezer" ] || skip 'no freezer of cgroup v1'
groups=$freezer/hangar-$$
# the prolog gets no variables but Slurm's
printf '#!/bin/bash\nHANGAR=%q exec %q\n' "$BUILD" "$PWD/ci/examples/preflight-prolog" >"$work/prolog"
chmod +x "$work/prolog"
make_cluster 3
examples=$PWD/ci/examples subject=$BUILD/tests/double/subject
export HANGAR_E2E=$token

# node2 has few open files where $few is set
cat >"$work/node" <<'END'
#!/bin/bash
[ "$SLURMD_NODENAME" != "${few:-}" ] || ulimit -n 200
exec "$@"
END
chmod +x "$work/node"
# shellcheck disable=SC2086 # a list of words
steps() { run "${at_switch[@]}" srun "${@:2}" "$work/node" "$BUILD/preflight" --backend mpi $1; }
healthy() {
	expect_rc 0 "$*"
	expect_out '^3 hosts, .* 0 ERROR, 0 HUNG'
}
steps '' --mpi=pmix -N 3 && healthy 'srun'
expect_out '^PASS  all hosts: all_reduce on [0-9]+ ranks: data right'
steps --no-calls -N 3 && healthy 'srun without calls and PMIx'
steps '' -N 3
expect_rc 11 'srun without PMIx:'
expect_out '^ERROR all hosts: calls: none were made: srun started 3 tasks without PMIx'
expect_out '; 0 to be drained$'
few=node2 steps --no-calls -N 3
expect_rc 11 'few open files:'
expect_out '^ERROR node2 .*200 open files'
# the host's name is long, and Slurm's is not
enter 2 hostname node2.cluster.local
few=node2 steps '--no-calls --drain-list' -N 3
holds 'nodes to drain' [ "$(<"$work/out")" = node2 ]
printf '#!/bin/bash\nOMPI_MCA_rmaps_base_oversubscribe=1 mpirun "$@"\n' >"$work/batch"
run "${at_switch[@]}" sbatch --wait -N 3 -n 3 -o "$work/log" "$work/batch" "$BUILD/preflight" --backend mpi --no-calls
expect_rc 0 "mpirun in a batch script: $(tail -n 3 "$work/log")"
holds 'all hosts came' grep -q '^3 hosts, .* 0 ERROR, 0 HUNG' "$work/log"
enter 2 hostname node2

# a rank dies, and with it the last task of its node; what a verdict that is about a machine does
run "${at_switch[@]}" srun -N 3 -n 3 "$BUILD/hangar_run" --on-hang=kill --timeout 3 --out "$work/killed" \
	bash -c "RANK=\$SLURM_PROCID DOUBLE_DIR=$work DOUBLE_ID=ranks MASTER_ADDR=$net.2 MASTER_PORT=29500 exec $subject 3 400 kill=0@300"
holds 'rank 0 is named' grep -q '^# verdict: outcome=died class=rank-killed ranks=0 ' "$work/err"
HANGAR_CLASS=monitor-gone HANGAR_CONFIDENCE=proved HANGAR_HOSTS=$net.4 HANGAR_RANKS=- HANGAR_EVIDENCE=$work/killed \
	SCONTROL="${at_switch[*]} scontrol" run "$examples/drain-slurm"
expect_rc 0 'drain-slurm:'
drained() { scontrol show node "$1" | grep -q "Reason=$2"; }
holds 'node3 is drained' drained node3 "hangar: monitor-gone, $work/killed"

# a prolog that finds an error drains its node
echo "Prolog=$work/prolog" >>"$SLURM_CONF"
scontrol reconfigure
run "${at_switch[@]}" srun -w node1 true
expect_rc 0 'the prolog of a good node:'
enter 2 prlimit --pid "$(enter 2 cat "$work/own/slurmd.pid")" --nofile=200:200
run "${at_switch[@]}" srun -w node2 true
holds 'node2 is drained' drained node2 'hangar preflight: ERROR node2: .*200 open files'
within 20 is_empty || scancel -u root
finish
