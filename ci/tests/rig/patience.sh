# patience.sh: how long tests wait for what has to come. Sourced by the runner and by e2e/lib.sh; not a test.
# shellcheck shell=bash
processors=$(nproc)

# patient NUMBER: leaves $patience, the number times the machine's load per processor, from 1 to 8. Beside other work a wait
# lasts longer; on a quiet machine it is the number.
patient() {
	local load _
	read -r load _ </proc/loadavg
	load=$((10#${load/./} / processors))
	patience=$(($1 * (load < 100 ? 100 : load > 800 ? 800 : load) / 100))
}
