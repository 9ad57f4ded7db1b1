/* test_diagnose_init.c: ranks not at init, with other arguments, out of memory, aborted. */
#include "rig/unit.h"

#include "backend/call.h"
#include "answer/meaning.h"
#include "find/find.h"
#include "process/watch.h"

#define MOST 8

static struct evidence evidence;
static struct evidence_rank ranks[MOST];
static struct record calls[MOST][16];
static struct answer found;

/* All are inside init with the same arguments. */
static void at_init(int nranks)
{
	for (int i = 0; i < MOST; i++)
		free(ranks[i].index.sig);
	memset(ranks, 0, sizeof(ranks));
	memset(&evidence, 0, sizeof(evidence));
	evidence.nranks = nranks;
	evidence.ranks = ranks;
	for (int i = 0; i < nranks; i++) {
		ranks[i].present = true;
		ranks[i].cpu_share = -1;
		ranks[i].netns = 4026531840;
		ranks[i].view = (struct rank_view){
			.rank = i,
			.outcome = -1,
			.phase = PHASE_SETUP,
			.waiting = 1,
			.overdue = 1,
			.waited = 11,
			.what = "ncclCommInitRank",
			.host = "here",
			.comm_state = RECORD_COMM_INIT,
			.init_rank = i,
			.init_nranks = nranks,
			.init_id = 0xabcdef0123456789,
		};
	}
}

/* All are through it, and in call `made[i]`; rank i stands in its last when it made most. */
static void in_calls(int nranks, const int *made, int most)
{
	at_init(nranks);
	for (int i = 0; i < nranks; i++) {
		ranks[i].view.comm_state = RECORD_COMM_READY;
		ranks[i].view.phase = PHASE_TIMED;
		strcpy(ranks[i].view.what, "a scheduled call");
		for (int k = 0; k < made[i]; k++)
			calls[i][k] = (struct record){
				.ticket = (uint64_t)k + 1,
				.seq = (uint64_t)k + 1,
				.count = 100 + (uint64_t)(k * k),
				.peer = -1,
				.kind = CALL_ALL_REDUCE,
				.dtype = DT_FLOAT,
				.op = OP_SUM,
				.state = k + 1 == most ? RECORD_ISSUING : RECORD_RETURNED,
			};
		ranks[i].calls = calls[i];
		ranks[i].ncalls = (size_t)made[i];
		evidence_index(&ranks[i]);
		ranks[i].view.issued = (uint64_t)made[i];
		ranks[i].view.completed = (uint64_t)(made[i] == most ? most - 1 : made[i]);
	}
}

static void never_came(int rank, char state, const char *syscall, double share)
{
	struct evidence_rank *r = &ranks[rank];

	r->state = state;
	strcpy(r->syscall, syscall);
	r->cpu_share = share;
	r->view.waiting = r->view.overdue = 0;
	r->view.what[0] = '\0';
	r->view.comm_state = RECORD_COMM_NONE;
	r->view.init_rank = r->view.init_nranks = 0;
	r->view.init_id = 0;
}

static void gone(int rank, int process, int status)
{
	ranks[rank].view.process = process;
	ranks[rank].view.status = status;
	ranks[rank].view.waiting = ranks[rank].view.overdue = 0;
}

/* It said why, and ended. */
static void gave_up(int rank, int code, const char *text)
{
	gone(rank, PROCESS_EXITED, OUTCOME_ERROR);
	ranks[rank].view.outcome = OUTCOME_ERROR;
	ranks[rank].view.error_code = code;
	strcpy(ranks[rank].view.error, text);
}

/* The words of what was found. */
static const struct meaning *meaning_of(const struct answer *answer)
{
	static struct meaning meaning;

	answer_meaning(answer, &meaning);
	return &meaning;
}

static void expect(enum outcome outcome, const char *class, const char *culprit, int64_t seq,
		   const char *field, const char *confidence)
{
	find_answer(&evidence, NULL, &found);
	UNIT_ALL(found.outcome == outcome, !strcmp(class_name(found.class, found.outcome), class),
		 !strcmp(found.ranks, culprit), found.seq_low == seq, found.seq_high == seq,
		 !strcmp(found.field, field),
		 !strcmp(confidence_name(found.confidence), confidence),
		 strlen(meaning_of(&found)->cause) > 10 && strlen(meaning_of(&found)->fix) > 10);
	if (strcmp(class_name(found.class, found.outcome), class) || strcmp(found.ranks, culprit) ||
	    found.seq_low != seq)
		printf("  wanted %s %s %ld %s, found %s %s %ld %s\n", class, culprit, (long)seq,
		       field, class_name(found.class, found.outcome), found.ranks,
		       (long)found.seq_low, found.field);
}

