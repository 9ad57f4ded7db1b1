# hosts.sh: hosts made of namespaces by faults/inject/netns, for end-to-end tests. Sourced after lib.sh; not a test.
# shellcheck shell=bash
#
# make_hosts N makes node1 to nodeN; on_hosts puts a command over them together. $work is shared by all, $work/own is
# another disk on each. $net.1 is the switch, in a namespace of its own, $net.2 is node1. GPUS=N: each host sees one.
net=10.213.0
netns=$(realpath "${BASH_SOURCE[0]%/*}/../../../faults/inject/netns")
hosts=0
export NETNS=$work
export PATH=${netns%/*}:$PATH

at_exit() {
	{ kill "${keeper:-}" && wait "$keeper"; } 2>/dev/null
}

# make_hosts N: or the test is skipped
make_hosts() {
	hosts=$1
	"$netns" up "$1" </dev/null >"$work/ready" 2>"$work/why_not" &
	keeper=$!
	within 10 is_made
	[ -s "$work/ready" ] || skip "$(tail -n 1 "$work/why_not")"
}

is_made() { [ -s "$work/ready" ] || is_over "$keeper"; }

# enter I COMMAND...: on that host; 0 is the switch
enter() {
	local spaces=(-n -m -u -p)
	[ "$1" != 0 ] || spaces=(-n)
	[ -z "${GPUS:-}" ] || local -x CUDA_VISIBLE_DEVICES=$((($1 - 1) % GPUS))
	NETNS_HOST=$1 nsenter -t "$(cat "$work/host$1.pid")" "${spaces[@]}" -- "${@:2}"
}

# inside I COMMAND...: with that host's files alone
inside() {
	nsenter -t "$(cat "$work/host$1.pid")" -m -- "${@:2}"
}

# on_hosts SLOTS OPTION...: puts a run of all_reduce_perf (or of the command $program) with these slots ("2,2") on the
# first hosts into $command; mpirun runs at the switch
on_hosts() {
	command=("$netns" run -f "${from:-0}" -s "$1" ${program:-"$BUILD/all_reduce_perf" --backend mpi --topo none} "${@:2}")
}

# from_host SLOTS OPTION...: the same, and mpirun runs on the first host
from_host() {
	from=1 on_hosts "$@"
}
