#!/bin/bash
# e2e_health.sh: health on one host and on two made of namespaces, with trees in place of /sys and
# with libraries in place of NVML: findings, notes, JSON, the list of hosts to drain, a stuck driver.
# timeout: 300
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/lib.sh"

# nvml DIR: an NVML there whose GPU has 90 C, one uncorrected memory error since the driver was
# loaded, and one more corrected one whenever it is asked; with STUCK it never answers
nvml() {
	mkdir -p "$1"
	cat >"$work/nvml.c" <<'END'
#include <string.h>
#include <unistd.h>
static int corrected;
int nvmlInit_v2(void)
{
#ifdef STUCK
	pause();
#endif
	return 0;
}
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **to) { *to = &corrected; return bus[0] != '0'; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = 1; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **to) { *to = &corrected; return (int)i; }
int nvmlDeviceGetPciInfo_v3(void *d, char *to) { strcpy(to + 36, "00000000:18:00.0"); return d == 0; }
int nvmlDeviceGetTemperature(void *d, unsigned s, unsigned *c) { *c = 90; return d == 0 || s; }
int nvmlDeviceGetTotalEccErrors(void *d, unsigned kind, unsigned c, unsigned long long *n)
{
	*n = kind == 1 ? 1 : ++corrected;
	return d == 0 || c;
}
int nvmlSystemGetDriverVersion(char *to, unsigned n) { strncpy(to, DRIVER, n); return 0; }
END
	cc -shared -fPIC -o "$1/libnvidia-ml.so.1" "${@:2}" "$work/nvml.c"
}
command -v cc >/dev/null || skip 'no C compiler'

# port DIR STATE PHYSICAL: below DIR an InfiniBand port and its counters, as the kernel shows them
# (Documentation/ABI/stable/sysfs-class-infiniband), and what the host itself shows
port() {
	local at=$1/sys/class/infiniband/mlx5_0/ports/1 file
	mkdir -p "$at/counters" "$at/hw_counters" "$1/proc"
	echo "InfiniBand" >"$at/link_layer"
	echo "$2" >"$at/state"
	echo "$3" >"$at/phys_state"
	echo "400 Gb/sec (4X NDR)" >"$at/rate"
	for file in counters/{symbol_error,link_downed,port_rcv_data} hw_counters/np_ecn_marked_roce_packets; do
		echo 7 >"$at/$file"
	done
	echo "cpu  1 2 3 4 5 6 7 8" >"$1/proc/stat"
}

nvml "$work/hot" -DDRIVER='"580.1"'
nvml "$work/stuck" -DSTUCK -DDRIVER='"580.1"'
nvml "$work/older" -DDRIVER='"550.1"'
mkdir "$work/empty"
port "$work/good" '4: ACTIVE' '5: LinkUp'
port "$work/bad" '2: INIT' '5: LinkUp'

health() {
	run env "LD_LIBRARY_PATH=$1" "$BUILD/health" --seconds 0.05 "${@:2}"
}

# A driver that is broken, with GPUs on PCI or loaded; a GPU without a driver; both are drained.
mkdir "$work/broken"
printf 'int nvmlInit_v2(void){return 18;}int nvmlShutdown(void){return 0;}
int nvmlDeviceGetHandleByPciBusId_v2(const char*b,void**d){return 1;}
const char*nvmlErrorString(int rc){return "versions differ";}' >"$work/broken.c"
cc -shared -fPIC -o "$work/broken/libnvidia-ml.so.1" "$work/broken.c"
gpu=$work/pci/sys/bus/pci/devices/0000:18:00.0
mkdir -p "$gpu"
port "$work/pci" '4: ACTIVE' '5: LinkUp'
echo 0x10de >"$gpu/vendor"
echo 0x030200 >"$gpu/class"
health "$work/broken" --root "$work/pci"
expect_rc 13
expect_out "^FAIL  nvml  *NVIDIA's driver answers, where a host has its GPUs; 1 host\$"
expect_out '^FAIL  driver  *each GPU on PCI has a driver; 1 host$'
expect_out "drain: NVML: nvmlInit fails with 18 \\(versions differ\\); NVIDIA GPUs on PCI: 1\\. Do: load the driver"
expect_out 'drain: NVML: 1 of 1 NVIDIA GPU on PCI without a driver\. Do: modprobe nvidia'
health "$work/broken" --root "$work/pci" --drain-list
expect_rc 13
holds 'a host with a broken driver is drained' cmp "$work/out" <(hostname)
health "$work/empty" --root "$work/pci"
expect_rc 13
expect_out 'warn: NVML: libnvidia-ml.so.1 is not here; NVIDIA GPUs on PCI: 1\. Do: install'

