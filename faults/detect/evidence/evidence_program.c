/* evidence_program.c: what is known of a rank's program beside its calls: its Python, what it
 * said last, when it left. */
#include "base/error.h"
#include "base/proc_stat.h"
#include "evidence/evidence.h"
#include "process/python.h"

/* The newest bytes of standard error, to be freed; NULL: there are none. */
static char *copy_said(const struct record_program *p)
{
	uint64_t end = record_get(&p->said), n = end < RECORD_SAID ? end : RECORD_SAID;
	char *text = n ? must(malloc(n + 1)) : NULL;

	for (uint64_t i = 0; i < n; i++) {
		char c = p->text[(end - n + i) % RECORD_SAID];

		text[i] = (char)(c ? c : '?');
	}
	if (text)
		text[n] = '\0';
	return text;
}

/* The text behind "[rank2]: ", which PyTorch puts before each line of a traceback. */
static const char *behind_rank(const char *line)
{
	size_t n = *line == '[' ? strcspn(line, "]\n") : 0;

	return n > 0 && strncmp(line + n, "]: ", 3) == 0 ? line + n + 3 : line;
}

/* The innermost line of the program's own in a traceback: "train.py:88"; `at` is the line of a
 * frame. */
static void take_frame(const char *at, char *place, size_t len)
{
	const char *path = at + strlen("  File \""), *end = strchr(path, '"'), *file = path;
	char name[512];
	int number;

	if (strncmp(at, "  File \"", strlen("  File \"")) != 0 || !end ||
	    sscanf(end, "\", line %d", &number) != 1)
		return;
	for (const char *c = path; c < end; c++)
		file = *c == '/' ? c + 1 : file;
	snprintf(name, sizeof(name), "%.*s", (int)(end - path), path);
	if (!place[0] || python_file_of(name) != PYTHON_FRAMEWORK)
		snprintf(place, len, "%.*s:%d", (int)(end - file), file, number);
}

/* Returns true for "ValueError: loss is NaN", "KeyboardInterrupt": a name, and nothing or a text
 * behind it. A line that another thread wrote between those of a traceback is none. */
static bool is_exception(const char *line)
{
	size_t n = 0;

	while (isalnum((unsigned char)line[n]) || line[n] == '_' || line[n] == '.')
		n++;
	return n > 0 && (line[n] == ':' || line[n] == '\n' || line[n] == '\0');
}

/* The line behind the newest traceback of Python's, "RuntimeError: loss is NaN", and where that
 * was raised; NULL: none. */
static const char *exception_of(const char *text, char *place, size_t len)
{
	static const char mark[] = "Traceback (most recent call last):\n";
	const char *at, *found = NULL;

	for (at = text; (at = strstr(at, mark)); at++)
		found = at + strlen(mark);
	for (; found; found = (found = strchr(found, '\n')) ? found + 1 : NULL) {
		at = behind_rank(found);
		if (is_exception(at))
			return at;
		take_frame(at, place, len);
	}
	return NULL;
}

/* The newest line that says of an error; NULL: none does. A line of a traceback, or of the
 * program's source in it, says nothing. */
static const char *error_of(const char *text)
{
	static const char *const words[] = { "rror",  "xception", "terminate called",
					     "Fatal", "abort",	  "ssert" };
	const char *found = NULL, *next;

	for (const char *line = text; line && *line; line = next) {
		size_t n = strcspn(line, "\n");

		next = line[n] ? line + n + 1 : NULL;
		for (size_t i = 0; i < LENGTH(words) && *behind_rank(line) != ' '; i++)
			if (memmem(line, n, words[i], strlen(words[i])))
				found = behind_rank(line);
	}
	return found;
}

/* Writes the exception, or error, of this line; of one of NCCL's its name and, from lines below,
 * the library's own words: "ncclRemoteError: socketPollConnect: ..." */
static void put_said(const char *line, char *said, size_t len)
{
	static const char mark[] = "Last error:\n";
	const char *words = strstr(line, mark), *name = strstr(line, "nccl");

	while (name && name[-1] != '\n' && name[-1] != ' ')
		name = strstr(name + 1, "nccl");
	if (words && name && name < words) {
		text_add(said, len, "%.*s: ", (int)strcspn(name, ":\n"), name);
		line = behind_rank(words + strlen(mark));
	}
	text_add(said, len, "%.*s", (int)strcspn(line, "\n"), line);
}

