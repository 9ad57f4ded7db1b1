# preflight_verbs.sh: RDMA bandwidth to another host by perftest's ib_write_bw, while that one runs the same. Built into
# preflight. $mine, $port, $to: the ports of both ends, and its address; without $mine it says whether all is here. It prints
# Mbit/s, the port's Mbit/s, and the last line of ib_write_bw.
command -v ib_write_bw >/dev/null || exit 1
for at in /sys/class/infiniband/*/ports/*; do
	grep -q ACTIVE "$at/state" 2>/dev/null && break
	at=''
done
[ -n "$at" ] || exit 1
[ -n "$mine" ] || exit 0
device=${at#/sys/class/infiniband/}
words="-F --report_gbits -s 1048576 -n 500 -d ${device%%/*} -i ${at##*/}"
rate=$(($(cut -d. -f1 "$at/rate" | cut -d' ' -f1) * 1000))
for try in $(seq 20); do # another program may have the port for a moment
	timeout -k 1 14 ib_write_bw $words -p "$mine" >/dev/null 2>&1
	case $? in 0 | 124) break ;; esac
	sleep 0.5
done &
for try in $(seq 20); do # the other end begins a little later
	said=$(timeout -k 1 8 ib_write_bw $words -p "$port" "$to" 2>&1)
	code=$?
	average=$(echo "$said" | awk '$1 ~ /^[0-9]+$/ && NF >= 4 { print int($4 * 1000) }')
	[ -z "$average" ] && [ $code != 124 ] || break
	sleep 0.5
done
echo "${average:-0} $rate $(echo "$said" | grep '[a-zA-Z]' | tail -n 1)"
wait
