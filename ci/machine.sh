# shellcheck shell=bash
# machine.sh: what a host is made of, for the record beside measured figures. Sourced; not a
# program.

# machine: print it. Call it in the top folder, with BUILD set and MPIRUN where mpirun is another.
machine() {
	echo "date: $(date -Is)"
	echo "kernel: $(uname -srm)"
	echo "cpu: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores"
	echo "load: $(cat /proc/loadavg)"
	echo "commit: $(git describe --always --dirty 2>/dev/null || echo unknown)"
	echo "mpi: $("${MPIRUN:-mpirun}" --version 2>/dev/null | head -n 1)"
	echo "nvcc: $(nvcc --version 2>/dev/null | sed -n 's/.*release //p')"
	echo "hangar: $("$BUILD/all_reduce_perf" --version 2>&1 | head -n 1)"
	echo "environment:"
	env | grep -E '^(NCCL|CUDA|OMPI|UCX)_' | grep -vE 'TOKEN|KEY|SECRET|PASS|CRED' | sort
	command -v nvidia-smi >/dev/null || return 0
	nvidia-smi --format=csv --query-gpu="index,name,pci.bus_id,driver_version,memory.total,`
		`clocks.max.sm,clocks.max.memory,ecc.mode.current,power.limit,compute_mode,mig.mode.current"
	nvidia-smi topo -m
}