static const struct {
	char state;
	const char *syscall;
	double share;
	const char *class;
} hosts[] = {
	{ 'S', "clock_nanosleep", 0, "init-missing-rank" },
	{ 0, "", -1, "init-missing-rank" },
	{ 'S', "futex", 0, "host-blocked" },
	{ 'S', "read", 0, "host-blocked" },
	{ 'R', "", 0.9, "host-busy" },
	{ 'R', "", 0.1, "init-missing-rank" },
};

/* No rank came: the one that keeps the others is not known, unless they are in different places. */
UNIT_TEST(test_none_came, "no rank came to init")
{
	for (int apart = 0; apart <= 1; apart++) {
		at_init(4);
		for (int i = 0; i < 4; i++) {
			never_came(i, 'S', "clock_nanosleep", 0);
			ranks[i].view.waiting = ranks[i].view.overdue = 1;
			strcpy(ranks[i].view.what, apart && i ? "the store" : "before init");
		}
		if (apart)
			expect(OUTCOME_HANG, "unexplained", "-", -1, "", "inconclusive");
		else
			expect(OUTCOME_HANG, "init-missing-rank", "-", 0, "", "inconclusive");
	}
	for (int absent = 0; absent <= 1; absent++) {
		for (int i = 0; i < 4; i++)
			strcpy(ranks[i].view.what, "MPI_Init");
		ranks[3].present = !absent;
		expect(OUTCOME_HANG, "init-missing-rank", "-", 0, "", "inconclusive");
		CU_ASSERT_STRING_EQUAL(
			found.notes[0],
			absent ? "3 of 4 ranks wait in 'MPI_Init'. Whether one of these or of the "
				 "rest keeps the others from communicator init cannot be told."
			       : "All 4 ranks wait in 'MPI_Init'. Whether one of them keeps the "
				 "others from communicator init cannot be told.");
	}
}

UNIT_TEST(test_missing, "a rank that never came to init")
{
	static const int sizes[] = { 2, 4, 8 };
	char name[16];

	for (size_t s = 0; s < 3; s++)
		for (int culprit = 0; culprit < sizes[s]; culprit++)
			UNIT_ROWS(row, hosts) {
				at_init(sizes[s]);
				never_came(culprit, row->state, row->syscall, row->share);
				snprintf(name, sizeof(name), "%d", culprit);
				expect(OUTCOME_HANG, row->class, name, 0, "call", "proved");
				CU_ASSERT_EQUAL(found.hang_seq, 0);
			}
	at_init(4);
	never_came(1, 'S', "pause", 0);
	never_came(2, 'S', "pause", 0);
	expect(OUTCOME_HANG, "init-missing-rank", "1,2", 0, "call", "proved");
	CU_ASSERT_STRING_EQUAL(found.theirs, "no call");
	/* it has never used NCCL; where its evidence may only be lost, or it starts, nothing says so */
	for (int whole = 0; whole < 3; whole++) {
		at_init(4);
		evidence.ranks[1].present = false;
		evidence.ranks[1].starts = whole == 2;
		strcpy(evidence.whole, whole ? "yes" : "");
		find_answer(&evidence, NULL, &found);
		CU_ASSERT_STRING_EQUAL(found.ranks, whole == 1 ? "1" : "-");
		CU_ASSERT_EQUAL(found.class == CLASS_INIT_MISSING, whole == 1);
	}
	evidence.ranks[1].starts = false;
	evidence.whole[0] = '\0';
}

