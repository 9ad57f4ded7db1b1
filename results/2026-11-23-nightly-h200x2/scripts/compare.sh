# compare.sh: for a machine of 2 H200 (nvidia-h200-x2, else h100-x2; kind in $OUT/gpus.txt): >= 20 launches of three collectives, interleaved, <= 120 s.
# Carry: .carry (as /tmp/p/m2.sh has it: ompi.tar.xz, lib, build with fresh *_perf).  Results in $OUT/launches/all_reduce/3/{rows.csv,rows.jsonl}
# (Written 20:12, vanished from this folder about 20:24, written again 20:46: a copy is /tmp/cmp/compare.sh.)
[ -d /opt/openmpi-bundle ] || tar -C / -xJf .carry/ompi.tar.xz
N=$(python3 -c "import nvidia.nccl as n; print(list(n.__path__)[0]+'/lib')")
export LD_LIBRARY_PATH=$N:$PWD/.carry/lib:/opt/openmpi-bundle/lib:/usr/lib/x86_64-linux-gnu/openmpi/lib:/usr/local/cuda/lib64
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 NCCL_NVLS_ENABLE=0 CUDA_DEVICE_MAX_CONNECTIONS=1 HWLOC_COMPONENTS=-nvml,-cuda,-opencl,-gl,-rsmi
command -v mpirun >/dev/null || export PATH=/opt/openmpi-bundle/bin:$PATH
export BUILD=$PWD/.carry/build
nvidia-smi -L > $OUT/gpus.txt
nvidia-smi --query-gpu=driver_version,clocks.sm,temperature.gpu --format=csv >> $OUT/gpus.txt
begin=$SECONDS n=0
while ((SECONDS - begin < 112)); do
	n=$((n + 1))
	for c in all_reduce all_gather reduce_scatter; do
		((SECONDS - begin < 116)) || break
		mkdir -p $OUT/launches/$c
		timeout 20 mpirun -np 2 --bind-to none $BUILD/${c}_perf --backend nccl -b 128 -e 256M -f 8 --budget 0.04 \
			--out $OUT/launches/$c/$n > /tmp/l.txt 2>&1 || { echo "$c $n: exit $?"; tail -5 /tmp/l.txt; }
		rm -f $OUT/launches/$c/$n/table.txt
	done
done
echo "$n rounds in $((SECONDS - begin)) s"
