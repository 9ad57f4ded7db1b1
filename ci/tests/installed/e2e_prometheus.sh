#!/bin/bash
# e2e_prometheus.sh: what --metrics of a run and of health writes pleases promtool, comes through node_exporter, and fills each panel of the
# dashboards; the alerts are sound, end with a stale file, and
# see a hang.
# timeout: 300
# alone: it installs packages and starts daemons
# shellcheck source=ci/tests/installed/packages.sh
source "$(dirname "$0")/packages.sh"
for program in prometheus promtool prometheus-node-exporter curl; do
	command -v $program >/dev/null || lacking=1
done
[ -z "${lacking:-}" ] || install prometheus prometheus-node-exporter curl

mkdir "$work/metrics" "$work/cwd"
examples=$PWD/ci/examples
cd "$work/cwd" || exit 1
run "$BUILD/all_reduce_perf" --backend mpi -g 2 -n 20 -w 1 -b 8 -e 64K -f 4 --metrics "$work/metrics/good.prom"
expect_rc 0
run "$BUILD/all_gather_perf" --backend mpi -g 2 --fault=drop-rank:1 --metrics "$work/metrics/hung.prom"
expect_rc 10
run "$BUILD/health" --seconds 0.1 --metrics "$work/metrics/health.prom"
holds "health: exit $rc" grep -qxE '0|13' <<<"$rc"
DOUBLE_DIR=$work DOUBLE_ID=$$ LD_LIBRARY_PATH=$BUILD/tests/double run "$BUILD/hangar_run" --wait --out "$work/job" \
	--metrics "$work/metrics/job.prom" "$BUILD/tests/double/subject" 4 800 halves named
expect_rc 0 'a job under hangar_run:'
# a job by NCCL's plug-in alone, whose rank 2 makes no call any more; then its watcher is killed
DOUBLE_DIR=$work DOUBLE_ID=$$-hung LD_LIBRARY_PATH=$BUILD/tests/double HANGAR_METRICS_DIR=$work/metrics NCCL_PROFILER_PLUGIN=$BUILD/libhangar.so \
	HANGAR_OPTIONS="--timeout 2 --out $work/hung" HANGAR_E2E=$token "$BUILD/tests/double/subject" 4 40 halves asleep=2@9 2>"$work/hung.txt" &
holds 'no verdict' within 60 grep -q '^# verdict: ' "$work/hung.txt"
holds 'no metrics' within 60 grep -qs hangar_hang_seconds "$work"/metrics/hangar-job-*.prom
for pid in $(pids_of_run); do
	! grep -qz '^--watch$' "/proc/$pid/cmdline" || kill -KILL "$pid"
done
for file in "$work"/metrics/*.prom; do
	run bash -c 'promtool check metrics <"$1"' - "$file"
	expect_rc 0 "promtool, $file:"
	holds "promtool: $(cat "$work/out" "$work/err")" [ ! -s "$work/out" ] && [ ! -s "$work/err" ]
done
run promtool check rules "$examples/prometheus-rules.yml"
expect_rc 0 'the rules:'
cp "$examples/prometheus-rules.yml" "$top_folder/ci/tests/installed/rules.test.yml" "$work"
run promtool test rules "$work/rules.test.yml"
expect_rc 0 'when alerts begin and end:'

exporter=127.0.0.1:$((20000 + $$ % 10000)) server=127.0.0.1:$((30000 + $$ % 2000))
cat >"$work/prometheus.yml" <<END
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [$examples/prometheus-rules.yml]
scrape_configs: [{job_name: node, static_configs: [{targets: ["$exporter"]}]}]
END
daemon prometheus-node-exporter --collector.disable-defaults --collector.textfile \
	--collector.textfile.directory="$work/metrics" --web.listen-address=$exporter
daemon prometheus --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/tsdb" --web.listen-address=$server
# has QUERY: Prometheus knows a value for it
has() { promtool query instant "http://$server" "$1" 2>/dev/null | grep -q '=>'; }
holds 'nothing comes through' within 60 has 'hangar_run_info{program="all_reduce_perf"}'
run curl -s "http://$exporter/metrics"
expect_out '^node_textfile_scrape_error 0$'
holds 'nothing of health' has 'hangar_health_cpus{part="CPU"}'
holds 'the hang is not said' has 'hangar_run_completed{program="all_gather_perf"} == 0'
# the alert of the job; an hour after its watcher's last word there is none
hangs='ALERTS{alertname="HangarJobHangs",alertstate="firing",rank="2",class="missing-call"}'
holds 'no alert of the job that hangs' within 60 has "$hangs"
queries=$(python3 -c '
import json, sys
for name in sys.argv[1:]:
    for panel in json.load(open(name))["panels"]:
        for target in panel["targets"]: print(target["expr"])' "$examples"/grafana-*.json)
holds 'panels' [ "$(wc -l <<<"$queries")" -ge 25 ]
while read -r query; do
	[[ $query == *of_predicted* ]] && continue # none are made for mpi
	[[ $query =~ hangar_(died|failed|late|slow|withdrawn)_seconds ]] && continue # of other jobs
	query=${query//\$instance/.*} query=${query//\$job/.*} query=${query//\$collective/.*} query=${query//\$placement/in-place}
	holds "no value for $query" has "$query"
done <<<"$queries"
sed -i -E "s/^(hangar_job_update_timestamp_seconds.* ).*/\1$(($(date +%s) - 3600))/" "$work"/metrics/hangar-job-*.prom
ended() { ! has "$hangs"; }
holds 'the alert goes on' within 60 ended
finish
