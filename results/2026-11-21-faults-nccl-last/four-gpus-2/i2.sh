# four GPUs: host code behind the last call; deadlines x 10; NET hangs one and three on a GPU; init without -T; healthy
. .carry/pre.sh; B=$BUILD
i=0
for f in block-rank:1@25,when=after busy-rank:2@25,when=after drop-rank:0@25,when=after; do one after-$f $B/all_gather_perf -g 4 --fault=$f & CUDA_VISIBLE_DEVICES=$i one net-after-$f $B/all_gather_perf --share-gpu -g 4 --fault=$f & i=$((i+1)); done; wait
for f in drop-rank:3 init-missing:1 skip-call:2; do one split-$f NCCL_TESTS_SPLIT="MOD 2" $B/all_gather_perf -g 4 --fault=$f & done; one ar-after $B/all_reduce_perf -g 4 --fault=block-rank:3@25,when=after & wait
grep -h AsyncError */out.txt | sort | uniq -c; echo "hand $SECONDS"; cd $TOP
m() { n=$1 w=$2; shift 2; timeout $((w + 60)) ci/faults/matrix /tmp/o/$n BACKEND=nccl "$@" WITHIN=$w LIMIT=45 SWAP=0 > /tmp/o/$n.log 2>&1; echo "$n rc $? $SECONDS"; }
m x10p2p 70 TRANSPORT=p2p RANKS=4 PLAN=once DEADLINES=10 JOBS=6 & m x10net 70 TRANSPORT=net RANKS=4 PLAN=once DEADLINES=10 JOBS=8 ONLY='^[^g]' & wait
H='^(drop|block|busy|stop|late|skip|extra|early|cond|abort)'
for r in 2 4 8; do m one$r 50 TRANSPORT=net RANKS=$r PLAN=once JOBS=4 ONLY="$H"; done
for k in a b; do for r in 2 4 8; do m three$r$k 25 TRANSPORT=net RANKS=$r PLAN=once JOBS=12 ONLY="$H"; done; done
m initp2p 50 TRANSPORT=p2p RANKS="2 4" PLAN=full REPEATS=1 JOBS=4 ONLY='^init-'
m initnet 50 TRANSPORT=net RANKS="2 4 8" PLAN=full REPEATS=1 JOBS=10 ONLY='^init-'
timeout 150 ci/faults/healthy /tmp/o/healthy BACKEND=nccl N=80 JOBS=6 BIG=40 WITHIN=$((${E:-500} - SECONDS)) > /tmp/o/healthy.log 2>&1; echo "healthy rc $? $SECONDS"
for x in x10p2p x10net one2 one4 one8 three2a three4a three8a three2b three4b three8b initp2p initnet; do echo "== $x"; sed -n '1p;/^fault /,$p' /tmp/o/$x/summary.txt | cut -c1-140; grep WRONG /tmp/o/$x.log | cut -c1-220 | head -8; done > /tmp/o/sums.txt; grep -c . /tmp/o/sums.txt; grep "passed\|failed\|WRONG\|runs;" /tmp/o/sums.txt
tail -13 /tmp/o/healthy/summary.txt; grep -v healthy$ /tmp/o/healthy.log | head -5 | cut -c1-200
find /tmp/o -name "*.stack.txt" -size +300k -delete; tar -C /tmp -czf $OUT/o.tgz o; rm -r /tmp/o; echo "end $SECONDS"; nvidia-smi --query-gpu=memory.used --format=csv,noheader | tr '\n' ' '; ls /dev/shm | wc -l
