#!/bin/bash
# restart.sh SUBJECT: two attempts of three ranks, as `torchrun --max-restarts 1` makes them: in the first rank 1 raises, in the second rank 2 stands.
for attempt in 1 2; do
	word=raises=1@9
	[ $attempt = 1 ] || word=asleep=2@9
	for r in 0 1 2; do
		DOUBLE_ID=$DOUBLE_ID.$attempt RANK=$r WORLD_SIZE=3 python3 "$1" 3 $word &
	done
	wait -n
	jobs -p | xargs -r kill 2>/dev/null
	wait
done
