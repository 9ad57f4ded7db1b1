# SECONDS 150 GPUS 2
# torchrun on two hosts of namespaces with a GPU each, a hangar_run on each: healthy, a rank away, a rank killed; --status on both
set -u
. .carry/env.sh
export PATH=$PWD/bin:$PATH PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=2 NCCL_NET=Socket NCCL_SOCKET_IFNAME=eth0 GLOO_SOCKET_IFNAME=eth0
ulimit -c 0; O=$OUT; H=$BUILD/hangar_run; O=/tmp/r/torch; mkdir -p $O
G=$(python3 -c "import torch; print(torch.cuda.device_count())")
for i in 1 2; do ip netns add h$i; done
ip link add eth0 netns h1 type veth peer name eth0 netns h2
for i in 1 2; do ip -n h$i addr add 10.77.0.$i/24 dev eth0; ip -n h$i link set eth0 up; ip -n h$i link set lo up; done
on() { # HOST COMMAND...
	local i=$1; shift
	ip netns exec h$i unshare -u bash -c 'hostname node$0; exec "$@"' $i "$@"; }
both() { # NAME ARGUMENT...: ddp.py with these
	local n=$1 i; shift
	for i in 1 2; do
		CUDA_VISIBLE_DEVICES=$(((i - 1) % G)) NCCL_HOSTID=node$i on $i timeout -k 3 45 $H --on-hang=kill --timeout 8 --out $O/e.$n.$i python3 -m torch.distributed.run \
			--nnodes 2 --node-rank $((i - 1)) --nproc-per-node 1 --master-addr 10.77.0.1 --master-port 29500 ci/programs/ddp.py "$@" >$O/$n.$i.txt 2>&1 </dev/null &
		pid[i]=$!
	done; }
{ ip -V; nvidia-smi -L; nproc; hostname; } >$O/machine.txt 2>&1

both drop --steps 100000 --bug drop --at 60
for k in $(seq 1 14); do sleep 1.5; for i in 1 2; do on $i timeout 5 $H --status >$O/status.$k.$i.txt 2>&1; done; grep -q "not yet" $O/status.$k.2.txt && break; done
on 1 timeout 5 $H --status >$O/status.last.1.txt 2>&1; on 2 timeout 5 $H --status >$O/status.last.2.txt 2>&1
for i in 1 2; do wait ${pid[i]}; echo "drop $i rc $?"; done
both kill --steps 100000 --bug kill --at 60; for i in 1 2; do wait ${pid[i]}; echo "kill $i rc $?"; done

for i in 1 2; do ip netns del h$i; done
grep -H "^# " $O/well.?.txt $O/drop.?.txt $O/kill.?.txt $O/skip.?.txt | cut -c1-240 | grep "verdict\|program=\|suspected\|hangar"; head -5 $O/status.last.?.txt | cut -c1-300
rm -rf $O/e.*
