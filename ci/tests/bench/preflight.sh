# preflight.sh: what the tests of the pre-flight share. Sourced by e2e_preflight*.sh and e2e_halves.sh; not a test.
# shellcheck shell=bash
program="$BUILD/preflight --backend mpi"
limit=90
# found WORD HOST PATTERN: a line that begins with the word and names the host; and none but those of $guilty (the host
# alone) have one of ERROR or HUNG
guilty=''
found() {
	expect_out "^$1 *$2( \([^)]*\))?: .*$3"
	holds "${guilty:-$2} alone is to blame" bash -c '! grep -E "^(ERROR|HUNG)" "$1" | grep -vE "^(ERROR|HUNG) *$2[ :]"' - "$work/out" "${guilty:-$2}"
}
alone() { run $program "$@"; }

# four_hosts: hosts of namespaces, node1 to node4
four_hosts() {
	# shellcheck source=ci/tests/rig/hosts.sh
	source "$(dirname "$0")/../rig/hosts.sh"
	make_hosts 4
	end_at_once
	export OMPI_MCA_mpi_yield_when_idle=1 # a few cores carry all hosts
}
# three OPTION...: node2 and node3 with the words of $on2 and $on3 before the program. Runs are few: faults of node3's
# network and of node2's own set-up are planted together.
mkdir "$work/bin"
cat >"$work/wrap" <<'END'
#!/bin/bash
on=on${HOSTNAME#node}
eval "${!on:-:}"
exec "$@"
END
chmod +x "$work/wrap"
export on1='' on2='' on3=''
three() {
	run "$netns" run -s 1,1,1 "$work/wrap" $program "$@"
	guilty=''
}
