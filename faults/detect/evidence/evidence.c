/* evidence.c: taking evidence from live ranks: records, process state, system call, processor. */
#include "evidence/evidence.h"

#include <sys/syscall.h>

#include "settings/backend_kind.h"
#include "base/call_value.h"
#include "base/clock.h"
#include "base/file.h"
#include "machine/reading.h"
#include "base/dtype.h"
#include "evidence/saved.h"
#include "base/proc_stat.h"

#define PROBE_NS 100000000ull /* a processor share is one of at least so long a time */

/* Another process wrote the memory: only records that later code can rely on are taken. */
bool evidence_sound(const struct record *r, uint64_t ticket, const uint64_t *last_seq)
{
	return r->ticket == ticket && r->comm < RECORD_COMMS && r->seq >= 1 && r->seq <= ticket &&
	       r->seq > last_seq[r->comm] && r->kind < CALL_KIND_COUNT && r->dtype <= DT_COUNT &&
	       r->op >= OP_NONE && r->op < OP_COUNT && r->state >= RECORD_ISSUING &&
	       r->state <= RECORD_COMPLETED;
}

/* *sampled: times of at least one call are there. */
static size_t copy_calls(struct record *calls, struct call_times *times,
			 const struct record_memory *memory, uint64_t issued, bool *sampled)
{
	uint64_t first = issued > RECORD_RING ? issued - RECORD_RING + 1 : 1;
	uint64_t last_seq[RECORD_COMMS] = { 0 };
	size_t n = 0;

	for (uint64_t i = 0; i < RECORD_RING && i < issued; i++) {
		size_t k = (first + i) & (RECORD_RING - 1);
		const struct record *slot = &memory->ring[k];

		memcpy(&calls[n], slot, sizeof(*slot));
		atomic_thread_fence(memory_order_acquire);
		if (slot->ticket != first + i || !evidence_sound(&calls[n], first + i, last_seq))
			continue;
		if (calls[n].ticket <= memory->header.inits[calls[n].comm].born)
			continue;
		last_seq[calls[n].comm] = calls[n].seq;
		if (record_device_done(memory, first + i))
			calls[n].state = RECORD_COMPLETED;
		times[n].start_ns = memory->times[k].start_ns;
		times[n].end_ns = memory->times[k].end_ns;
		*sampled |= times[n].start_ns != 0;
		n++;
	}
	return n;
}

static void take_sites(struct evidence_rank *rank, const struct record_site *sites)
{
	size_t n = record_sites(sites);

	if (n == 1)
		return;
	rank->sites = must(malloc(n * sizeof(*sites)));
	rank->nsites = n;
	memcpy(rank->sites, sites, n * sizeof(*sites));
}

void evidence_take_calls(struct evidence_rank *rank, const struct record_memory *memory)
{
	uint64_t issued = record_get(&memory->header.issued_ticket);
	size_t room = issued < RECORD_RING ? (size_t)issued + 1 : RECORD_RING;
	struct record_header *recorder = must(aligned_alloc(64, sizeof(*recorder)));
	struct record *calls = must(malloc(room * sizeof(*calls)));
	struct call_times *times = must(malloc(room * sizeof(*times)));
	bool sampled = false;

	evidence_rank_release(rank);
	memcpy(recorder, &memory->header, sizeof(*recorder));
	rank->recorder = recorder;
	rank->undated = recorder->undated;
	rank->calls = calls;
	rank->ncalls = copy_calls(calls, times, memory, issued, &sampled);
	rank->times = sampled ? times : NULL;
	if (!sampled)
		free(times);
	rank->wrapped = issued > RECORD_RING;
	take_sites(rank, memory->sites);
	evidence_index(rank);
}

char *evidence_site(const struct evidence_rank *rank, const struct record *record, char *buf,
		    size_t len)
{
	return record_site_text(rank->sites, rank->nsites, record->site, buf, len);
}

