# one GPU: what session 6 changed, by hand; init faults without -T; gpu-oom alone; healthy
. .carry/pre.sh; B=$BUILD
cd $TOP; BUILD=.carry/build; t=$SECONDS; ci/hang > /tmp/o/hang.txt 2>&1; echo "ci/hang rc $? in $((SECONDS - t)) s"; tail -22 /tmp/o/hang.txt | cut -c1-180; BUILD=$B; mkdir -p /tmp/o/hangrun; cp -r results/runs/* /tmp/o/hangrun/ 2>/dev/null; cd /tmp/o/hand
one bare $B/all_gather_perf --fault=drop-rank:3
one bare-none $B/all_gather_perf --fault
one bare-g2 $B/all_reduce_perf -g 2 --share-gpu --fault=init-missing:1
for f in init-missing:0 init-id:2 init-nranks:3 drop-rank:1@init init-missing:1,2; do one i4-$f $B/all_gather_perf --share-gpu -g 4 --fault=$f; done
one i8-init-missing:7 $B/all_gather_perf --share-gpu -g 8 --fault=init-missing:7
for f in block-rank:1@25,when=after busy-rank:2@25,when=after; do one after-$f $B/all_gather_perf --share-gpu -g 4 --fault=$f; done
for f in drop-rank:3 kill-rank:1 skip-call:2 extra-call:0 init-missing:3 none; do one split-$f NCCL_TESTS_SPLIT="MOD 2" $B/all_gather_perf --share-gpu -g 4 --fault=$f; done
one split8-drop-rank:5 NCCL_TESTS_SPLIT="DIV 4" $B/all_gather_perf --share-gpu -g 8 --fault=drop-rank:5
for i in 1 2 3 4 5; do one h$i-8 $B/all_reduce_perf --share-gpu -g 8 -b 8 -e 1M -f 8; done
echo "hand $SECONDS"; cd $TOP
timeout 150 ci/faults/matrix /tmp/o/init BACKEND=nccl TRANSPORT=net PLAN=full REPEATS=1 RANKS="2 4 8" ONLY='^init-|^drop' JOBS=1 WITHIN=90 LIMIT=40 SWAP=0 > /tmp/o/init.log 2>&1; echo "init rc $? $SECONDS"
timeout 260 ci/faults/matrix /tmp/o/netoom BACKEND=nccl TRANSPORT=net RANKS="2 4 8" PLAN=full HAVE="$HAVE" ONLY='^gpu-oom' JOBS=1 WITHIN=$((${E:-480} - SECONDS)) LIMIT=40 SWAP=0 > /tmp/o/netoom.log 2>&1; echo "netoom rc $? $SECONDS"
for m in init netoom; do echo "== $m"; sed -n '1p;/^fault /,$p' /tmp/o/$m/summary.txt | cut -c1-150; grep WRONG /tmp/o/$m.log | cut -c1-220 | head -12; done
find /tmp/o -name "*.stack.txt" -size +300k -delete; tar -C /tmp -czf $OUT/o.tgz o; rm -r /tmp/o; echo "end $SECONDS"; nvidia-smi --query-gpu=memory.used --format=csv,noheader | tr '\n' ' '; ls /dev/shm | wc -l
