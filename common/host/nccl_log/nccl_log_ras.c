/* nccl_log_ras.c: what ncclras prints of communicators, as text and as JSON. */

#include "base/parse.h"
#include "nccl_log/nccl_log_raw.h"

#define KINDS	"calls states errors silent dead"
#define ENTRIES 4096 /* more are no answer of ncclras' */

/* NULL: there are too many. */
static struct nccl_ras *add_entry(struct nccl_log *log, enum nccl_ras_kind kind, const char *text,
				  int64_t at)
{
	if (log->n_ras == ENTRIES)
		return NULL;
	raw_add(log->ras, log->n_ras,
		(struct nccl_ras){
			.kind = kind, .block = log->raw->ras.blocks, .text = text, .at = at });
	return &log->ras[log->n_ras - 1];
}

/* A rank that an entry names, -1: a process alone. */
static void name_rank(struct nccl_ras *entry, int rank, const char *host, int64_t pid)
{
	if (rank >= 0 && entry->n_ranks < entry->count)
		raw_add(entry->ranks, entry->n_ranks, rank);
	if (!entry->host && *host) {
		entry->host = host;
		entry->pid = pid;
	}
}

static int number_of(const struct found *found, enum row_field field)
{
	return (int)found_number(found, field, 10, -1);
}

static enum nccl_ras_kind kind_of(struct nccl_log *log, const struct found *found)
{
	return (enum nccl_ras_kind)names_find(KINDS, found_text(log, found, FIELD_kind));
}

/* A question about a communicator's calls, or so many without an answer. */
static void take_question(struct nccl_log *log, const struct found *found)
{
	enum nccl_ras_kind kind = kind_of(log, found);
	const char *text = found_text(log, found, kind == NCCL_RAS_CALLS ? FIELD_op : FIELD_name);
	struct nccl_ras *entry;

	log->raw->ras.blocks++;
	entry = add_entry(log, kind, text, -1);
	if (entry && kind >= NCCL_RAS_SILENT)
		entry->count = number_of(found, FIELD_count);
}

/* The entry of a count: the question's own, or one more of its block. A paste may lack the
 * question. */
static struct nccl_ras *entry_of(struct nccl_log *log, enum nccl_ras_kind kind, const char *text)
{
	struct nccl_ras *last = log->n_ras ? &log->ras[log->n_ras - 1] : NULL;

	if (last && last->kind == kind && last->count == 0)
		return last;
	if (last && last->kind == kind)
		return add_entry(log, kind, *text ? text : last->text, -1);
	log->raw->ras.blocks++;
	return add_entry(log, kind, *text ? text : "calls", -1);
}

/* A count, with its rank beside it if it is of one. */
static void take_count(struct nccl_log *log, const struct found *found)
{
	struct nccl_ras *entry =
		entry_of(log, kind_of(log, found), found_text(log, found, FIELD_text));

	if (!entry)
		return;
	entry->at = found_number(found, FIELD_number, 10, -1);
	entry->count = number_of(found, FIELD_count);
	name_rank(entry, number_of(found, FIELD_rank), found_text(log, found, FIELD_host),
		  found_number(found, FIELD_pid, 10, 0));
}

/* JSON tells of each rank by itself: one more of this entry, made if new. */
static void count_rank(struct nccl_log *log, enum nccl_ras_kind kind, const char *text, int64_t at)
{
	struct nccl_ras *entry = NULL;

	for (int i = log->n_ras - 1; i >= 0 && log->ras[i].block == log->raw->ras.blocks; i--)
		if (log->ras[i].kind == kind && log->ras[i].text == text && log->ras[i].at == at)
			entry = &log->ras[i];
	entry = entry ? entry : add_entry(log, kind, text, at);
	if (!entry)
		return;
	entry->count++;
	name_rank(entry, log->raw->ras.rank, log->raw->ras.host, log->raw->ras.pid);
}