/* How it ended or stopped goes before its not coming, and the place is the same. */
UNIT_TEST(test_gone_before_init, "a rank that was gone before init")
{
	at_init(4);
	never_came(2, 'T', "", -1);
	gone(2, PROCESS_STOPPED, SIGSTOP);
	expect(OUTCOME_HANG, "rank-stopped", "2", 0, "call", "proved");
	at_init(4);
	never_came(0, 0, "", -1);
	gone(0, PROCESS_KILLED, SIGKILL);
	expect(OUTCOME_DIED, "rank-killed", "0", 0, "call", "proved");
	ranks[0].view.oom_kills = 1;
	expect(OUTCOME_DIED, "rank-oom", "0", 0, "call", "proved");
	gone(0, PROCESS_KILLED, SIGSEGV); /* the count is of others */
	expect(OUTCOME_DIED, "rank-crashed", "0", 0, "call", "proved");
}

UNIT_TEST(test_arguments, "other arguments of init")
{
	char name[16];

	for (int culprit = 0; culprit < 4; culprit++) {
		snprintf(name, sizeof(name), "%d", culprit);
		at_init(4);
		ranks[culprit].view.init_nranks = 3;
		expect(OUTCOME_HANG, "init-mismatch", name, 0, "nranks", "majority");
		UNIT_ALL(!strcmp(found.theirs, "3 ranks"), !strcmp(found.majority, "4 ranks"));
		at_init(4);
		ranks[culprit].view.init_id = 5;
		expect(OUTCOME_HANG, "init-mismatch", name, 0, "id", "majority");
		CU_ASSERT_STRING_EQUAL(found.theirs, "id 0000000000000005");
		CU_ASSERT_STRING_EQUAL(found.majority, "id abcdef0123456789");
		at_init(4); /* both: the number of ranks is named */
		ranks[culprit].view.init_id = 5;
		ranks[culprit].view.init_nranks = 5;
		expect(OUTCOME_HANG, "init-mismatch", name, 0, "nranks", "majority");
	}
	at_init(8);
	ranks[1].view.init_id = ranks[6].view.init_id = 7;
	expect(OUTCOME_HANG, "init-mismatch", "1,6", 0, "id", "majority");
}

/* Whatever comes of it later: the arguments are the cause. */
UNIT_TEST(test_arguments_first, "arguments explain what follows")
{
	static const int made[] = { 1, 0, 1, 1 };

	in_calls(4, made, 1);
	ranks[1].view.init_nranks = 3;
	gone(1, PROCESS_KILLED, SIGSEGV);
	expect(OUTCOME_DIED, "init-mismatch", "1", 0, "nranks", "majority");
	at_init(4);
	ranks[3].view.init_nranks = 5;
	ranks[3].view.comm_state = RECORD_COMM_FAILED;
	gave_up(3, -EIO, "MPI_ERR_RANK");
	expect(OUTCOME_ERROR, "init-mismatch", "3", 0, "nranks", "majority");
}

UNIT_TEST(test_ties, "ties are inconclusive")
{
	at_init(2);
	ranks[1].view.init_id = 7;
	expect(OUTCOME_HANG, "init-mismatch", "-", 0, "id", "inconclusive");
	at_init(4);
	ranks[0].view.init_nranks = ranks[1].view.init_nranks = 2;
	expect(OUTCOME_HANG, "init-mismatch", "-", 0, "nranks", "inconclusive");
	at_init(3);
	ranks[0].view.init_id = 1;
	ranks[1].view.init_id = 2;
	expect(OUTCOME_HANG, "init-mismatch", "-", 0, "id", "inconclusive");
}

/* Groups of ranks have communicators of their own: another id is no mismatch then. */
UNIT_TEST(test_groups, "groups with ids of their own")
{
	at_init(4);
	for (int i = 0; i < 4; i++) {
		ranks[i].view.init_nranks = 2;
		ranks[i].view.init_id = 10 + (uint64_t)(i % 2);
		ranks[i].view.comm_state = RECORD_COMM_READY;
	}
	find_answer(&evidence, NULL, &found);
	CU_ASSERT_STRING_EQUAL(class_name(found.class, found.outcome), "unexplained");
	never_came(3, 'S', "pause", 0);
	ranks[1].view.comm_state = RECORD_COMM_INIT;
	expect(OUTCOME_HANG, "init-missing-rank", "3", 0, "call", "proved");
}