int evidence_take_saved(struct evidence_rank *rank, int number, const void *image, size_t bytes)
{
	struct evidence_rank taken = { .stack = NULL };
	struct saved_loss loss;

	taken.image = saved_alloc(bytes);
	memcpy(taken.image, image, bytes);
	if (saved_unpack(&taken, number, taken.image, bytes, &loss)) {
		free(taken.image);
		return -EINVAL;
	}
	taken.stack = rank->stack;
	rank->stack = NULL;
	evidence_rank_release(rank);
	*rank = taken;
	return 0;
}

/* ---- as the model of a run takes it ---- */

void evidence_index(struct evidence_rank *rank)
{
	call_index_make(&rank->index, rank->calls, rank->ncalls);
}

void evidence_progress(const struct evidence *e, struct progress *progress)
{
	*progress = (struct progress){ .nranks = e->nranks,
				       .blocks = backend_lacks(e->backend, BACKEND_ASYNC),
				       .ranks = must(calloc((size_t)e->nranks + 1,
							    sizeof(*progress->ranks))) };
	for (int i = 0; i < e->nranks; i++) {
		const struct evidence_rank *r = &e->ranks[i];

		progress->ranks[i] = (struct progress_rank){ .view = &r->view,
							     .calls = r->calls,
							     .times = r->times,
							     .ncalls = r->ncalls,
							     .recorder = r->recorder,
							     .index = &r->index,
							     .sites = r->sites,
							     .nsites = r->nsites,
							     .present = r->present,
							     .mapped = r->mapped > 0 };
	}
}

void evidence_progress_release(struct progress *progress)
{
	progress_release(progress);
	free(progress->ranks);
	memset(progress, 0, sizeof(*progress));
}

/* ---- how a process is ---- */

/* clang-format off */
#define SYSCALL(name) { SYS_##name, #name },
static const struct {
	long number;
	const char *name;
} syscalls[] = {
#ifdef SYS_poll
	SYSCALL(poll) SYSCALL(select) SYSCALL(epoll_wait) SYSCALL(pause)
#endif
	SYSCALL(futex) SYSCALL(read) SYSCALL(readv) SYSCALL(recvfrom) SYSCALL(recvmsg) SYSCALL(ppoll)
	SYSCALL(pselect6) SYSCALL(epoll_pwait) SYSCALL(nanosleep) SYSCALL(clock_nanosleep)
	SYSCALL(rt_sigsuspend) SYSCALL(rt_sigtimedwait) SYSCALL(wait4) SYSCALL(waitid) SYSCALL(flock)
	SYSCALL(fcntl) SYSCALL(accept) SYSCALL(connect) SYSCALL(write) SYSCALL(writev) SYSCALL(pread64)
	SYSCALL(pwrite64) SYSCALL(fsync) SYSCALL(sendto) SYSCALL(sendmsg) SYSCALL(ioctl) SYSCALL(sched_yield)
};
/* clang-format on */

/* "net:[4026531840]" of the thread that calls. */
static uint64_t probe_netns(int pid)
{
	char path[64], text[64];
	unsigned long long number = 0;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
	n = readlink(path, text, sizeof(text) - 1);
	if (n < 0)
		return 0;
	text[n] = '\0';
	return sscanf(text, "net:[%llu]", &number) == 1 ? number : 0;
}

bool evidence_in_syscall(const struct evidence_rank *rank, const char *names)
{
	char name[sizeof(rank->syscall) + 2];

	snprintf(name, sizeof(name), " %s ", rank->syscall);
	return rank->syscall[0] && strstr(names, name);
}

/* Notes what the system call's first argument, a descriptor, stands for: a file by its path, a socket by that word. */
static void probe_file(struct evidence_rank *rank, long fd)
{
	static const char takes_fd[] = " read readv pread64 write writev pwrite64 recvfrom recvmsg "
				       "sendto sendmsg flock fcntl accept connect ioctl fsync ";
	char path[64];
	ssize_t n;

	rank->file[0] = '\0';
	snprintf(path, sizeof(path), "/proc/%d/fd/%ld", rank->view.pid, fd);
	if (!evidence_in_syscall(rank, takes_fd) || fd < 0 || fd > 1 << 20 ||
	    (n = readlink(path, rank->file, sizeof(rank->file) - 1)) < 0)
		return;
	rank->file[n] = '\0';
	if (rank->file[0] != '/')
		rank->file[strcspn(rank->file, ":[")] = '\0';
	make_printable(rank->file);
}

