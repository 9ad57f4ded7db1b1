#!/bin/bash
# restart.sh SUBJECT: two attempts of three ranks, as `torchrun --max-restarts 1` makes them, the second at another port: in the first
# rank 1 raises, in the second rank 2 stands.
attempt() { # NUMBER WORD: $pids are its ranks
	pids=()
	for r in 0 1 2; do
		TORCHELASTIC_RUN_ID=none TORCHELASTIC_RESTART_COUNT=$(($1 - 1)) MASTER_ADDR=localhost MASTER_PORT=$((29500 + $1)) \
			DOUBLE_ID=$DOUBLE_ID.$1 RANK=$r WORLD_SIZE=3 python3 "$subject" 3 "$2" &
		pids+=($!)
	done
}
subject=$1
attempt 1 raises=1@9
wait "${pids[1]}"
kill "${pids[0]}" "${pids[2]}"
wait
attempt 2 asleep=2@9
wait
