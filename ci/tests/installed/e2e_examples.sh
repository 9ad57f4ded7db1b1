#!/bin/bash
# e2e_examples.sh: the examples that need what no test machine has: MPIJob by its schema, units by systemd, YAML by a
# parser; and all of them name files that are there.
# timeout: 300
# alone: it installs packages
# shellcheck source=ci/tests/installed/packages.sh
source "$(dirname "$0")/packages.sh"
install python3-yaml python3-jsonschema

cd ci/examples || exit 1
run /usr/bin/python3 - ../tests/installed/mpijob.schema.json <<'END'
import copy, json, sys, yaml, jsonschema
schema = json.load(open(sys.argv[1]))
job = yaml.safe_load(open("mpijob.yaml"))
checker = jsonschema.Draft7Validator(schema)
for error in checker.iter_errors(job):
    print(error.json_path, error.message)
worse = copy.deepcopy(job)  # so that the schema is known to refuse
worse["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["limits"] = {}
if not list(checker.iter_errors(worse)):
    print("the schema refuses nothing")
github = yaml.safe_load(open("github-actions.yml"))
steps = github["jobs"]["nightly"]["steps"]
if [s["run"] for s in steps if "run" in s] != ["make", "ci/nightly"]:
    print("commands", steps)
reports = {s["with"]["report_paths"] for s in steps if "report" in s.get("uses", "")}
if reports != {"results/nightly/*/junit.xml"}:
    print("JUnit", reports)
END
holds "$(cat "$work/out" "$work/err")" [ ! -s "$work/out" ] && [ "$rc" -eq 0 ]
sed "s,/opt/hangar,$(realpath ../..),; s/^User=.*/User=root/" hangar-nightly.service >"$work/hangar-nightly.service"
cp hangar-nightly.timer "$work"
if command -v systemd-analyze >/dev/null; then
	run systemd-analyze verify "$work/hangar-nightly.service" "$work/hangar-nightly.timer"
	holds "systemd-analyze: $(cat "$work/err")" [ ! -s "$work/err" ]
	run systemd-analyze calendar "$(sed -n 's/^OnCalendar=//p' hangar-nightly.timer)"
	expect_rc 0 'OnCalendar:'
fi
while read -r named; do
	[[ $named == ci/* ]] && path=../../$named || path=$BUILD/$named
	holds "$named is not there" [ -e "$path" ]
done < <(grep -ohE '\b(ci/[a-z_]+(\.toml)?|[a-z_]+_perf)\b' ./* | sort -u)
finish
