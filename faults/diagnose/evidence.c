/* evidence.c: taking evidence from live ranks: sound records, process state, system call, processor share. */
#include "evidence.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "call.h"
#include "clock.h"
#include "dtype.h"

/* Whatever stands in memory that another process wrote: only what later code can rely on is taken. */
static bool record_sound(const struct record *r, uint64_t ticket, const uint64_t *last_seq)
{
	return r->ticket == ticket && r->comm < RECORD_COMMS && r->seq >= 1 && r->seq <= ticket &&
	       r->seq > last_seq[r->comm] && r->kind < CALL_KIND_COUNT && r->dtype < DT_COUNT &&
	       r->op >= OP_NONE && r->op < OP_COUNT &&
	       (r->state == RECORD_ISSUING || r->state == RECORD_RETURNED);
}

int evidence_take_calls(struct evidence_rank *rank, const struct record_memory *memory)
{
	uint64_t issued = atomic_load_explicit(&memory->header.issued_ticket, memory_order_acquire);
	uint64_t first = issued > RECORD_RING ? issued - RECORD_RING + 1 : 1;
	uint64_t last_seq[RECORD_COMMS] = { 0 };
	struct record *calls;
	size_t n = 0;

	calls = malloc((size_t)(issued - first + 1) * sizeof(*calls) + 1);
	if (!calls)
		return -ENOMEM;
	for (uint64_t i = 0; i < RECORD_RING && i < issued; i++) {
		const struct record *slot = &memory->ring[(first + i) & (RECORD_RING - 1)];

		memcpy(&calls[n], slot, sizeof(*slot));
		atomic_thread_fence(memory_order_acquire);
		if (slot->ticket != first + i || !record_sound(&calls[n], first + i, last_seq))
			continue;
		last_seq[calls[n].comm] = calls[n].seq;
		n++;
	}
	free(rank->calls);
	rank->calls = calls;
	rank->ncalls = n;
	rank->wrapped = issued > RECORD_RING;
	return 0;
}

static const struct {
	long number;
	const char *name;
} syscalls[] = {
#ifdef SYS_poll
	{ SYS_poll, "poll" },
	{ SYS_select, "select" },
	{ SYS_epoll_wait, "epoll_wait" },
	{ SYS_pause, "pause" },
#endif
	{ SYS_futex, "futex" },
	{ SYS_read, "read" },
	{ SYS_readv, "readv" },
	{ SYS_recvfrom, "recvfrom" },
	{ SYS_recvmsg, "recvmsg" },
	{ SYS_ppoll, "ppoll" },
	{ SYS_pselect6, "pselect6" },
	{ SYS_epoll_pwait, "epoll_pwait" },
	{ SYS_nanosleep, "nanosleep" },
	{ SYS_clock_nanosleep, "clock_nanosleep" },
	{ SYS_rt_sigsuspend, "rt_sigsuspend" },
	{ SYS_rt_sigtimedwait, "rt_sigtimedwait" },
	{ SYS_wait4, "wait4" },
	{ SYS_waitid, "waitid" },
	{ SYS_flock, "flock" },
	{ SYS_fcntl, "fcntl" },
	{ SYS_accept, "accept" },
	{ SYS_connect, "connect" },
	{ SYS_write, "write" },
	{ SYS_sendto, "sendto" },
	{ SYS_sendmsg, "sendmsg" },
	{ SYS_ioctl, "ioctl" },
	{ SYS_sched_yield, "sched_yield" },
};

/* The text of /proc/PID/NAME; false when there is none to be had. */
static bool read_proc(int pid, const char *name, char *buf, size_t len)
{
	char path[64];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	f = fopen(path, "re");
	if (!f)
		return false;
	n = fread(buf, 1, len - 1, f);
	fclose(f);
	buf[n] = '\0';
	return n > 0;
}

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

static void probe_state(struct evidence_rank *rank)
{
	char text[512];
	const char *paren;
	char *end;
	long number;

	/* the name in brackets may itself hold brackets and blanks: the state follows the last one */
	if (read_proc(rank->view.pid, "stat", text, sizeof(text)) && (paren = strrchr(text, ')')) &&
	    paren[1] == ' ')
		rank->state = paren[2];
	rank->netns = probe_netns(rank->view.pid);
	rank->syscall[0] = '\0';
	if (!read_proc(rank->view.pid, "syscall", text, sizeof(text)))
		return;
	number = strtol(text, &end, 10);
	if (end == text || number < 0)
		return; /* "running", or not in a system call */
	snprintf(rank->syscall, sizeof(rank->syscall), "call %d", (int)(number & 0xffff));
	for (size_t i = 0; i < sizeof(syscalls) / sizeof(syscalls[0]); i++)
		if (syscalls[i].number == number)
			snprintf(rank->syscall, sizeof(rank->syscall), "%s", syscalls[i].name);
}

/* Nanoseconds that the main thread has run or been ready to: on a busy host a loop gets no more than its share. -1:
 * unknown. */
static double probe_ran(int pid)
{
	char text[128];
	unsigned long long ran, waited;

	if (!read_proc(pid, "schedstat", text, sizeof(text)) ||
	    sscanf(text, "%llu %llu", &ran, &waited) != 2)
		return -1;
	return (double)ran + (double)waited;
}

static bool probe_possible(const struct evidence_rank *rank, const char *host)
{
	return rank->present && rank->view.pid > 0 && rank->view.process <= PROCESS_STOPPED &&
	       (!rank->view.host[0] || strcmp(rank->view.host, host) == 0);
}

void evidence_probe(struct evidence *evidence)
{
	double *ran = calloc((size_t)evidence->nranks + 1, sizeof(*ran));
	char host[64] = "";
	uint64_t begin = clock_ns();
	double window;

	gethostname(host, sizeof(host) - 1);
	for (int i = 0; i < evidence->nranks; i++) {
		evidence->ranks[i].cpu_share = -1;
		if (ran && probe_possible(&evidence->ranks[i], host))
			ran[i] = probe_ran(evidence->ranks[i].view.pid);
	}
	clock_nap(0.1);
	window = (double)(clock_ns() - begin);
	for (int i = 0; i < evidence->nranks; i++) {
		struct evidence_rank *rank = &evidence->ranks[i];
		double now;

		if (!probe_possible(rank, host))
			continue;
		now = probe_ran(rank->view.pid);
		if (ran && ran[i] >= 0 && now >= ran[i])
			rank->cpu_share = (now - ran[i]) / window;
		probe_state(rank);
	}
	free(ran);
}

void evidence_release(struct evidence *evidence)
{
	for (int i = 0; evidence->ranks && i < evidence->nranks; i++) {
		free(evidence->ranks[i].calls);
		free(evidence->ranks[i].stack);
	}
	free(evidence->ranks);
	free(evidence->witness);
	memset(evidence, 0, sizeof(*evidence));
}