UNIT_TEST(test_unreachable, "another network")
{
	at_init(4);
	ranks[2].netns = 4026532000;
	expect(OUTCOME_HANG, "init-unreachable", "2", 0, "", "majority");
	at_init(2); /* which of the two? */
	ranks[0].netns = 1;
	expect(OUTCOME_HANG, "init-unreachable", "-", 0, "", "inconclusive");
	at_init(5); /* two groups alike, one alone */
	ranks[0].netns = ranks[1].netns = 7;
	ranks[2].netns = 8;
	expect(OUTCOME_HANG, "init-unreachable", "-", 0, "", "inconclusive");
	at_init(4); /* no two of the others can meet either */
	ranks[1].netns = 7;
	ranks[2].netns = 8;
	expect(OUTCOME_HANG, "init-unreachable", "1,2", 0, "", "inconclusive");
	at_init(4); /* a network each, as containers have: nothing strange about anyone */
	for (int i = 0; i < 4; i++)
		ranks[i].netns = 100 + (uint64_t)i;
	find_answer(&evidence, NULL, &found);
	CU_ASSERT_STRING_EQUAL(class_name(found.class, found.outcome), "unexplained");
	at_init(4); /* numbers of two hosts say nothing */
	ranks[2].netns = 4026532000;
	strcpy(ranks[2].view.host, "there");
	find_answer(&evidence, NULL, &found);
	CU_ASSERT_STRING_EQUAL(class_name(found.class, found.outcome), "unexplained");
	at_init(4); /* all alike: no rank is named */
	find_answer(&evidence, NULL, &found);
	CU_ASSERT_STRING_EQUAL(class_name(found.class, found.outcome), "unexplained");
}

/* Rank 1 has not made the call in which the others wait, as it seems: what it sends is lost. */
UNIT_TEST(test_unanswered, "a kernel that answers nothing")
{
	static const struct {
		int from, resends;
		const char *peer, *class, *pair, *confidence, *ranks;
	} cases[] = {
		{ 1, 3, "10.0.0.3", "partition", "node1>node2", "inconclusive", "-" },
		{ 1, 6, "10.0.0.3", "partition", "node1>node2", "majority", "-" },
		{ 2, 7, "10.1.0.2", "partition", "node2>node1", "majority", "-" },
		{ 1, 2, "10.0.0.3", "unexplained", "", "inconclusive", "-" }, /* it may be chance */
		{ 1, 9, "10.0.0.2", "init-missing-rank", "", "proved",
		  "1" }, /* a peer of the same host, ... */
		{ 1, 9, "10.9.9.9", "init-missing-rank", "", "proved",
		  "1" }, /* ... a stranger, ... */
		{ 1, 0, "10.0.0.3", "init-missing-rank", "", "proved", "1" },
	};

	for (size_t k = 0; k < LENGTH(cases); k++) {
		struct evidence_rank *r;

		at_init(4);
		for (int i = 0; i < 4; i++) {
			snprintf(ranks[i].view.host, sizeof(ranks[i].view.host), "node%d",
				 i / 2 + 1);
			snprintf(ranks[i].sockets.addresses, sizeof(ranks[i].sockets.addresses),
				 "10.0.0.%d 10.1.0.%d", i / 2 + 2, i / 2 + 2);
		}
		ranks[1].view.comm_state = RECORD_COMM_NONE;
		r = &ranks[cases[k].from];
		r->sockets.resends = cases[k].resends;
		snprintf(r->sockets.peer, sizeof(r->sockets.peer), "%s", cases[k].peer);
		expect(OUTCOME_HANG, cases[k].class, cases[k].ranks,
		       *cases[k].ranks == '1' ? 0 : -1, *cases[k].ranks == '1' ? "call" : "",
		       cases[k].confidence);
		CU_ASSERT_STRING_EQUAL(found.pair, cases[k].pair);
	}
}

