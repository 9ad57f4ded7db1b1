#!/bin/bash
# e2e_evidence.sh: slow evidence of a run that went wrong: the native stacks of its ranks name the
# function and the line that a fault blocks in, in the folder, on standard output, and again from a
# copy of the folder.
# timeout: 350
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/lib.sh"

# broken SPEC RANKS: one run with a fault; leaves its folder in $dir
broken() {
	cd "$work" || exit 1 # evidence goes below the working directory
	run "$BUILD/all_reduce_perf" --backend mpi --topo none -g "$2" "--fault=$1"
	cd "$OLDPWD" || exit 1
	dir=$work/$(sed -n 's/^# verdict: .*evidence=\([^ ]*\).*/\1/p' "$work/out")
	what="$1 on $2"
}

# blocked_at PATH FILE TEXT: PATH names FILE:LINE, where that line of the source has TEXT, and on
# the same line the function that the source has there
blocked_at() {
	local line function
	while read -r line; do
		sed -n "${line}p" "$2" | grep -qF -- "$3" || continue
		function=$(head -n "$line" "$2" | sed -n 's/^static .*[ *]\([a-z_]*\)(.*/\1/p' | tail -n 1)
		grep -q "\\b$function\\b.* $2:$line (all_reduce_perf)" "$1" && return
	done < <(grep -o "$2:[0-9]*" "$1" | cut -d: -f2)
	return 1
}

# stuck GUILTY FILE TEXT: everything that the run left says so
stuck() {
	local name copy=$work/copy
	for name in "$dir/rank-$1.stack.txt" "$dir/postmortem.md" "$work/out"; do
		holds "$what: ${name##*/} lacks the line of $2 with $3" blocked_at "$name" "$2" "$3"
	done
	holds "$what: standard output lacks what rank $1 is stuck on" \
		grep -q "^# rank $1 is stuck on .* $2:" "$work/out"
	holds "$what: postmortem.md lacks the stack of rank $1" \
		grep -q "^#### Rank $1, culprit" "$dir/postmortem.md"
	holds "$what: postmortem.md lacks the stack of a waiting rank" \
		grep -q "^#### Rank [0-9]*, waiting" "$dir/postmortem.md"
	rm -rf "$copy"
	cp -r "$dir" "$copy"
	rm -f "$copy"/verdict.json "$copy"/postmortem.md
	run "$BUILD/hang_diagnose" "$copy"
	holds "$what: hang_diagnose lacks the line of $2 with $3" blocked_at "$work/out" "$2" "$3"
	holds "$what: hang_diagnose's postmortem.md has other stacks" \
		cmp -s <(sed -n '/^### Stacks/,/^### Timeline/p' "$dir/postmortem.md") \
		<(sed -n '/^### Stacks/,/^### Timeline/p' "$copy/postmortem.md")
}

broken block-rank:2,how=read 3
stuck 2 faults/inject/process.c 'read('
broken block-rank:0,how=lock 2
stuck 0 faults/inject/process.c 'pthread_mutex_lock('
broken drop-rank:1 4
stuck 1 faults/inject/absent.c 'clock_nanosleep('
for rank in 0 2 3; do # the others wait in MPI
	holds "$what: rank $rank is not in MPI_Allreduce" \
		grep -q 'MPI_Allreduce+0x.*libmpi' "$dir/rank-$rank.stack.txt"
done
kept=$dir

# Counters of the host, kept with its first rank: on the page, and the same from a copy of the folder.
holds "$what: no counters of the host" grep -q '"resent": [0-9]' "$dir/rank-0.counters.json"
holds "$what: counters with another rank, too" [ ! -e "$dir/rank-1.counters.json" ]
counted="$(hostname): [0-9]+ counters? over [0-9]+\.[0-9] s, [0-9]+ of them 0"
holds "$what: postmortem.md lacks the counters" grep -qE "^Host $counted" "$dir/postmortem.md"
holds "$what: postmortem.md lacks MPI's bytes over TCP" grep -qE '^\| TCP \| sent \| [1-9]' "$dir/postmortem.md"
holds "$what: the copy's counters are others" cmp -s <(sed -n '/^### Counters/,/^### Time/p' "$dir/postmortem.md") \
	<(sed -n '/^### Counters/,/^### Time/p' "$work/copy/postmortem.md")
