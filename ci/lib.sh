# shellcheck shell=bash
# lib.sh: what scripts with NAME=VALUE settings share. Sourced; not a program.
#
# A comparison gives its settings their defaults, calls `settings`, then `begin`, then `launch` as
# often as it likes, and ends with `finish`. Its own first comment is its usage.
set -euo pipefail
export LC_ALL=C
top=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
# shellcheck source=ci/machine.sh
. "$top/ci/machine.sh"

BUILD=$(realpath -m "${BUILD:-$top/build}")
LIMIT=${LIMIT:-120}
mpirun=("${MPIRUN:-mpirun}")
[ "$(id -u)" -ne 0 ] || mpirun+=(--allow-run-as-root)
command_line=$(printf '%q ' "$0" "$@")
child='' scratch='' launches=0 failed=0

# help: the script's first comment
help() {
	sed -n '2,/^[^#]*$/s/^# \{0,1\}//p' "$0"
}

usage() {
	[ $# -eq 0 ] || echo "$(basename "$0"): $*" >&2
	help >&2
	exit 2
}

die() {
	echo "$(basename "$0"): $*" >&2
	exit 1
}

# settings NAMES ARGUMENT...: set variables of these names from NAME=VALUE or --name VALUE; what is
# neither goes to the array `rest`.
settings() {
	local names=" $1 LIMIT " name value
	shift
	rest=()
	while [ $# -gt 0 ]; do
		case $1 in
		[A-Z]*=*) name=${1%%=*} value=${1#*=} ;;
		-h | --help)
			help
			exit 0
			;;
		--?*)
			[ $# -gt 1 ] || usage "$1 lacks its value"
			name=${1#--} name=${name^^} value=$2
			shift
			;;
		-*) usage "what is $1?" ;;
		*)
			rest+=("$1")
			shift
			continue
			;;
		esac
		[[ $names == *" $name "* ]] || usage "no setting $name; there are:${names% }"
		printf -v "$name" '%s' "$value"
		shift
	done
}

gpus() {
	nvidia-smi -L 2>/dev/null | grep -c '^GPU' || true
}

# need_programs FILE...: stop before anything is started when one can't be
need_programs() {
	local file
	for file; do
		[ -x "$file" ] || case $file in
		*/tests/*) die "no program $file: run \`make tests\`" ;;
		*) die "no program $file: run \`make\`" ;;
		esac
	done
	command -v python3 >/dev/null || die 'no python3'
	command -v "${mpirun[0]}" >/dev/null || die "no ${mpirun[0]}"
}

# begin OUTDIR NAME...: make it, note command, settings of these names and machine
begin() {
	local name
	out=$(realpath -m "$1")
	shift
	mkdir -p "$(dirname "$out")"
	mkdir "$out" "$out/raw"
	scratch=$(mktemp -d)
	trap clean_up EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	{
		echo "date: $(date -Is)"
		echo "command: $command_line"
		for name in BUILD LIMIT "$@"; do
			echo "$name: ${!name}"
		done
	} >"$out/command.txt"
	(cd "$top" && machine) >"$out/machine.txt" 2>&1 || true
	echo 'name,exit_code,seconds,command' >"$out/launches.csv"
}

clean_up() {
	if [ -n "$child" ]; then
		kill "$child" 2>/dev/null || true
		wait "$child" || true
	fi
	rm -rf "$scratch"
}

# launch NAME COMMAND...: run it for at most LIMIT seconds. raw/NAME.txt and .err get its output,
# launches.csv a line, `took` its wall time in seconds. Never fails itself: it counts in `failed`,
# but when one of the first two launches fails there is no point in going on.
launch() {
	local name=$1 start us rc=0
	shift
	start=${EPOCHREALTIME/./}
	timeout -k 10 "$LIMIT" "$@" </dev/null >"$out/raw/$name.txt" 2>"$out/raw/$name.err" &
	child=$!
	wait "$child" || rc=$?
	us=$((${EPOCHREALTIME/./} - start))
	child=
	printf -v took '%d.%03d' $((us / 1000000)) $((us / 1000 % 1000))
	echo "$name,$rc,$took,\"${*//\"/\"\"}\"" >>"$out/launches.csv"
	printf '%6.1f s  %-40s %8s s  exit %d\n' "$SECONDS" "$name" "$took" "$rc" >&2
	launches=$((launches + 1))
	[ "$rc" -ne 0 ] || return 0
	failed=$((failed + 1))
	tail -n 5 "$out/raw/$name.err" | sed 's/^/    | /' >&2
	[ "$launches" -gt 2 ] || die "exit $rc of: $*"
}

figures() {
	python3 "$top/ci/research/versus/figures.py" "$@"
}

# finish COMMAND OUTDIR...: the final figures. Exit 1 when a target is missed or a launch failed.
finish() {
	local rc=0
	figures "$@" || rc=$?
	[ "$failed" -eq 0 ] || echo "$failed of $launches launches failed"
	exit $((rc || failed > 0))
}