/* NCCL gives up where there is no route, before the others' deadline. */
UNIT_TEST(test_cut_off, "no way to the others")
{
	static const char no_route[] =
		"ncclCommInitRank failed: unhandled system error (socketStartConnect: "
		"connect to 192.0.2.2<47863> failed : Network is unreachable)";

	at_init(4);
	gave_up(3, -EIO, no_route);
	ranks[3].view.comm_state = RECORD_COMM_FAILED;
	expect(OUTCOME_ERROR, "init-unreachable", "3", 0, "", "majority");
	at_init(4); /* three do not reach the fourth */
	for (int i = 1; i < 4; i++) {
		gave_up(i, -EIO, no_route);
		ranks[i].view.comm_state = RECORD_COMM_FAILED;
	}
	expect(OUTCOME_ERROR, "init-unreachable", "0", 0, "", "majority");
	at_init(2);
	gave_up(1, -EIO, no_route);
	ranks[1].view.comm_state = RECORD_COMM_FAILED;
	expect(OUTCOME_ERROR, "init-unreachable", "-", 0, "", "inconclusive");
	at_init(4); /* the root has lost the address it told the others */
	gave_up(0, -EIO,
		"ncclCommInitRank failed: unhandled system error (Call to bind failed: Cannot "
		"assign "
		"requested address)");
	ranks[0].view.comm_state = RECORD_COMM_FAILED;
	expect(OUTCOME_ERROR, "init-unreachable", "0", 0, "", "majority");
	at_init(3); /* no rank reaches another: it is no rank's own doing */
	for (int i = 0; i < 3; i++) {
		gave_up(i, -EIO, no_route);
		ranks[i].view.comm_state = RECORD_COMM_FAILED;
	}
	expect(OUTCOME_ERROR, "init-unreachable", "-", 0, "", "inconclusive");
	at_init(4); /* another error, or one long after init, is no matter of the network */
	gave_up(3, -EIO, "ncclCommInitRank failed: invalid usage");
	ranks[3].view.comm_state = RECORD_COMM_FAILED;
	find_answer(&evidence, NULL, &found);
	CU_ASSERT_STRING_EQUAL(class_name(found.class, found.outcome), "error");
	gave_up(3, -EIO, no_route);
	ranks[3].view.comm_state = RECORD_COMM_READY;
	find_answer(&evidence, NULL, &found);
	CU_ASSERT_STRING_EQUAL(class_name(found.class, found.outcome), "error");
}

UNIT_TEST(test_aborted, "aborted by one")
{
	static const int made[] = { 8, 7, 8, 8 }, same[] = { 8, 8, 8, 8 };

	in_calls(4, made, 8);
	ranks[1].view.comm_state = RECORD_COMM_ABORTED;
	ranks[1].view.aborted_after = 7;
	strcpy(ranks[1].view.what, "the end of the schedule");
	expect(OUTCOME_HANG, "aborted", "1", 8, "call", "proved");
	CU_ASSERT_EQUAL(found.hang_seq, 8);
	/* a neighbour over sockets is told, and gives up */
	gave_up(2, -EIO, "the communicator failed: remote process exited");
	expect(OUTCOME_ERROR, "aborted", "1", 8, "call", "proved");
	/* the abort breaks an earlier call of the neighbour's */
	in_calls(2, (const int[]){ 7, 7 }, 7);
	ranks[1].view.comm_state = RECORD_COMM_ABORTED;
	ranks[1].view.aborted_after = 7;
	gave_up(0, -EIO, "the communicator failed: remote process exited");
	find_answer(&evidence, NULL, &found);
	UNIT_ALL(!strcmp(class_name(found.class, found.outcome), "aborted"), found.seq_low == 8,
		 found.seq_high == 8);
	/* who aborts because of an error follows; all aborting is an agreement */
	in_calls(4, made, 8);
	ranks[2].view.comm_state = RECORD_COMM_ABORTED;
	ranks[2].view.error_code = -EIO;
	find_answer(&evidence, NULL, &found);
	CU_ASSERT_STRING_NOT_EQUAL(class_name(found.class, found.outcome), "aborted");
	in_calls(4, same, 8);
	for (int i = 0; i < 4; i++)
		ranks[i].view.comm_state = RECORD_COMM_ABORTED;
	find_answer(&evidence, NULL, &found);
	CU_ASSERT_STRING_NOT_EQUAL(class_name(found.class, found.outcome), "aborted");
}