printf '{"version": 1, "host": "x", "counters": {"TCP": {"resent": 9' >"$work/copy/rank-0.counters.json"
run "$BUILD/hang_diagnose" "$work/copy"
expect_rc 10
expect_out '^evidence +.*rank-0.counters.json is torn or not ours'
rm "$work/copy/rank-0.counters.json"
run "$BUILD/hang_diagnose" "$work/copy"
expect_rc 10
expect_out '^counters +none were read$'

# Evidence of another version is refused with a sentence: saved_2 was saved by an older hangar.
mkdir "$work/old"
tar -xJf ci/tests/evidence/saved_2.tar.xz -C "$work/old"
run "$BUILD/hang_diagnose" "$work/old"
expect_rc 2 'an older form:'
expect_err 'rank-0.fr has another format version: version 7 alone is read, an older file by the hangar that wrote it\.'
holds 'an older form: a diagnosis' [ ! -s "$work/out" ]

# Whoever is stopped was left so; whoever is dead has no stacks. The others have.
broken stop-rank:1 2
holds "$what: not said to be stopped" grep -q 'stopped (SIGSTOP)' "$dir/rank-1.stack.txt"
holds "$what: rank 0 has no stack" grep -q '^  #0 ' "$dir/rank-0.stack.txt"
broken kill-rank:1 3
holds "$what: the dead have a stack" [ ! -e "$dir/rank-1.stack.txt" ]
holds "$what: rank 2 has no stack" grep -q '^  #0 ' "$dir/rank-2.stack.txt"

# HANGAR_RUNS takes the place of results/runs; a name that is too long is said at the start.
mine="$work/of mine"
run env HANGAR_RUNS="$mine" "$BUILD/all_reduce_perf" --backend mpi --topo none -g 3 --fault=drop-rank:1
expect_rc 10
holds 'HANGAR_RUNS: last is not the newest' test -s "$mine/last/verdict.json"
holds 'HANGAR_RUNS: look further' grep -q "of mine/last'\$" <(command_said 'look further')
run env HANGAR_RUNS="$work/$(printf 'x%.0s' {1..200})" TMPDIR="$work" "$BUILD/all_reduce_perf" --backend mpi --topo none -g 3 --fault=drop-rank:1
expect_rc 10
expect_err "^all_reduce_perf: no evidence can be saved in $work/x*: File name too long; if there is a verdict, it goes to $work\$"