static void probe_state(struct evidence_rank *rank)
{
	struct proc_stat stat;
	char text[512];
	char *end;
	long number;

	python_where(&rank->python, rank->view.site, rank->where, sizeof(rank->where));
	if (proc_stat_read(&stat, rank->view.pid, 0))
		rank->state = proc_hold_read(rank->view.pid) == HOLD_FROZEN ? 'F' : stat.state;
	rank->netns = probe_netns(rank->view.pid);
	sockets_read(&rank->sockets, "", rank->view.pid);
	rank->syscall[0] = rank->file[0] = '\0';
	if (file_text("", text, sizeof(text), "/proc/%d/syscall", rank->view.pid) < 0)
		return;
	number = strtol(text, &end, 10);
	if (end == text || number < 0)
		return; /* "running", or not in a system call */
	snprintf(rank->syscall, sizeof(rank->syscall), "%d", (int)(number & 0xffff));
	for (size_t i = 0; i < LENGTH(syscalls); i++)
		if (syscalls[i].number == number)
			snprintf(rank->syscall, sizeof(rank->syscall), "%s", syscalls[i].name);
	probe_file(rank, strtol(end, NULL, 16));
}

/* Nanoseconds that the main thread has run or waited for a processor; -1: unknown. */
static double probe_ran(int pid)
{
	struct proc_account account;

	if (pid <= 0 || !proc_account_read(&account, pid))
		return -1;
	return (double)account.ran_ns + (double)account.waited_ns;
}

static bool probe_possible(const struct evidence_rank *rank)
{
	return !rank->remote && rank->view.pid > 0 && rank->view.process <= PROCESS_STOPPED;
}

void evidence_probe_add(struct evidence_probe *probe, int pid)
{
	probe->accounts = must(realloc(probe->accounts, (probe->n + 1) * sizeof(*probe->accounts)));
	probe->accounts[probe->n++] = (struct evidence_account){ pid, probe_ran(pid) };
	probe->begin_ns = clock_ns();
}

void evidence_probe_release(struct evidence_probe *probe)
{
	free(probe->accounts);
	memset(probe, 0, sizeof(*probe));
}

static double ran_then(const struct evidence_probe *probe, int pid)
{
	for (size_t i = 0; i < probe->n; i++)
		if (probe->accounts[i].pid == pid)
			return probe->accounts[i].ran_ns;
	return -1;
}

void evidence_probe(struct evidence_rank *ranks, size_t n, struct evidence_probe *probe)
{
	uint64_t until;
	double window;

	for (size_t i = 0, none = probe->n == 0; none && i < n; i++)
		if (probe_possible(&ranks[i]))
			evidence_probe_add(probe, ranks[i].view.pid);
	until = probe->begin_ns + PROBE_NS;
	if (clock_ns() < until)
		clock_sleep((double)(until - clock_ns()) * 1e-9);
	window = (double)(clock_ns() - probe->begin_ns);
	for (size_t i = 0; i < n; i++) {
		double then, now;

		if (!probe_possible(&ranks[i]))
			continue;
		then = ran_then(probe, ranks[i].view.pid);
		now = probe_ran(ranks[i].view.pid);
		ranks[i].cpu_share = then < 0 || now < then ? -1
				     : now - then < window  ? (now - then) / window
							    : 1;
		probe_state(&ranks[i]);
		/* the account of waiting is brought up to date when it runs again */
		if (ranks[i].state == 'R' && then >= 0 && now <= then)
			ranks[i].cpu_share = 1;
	}
	evidence_probe_release(probe);
}