UNIT_TEST(test_memory, "out of memory")
{
	static const int made[] = { 8, 8, 8, 7 };

	in_calls(4, made, 8);
	gave_up(3, -ENOMEM, "out of device memory: 4096 bytes do not fit");
	expect(OUTCOME_ERROR, "rank-gpu-oom", "3", 8, "call", "proved");
	CU_ASSERT_PTR_NOT_NULL(strstr(found.notes[0], "4096 bytes do not fit"));
	gave_up(2, -EIO, "the communicator failed: remote process exited"); /* followed */
	expect(OUTCOME_ERROR, "rank-gpu-oom", "3", 8, "call", "proved");
	/* another error, or the host's memory, is none of this */
	in_calls(4, made, 8);
	gave_up(3, -EIO, "cudaMalloc failed");
	find_answer(&evidence, NULL, &found);
	CU_ASSERT_STRING_EQUAL(class_name(found.class, found.outcome), "error");
	in_calls(4, made, 8);
	gone(3, PROCESS_KILLED, SIGKILL);
	expect(OUTCOME_DIED, "rank-killed", "3", 8, "call", "proved");
	ranks[3].view.oom_kills = 1;
	expect(OUTCOME_DIED, "rank-oom", "3", 8, "call", "proved");
}

/* Several ranks ended: the first to leave is named, where the order is known; a signal of the launcher's, and a rank that
 * had no more to do, are none of it. */
UNIT_TEST(test_first_to_leave, "the first to leave")
{
	static const int made[] = { 8, 8, 8, 7 };

	in_calls(4, made, 8);
	gone(3, PROCESS_EXITED, 1);
	gone(0, PROCESS_KILLED, SIGABRT);
	gone(1, PROCESS_KILLED, SIGTERM);
	expect(OUTCOME_DIED, "rank-crashed", "0", 8, "completion", "inconclusive");
	for (int i = 0; i < 4; i++)
		ranks[i].left_ns = i == 2 ? 0 : (uint64_t)(9 - i) * 100000000;
	expect(OUTCOME_DIED, "rank-exited", "3", 8, "call", "proved");
	/* a signal that no process here saw, of a preloaded program, may be the launcher's */
	ranks[0].view.status = 0;
	ranks[0].recorder = calloc(1, sizeof(*ranks[0].recorder));
	ranks[0].recorder->preloaded = 1;
	ranks[0].left_ns = ranks[3].left_ns + 10000000;
	expect(OUTCOME_DIED, "rank-exited", "3", 8, "call", "proved");
	free(ranks[0].recorder);
	ranks[0].recorder = NULL;
	ranks[0].view.status = SIGABRT; /* too close */
	expect(OUTCOME_DIED, "rank-crashed", "0", 8, "completion", "inconclusive");
	ranks[0].left_ns = 900000000;
	ranks[1].left_ns = 1;
	expect(OUTCOME_DIED, "rank-crashed", "0", 8, "completion", "inconclusive");
	/* the first waited in the call: it may have given up for another */
	ranks[1].left_ns = 980000000;
	ranks[2].left_ns = 5; /* it has aborted its communicator, and has not ended yet */
	expect(OUTCOME_DIED, "aborted", "2", 8, "completion", "inconclusive");
	ranks[2].left_ns = 0;
	ranks[3].left_ns = 950000000;
	expect(OUTCOME_DIED, "rank-crashed", "0", 8, "completion", "inconclusive");
}

/* Numbers that another process may have written: an answer, and no crash. */
UNIT_TEST(test_hostile, "hostile numbers")
{
	static const int made[] = { 8, 7, 8, 8 };

	srand(5);
	for (int round = 0; round < unit_times(5000); round++) {
		in_calls(4, made, 8);
		for (int i = 0; i < 4; i++) {
			struct rank_view *v = &ranks[i].view;

			v->comm_state = (uint32_t)(rand() % 8 < 7 ? rand() % 6 : rand());
			v->init_nranks = rand() % 4 ? rand() % 6 : -rand();
			v->init_id = (uint64_t)(rand() % 3);
			v->aborted_after = (uint64_t)rand() << 33;
			v->error_code = rand() % 2 ? 0 : -rand();
			v->process = rand() % 4;
			v->outcome = rand() % 3 ? -1 : OUTCOME_ERROR;
			v->status = OUTCOME_ERROR;
			ranks[i].present = rand() % 8 != 0;
		}
		find_answer(&evidence, NULL, &found);
		CU_ASSERT_FATAL(class_name(found.class, found.outcome) != NULL &&
				strlen(found.ranks) > 0);
	}
}
