# shellcheck shell=bash
# lib.sh: what the fault matrix and the healthy runs share. Sourced; not a program.
#
# Every run is a trial: a folder raw/NAME that is its working directory, with out.txt, err.txt and
# end.txt ("EXIT SECONDS PROCESSES SHM CGROUPS": the last three are what it left behind). Its
# processes carry HANGAR_TRIAL=TOKEN-NAME in their environment: that is how they are found.

# shellcheck source=ci/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
token=$$-$EPOCHREALTIME
declare -A weights=()

# pids_of TEXT: processes whose HANGAR_TRIAL begins so; zombies have no environment any more
pids_of() {
	grep -lsz "^HANGAR_TRIAL=$1" /proc/[0-9]*/environ | tr -dc '0-9\n'
}

# Ends all processes that are left of our own runs.
clean_up() {
	local pid
	trap '' TERM INT HUP
	for pid in $(pids_of "$token"); do
		kill -KILL "$pid" 2>/dev/null || true
	done
	rm -rf "$scratch"
}

# left_files ERR: how many names of the run are left in /dev/shm; a bare start says its key
left_files() {
	local key
	key=$(grep -o 'its files: /dev/shm/hangar-[^ )]*' "$1" | head -n 1)
	key=${key##*-}
	[ -n "$key" ] || key='no such run'
	find /dev/shm -maxdepth 1 -name "*$key*" 2>/dev/null | wc -l
}

# our_cgroups: those of all runs of hangar
our_cgroups() {
	find /sys/fs/cgroup -maxdepth 7 -name 'hangar-*' 2>/dev/null | sort
}

# left_cgroups BEFORE: how many cgroups are new and of a process that is gone (hangar-USER-PID-WHAT)
left_cgroups() {
	local path pid n=0
	while read -r path; do
		pid=${path##*/hangar-} pid=${pid#*-} pid=${pid%%-*}
		[ -z "$path" ] || [ -d "/proc/$pid" ] || n=$((n + 1))
	done < <(comm -13 <(echo "$1") <(our_cgroups))
	echo $n
}

# gone NAME: no process of the trial is left
gone() {
	[ -z "$(pids_of "$token-$1\$")" ]
}

# trial NAME COMMAND...: run it to its end in raw/NAME, at most LIMIT seconds
trial() {
	local name=$1 dir=$out/raw/$1 start us rc=0 i pid left cgroups
	shift
	mkdir -p "$dir"
	cgroups=$(our_cgroups)
	start=${EPOCHREALTIME/./}
	(
		cd "$dir" || exit 1
		export HANGAR_TRIAL=$token-$name HANGAR_FAULT_LOG=$dir
		exec timeout -k 10 "$LIMIT" "$@" </dev/null >out.txt 2>err.txt
	) || rc=$?
	us=$((${EPOCHREALTIME/./} - start))
	# Processes that are being ended need a moment, and who removes the cgroups of others may
	# be one.
	for ((i = 0; i < 20; i++)); do
		gone "$name" && [ "$(left_cgroups "$cgroups")" -eq 0 ] && break
		sleep 0.1
	done
	left=0
	for pid in $(pids_of "$token-$name\$"); do
		left=$((left + 1))
		kill -KILL "$pid" 2>/dev/null || true
	done
	printf '%d %d.%03d %d %d %d\n' "$rc" $((us / 1000000)) $((us / 1000 % 1000)) "$left" \
		"$(left_files "$dir/err.txt")" "$(left_cgroups "$cgroups")" >"$dir/end.txt"
}

# parallel COMMAND...: in the background, as soon as fewer than JOBS are, and `weight` and theirs
# together are CORES at most
parallel() {
	local pid sum=0 other
	for other in "${weights[@]}"; do
		sum=$((sum + other))
	done
	if ((sum > 0 && (${#weights[@]} >= JOBS || sum + ${weight:-1} > ${CORES:-9999}))); then
		wait -n -p pid || true
		unset "weights[$pid]"
		parallel "$@"
	else
		"$@" &
		weights[$!]=${weight:-1}
	fi
}

# need_gpus: exit 77 when the nccl backend has no GPU to run on
need_gpus() {
	if [ "$BACKEND" = nccl ] && [ "$(gpus)" -eq 0 ]; then
		echo "$(basename "$0"): nvidia-smi lists no GPU"
		exit 77
	fi
}
