/* test_call.c: the chain: calls that filter, watch and backend see, and their order. */
#include "rig/unit.h"

#include "backend/call.h"

/* All events as letters: W watch.call, I issue, R watch.returned, B and E groups. */
struct note {
	struct backend be;
	char log[64];
	int issue_rc;
	uint64_t next_ticket, issued_ticket, returned_ticket;
	int returned_rc;
	size_t seen_count, issued_count;
};

static void put(struct note *note, char letter)
{
	size_t n = strlen(note->log);

	note->log[n] = letter;
}

static int note_issue(struct backend *be, const struct call *call, uint64_t ticket)
{
	struct note *note = (struct note *)be;

	put(note, 'I');
	note->issued_ticket = ticket;
	note->issued_count = call->count;
	return note->issue_rc;
}

static int note_begin(struct backend *be)
{
	put((struct note *)be, 'B');
	return -1;
}

static int note_end(struct backend *be)
{
	put((struct note *)be, 'E');
	return -2;
}

static const struct backend_ops note_ops = { .issue = note_issue,
					     .group_begin = note_begin,
					     .group_end = note_end };

static uint64_t watch_call(void *ctx, const struct call *call)
{
	struct note *note = ctx;

	put(note, 'W');
	note->seen_count = call->count;
	return note->next_ticket++;
}

static void watch_returned(void *ctx, uint64_t ticket, int rc)
{
	struct note *note = ctx;

	put(note, 'R');
	note->returned_ticket = ticket;
	note->returned_rc = rc;
}

static struct note note;
static struct watch watch;
static struct chain chain; /* watched by default */

static void set_up(void)
{
	note = (struct note){ .be = { .ops = &note_ops }, .next_ticket = 40 };
	watch = (struct watch){ .ctx = &note, .call = watch_call, .returned = watch_returned };
	chain = (struct chain){ .backend = &note.be, .watch = &watch };
}

static const struct call call = { .kind = CALL_ALL_REDUCE, .count = 7, .dtype = DT_FLOAT };

UNIT_TEST(test_plain, "a call without watch and filter")
{
	set_up();
	chain.watch = NULL;
	UNIT_ALL(chain_call(&chain, &call) == 0, !strcmp(note.log, "I"), note.issued_count == 7);
	note.issue_rc = -5;
	CU_ASSERT_EQUAL(chain_call(&chain, &call), -5);
}

UNIT_TEST(test_watched, "watch sees the call before and after")
{
	set_up();
	note.issue_rc = -5;
	UNIT_ALL(chain_call(&chain, &call) == -5, !strcmp(note.log, "WIR"),
		 note.issued_ticket == 40, note.returned_ticket == 40, note.returned_rc == -5);
	note.issue_rc = 0;
	UNIT_ALL(chain_emit(&chain, &call) == 0, note.returned_ticket == 41, note.returned_rc == 0);
}

UNIT_TEST(test_watch_without_hooks, "a watch may have no hooks")
{
	set_up();
	watch = (struct watch){ .ctx = &note };
	UNIT_ALL(chain_call(&chain, &call) == 0, !strcmp(note.log, "I"));
}

/* Makes the call `*state` times, each with one element more; 0 times returns -9. */
static int filter_issue(void *state, const struct call *asked, struct chain *below)
{
	struct call changed = *asked;
	int rc = -9;

	for (int i = 0; i < *(int *)state; i++) {
		changed.count++;
		rc = chain_emit(below, &changed);
	}
	return rc;
}

UNIT_TEST(test_filter, "a filter changes, doubles and drops")
{
	int times = 2;
	struct call_filter filter = { .state = &times, .issue = filter_issue };

	set_up();
	chain.filter = &filter;
	UNIT_ALL(chain_call(&chain, &call) == 0, !strcmp(note.log, "WIRWIR"));
	CU_ASSERT_EQUAL(note.seen_count, 9); /* the recorder sees the call that is made */
	CU_ASSERT_EQUAL(note.issued_count, 9);
	times = 0;
	UNIT_ALL(chain_call(&chain, &call) == -9, !strcmp(note.log, "WIRWIR"));
	CU_ASSERT_EQUAL(chain.emitted, 2); /* calls made, not requested */
}

static int comm_rc;

static int open_comm(struct backend *be, const struct comm_request *request)
{
	CU_ASSERT_EQUAL(request->nranks, 5);
	strcat(((struct note *)be)->log, "O");
	return comm_rc;
}

static void watch_init(void *ctx, uint32_t comm, enum comm_event event,
		       const struct comm_request *request)
{
	CU_ASSERT_EQUAL(comm, request->comm);
	strcat(note.log, event == COMM_INIT ? "i" : event == COMM_READY ? "r" : "f");
}

/* The watch sees init before and after; a hook that the backend lacks is reported. */
UNIT_TEST(test_communicators, "communicators")
{
	static const struct backend_ops ops = { .comm_open = open_comm };
	const struct comm_request request = { .comm = 2, .rank = 1, .nranks = 5 };

	set_up();
	watch = (struct watch){ .ctx = &note, .comm = watch_init };
	note.be.ops = &ops;
	UNIT_ALL(chain_emit_init(&chain, &request) == 0, !strcmp(note.log, "iOr"));
	comm_rc = -5;
	UNIT_ALL(chain_emit_init(&chain, &request) == -5, !strcmp(note.log, "iOriOf"));
}

UNIT_TEST(test_groups, "groups are not recorded")
{
	set_up();
	UNIT_ALL(chain_group_begin(&chain) == -1, chain_group_end(&chain) == -2,
		 !strcmp(note.log, "BE"));
}

UNIT_TEST(test_names, "names")
{
	static const char *const names[] = { "AllReduce", "AllGather", "ReduceScatter", "Broadcast",
					     "Reduce",	  "AlltoAll",  "AlltoAllv",	"Gather",
					     "Scatter",	  "Send",      "Recv" };

	CU_ASSERT_EQUAL(LENGTH(names), CALL_KIND_COUNT);
	for (int kind = 0; kind < CALL_KIND_COUNT; kind++)
		CU_ASSERT_STRING_EQUAL(call_kind_name(kind), names[kind]);
	CU_ASSERT_STRING_EQUAL(call_kind_name(CALL_KIND_COUNT), "unknown");
	CU_ASSERT_STRING_EQUAL(call_kind_name((enum call_kind) - 1), "unknown");
}
