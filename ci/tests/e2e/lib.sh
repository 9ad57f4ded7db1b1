# lib.sh: what end-to-end tests share. Sourced by e2e_*.sh; not a test.
# shellcheck shell=bash
#
# A test sources it, calls `run`, `perf` or `start` and the expect_* functions, and ends with
# `finish`. The runs that it starts, and nothing else, carry HANGAR_E2E=$token in their environment:
# that is how their processes are found, whoever started them, and ended when the test ends.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
BUILD=$(realpath -m "${BUILD:-build}")
if [ ! -x "$BUILD/all_reduce_perf" ] || [ ! -x "$BUILD/tests/tool_phase" ]; then
	echo "$BUILD is not built: make all tests"
	exit 1
fi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
# shellcheck source=ci/tests/rig/patience.sh
source ci/tests/rig/patience.sh
token=$$-$EPOCHREALTIME
work=$(mktemp -d) || exit 1
work=$(realpath "$work")
top_folder=$PWD
export HANGAR_RUNS=${HANGAR_RUNS:-$work/runs}
checks=0 failures=0 late=0 runs=0 said='(no run)' explained=''

# skip REASON: this machine can't run the test
skip() {
	echo "$*"
	exit 77
}

fail() {
	failures=$((failures + 1))
	echo "FAIL $*"
}

# check DESCRIPTION COMMAND...: count one check, which holds when the command succeeds
check() {
	local what=$1
	shift
	checks=$((checks + 1))
	"$@" || fail "$what"
}

# finish: exit 75 where nothing failed but times, which others' load can lengthen; the runner repeats the test alone
finish() {
	echo "$checks checks, $failures failed, $late late"
	[ $failures -gt 0 ] || [ $late -eq 0 ] || exit 75
	[ $failures -eq 0 ] && [ $checks -gt 0 ]
	exit
}

# pids_of_run: processes of the runs that this test started. Zombies have no environment any more
# and so do not count.
pids_of_run() {
	grep -lszE "^HANGAR_E2E=$token(\.[a-z]+)?\$" /proc/[0-9]*/environ | tr -dc '0-9\n'
}

no_process() {
	[ -z "$(pids_of_run)" ]
}

# own_shm: in mounts of its own (unshare -m) a test has a /dev/shm of its own, too: everything in it
# is this test's.
shm=everybodys
own_shm() {
	mount -t tmpfs tmpfs /dev/shm 2>/dev/null && shm=own
}

# left_in_shm: what runs that are over left there; where it is everybody's, others' runs go
# on meanwhile
left_in_shm() {
	local path
	for path in /dev/shm/{hangar-,vader,ompi,sem.ompi,nccl-}*; do
		[ -e "$path" ] || continue
		[ $shm = everybodys ] && in_use "$path" && continue
		echo "$path"
	done
}

# in_use PATH: a process has it mapped or, as every run its folder, locked
in_use() {
	grep -qF ":$(stat -c %i "$1") " /proc/locks || grep -qsF " $1" /proc/[0-9]*/maps
}

# command_said WHAT: the command of the line "# WHAT: ...", which stands below it where the line would be too long
command_said() {
	sed -nE "/^# $1:/{s/^# $1: //p;t;n;s/^#   //p}" "$work/out"
}

end_leftovers() {
	local pid
	for pid in $(pids_of_run); do
		kill -KILL "$pid" 2>/dev/null
	done
}

