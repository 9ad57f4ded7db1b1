/* calls_played.c: synthetic evidence of ranks that make calls on communicator 0. */
#include "find/calls_played.h"

struct evidence evidence;
struct answer found;
const int job_sizes[] = { 2, 3, 4, 8 };

struct record make_call(uint64_t ticket, uint64_t count)
{
	return (struct record){ .ticket = ticket,
				.seq = ticket,
				.count = count,
				.peer = -1,
				.kind = CALL_ALL_REDUCE,
				.dtype = DT_FLOAT,
				.op = OP_SUM,
				.state = RECORD_RETURNED };
}

uint64_t odd_count(uint64_t seq)
{
	return 1000 + (seq * seq * 7919) % 1009;
}

uint64_t step_count(uint64_t seq)
{
	return 64 * seq;
}

void calls_set_up(int nranks)
{
	memset(&evidence, 0, sizeof(evidence));
	evidence.nranks = nranks;
	evidence.ranks = calloc((size_t)nranks, sizeof(*evidence.ranks));
	for (int i = 0; i < nranks; i++) {
		struct evidence_rank *r = &evidence.ranks[i];

		r->present = true;
		r->cpu_share = -1;
		r->view = (struct rank_view){ .rank = i,
					      .outcome = -1,
					      .phase = PHASE_TIMED,
					      .waiting = 1,
					      .overdue = 1,
					      .waited = 1 };
		strcpy(r->view.what, "timed calls");
		r->calls = calloc(CALLS * 2, sizeof(*r->calls));
	}
}

void play(int rank, int n, uint64_t (*counts)(uint64_t), bool inside)
{
	struct evidence_rank *r = &evidence.ranks[rank];

	for (int k = 0; k < n; k++)
		r->calls[k] = make_call((uint64_t)k + 1, counts((uint64_t)k + 1));
	r->ncalls = (size_t)n;
	r->view.issued = (uint64_t)n;
	r->view.completed = (uint64_t)n;
	if (n > 0 && inside) {
		r->calls[n - 1].state = RECORD_ISSUING;
		r->view.completed = (uint64_t)n - 1;
	}
}

void all_play(int nranks, int n, uint64_t (*counts)(uint64_t), bool inside)
{
	calls_set_up(nranks);
	for (int i = 0; i < nranks; i++)
		play(i, n, counts, inside);
}

void all_but(int nranks, int rank, int odd, int n, uint64_t (*counts)(uint64_t), bool inside)
{
	all_play(nranks, n, counts, inside);
	play(rank, odd, counts, false);
}

size_t culprit_sets(int nranks, uint32_t *sets)
{
	sets[0] = 1;
	sets[1] = 1u << (nranks - 1);
	sets[2] = 1u << (nranks / 2);
	sets[3] = 1u | 1u << (nranks - 1);
	return nranks >= 5 ? 4 : 3;
}

void name_set(uint32_t set, char *buf)
{
	buf[0] = '\0';
	for (int i = 0; i < 32; i++)
		if (set & 1u << i)
			sprintf(buf + strlen(buf), "%s%d", buf[0] ? "," : "", i);
}

void calls_index(void)
{
	for (int i = 0; i < evidence.nranks; i++)
		evidence_index(&evidence.ranks[i]);
}

void judge(void)
{
	calls_index();
	find_answer(&evidence, NULL, &found);
}

void finish(void)
{
	judge();
	evidence_release(&evidence);
}

void finds(const char *wanted)
{
	const char *const parts[] = { outcome_name(found.outcome),
				      class_name(found.class, found.outcome), found.ranks,
				      confidence_name(found.confidence) };
	bool same = true;

	for (size_t i = 0; i < 4; i++, wanted += strcspn(wanted, " "), wanted += *wanted == ' ')
		same = same && (*wanted == '*' || (strcspn(wanted, " ") == strlen(parts[i]) &&
						   !memcmp(wanted, parts[i], strlen(parts[i]))));
	CU_ASSERT_TRUE(same);
	if (!same)
		printf("  found %s %s %s %s\n", parts[0], parts[1], parts[2], parts[3]);
}

void expect(enum outcome outcome, const char *class, const char *ranks, int64_t low, int64_t high,
	    int64_t hang)
{
	int n = (int)strcspn(class, " ");
	char wanted[128];

	finish();
	snprintf(wanted, sizeof(wanted), "%s %.*s %s %s", outcome_name(outcome), n, class, ranks,
		 class[n] ? class + n + 1 : "*");
	finds(wanted);
	UNIT_ALL(found.seq_low == low, found.seq_high == high, found.hang_seq == hang);
	if (found.seq_low != low || found.seq_high != high || found.hang_seq != hang)
		printf("  wanted %s at %ld..%ld hang %ld, found %ld..%ld hang %ld\n", wanted,
		       (long)low, (long)high, (long)hang, (long)found.seq_low, (long)found.seq_high,
		       (long)found.hang_seq);
}

bool said(const char *text)
{
	for (size_t i = 0; i < found.nnotes; i++)
		if (strncmp(found.notes[i], text, strlen(text)) == 0)
			return true;
	for (size_t i = 0; i < found.nnotes; i++)
		printf("  not '%s' but: %s\n", text, found.notes[i]);
	return false;
}

const struct meaning *meaning_of(const struct answer *answer)
{
	static struct meaning meaning;

	answer_meaning(answer, &meaning);
	return &meaning;
}
