#!/bin/bash
# e2e_reconcile_hosts.sh: two hosts made of namespaces: the second has another MTU, and rank 0 reports what
# each host saw.
# timeout: 300
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/lib.sh"
# shellcheck source=ci/tests/rig/hosts.sh
source "$(dirname "$0")/../rig/hosts.sh"

make_hosts 2

on_hosts 2,2 -b 1K -e 1K -n 40 -w 2 --reconcile --out "$work/same"
run "${command[@]}"
expect_rc 0
expect_no_out 'cause: mtu'
check 'two hosts were looked at, twice' test "$(grep -c '"resent"' "$work/same/observation.json")" -eq 4
check 'by their names' grep -q '"host": "node2"' "$work/same/observation.json"

enter 2 ip link set eth0 mtu 1280
on_hosts 2,2 -b 1K -e 1K -n 40 -w 2 --reconcile
run "${command[@]}"
expect_rc 0
expect_out '^# cause: mtu: .* eth0 has MTU 1500 on node1 and 1280 on node2'

finish
