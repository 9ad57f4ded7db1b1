# packages.sh: Debian packages for a test, removed again when it ends, and daemons, ended by their process ids.
# Sourced by e2e_*; not a test.
# shellcheck shell=bash
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../e2e/lib.sh"
daemons=()

# install PACKAGE...: those that are missing and what they need, without starting their services
install() {
	[ "$(id -u)" -eq 0 ] || skip 'installing packages needs root'
	command -v apt-get >/dev/null || skip 'needs apt-get'
	export DEBIAN_FRONTEND=noninteractive
	if [ ! -e /usr/sbin/policy-rc.d ]; then
		printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
		chmod +x /usr/sbin/policy-rc.d
		touch "$work/policy"
	fi
	local options=(--no-install-recommends --no-upgrade)
	getent passwd | cut -d: -f1 | sort >"$work/users"
	apt-get -q update >"$work/apt" 2>&1
	# "Inst NAME [VERSION] (": an upgrade of what is there, and not ours to remove
	apt-get -s "${options[@]}" install "$@" 2>&1 | sed -n 's/^Inst \([^ ]*\) (.*/\1/p' >"$work/packages"
	apt-get -qy "${options[@]}" install "$@" >>"$work/apt" 2>&1 || skip "can't install $*: $(tail -n 1 "$work/apt")"
}

# daemon COMMAND...: in the background; ended, last one first, when the test ends
daemon() {
	"$@" </dev/null >>"$work/$(basename "$1").log" 2>&1 &
	daemons=($! "${daemons[@]}")
}

at_exit() {
	local pid
	for pid in "${daemons[@]}"; do
		kill "$pid" 2>/dev/null
		within 10 is_over "$pid" || kill -KILL "$pid"
	done
	[ -e "$work/packages" ] || return
	# dpkg removes what it is told and nothing besides; apt-get would take along whatever needs it
	xargs -r dpkg --purge <"$work/packages" >"$work/apt" 2>&1 || tail -n 3 "$work/apt"
	comm -13 "$work/users" <(getent passwd | cut -d: -f1 | sort) | xargs -rn 1 userdel
	[ ! -e "$work/policy" ] || rm /usr/sbin/policy-rc.d
}
