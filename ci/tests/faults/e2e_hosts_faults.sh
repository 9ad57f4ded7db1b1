#!/bin/bash
# e2e_hosts_faults.sh: two and three hosts made of namespaces: a guilty rank on another host than rank 0's is
# named as on one host, from all hosts' evidence.
# timeout: 750
# alone: six runs at once leave nothing of two cores
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/../e2e/lib.sh"
# shellcheck source=ci/tests/rig/hosts.sh
source "$(dirname "$0")/../rig/hosts.sh"
make_hosts 3
# shellcheck source=ci/tests/faults/faults.sh
source "$(dirname "$0")/faults.sh"
ranks_sleep

# broken SLOTS SPEC CODES CLASS GUILTY [SEQ]: a run with a fault, and hang_diagnose on the saved evidence, which comes to the
# same. CODES: "10" or "10|11": calls that do not fit hang, are refused by MPI, or make its TCP transport abort.
broken() {
	local what="$2 on hosts with $1 slots" code
	on_hosts "$1" "--fault=$2"
	cd "$work" || exit 1
	run "${command[@]}"
	cd "$OLDPWD" || exit 1
	code=$rc
	holds "$what: exit $rc instead of $3" grep -qE "^($3)\$" <<<"$rc"
	holds "$what: class $(verdict class) instead of $4" [ "$(verdict class)" = "$4" ]
	holds "$what: ranks $(verdict ranks) instead of $5" [ "$(verdict ranks)" = "$5" ]
	holds "$what: seq $(verdict seq) instead of ${6:-8}" [ "$(verdict seq)" = "${6:-8}" ]
	in_time "$what" "$(verdict detect_ms)" 3000
	run "$BUILD/hang_diagnose" "$(folder)"
	expect_rc "$code" "hang_diagnose after $what:"
	expect_out "^class +$4\$"
	expect_out "^culprits? +ranks? $5 \(of"
	holds 'something is missing in the evidence' bash -c '! grep -q "^evidence " "$1"' - "$work/out"
}

# The guilty rank on the second of two hosts, and on the third of three.
for case in drop-rank:10:missing-call block-rank:10:host-blocked busy-rank:10:host-busy \
	kill-rank:14:rank-killed stop-rank:10:rank-stopped "skip-call:10|11|14:skipped-call" \
	"extra-call:10|11|14:extra-call" early-exit:10:skipped-or-early-exit; do
	IFS=: read -r fault code class <<<"$case"
	flight broken 2,2 "$fault:2" "$code" "$class" 2
	flight broken 2,1,1 "$fault:3" "$code" "$class" 3
done
# A rank that does not come to init is named before the others' deadline there, which is 10 s.
for case in 2,2:init-missing:2 2,1,1:init-missing:3 2,2:init-missing:0 2,1,1:drop-rank:1@init; do
	IFS=: read -r slots fault guilty <<<"$case"
	flight broken "$slots" "$fault:$guilty" 10 init-missing-rank "${guilty%@*}" 0
done
flight broken 2,1,1 init-id:3 10 init-mismatch 3 0
landed

# Hosts without a shared file system: each keeps its own ranks' evidence, in a folder of one name. Brought
# together with the site's own tools (cp here) they give the same verdict, with more calls than the tail
# that the root was told of.
joined() {
	local folder first i
	on_hosts 2,1,1 --fault=drop-rank:3
	cd "$work/own" || exit 1
	run "${command[@]}"
	cd "$OLDPWD" || exit 1
	folder=$(verdict evidence)
	holds "another host's folder lacks its rank" inside 3 test -s "$work/own/$folder/rank-3.fr"
	holds "another host's folder has others' ranks" inside 3 test ! -e "$work/own/$folder/rank-2.fr"
	holds "another host's counters are not its own disk's" inside 3 test -s "$work/own/$folder/rank-3.counters.json"
	holds "another host's counters did not come" inside 1 grep -q '"host": "node3"' "$work/own/$folder/rank-3.counters.json"
	for i in 1 2 3; do
		inside $i cp -r "$work/own/$folder" "$work/host-$i"
	done
	first=$work/host-1
	run "$BUILD/hang_diagnose" "$first" "$work/host-2" "$work/host-3"
	expect_rc 10 'hang_diagnose of three folders:'
	expect_out '^class +missing-call$'
	expect_out '^culprits? +ranks? 3 \(of'
	holds 'something is missing in three folders' bash -c '! grep -q "^evidence " "$1"' - "$work/out"
	# Without what the monitors brought, and without what they bring late.
	rm "$first"/rank-[23].fr "$first/rank-3.counters.json" "$first/verdict.json"
	run "$BUILD/hang_diagnose" "$first" "$work/host-2" "$work/host-3"
	expect_rc 10 'hang_diagnose of three folders that share no rank:'
	expect_out '^class +missing-call$'
	expect_out '^culprits? +ranks? 3 \(of'
	expect_out '^counters +node3: '
	holds 'verdict.json is not in the first folder' test -s "$first/verdict.json"
	holds 'a folder that was only read has a verdict' test ! -e "$work/host-2/verdict.json"
	# One host's folder is missing.
	run "$BUILD/hang_diagnose" --dry-run "$first" "$work/host-3"
	expect_out '^evidence .*Of rank 2 no folder has a file: nothing is known of it\.'
	run "$BUILD/hang_diagnose" --dry-run "$first" "$work/$another"
	expect_rc 2 'folders of two runs:'
	expect_err "are of different runs: run is \"$(basename "$folder")\" and \"$(basename "$another")\"\$"
}
another=$(cd "$work" && echo 1/results/runs/2*)
joined

# Packets that are lost on the way to the second host are sent again, which the first host's counters show.
lossy() {
	if ! netns lose node2 10 in; then
		echo 'losses: not tried: no nft'
		return
	fi
	on_hosts 1,1 -b 256K --fault=drop-rank:1
	cd "$work" || exit 1
	run "${command[@]}"
	cd "$OLDPWD" || exit 1
	netns mend node2
	expect_rc 10 'with losses:'
	holds 'the report lacks what was sent again' grep -qE "Host node1, during the run: TCP: .*segments? sent again" "$work/$(verdict evidence)/postmortem.md"
	run "$BUILD/hang_diagnose" "$work/$(verdict evidence)"
	expect_out '^  Host node1, during the run: TCP: .*segments? sent again'
}
lossy
finish