char *evidence_doing(const struct evidence_rank *rank, char *buf, size_t len)
{
	const char *where = rank->where;

	buf[0] = '\0';
	if (rank->view.process != PROCESS_ALIVE)
		return buf;
	snprintf(buf, len, "%s%s", where[0] ? "in " : "", where);
	if (rank->syscall[0])
		text_add(buf, len, "%s system call %s%s%s", where[0] ? "," : "in", rank->syscall,
			 rank->file[0] ? " of " : "", rank->file);
	else if (rank->cpu_share >= 0)
		text_add(buf, len, "%srunning %.0f %% of the time", where[0] ? ", " : "",
			 rank->cpu_share * 100);
	return buf;
}

/* getopt takes any beginning of a long option that no other one shares. */
static bool says_fault(const char *word, size_t len)
{
	size_t name = 0;

	while (name < len && word[name] != '=')
		name++;
	return (name >= 3 && name <= 7 && strncmp(word, "--fault", name) == 0) ||
	       (name >= 3 && name <= 8 && strncmp(word, "--expect", name) == 0);
}

void evidence_blind_command(const char *command, char *to, size_t len)
{
	size_t at = 0;
	bool value = false; /* the next word belongs to what was left out */

	while (*command && len > 0) {
		size_t n = strcspn(command, " ");
		bool secret = says_fault(command, n);

		if (n > 0 && !secret && !value) {
			if (at + n + 2 > len)
				break;
			at += (size_t)snprintf(to + at, len - at, "%s%.*s", at ? " " : "", (int)n,
					       command);
		}
		if (n > 0)
			value = secret && !memchr(command, '=', n);
		command += n + (command[n] == ' ');
	}
	if (len > 0)
		to[at] = '\0';
}

void evidence_identify(struct evidence *e, const struct record_header *h)
{
	if (!e->program[0])
		snprintf(e->program, sizeof(e->program), "%.31s", h->program);
	if (!e->library[0])
		snprintf(e->library, sizeof(e->library), "%.63s", h->library);
	if (!e->backend[0] && e->library[0])
		snprintf(e->backend, sizeof(e->backend), "%s", backend_of_library(e->library));
}

const struct record_wrong *evidence_wrongs(const struct evidence_rank *rank, uint32_t *n)
{
	*n = rank->present && rank->recorder ? rank->recorder->wrongs : 0;
	*n = *n < RECORD_WRONGS ? *n : RECORD_WRONGS;
	return *n > 0 ? rank->recorder->wrong : NULL;
}

void evidence_remark(struct evidence *e, const char *fmt, ...)
{
	size_t at = strlen(e->remarks);
	va_list args;

	if (at + 160 > sizeof(e->remarks)) {
		if (at + 16 < sizeof(e->remarks) && !strstr(e->remarks, "And more."))
			strcat(e->remarks, " And more.");
		return;
	}
	if (at > 0)
		e->remarks[at++] = ' ';
	va_start(args, fmt);
	vsnprintf(e->remarks + at, sizeof(e->remarks) - at - 16, fmt, args);
	va_end(args);
}

void evidence_rank_release(struct evidence_rank *rank)
{
	if (rank->counters)
		reading_release(rank->counters);
	free(rank->counters);
	if (rank->mapped) {
		munmap(rank->image, rank->mapped);
	} else if (rank->image) {
		free(rank->image);
	} else {
		free(rank->calls);
		free(rank->times);
		free(rank->recorder);
		free(rank->sites);
	}
	free(rank->index.sig);
	memset(&rank->index, 0, sizeof(rank->index));
	rank->image = NULL;
	rank->calls = NULL;
	rank->times = NULL;
	rank->recorder = NULL;
	rank->sites = NULL;
	rank->ncalls = rank->nsites = rank->mapped = 0;
}

void evidence_release(struct evidence *evidence)
{
	for (int i = 0; evidence->ranks && i < evidence->nranks; i++) {
		evidence_rank_release(&evidence->ranks[i]);
		free(evidence->ranks[i].stack);
	}
	free(evidence->ranks);
	free(evidence->ras);
	free(evidence->said);
	memset(evidence, 0, sizeof(*evidence));
}