at_exit() { :; } # a test with more to remove redefines it
clean_up() {
	trap '' TERM INT HUP
	kill "${flying[@]}" 2>/dev/null
	end_leftovers
	at_exit
	rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# pause SECONDS: sleeps without a process
exec {silence}<> <(:)
pause() {
	read -rt "$1" -u "$silence"
	return 0
}

# ranks_sleep: MPI's, while they wait
ranks_sleep() {
	export OMPI_MCA_mpi_yield_when_idle=1 LD_PRELOAD=$BUILD/tests/double/libyield.so
}

# flight COMMAND...: runs it beside others, $flights at once at most: they mostly wait. $work is a folder of its own.
flights=${HANGAR_ALONE:+2} flights=${flights:-6} flying=() flown=0
flight() {
	local gone i
	while [ ${#flying[@]} -ge "$flights" ]; do
		wait -n -p gone "${flying[@]}"
		for i in "${!flying[@]}"; do
			[ "${flying[i]}" != "$gone" ] || unset "flying[i]"
		done
	done
	flown=$((flown + 1))
	mkdir -p "$work/$flown"
	(
		trap - EXIT INT TERM HUP
		work=$work/$flown checks=0 failures=0 late=0 runs=0 explained=''
		"$@"
		echo "$checks $failures $late" >"$work/counts"
	) >"$work/$flown.log" 2>&1 &
	flying+=($!)
}

# landed: waits for all of them, shows what each said and counts what it checked
landed() {
	local c f l i
	wait "${flying[@]}"
	flying=()
	for ((i = 1; i <= flown; i++)); do
		cat "$work/$i.log"
		if read -r c f l <"$work/$i/counts"; then
			checks=$((checks + c)) failures=$((failures + f)) late=$((late + l))
		else
			fail "run $i of $flown broke off"
		fi
	done
}

# within SECONDS COMMAND...: repeat the command until it succeeds; fails when the time is over, which is longer where
# others compute
within() {
	local begun=${EPOCHREALTIME/[.,]/} us=$1000000
	shift
	until "$@"; do
		patient "$us"
		[ $((${EPOCHREALTIME/[.,]/} - begun)) -lt "$patience" ] || return 1
		pause 0.03
	done
}

now_ms() {
	echo $((${EPOCHREALTIME/[.,]/} / 1000))
}

# runs_here: where evidence without --out goes: not to results/ of this tree; elsewhere below the working directory, as a user's
runs_here() {
	[ "$PWD" != "$top_folder" ] || echo "$work/runs"
}

# run COMMAND...: to its end, at most $limit seconds, more where others compute; leaves $rc, $work/out, $work/err
limit=${LIMIT:-60}
run() {
	said="$*" runs=$((runs + 1))
	patient "$limit"
	HANGAR_E2E=$token HANGAR_RUNS=$(runs_here) timeout -k 5 "$patience" "$@" </dev/null >"$work/out" 2>"$work/err"
	rc=$?
}

# start COMMAND...: in the background; its process id is $pid, and `ended` waits for it
start() {
	said="$*" runs=$((runs + 1))
	HANGAR_E2E=$token HANGAR_RUNS=$(runs_here) "$@" </dev/null >"$work/out" 2>"$work/err" &
	pid=$!
}

# ended: wait for what `start` began, at most $limit seconds; leaves $rc
ended() {
	within "$limit" is_over "$pid" || kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	rc=$?
}

is_over() {
	local stat=
	{ read -r stat <"/proc/$1/stat"; } 2>/dev/null
	stat=${stat##*) }
	[[ ${stat%% *} =~ ^[ZX]?$ ]]
}

# end_at_once: for tests whose runs end badly by themselves. mpirun sleeps two seconds after a bad end, one
# before SIGTERM and one before SIGKILL, though nobody is left to get them.
end_at_once() {
	export OMPI_MCA_odls_base_sigkill_timeout=0
}

# perf COLLECTIVE OPTION...: a bare start on the mpi backend. Where `model` is empty it is predicted, which takes half
# a second of measuring.
perf() {
	local binary=$BUILD/${1}_perf
	shift
	# shellcheck disable=SC2086 # words
	run "$binary" --backend mpi ${model---topo none} "$@"
}

# explain WHAT: a failure, the first of a run with its command and the end of its output
explain() {
	fail "$1"
	[ "$explained" = "$runs" ] && return
	explained=$runs
	echo "  command: $said"
	[ -s "$work/out" ] && tail -n 14 "$work/out" | cut -c1-200 | sed 's/^/  out: /'
	[ -s "$work/err" ] && tail -n 14 "$work/err" | cut -c1-200 | sed 's/^/  err: /'
	return 0
}

# holds WHAT COMMAND...: check, explained with the last run's output
holds() {
	local what=$1
	shift
	checks=$((checks + 1))
	"$@" || explain "$what"
}

# late WHAT: a time was missed, and nothing but that
late() {
	late=$((late + 1))
	echo "LATE $*"
}

# in_time WHAT MS LIMIT: a duration is below LIMIT; an empty MS fails. Alone, in the repetition, it is LIMIT times the load that
# others make.
in_time() {
	patience=$3
	[ -z "${HANGAR_ALONE:-}" ] || patient "$3"
	holds "$1: no time" [ -n "$2" ]
	checks=$((checks + 1))
	[ "${2:-0}" -lt "$patience" ] || late "$1: $2 ms instead of $patience"
}

expect_rc() {
	holds "exit ${2:-}${2:+: }$rc instead of $1" [ "$rc" -eq "$1" ]
}

expect_out() {
	holds "stdout lacks '$1'" grep -qE -- "$1" "$work/out"
}

expect_no_out() {
	holds "stdout has '$1'" bash -c '! grep -qE -- "$1" "$2"' - "$1" "$work/out"
}

expect_err() {
	holds "stderr lacks '$1'" grep -qE -- "$1" "$work/err"
}

# column FILE NAME: the values of one column of a CSV file without quoted cells
column() {
	awk -F, -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i; next }
		{ print $c }' "$1"
}
