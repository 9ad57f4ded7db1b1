# hosts.sh: hosts made of namespaces, for end-to-end tests. Sourced after lib.sh; not a test.
# shellcheck shell=bash
#
# A host has its own network (veth to a bridge), name, processes, /dev/shm and temporary folder; hosts find
# each other by name, and of GPUS each sees one.
# $work is shared by all; $work/own is another disk on each.
# mpirun runs at the bridge and reaches hosts through a script that enters their namespaces.
# make_hosts N; then on_hosts puts a command together.
bridge=hgb$BASHPID
hosts=0
declare -a keeper # the process that holds a host's namespaces

[ "$(id -u)" -eq 0 ] || skip 'network namespaces need root'
command -v ip >/dev/null || skip 'ip (iproute2) is not installed'
command -v nsenter >/dev/null || skip 'nsenter (util-linux) is not installed'

# $net: a network that no other test has, of those that run at the same time
for ((octet = BASHPID % 200, i = 0; i < 200; i++)); do
	net=10.213.$(((octet + i) % 200 + 20))
	ip -o addr | grep -qF " $net.1/" || break
done

name() { echo "hgn$$-$1"; }

at_exit() {
	local i
	for i in ${server:-} ${switch:-}; do
		{ kill "$i"; wait "$i"; } 2>/dev/null
	done
	for ((i = 1; i <= hosts; i++)); do
		[ -n "${keeper[i]:-}" ] && { kill -KILL "${keeper[i]}"; wait "${keeper[i]}"; } 2>/dev/null
		ip link del "hgv$$-$i" 2>/dev/null
		ip netns del "$(name $i)" 2>/dev/null
	done
	ip link del "$bridge" 2>/dev/null
}

# add_host I: network and namespaces; 0 when all is there
add_host() {
	local i=$1 ns pidfile=$work/host$1
	ns=$(name "$i")
	ip netns add "$ns" && ip -n "$ns" link set lo up || return
	[ -n "${WIRE:-}" ] || { ip link add "hgv$$-$i" type veth peer name eth0 netns "$ns" &&
		ip link set "hgv$$-$i" master "$bridge" up &&
		ip -n "$ns" addr add "$net.$((i + 1))/24" dev eth0 && ip -n "$ns" link set eth0 alias hangar-host up; } || return
	ip netns exec "$ns" unshare -m -u -p --fork --kill-child --mount-proc bash -c '
		echo "$1" >/proc/sys/kernel/hostname && mount -t tmpfs tmpfs /dev/shm &&
		mount -t tmpfs tmpfs "$2/tmp" && mount -t tmpfs tmpfs "$2/own" &&
		mount --bind "$2/names" /etc/hosts &&
		echo up >"$3" && exec sleep infinity' - "node$i" "$work" "$pidfile" \
		</dev/null >/dev/null 2>&1 &
	keeper[i]=$!
	within 5 test -s "$pidfile" || return
	# Its init, whose namespaces the agent enters: ip and unshare execute, unshare forks.
	tr -d ' ' <"/proc/${keeper[i]}/task/${keeper[i]}/children" >"$pidfile.pid" &&
		[ -s "$pidfile.pid" ]
}

# make_hosts N: or the test is skipped
make_hosts() {
	hosts=$1
	build_hosts 2>"$work/why" || skip "no hosts out of namespaces: $(tail -n 1 "$work/why")"
}

build_hosts() {
	local i
	mkdir "$work/tmp" "$work/own"
	echo 127.0.0.1 localhost >"$work/names"
	for ((i = 1; i <= hosts; i++)); do
		echo "$net.$((i + 1)) node$i" >>"$work/names"
	done
	[ -n "${WIRE:-}" ] || { ip link add "$bridge" type bridge && ip addr add "$net.1/24" dev "$bridge" &&
		ip link set "$bridge" up; } || return
	for ((i = 1; i <= hosts; i++)); do
		add_host $i || return
	done
	[ -n "${WIRE:-}" ] || return 0
	# a switch in user space instead of the bridge: its commands go to $work/wire
	mkfifo "$work/wire"
	# shellcheck disable=SC2046
	"$WIRE" "$net.1/24" $(for ((i = 1; i <= hosts; i++)); do name $i; done) <>"$work/wire" >"$work/wired" &
	switch=$!
	export HANGAR_SWITCH=$work/wire
	within 5 grep -q ready "$work/wired"
}

# enter I COMMAND...: on that host
enter() {
	[ -z "${GPUS:-}" ] || local -x CUDA_VISIBLE_DEVICES=$((($1 - 1) % GPUS))
	nsenter -t "$(cat "$work/host$1.pid")" -n -m -u -p ${agent:+-F} -- "${@:2}"
}

# The agent is called with an address and a command, as ssh is.
cat >"$work/agent" <<'END'
#!/bin/bash
while [[ $1 == -* ]]; do shift; done
i=${1##*.}
shift
exec nsenter -t "$(cat "${0%/*}/host$((i - 1)).pid")" -n -m -u -p -- bash -c "$*"
END
chmod +x "$work/agent"

# The same from a host, whose processes cannot enter another's namespaces: whoever reads $work/calls enters
# them. In the end, as with an ssh that keeps no session, the agent does not wait.
cat >"$work/agent_inside" <<'END'
#!/bin/bash
while [[ $1 == -* ]]; do shift; done
case $1 in node*) i=${1#node} ;; *) i=$((${1##*.} - 1)) ;; esac
shift
echo "$i $HANGAR_E2E $*" >"${0%/*}/calls"
END
chmod +x "$work/agent_inside"
serve_calls() {
	local i mark call
	mkfifo "$work/calls"
	while read -r i mark call; do
		# as ssh does it goes on when the launcher is stopped
		HANGAR_E2E=$mark agent=1 enter "$i" bash -c "$call; exit" </dev/null >/dev/null 2>&1 &
	done <>"$work/calls" &
	server=$!
}

# on_hosts SLOTS OPTION...: puts an mpirun of all_reduce_perf (or of the command $program) with these
# slots ("2,2") on the first hosts into $command
on_hosts() {
	local slots=$1 list='' i=1 n=0 s
	shift
	for s in ${slots//,/ }; do
		i=$((i + 1)) n=$((n + s))
		list+=${list:+,}$net.$i:$s
	done
	command=(mpirun --quiet -np $n --host "$list" --mca plm_rsh_agent "$work/agent"
		--mca btl tcp,self --mca oob_tcp_if_include "$net.0/24"
		--mca btl_tcp_if_include "$net.0/24" --mca orte_tmpdir_base "$work/tmp"
		${program:-"$BUILD/all_reduce_perf" --backend mpi} "$@")
}

# from_host SLOTS OPTION...: the same, and mpirun runs on the first host
from_host() {
	on_hosts "$@"
	[ -p "$work/calls" ] || serve_calls
	command=(nsenter -t "$(cat "$work/host1.pid")" -n -m -u -p -- bash -c 'cd "$0" && exec "$@"' "$PWD"
		"${command[@]/#$work\/agent/$work/agent_inside}")
}

inside() {
	nsenter -t "$(cat "$work/host$1.pid")" -m -- "${@:2}"
}