health "$work/empty" --root "$work/good"
expect_rc 0
expect_out '^PASS  port  *InfiniBand and RoCE ports with a link are active; 1 host$'
expect_out "^SKIP  nvml .*; needs a GPU \\(no GPUs\$"
expect_out '^SKIP  heat  *GPUs are at 85 C or below; needs a GPU$'
holds 'the reason is said again' [ "$(grep -c 'seen: lib' "$work/out")" = 2 ]
expect_out '^SKIP  versions .*; needs several hosts that have$'
holds 'a long line' awk 'length > 100 { exit 1 }' "$work/out"
expect_out "^$HOSTNAME: no GPUs seen: libnvidia-ml.so.1 is not here"
expect_out '^1 host: 1 in order, 0 with findings, 0 of them to be drained$'
health "$work/empty" --root "$work/bad"
expect_rc 13
expect_out "^$HOSTNAME: drain: RDMA mlx5_0:1: the link is up and the port is not active\\. Do: look for the subnet manager"
health "$work/empty" --root "$work/empty"
expect_rc 77
expect_out 'nothing could be read'

health "$work/hot" --root "$work/good"
expect_rc 13
expect_out "^$HOSTNAME: 1 GPUs, driver 580.1"
expect_out 'drain: GPU 0: 1 uncorrected memory error since the driver was loaded\. Do: reset the GPU'
expect_out 'note: GPU 0: [0-9]+ corrected memory errors?\. '
expect_out 'warn: GPU 0: 90 C\. '
health "$work/hot" --root "$work/good" --drain-list
expect_rc 13
holds 'one host a line, and no more' cmp "$work/out" <(hostname)
health "$work/hot" --root "$work/good" --json
expect_rc 13
# shellcheck disable=SC2016
holds 'JSON' python3 -c 'import json, sys
said = json.load(open(sys.argv[1]))
host, = said["hosts"]
assert said["version"] == 1, said
assert host["checks"]["heat"] == "FAIL" and host["checks"]["port"] == "PASS", host
assert host["checks"]["xid"].startswith("SKIP: "), host
assert host["drain"] and {f["group"] for f in host["findings"]} == {"memory", "errors", "heat"}, host
states = host["reading"]["parts"]["GPU 0"]["states"]
assert states["temperature_c"] == 90 and "power_mw" not in states, states' "$work/out"
health "$work/hot" --root "$work/good" --metrics "$work/health.prom"
expect_rc 13
for line in "hangar_health_exit_code 13" "hangar_health_temperature_celsius{host=\"$HOSTNAME\",part=\"GPU 0\"} 90" \
	"hangar_health_finding{host=\"$HOSTNAME\",part=\"GPU 0\",group=\"heat\",weight=\"warn\",what=\"90 C\"} 1" \
	"# TYPE hangar_health_moved_ecn_marked gauge"; do
	holds "metrics: $line" grep -qxF "$line" "$work/health.prom"
done
health "$work/hot" --metrics "$work/none/health.prom"
expect_rc 1
expect_err 'health: .*health.prom: No such file'
health "$work/hot" --metrics "$work/health.txt"
expect_rc 2
echo 'heat | note | temperature_c > 85 | {temperature_c} C | -' >"$work/rules"
health "$work/hot" --root "$work/good" --rules "$work/rules"
expect_rc 0 # a note is no finding
expect_out 'note: GPU 0: 90 C\. Do: -$'
echo 'heat | note | temperature_c | x | -' >"$work/rules"
health "$work/hot" --rules "$work/rules"
expect_rc 2
expect_err "$work/rules: line 1: a condition is NAME"

# The host's own findings come before the driver is given up.
health "$work/stuck" --root "$work/bad" --patience 1
expect_rc 13
expect_out 'drain: RDMA mlx5_0:1: '
expect_out 'drain: NVML: the driver does not answer\. Do: reboot'
check 'a process is left' no_process

# shellcheck source=ci/tests/rig/hosts.sh
source "$(dirname "$0")/../rig/hosts.sh"
make_hosts 2
inside 1 cp -r "$work/good" "$work/own/tree"
inside 2 cp -r "$work/bad" "$work/own/tree"
inside 1 cp -r "$work/hot" "$work/own/lib"
inside 2 cp -r "$work/older" "$work/own/lib"
program="env LD_LIBRARY_PATH=$work/own/lib $BUILD/health --seconds 0.05"
on_hosts 2,2 --root "$work/own/tree" --rules "$PWD/common/host/machine/health_rules.txt"
run "${command[@]}"
expect_rc 13
expect_out '^2 hosts: 0 in order, 2 with findings, 2 of them to be drained$'
expect_out '^node2: drain: RDMA mlx5_0:1: the link is up'
expect_no_out '^node1: drain: RDMA'
expect_out '^node1: warn: NVML: driver 580.1 here, 550.1 elsewhere\. '
expect_out '^node2: warn: NVML: driver 550.1 here, 580.1 elsewhere\. '
inside 2 sh -c "rm $work/own/lib/*"
on_hosts 2,2 --root "$work/own/tree"
run "${command[@]}"
expect_out '^node2: warn: NVML: 0 GPUs here, 1 elsewhere\. '
expect_out '^FAIL  fewer  *as many GPUs as other hosts have; 1 of 2 hosts, the first node2'
expect_out '; not at 1 of 2 hosts: needs'
echo 'port | drain | physical = LinkUp, state != up | x | y' >"$work/rules"
on_hosts 2,2 --root "$work/own/tree" --rules "$work/rules" --drain-list
run "${command[@]}"
expect_rc 13
holds 'the second host alone' cmp "$work/out" <(echo node2)

finish
