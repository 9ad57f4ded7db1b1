/* job_words.h: what ranks and the process between them say, over net/link. Internal to backend/job_*. */
#pragma once

#define JOB_BLOCK (1u << 20) /* bytes of an answer; larger exchanges are several */

enum job_word { JOB_JOIN = 1, JOB_WELCOME, JOB_REFUSED, JOB_ABSENT, JOB_CALL, JOB_ANSWER };

enum job_op { WORD_BARRIER, WORD_SUM, WORD_SHARE, WORD_COLLECT, WORD_COLLECT_ALL, WORD_SPLIT };

/* JOB_REFUSED has a sentence, JOB_ABSENT a list of ranks ("1,3"), a blank and a sentence. */
struct job_join_word {
	uint64_t token, host;
	int32_t rank, nranks;
};

/* A call's payload follows; of WORD_SHARE, the root's. All members of a communicator make the same calls. */
struct job_call_word {
	uint32_t comm, op;
	int32_t kind, root; /* kind: enum job_sum */
	uint32_t bytes;	    /* each rank's */
};

/* The answer to WORD_SPLIT; size 0: takes no part. */
struct job_split_word {
	uint32_t comm;
	int32_t rank, size;
};
