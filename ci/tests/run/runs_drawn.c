/* runs_drawn.c: runs from pictures. */
#include "run/runs_drawn.h"

struct record *add_drawn(struct drawn *d, int rank, int comm, int kind, int peer, uint64_t count)
{
	struct progress_rank *r = &d->ranks[rank];
	struct record *call = &d->calls[rank][r->ncalls++];
	uint64_t seq = 1;

	for (size_t i = 0; i + 1 < r->ncalls; i++)
		seq += d->calls[rank][i].comm == comm;
	*call = (struct record){ .ticket = r->ncalls,
				 .seq = seq,
				 .count = count,
				 .peer = peer,
				 .comm = (uint16_t)comm,
				 .kind = (uint8_t)kind,
				 .dtype = DT_FLOAT,
				 .op = OP_NONE,
				 .stream = (uint8_t)comm,
				 .state = RECORD_RETURNED };
	return call;
}

void end_drawn(struct drawn *d, int nranks, bool blocks)
{
	d->progress = (struct progress){ .ranks = d->ranks, .nranks = nranks, .blocks = blocks };
	for (int i = 0; i < nranks; i++) {
		struct progress_rank *r = &d->ranks[i];
		const struct record *newest = r->ncalls ? &d->calls[i][r->ncalls - 1] : NULL;
		bool inside = newest && newest->state == RECORD_ISSUING;

		d->views[i] = (struct rank_view){ .rank = i,
						  .outcome = -1,
						  .phase = PHASE_TIMED,
						  .issued = r->ncalls,
						  .completed = r->ncalls - inside };
		call_index_make(&d->index[i], d->calls[i], r->ncalls);
		r->present = true;
		r->view = &d->views[i];
		r->calls = d->calls[i];
		r->index = &d->index[i];
	}
	progress_members(&d->progress, &d->comms);
	progress_play(&d->progress, &d->comms);
	progress_comm_init(&d->comm, &d->progress, &d->comms.list[0], COMPARE_CALLS);
}

void draw(struct drawn *d, const char *const *rows)
{
	int nranks = 0;

	memset(d, 0, sizeof(*d));
	for (; nranks < RANKS && rows[nranks]; nranks++)
		for (const char *at = rows[nranks]; at[0] && at[1]; at += 2) {
			struct record *call;

			if (at[0] == '*') {
				d->calls[nranks][d->ranks[nranks].ncalls - 1].state =
					RECORD_ISSUING;
				continue;
			}
			if (at[0] == ' ')
				continue;
			call = at[0] == '>' || at[0] == '<'
				       ? add_drawn(d, nranks, 0,
						   at[0] == '>' ? CALL_SEND : CALL_RECV,
						   at[1] - '0', 1)
				       : add_drawn(d, nranks, at[0] >= 'a', CALL_ALL_REDUCE, -1,
						   (uint64_t)at[0]);
			if (at[1] == '*')
				call->state = RECORD_ISSUING;
		}
	end_drawn(d, nranks, true);
}

void release_drawn(struct drawn *d)
{
	for (int i = 0; i < RANKS; i++)
		free(d->index[i].sig);
	progress_comm_release(&d->comm);
	progress_release(&d->progress);
	members_list_release(&d->comms);
}

const char *awaited_by(const struct drawn *d, int rank, char *buf)
{
	const struct pending_call *in = progress_at(&d->progress, rank);

	buf[0] = '\0';
	for (int i = 0; in && i < d->progress.nranks; i++)
		if (pending_waits_for(&d->progress, in, i))
			sprintf(buf + strlen(buf), "%s%d", buf[0] ? "," : "", i);
	if (!in)
		strcpy(buf, "-");
	return buf;
}

const char *behind_in(const struct drawn *d, char *buf)
{
	bool in[RANKS] = { false };
	struct rank_set behind = { in, d->progress.nranks, 0 };
	struct awaited first = progress_first_missing(&d->comm);
	struct missing missing;

	progress_missing(&first, &behind, &missing);
	sprintf(buf, "%d: ", (int)missing.call);
	for (int i = 0; missing.call && i < behind.nranks; i++)
		if (in[i])
			sprintf(buf + strlen(buf), "%s%d", buf[strlen(buf) - 1] == ' ' ? "" : ",",
				i);
	return buf;
}
