#!/bin/bash
# reconcile-gpu-try.sh: shows the search for causes on a host with 2 GPUs or more, in under a minute.
# Needs: BUILD (folder of the binaries), mpirun on PATH. Optional: OUT (folder to keep observations in), NP (2).
set -u
BUILD=$(realpath "${BUILD:-build}") OUT=$(realpath -m "${OUT:-/tmp/reconcile-try}") NP=${NP:-2}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 NCCL_NVLS_ENABLE=${NCCL_NVLS_ENABLE:-0}
rm -rf "$OUT" && mkdir -p "$OUT"
cd "$OUT" || exit 1
show() { grep -E "^ *[0-9]|^# (Prediction:|cause|no cause|not seen|verdict)|^hangar|error" "$1" | cut -c1-420; }
# try NAME WHAT-TO-LOOK-FOR COMMAND...
try() {
	local name=$1
	echo
	echo "== $name. Look for: $2"
	shift 2
	local start=$EPOCHREALTIME
	timeout 40 "$@" >"$name.txt" 2>&1
	echo "   exit $? after $(bc <<<"$EPOCHREALTIME - $start" 2>/dev/null || echo '?') s"
	show "$name.txt"
}
perf() { # NAME OPTION...
	local name=$1
	shift
	echo mpirun --bind-to none -np "$NP" "$BUILD/all_reduce_perf" -n 40 -w 5 --out "$OUT/$name" "$@"
}
big="-b 64M -e 64M"

try healthy "no cause found; what is not seen and why; 'took' below" $(perf healthy $big --reconcile)
try without "the same run without predictions: its seconds beside the first's are the cost" \
	$(perf without $big --topo none)
try p2p_off "cause: forced-settings NCCL_P2P_DISABLE=1, transport (SHM, from the log that --reconcile asks NCCL for)" \
	env NCCL_P2P_DISABLE=1 $(perf p2p_off $big --reconcile)
try p2p_off_users_log "the same from the user's log; --reconcile not given" env NCCL_P2P_DISABLE=1 NCCL_DEBUG=INFO \
	"NCCL_DEBUG_FILE=$OUT/nccl-%h-%p.log" $(perf p2p_off_users_log $big)
try one_channel "cause: forced-settings NCCL_MAX_NCHANNELS=1, channels" env NCCL_MAX_NCHANNELS=1 $(perf one_channel $big)
try proto_ll "cause: forced-settings NCCL_PROTO=LL, choice" env NCCL_PROTO=LL $(perf proto_ll $big)
try cpu_hog "cause: affinity (all ranks on one CPU), loaded-host" bash -c '
	timeout 30 taskset -c 0 sh -c "while :; do :; done" & hog=$!
	taskset -c 0 '"$(perf cpu_hog -b 1M -e 1M --reconcile)"'; rc=$?
	kill $hog; exit $rc'
echo
echo "== two jobs on the same GPUs. Look for: cause: other-processes in the one below"
timeout 40 $(perf other $big -n 8000) >other.txt 2>&1 &
other=$!
sleep 3
try two_jobs "other-processes (or 'own processes' not listed: NVML hides them in containers)" $(perf two_jobs $big --reconcile)
wait $other
echo
echo "== what one look saw of the first GPU, and how long looking took (before, after)"
python3 - "$OUT/healthy/observation.json" <<'P'
import json, sys
o = json.load(open(sys.argv[1]))
for when in ('hosts_before', 'hosts_after'):
    h = o[when][0]
    print(when, 'took %.4f s' % h['took_s'], 'nvml', h.get('nvml'), h.get('nvml_why', ''))
    print('  ', json.dumps(h['gpus'][0]))
print('nics', json.dumps(o['hosts_before'][0]['nics']))
print('run', json.dumps(o['run']))
print('rank 0', json.dumps(o['ranks_before'][0]))
P