/* An error of NCCL's (ncclResult_t); 7: it is in progress. */
static void take_error(struct nccl_log *log, int64_t code)
{
	static const char *const names[] = { "Unhandled CUDA error", "System error",
					     "Internal error",	     "Invalid argument",
					     "Invalid usage",	     "Remote process error" };

	if (code >= 1 && code <= (int64_t)LENGTH(names))
		count_rank(log, NCCL_RAS_ERRORS, names[code - 1], -1);
}

static void take_json(struct nccl_log *log, const struct found *found)
{
	static const char names[] =
		"hash missing_ranks rank host pid init_state async_error abort_flag unresponsive "
		"considered_dead";
	enum { HASH, MISSING, RANK, HOST, PID, INIT, ASYNC, ABORT, UNRESPONSIVE, DEAD };
	const int name = names_find(names, found_text(log, found, FIELD_name));
	const int64_t number = found_number(found, FIELD_number, 10, 0);
	const bool is_true = strcmp(found_text(log, found, FIELD_text), "true") == 0;

	log->raw->ras.blocks += name == HASH;
	if (name == RANK)
		log->raw->ras.rank = number < NCCL_LOG_RANKS ? (int)number : -1;
	else if (name == HOST)
		log->raw->ras.host = found_text(log, found, FIELD_text);
	else if (name == PID)
		log->raw->ras.pid = number;
	else if (name == INIT || name == ASYNC)
		take_error(log, number);
	else if (name == ABORT && is_true)
		count_rank(log, NCCL_RAS_STATES, "ABORT", -1);
	else if (name >= UNRESPONSIVE && is_true)
		count_rank(log, name == DEAD ? NCCL_RAS_DEAD : NCCL_RAS_SILENT, "ranks", -1);
}

void nccl_ras_take(struct nccl_log *log, const struct found *found)
{
	const char *name = found_text(log, found, FIELD_name);

	if (found->row->kind == ROW_ras)
		take_question(log, found);
	else if (found->row->kind == ROW_ras_at)
		take_count(log, found);
	else if (found->row->kind == ROW_ras_rank && log->n_ras)
		name_rank(&log->ras[log->n_ras - 1], number_of(found, FIELD_rank),
			  found_text(log, found, FIELD_host),
			  found_number(found, FIELD_pid, 10, 0));
	else if (strcmp(name, "communicators_count") == 0)
		log->raw->ras.open = true;
	else if (log->raw->ras.open && found->row->kind == ROW_ras_json)
		take_json(log, found);
	else if (log->raw->ras.open && found->row->kind == ROW_ras_count)
		count_rank(log, NCCL_RAS_CALLS, found_text(log, found, FIELD_op),
			   found_number(found, FIELD_number, 10, -1));
}

/* Returns true if another entry of its block is of the same call: JSON tells of all calls. */
static bool differs(const struct nccl_log *log, const struct nccl_ras *entry)
{
	for (int i = 0; i < log->n_ras; i++)
		if (&log->ras[i] != entry && log->ras[i].block == entry->block &&
		    log->ras[i].kind == entry->kind && log->ras[i].text == entry->text)
			return true;
	return false;
}

static int by_block(const void *a, const void *b)
{
	const struct nccl_ras *x = a, *y = b;

	return BY(x->block, y->block) ?: BY(x->kind, y->kind) ?: strcmp(x->text, y->text) ?: BY(x->at, y->at);
}

void nccl_ras_join(struct nccl_log *log)
{
	int kept = 0, n = log->n_ras;
	bool *stays = must(calloc((size_t)n + 1, sizeof(*stays)));

	for (int i = 0; i < n; i++)
		stays[i] = log->ras[i].count > 0 &&
			   (log->ras[i].kind != NCCL_RAS_CALLS || differs(log, &log->ras[i]));
	for (int i = 0; i < n; i++)
		if (stays[i])
			log->ras[kept++] = log->ras[i];
		else
			free(log->ras[i].ranks);
	log->n_ras = kept;
	nccl_sort(log->ras, kept, sizeof(*log->ras), by_block);
	free(stays);
}
