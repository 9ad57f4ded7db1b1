# faults.sh: a run with a fault, and what its verdict has to be; sourced after lib.sh by e2e_faults*.sh; not a test.
# shellcheck shell=bash
end_at_once

# verdict FIELD: of the last run's line
verdict() {
	sed -n "s/^# verdict: .* $1=\([^ ]*\).*/\1/p" "$work/out"
}

# folder: where the last run kept its evidence; elsewhere, if a full machine let the disk answer late
folder() {
	local path
	path=$(verdict evidence)
	[[ $path == /* ]] || path=$work/$path
	echo "$path"
}

# is WHAT FIELD WANTED: of the verdict; "*" is any
is() {
	[ "$3" = '*' ] || holds "$1: $2 $(verdict "$2") instead of $3" [ "$(verdict "$2")" = "$3" ]
}

# named WHAT MS: how long it took, "MOST" or "LEAST-MOST", ms
named() {
	local took
	took=$(verdict detect_ms)
	[ "$2" != '*' ] || return
	[[ $2 != *-* ]] || holds "$1: named after $took ms already" [ "${took:-0}" -gt "${2%-*}" ]
	in_time "$1" "$took" "${2#*-}"
}

# again WHAT CODE CLASS RANKS: hang_diagnose on a copy of the evidence comes to the same; its verdict.json is read with
# the others' at the end
again() {
	local copy=$work/copy
	cp -r "$(folder)" "$copy"
	rm -f "$copy"/verdict.json "$copy"/postmortem.md "$copy"/timeline.* "$copy"/command.txt
	run "$BUILD/hang_diagnose" "$copy"
	expect_rc "$2" "hang_diagnose after $1:"
	cp "$copy/verdict.json" "$work/saved.json"
	echo "$work/saved.json|$3|$4|$1" >"$work/saved"
	holds "after $1 no postmortem.md" [ -s "$copy/postmortem.md" ]
}

# told PROGRAM RANKS CALL: the schedule, which rank is missing and which wait, in eight lines of 100 columns
told() {
	local meet=''
	[[ $2 != *,* ]] || meet='; all ranks meet before step 8'
	expect_out "^# schedule plain: 5 \\+ 20 steps of $1, [0-9]+ to [0-9]+ bytes$meet\$"
	expect_out "^# culprit: rank(s $2 are| $2 .* is) in no call since call $(($3 - 1)), "
	expect_out "^#   lacks call $3: "
	expect_out '^# ranks? [-0-9,]+ waits? in calls? [-0-9]+, '
	holds "$1, $2: more than eight lines, or wider than 100" awk '/^# verdict: /{seen = NR; next}
		seen && !/^#   [.\/]/ && length > 100 {exit 1}
		END {exit !seen || NR > seen + 9}' "$work/out" # and what came as expected
}

# broken PROGRAM RANKS FAULT CODE CLASS CULPRITS CALL CONFIDENCE MS ALSO OPTION...: a line of faults.txt
broken() {
	local what="$1 on $2, $3${11:+ ${*:11}}"
	cd "$work" || exit 1 # evidence goes below the working directory
	perf "$1" -g "$2" "--fault=$3" "${@:11}"
	[ "$4" = '*' ] || expect_rc "$4" "$what"
	# Of two that die, or do not come, at once one may do so seconds later where others have the cores: the verdict is about the first.
	if [[ $6 != "$(verdict ranks)" && ,$6, == *",$(verdict ranks),"* && $4,$5 =~ ^14|init-missing-rank$ ]]; then
		late "$what: only rank $(verdict ranks) had broken at the verdict"
		return
	fi
	is "$what" class "$5"
	is "$what" ranks "$6"
	is "$what" seq "$7"
	is "$what" confidence "$8"
	named "$what" "$9"
	case ${10} in
	again) again "$what" "$4" "$5" "$6" ;;
	told) told "$1" "$6" "$7" ;;
	esac
}
