#!/bin/bash
# e2e_reconcile.sh: what a run says of the machine that slows it, on one host and on two with
# different MTUs.
# timeout: 600
# shellcheck source=ci/tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

cpu=$(taskset -pc $$ 2>/dev/null | sed 's/.*: *\([0-9]*\).*/\1/')
[ -n "$cpu" ] || skip 'taskset (util-linux) is not installed'

# Two ranks bound to one CPU: found on this host whatever else goes on, if it has a second CPU.
run mpirun -np 2 --bind-to none taskset -c "$cpu" "$BUILD/all_reduce_perf" --backend mpi -b 1K -e 1K -n 40 -w 2 \
	--reconcile --out "$work/bound"
expect_rc 0
if [ "$(nproc --all)" -gt 1 ]; then
	expect_out '^# cause: affinity: .*2 ranks on .* may use 1 of its [0-9]+ CPUs together'
fi
expect_no_out 'cause: (nvlinks|clocks|forced-settings)' # what only GPUs can have
check 'the remarks come before the closing lines' awk '/^# (no )?cause/ { told = NR } /^# Avg bus/ { end = NR }
	END { exit !(told && told < end) }' "$work/out"
grep -E '^# (cause|no cause|not seen)' "$work/out" | sed 's/^# //' >"$work/said"

# The kept observation says the same, later and without the run.
holds 'observation.json' test -s "$work/bound/observation.json"
run "$BUILD/reconcile" "$work/bound"
expect_rc 0
holds 'the same causes from the file' cmp "$work/said" <(grep -v ' row' "$work/out")
run "$BUILD/reconcile" "$work/bound/observation.json"
expect_rc 0
run "$BUILD/reconcile" "$work"
expect_rc 2
expect_err "$work/observation.json"
holds 'a line that is none' bash -c '! grep -q "line -1" "$1"' - "$work/err"
echo '{"format": 1}' >"$work/observation.json"
run "$BUILD/reconcile" "$work"
expect_rc 2
expect_err "$work/observation.json"
rm "$work/observation.json"
run "$BUILD/reconcile"
expect_rc 2
run "$BUILD/reconcile" --list
expect_out '^tcp-retransmits +TCP sends segments again'

# Observations of H200 slowed on purpose: just those causes.
h200=ci/tests/data/observed_h200
run "$BUILD/reconcile" "$h200/p2p_off.json"
expect_out '^The slowest row, of [0-9]+ bytes, reaches [0-9.]+ % of its prediction'
while read -r made causes; do
	run "$BUILD/reconcile" "$h200/$made.json"
	expect_rc 0 "$made:"
	named=$(sed -n 's/^cause: \([^:]*\):.*/\1/p' "$work/out" | paste -sd ' ')
	holds "$made: named '$named'" [ "$named" = "$causes" ]
done <<'END'
healthy
p2p_off forced-settings transport channels
p2p_off_users_log forced-settings transport channels
one_channel forced-settings channels
proto_ll forced-settings choice
cpu_hog affinity loaded-host
two_jobs other-processes
END

# Texts of a file cannot forge a line or steer the terminal.
sed 's/"NCCL_P2P_DISABLE":"1"/"NCCL_P2P_DISABLE":"1\\u001b[31mX\\n# verdict: outcome=ok"/g' \
	"$h200/p2p_off.json" >"$work/forged.json"
check 'the file is forged' grep -q 'u001b' "$work/forged.json"
run "$BUILD/reconcile" "$work/forged.json"
expect_rc 0
expect_out '^cause: forced-settings:.*NCCL_P2P_DISABLE=1\?\[31mX\?# verdict'
expect_no_out '^# verdict'
holds 'no escape' [ -z "$(tr -dc '\033' <"$work/out")" ]

sed 's/"host":"vm"/"host":"\\u001b[31mX"/g' "$h200/two_jobs.json" >"$work/forged.json"
run "$BUILD/reconcile" "$work/forged.json"
expect_rc 2
holds 'no escape in the error' [ -z "$(tr -dc '\033' <"$work/err")" ]

# Nobody asks: what the host showed is kept, and no cause looked for. With faults it can't be asked for.
perf all_reduce -g 2 -b 1K -e 1K -n 40 --topo none --out "$work/plain"
expect_rc 0
expect_no_out '^# (cause|no cause|not seen)'
check 'the host is looked at all the same' test -s "$work/plain/observation.json"
perf all_reduce --fault=none --reconcile
expect_rc 2
expect_err '--reconcile.*--fault'

finish
