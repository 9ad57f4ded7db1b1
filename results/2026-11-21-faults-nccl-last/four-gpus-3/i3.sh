# four GPUs: NET three on a GPU at 8 ranks; one on a GPU; x10 with time; init over NET; healthy. Every stage is kept as it ends.
. .carry/pre.sh
cd $TOP
keep() { find /tmp/o/$1 -name "*.stack.txt" -size +300k -delete; tar -C /tmp -czf $OUT/o-$1.tgz o/$1 o/$1.log; echo "== $1 $SECONDS"; sed -n '1p;/^fault /,$p' /tmp/o/$1/summary.txt | cut -c1-140; grep WRONG /tmp/o/$1.log | cut -c1-220 | head -8; }
m() { n=$1 w=$2 l=$3; shift 3; timeout $((w + l + 20)) ci/faults/matrix /tmp/o/$n BACKEND=nccl "$@" WITHIN=$w LIMIT=$l SWAP=0 > /tmp/o/$n.log 2>&1; echo "$n rc $?"; keep $n > $OUT/$n.sum 2>&1; }
H='^(drop|block|busy|stop|late|skip|extra|early|cond|abort)'
m three8 60 60 TRANSPORT=net RANKS=8 PLAN=once JOBS=12 ONLY="$H"; grep "WRONG\|passed\|failed" $OUT/three8.sum; echo $SECONDS
for r in 4 8 2; do m one$r 60 45 TRANSPORT=net RANKS=$r PLAN=once JOBS=4 ONLY="$H"; done; echo $SECONDS
m three4 40 45 TRANSPORT=net RANKS=4 PLAN=once JOBS=12 ONLY="$H"; echo $SECONDS
m x10p2p 20 150 TRANSPORT=p2p RANKS=4 PLAN=once DEADLINES=10 JOBS=26 & m x10net 20 150 TRANSPORT=net RANKS=4 PLAN=once DEADLINES=10 JOBS=12 ONLY='^[^g]' &
sleep 30; m initnet 40 60 TRANSPORT=net RANKS="2 4 8" PLAN=full REPEATS=1 JOBS=8 ONLY='^init-'; echo $SECONDS
timeout 130 ci/faults/healthy /tmp/o/healthy BACKEND=nccl N=80 JOBS=5 BIG=40 LIMIT=60 WITHIN=60 > /tmp/o/healthy.log 2>&1; echo "healthy rc $? $SECONDS"
tar -C /tmp -czf $OUT/o-healthy.tgz o/healthy o/healthy.log; tail -13 /tmp/o/healthy/summary.txt; grep -v healthy$ /tmp/o/healthy.log | head -5 | cut -c1-200
wait; echo "all $SECONDS"; grep "WRONG\|passed\|failed" $OUT/*.sum
nvidia-smi --query-gpu=memory.used --format=csv,noheader | tr '\n' ' '; ls /dev/shm | wc -l