void evidence_take_program(struct evidence_rank *rank, const struct record_memory *memory)
{
	const struct record_program *p = &memory->program;
	const struct rank_view *v = &rank->view;
	char *text = copy_said(p);
	bool ended = v->process >= PROCESS_EXITED,
	     since = record_get(&p->said_ns) > v->last.enqueued_ns;
	char place[80] = "";
	const char *line =
		text && (since || ended) ? exception_of(text, place, sizeof(place)) : NULL;

	rank->python = python_of(memory, v->pid);
	rank->left_ns = record_get(&p->left_ns) > v->last.enqueued_ns ? record_get(&p->left_ns) : 0;
	if (text && !line && ended && (v->status || v->process == PROCESS_KILLED))
		line = error_of(text);
	rank->said[0] = '\0';
	if (line && place[0])
		text_add(rank->said, sizeof(rank->said), "%s: ", place);
	if (line)
		put_said(line, rank->said, sizeof(rank->said));
	make_printable(rank->said);
	if (!text || !ended) {
		free(text);
		return;
	}
	free(rank->stack);
	if (asprintf(&rank->stack,
		     "no stacks: it has ended; it wrote last on standard error:\n\n%s\n", text) < 0)
		must(NULL);
	evidence_clean(rank->stack);
	free(text);
}

void evidence_find_starters(struct evidence *e)
{
	for (int i = 0; i < e->nranks; i++) {
		struct evidence_rank *r = &e->ranks[i];
		pid_t pid = r->present && !r->remote ? r->view.pid : 0;
		struct proc_stat stat;

		r->started_by = 0;
		for (int hops = 0; hops < 16 && !r->started_by && pid > 1; hops++) {
			pid = proc_stat_read(&stat, pid, 0) ? stat.parent : 0;
			for (int k = 0; k < e->nranks && pid > 1; k++)
				if (e->ranks[k].present && !e->ranks[k].remote &&
				    e->ranks[k].view.pid == pid)
					r->started_by = k + 1;
		}
	}
}

/* How much of what a rank said of its end, "train.py:88: ValueError: loss is NaN", is line of
 * code and exception; 0: it has none. */
static size_t exception_length(const char *said)
{
	size_t n = strcspn(said, " "), more = said[n] ? strcspn(said + n + 1, ": ") : 0;

	return n > 2 && said[n - 2] >= '0' && said[n - 2] <= '9' ? n + 1 + more : 0;
}

bool evidence_lost_peer(const struct evidence_rank *rank)
{
	static const char *const words[] = { "ncclRemoteError",	      "Connection refused",
					     "Connection reset",      "onnection closed",
					     "Broken pipe",	      "No route to host",
					     "Network is unreachable" };
	/* the latter are NCCL's functions, in its "Last error" */
	static const char *const jobs[] = { "nccl",	   "NCCL",	  "Dist",
					    "socketPoll",  "socketProg",  "socketStart",
					    "socketFinal", "bootstrapNet" };
	bool job = false, lost = false;

	for (size_t i = 0; i < LENGTH(jobs); i++)
		job |= strstr(rank->said, jobs[i]) != NULL;
	for (size_t i = 0; i < LENGTH(words); i++)
		lost |= strstr(rank->said, words[i]) != NULL;
	return lost && job; /* a data base that cannot be reached is a cause of its own */
}

bool evidence_same_end(const struct evidence_rank *one, const struct evidence_rank *other)
{
	size_t n = exception_length(one->said);

	return (n > 0 && strncmp(one->said, other->said, n) == 0) ||
	       (evidence_lost_peer(one) && evidence_lost_peer(other));
}

bool evidence_communicates(const struct evidence_rank *rank)
{
	static const char *const names[] = { "send",	  "recv",      "isend",	  "irecv",
					     "all_",	  "reduce",    "scatter", "gather",
					     "barrier",	  "broadcast", "batch_",  "new_",
					     "init_proc", "monitored" };
	const char *name = strstr(rank->where, " in ");

	for (size_t i = 0; name && i < LENGTH(names); i++)
		if (strncmp(name + 4, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

bool evidence_gave_up(const struct evidence_rank *rank)
{
	static const char *const who[] = { "Dist", "c10d", "TCPStore", "atchdog", "gloo", "NCCL" };
	bool late = strstr(rank->said, "imeout") || strstr(rank->said, "imed out"), job = false;

	for (size_t i = 0; i < LENGTH(who); i++)
		job |= strstr(rank->said, who[i]) != NULL;
	return late && job; /* a download that timed out is a cause of its own */
}

bool evidence_leaves(const struct evidence_rank *rank, uint32_t comm)
{
	const struct record_header *h = rank->recorder;

	return h && h->preloaded && comm < RECORD_COMMS &&
	       ((rank->left_ns && h->exit_status >= 0) ||
		h->inits[comm].state >= RECORD_COMM_ABORTED);
}

bool evidence_may_have_ended(const struct evidence_rank *rank)
{
	const struct rank_view *v = &rank->view;
	const char *program = rank->recorder ? rank->recorder->program : "";

	return rank->present &&
	       (strcmp(program, "PyTorch") == 0 || strcmp(program, EVIDENCE_SCHEDULE) == 0) &&
	       v->process == PROCESS_ALIVE && !v->waiting && v->completed >= v->issued;
}

bool evidence_list_is_over(const struct evidence_rank *rank)
{
	return rank->recorder && strcmp(rank->recorder->program, EVIDENCE_SCHEDULE) == 0 &&
	       evidence_may_have_ended(rank);
}
