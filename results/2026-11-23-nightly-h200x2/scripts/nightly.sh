# nightly.sh: run by `bash .carry/nightly.sh` in the repository's root of a machine of 2 GPUs (nvidia-h200-x2, else h100-x2), at most
# 200 s + 150 s on it. Carry: .carry with ompi.tar.xz, lib/, nightly.sh, nightly.toml, and build/ with all_reduce_perf all_gather_perf
# alltoall_perf health hang_diagnose fitted.json vendor_specs.csv specs/ tests/tool_fired (fresh, of a main from 6f87526 on).
# Results: $OUT/nightly (two nights, baselines, history), $OUT/*.log. G=2 (GPUs), E=1G (largest size).
if [ -s .carry/ompi.tar.xz ]; then
	[ -d /opt/openmpi-bundle ] || tar -C / -xJf .carry/ompi.tar.xz
	N=$(python3 -c "import nvidia.nccl as n; print(list(n.__path__)[0]+'/lib')")
	export LD_LIBRARY_PATH=$N:$PWD/.carry/lib:/opt/openmpi-bundle/lib:/usr/lib/x86_64-linux-gnu/openmpi/lib:/usr/local/cuda/lib64
	command -v mpirun >/dev/null || export PATH=/opt/openmpi-bundle/bin:$PATH
fi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 NCCL_NVLS_ENABLE=0 CUDA_DEVICE_MAX_CONNECTIONS=1 HWLOC_COMPONENTS=-nvml,-cuda,-opencl,-gl,-rsmi
E=${E:-1G}
nvidia-smi -L >$OUT/gpus.txt 2>&1
G=${G:-2}
mkdir -p .carry/build/tests/fired
for p in all_reduce all_gather alltoall; do ln -sf ../tool_fired .carry/build/tests/fired/${p}_perf; done
if ! python3 -c 'import tomllib' 2>/dev/null; then # before Python 3.11
	mkdir -p /tmp/shim
	echo 'from pip._vendor.tomli import *' >/tmp/shim/tomllib.py
	export PYTHONPATH=/tmp/shim
fi
python3 -c 'import sys; print(sys.version)'; python3 -c 'import numpy, scipy; print("scipy", scipy.__version__)'
make_toml() { # WITHIN ENV
	sed -e "s,@OUT@,$OUT," -e "s,@WITHIN@,$1," -e "s,@ENV@,$2," -e "s,@G@,$G," -e "s,@E@,$E," .carry/nightly.toml
}
make_toml 195s '' >/tmp/first.toml
timeout 230 ci/nightly /tmp/first.toml >$OUT/first.log 2>&1; echo "first: exit $?"
ci/nightly --accept /tmp/first.toml 2>&1 | tail -3
# Half of the channels that NCCL said it used, 12 where it did not say.
N=$(cat $OUT/nightly/20*/runs/all_reduce/*/rows.csv | python3 -c '
import csv, sys
n = [int(r["used_channels"]) for r in csv.DictReader(sys.stdin) if (r["used_channels"] or "x").isdigit()]
print(max(n) // 2 if n and max(n) > 1 else 12)')
echo "NCCL_MAX_NCHANNELS=$N"
make_toml 145s "NCCL_MAX_NCHANNELS = \"$N\"" | sed '/^#FAULTS/,$d' >/tmp/second.toml
timeout 180 ci/nightly /tmp/second.toml >$OUT/second.log 2>&1; echo "second: exit $?"
cp /tmp/first.toml /tmp/second.toml $OUT/
tail -25 $OUT/first.log; tail -15 $OUT/second.log; du -sh $OUT
# Here afterwards (only where that machine lacks SciPy: then both nights say "not compared"; reports = the copied
# folder): ci/nightly --report NIGHT FILE.toml
