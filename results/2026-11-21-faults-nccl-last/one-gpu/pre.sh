. .carry/env.sh
export BUILD=$PWD/.carry/build HANGAR_SPECS=$PWD/.carry/build/specs HANGAR_FITTED=$PWD/.carry/build/fitted.json
export CUDA_DEVICE_MAX_CONNECTIONS=1 HWLOC_COMPONENTS=-nvml,-cuda,-opencl,-gl,-rsmi
TOP=$PWD; mkdir -p /tmp/o/hand; cd /tmp/o/hand; HAVE="$(echo $TOP/.carry/have/*)"
one() { n=$1; shift; mkdir -p $n; ( cd $n; echo "$@" > command.txt; timeout 60 env "$@" > out.txt 2> err.txt; echo "rc $? $n: $(grep '^# verdict' out.txt | cut -c1-150) $(grep -h 'not fire\|as expected\|# expected' out.txt err.txt | cut -c1-90)" ); }