# Where nothing can be written the reason is told once, at the start, and evidence goes to TMPDIR; where that cannot
# be written either, everything that needs no file is said: a folder that is read-only, a disk that has no room for
# another folder, one that is full.
kept_elsewhere() {
	local options=$1 prepare=$2 why=$3
	mkdir -p "$work/disk" "$work/temporary"
	TMPDIR=$work/temporary kept_with "$@"
	expect_err "results/runs: $why; if there is a verdict, it goes to $work/temporary\$"
	dir=$(sed -n 's/^# verdict: .*evidence=//p' "$work/out")
	holds "$why: no evidence in TMPDIR" test -s "$dir/postmortem.md" -a "${dir%/*}" = "$work/temporary"
	holds "$why: look further" grep -q "^[^ ]*/hang_diagnose [^ ]*${dir##*/}\$" <(command_said 'look further')
	TMPDIR=/proc kept_with "$@"
	expect_err "results/runs: $why; nor in /proc: "
	expect_no_out 'look further'
}
kept_with() {
	# shellcheck disable=SC2016 # for the inner shell
	run unshare -rm bash -c 'unset HANGAR_RUNS; mount -t tmpfs -o "$1" tmpfs "$2" && cd "$2" && eval "$3" && shift 3 && "$@"' - \
		"$options" "$work/disk" "$prepare" "$BUILD/all_reduce_perf" --backend mpi --topo none -g 6 --fault=drop-rank:1
	expect_rc 10 "$why:"
	expect_err "^all_reduce_perf: .*results/runs.*: $why"
	holds "$why: said more than once" [ "$(grep -c "$why" "$work/err")" -eq 1 ]
	expect_out '^# verdict: outcome=hang class=missing-call ranks=1 '
	expect_out '^# rank 1 is stuck on .* faults/inject/absent.c:'
	holds "$why: more than the culprit is stuck" [ "$(grep -c '^# rank [0-9]* is stuck' "$work/out")" -eq 1 ]
}
# A disk that becomes full during the run: all goes to TMPDIR, which the verdict names. Where that has no room either, the
# report comes before the records, and is what is said.
crowded() {
	mkdir -p "$work/disk" "$work/temporary"
	# shellcheck disable=SC2016 # for the inner shell
	run unshare -rm bash -c 'unset HANGAR_RUNS; mount -t tmpfs -o size=2m tmpfs "$1" && cd "$1" && left=$2 && shift 2 && {
		"$@" >said &
		until grep -q "^# schedule" said; do sleep .02; done
		dd if=/dev/zero of=full bs=1k count=$(($(df --output=avail . | tail -1) - left)) status=none
		wait $!
		rc=$?
		cat said
		cd "$(sed -n "s/^# verdict: .*evidence=//p" said)" && { ls && grep -I "" ./*; } | sed "s/^/# in /"
		exit $rc
		}' - "$work/disk" "$1" "$BUILD/all_reduce_perf" --backend mpi --topo none -g 3 --fault=drop-rank:1 --expect hang:missing-call:1 "${@:2}"
	expect_rc 0 "$1 KiB left:"
	holds "$1 KiB left: said more than once" [ "$(grep -c 'No space' "$work/err")" -eq 1 ]
	expect_out '^# in ./verdict.json: "class": "missing-call"'
	expect_out '^# in ./postmortem.md:- culprit: rank 1 '
	expect_out '^# in ./postmortem.md:#### Rank 1, culprit'
	expect_out '^# or draw it: '
}
if unshare -rm true 2>/dev/null; then
	TMPDIR=/proc crowded 64
	expect_err '^all_reduce_perf: cannot save evidence to results/runs/.*/rank-[0-9].fr: No space left on device'
	expect_out '^# look further: results/runs/last/postmortem.md$'
	expect_no_out '^# in rank-.[.]fr'
	for out in '' over/there; do
		TMPDIR=$work/temporary crowded 64 ${out:+--out $out}
		expect_err "^all_reduce_perf: no evidence can be saved in ${out:-results/runs}: No space left on device; if there is a verdict, it goes to "
		expect_out "^# verdict: .* evidence=$work/temporary/"
		expect_out '^# in rank-2[.]fr'
	done
	kept_elsewhere size=64k 'mount -o remount,ro .' 'Read-only file system'
	kept_elsewhere nr_inodes=2 : 'No space left on device'
	kept_elsewhere size=4k : 'No space left on device'
else
	echo 'folders that cannot be written to: not tried: no mounts of our own here'
fi

# GPUs, by a driver made here: two at first, of which the second is lost when it is asked again; each time it is
# asked, the first has 2 replays more on each of its 2 links. And one that answers once only: nobody waits for it.
driver() {
	${CC:-cc} -shared -fPIC -x c -o "$work/libnvidia-ml.so.1" - 2>/dev/null <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static long asked;
int nvmlInit_v2(void)
{
	FILE *f = fopen(getenv("DRIVER_ASKED"), "a+");
	fputc('x', f);
	fseek(f, 0, SEEK_END);
	asked = ftell(f);
	fclose(f);
	while (asked > 1 && getenv("DRIVER_STUCK"))
		pause();
	return 0;
}
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device) { return 6; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **device) { *device = &asked; return i > 0 && asked > 1 ? 15 : 0; }
int nvmlDeviceGetNvLinkErrorCounter(void *device, unsigned link, unsigned counter, unsigned long long *n)
{
	*n = 2 * asked;
	return link < 2 && counter == 0 ? 0 : 3;
}
END
}
with_driver() {
	rm -f "$work/asked"
	cd "$work" || exit 1
	run env LD_LIBRARY_PATH="$work" DRIVER_ASKED="$work/asked" "$@" "$BUILD/all_reduce_perf" -g 2 --fault=drop-rank:1
	cd "$OLDPWD" || exit 1
	dir=$work/$(sed -n 's/^# verdict: .*evidence=\([^ ]*\).*/\1/p' "$work/out")
	expect_rc 10
	expect_out '^# verdict: outcome=hang class=missing-call ranks=1 '
}
if [ -e /dev/nvidiactl ] || ! driver; then
	echo 'counters of GPUs: not tried: there are some, or no compiler'
else
	with_driver DRIVER_WELL=1
	holds 'counters of GPUs are not in the report' \
		grep -q 'Host .*: .*GPU 0: 4 NVLink replays; GPU 1: NVML lists it and can.t open it\.$' "$dir/postmortem.md"
	with_driver DRIVER_STUCK=1
	holds 'a driver that is stuck is not said to be' \
		grep -q "^Host .*; none of GPUs: NVML did not answer\.$" "$dir/postmortem.md"
	holds 'counters of the network are lost with those of GPUs' grep -q '"resent": ' "$dir/rank-0.counters.json"
fi

# From a folder: what NCCL RAS answered, and texts that nobody should print as they are.
echo '{"communicators": []}' >"$kept/ras.txt"
printf 'main thread x (tid 1, S)\n  #0 a\033[2Jb\000c (d)\n' >"$kept/rank-1.stack.txt"
head -c 100000 /dev/urandom >"$kept/rank-2.stack.txt"
run "$BUILD/hang_diagnose" "$kept"
expect_rc 10
expect_out 'NCCL RAS answered: ras.txt\.$'
expect_out 'rank 1 is stuck on a\?\[2Jb\?c \(d\)$'
holds 'control characters come through' \
	bash -c '! LC_ALL=C grep -q "[^ -~	]" "$1" "$2"' - "$work/out" "$kept/postmortem.md"

# Messages that fit into buffers let everybody come to the end: that calls differed is told all
# the same.
small() {
	cd "$work" || exit 1
	run "$BUILD/$1_perf" --backend mpi --topo none -g 4 -b 16K "--fault=$2"
	cd "$OLDPWD" || exit 1
	expect_rc "$3"
	expect_out "^# verdict: outcome=$4 class=$5 ranks=0 comm=0 seq=$6 "
	expect_out '^# look further:'
}
small scatter extra-call:0@25 16 diverged extra-call 25
small gather early-exit:0@12 12 wrong-data early-exit 12
for program in scatter sendrecv hypercube alltoallv; do
	run "$BUILD/${program}_perf" --backend mpi --topo none -g 4 -b 16K --fault=none
	expect_rc 0
	holds 'a verdict on equal calls' bash -c '! grep -q "^# verdict" "$1"' - "$work/out"
done

# Of many ranks the calls are looked at once and not kept: memory stays far below what the files hold.
"$BUILD/tests/tool_synthetic" "$work/many" 1024 1024 >/dev/null
most=$(python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$BUILD/hang_diagnose" --dry-run "$work/many")
files=$(du -sk "$work/many" | cut -f1)
holds "1,024 ranks: $most KiB of memory for $files KiB of files" [ $((most * 2)) -lt "$files" ]
finish
