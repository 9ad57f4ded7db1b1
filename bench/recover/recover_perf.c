/* recover_perf.c: breaks a communicator in each way, brings it back in each way, and says how long that takes and what stays behind.
 * The ranks are processes of this one; they meet in memory that they share, never over MPI. One host. */
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arguments.h"
#include "base/clock.h"
#include "base/nccl_library.h"
#include "base/output.h"
#include "base/rank_list.h"
#include "recover/recover.h"

#define SET_UP                                                                                     \
	90.0 /* seconds until a cell's first communicator works; a host with other work takes 20 */

#define NAME_ROW(id, name, help) { name, help },
struct word {
	const char *name, *help;
};
static const struct word breaks[] = { RECOVER_BREAKS(NAME_ROW) };
static const struct word cures[] = { RECOVER_CURES(NAME_ROW) };

struct job {
	unsigned breaks, cures; /* bits */
	int ranks, repeat;
	bool share, list;
	double notice, limit;
	const char *csv, *library;
};

/* A cell's result. Seconds from the break: until survivors noticed it, were out of the call, had a communicator, and had the
 * first right sum on it; of the slowest survivor, NaN: not reached. */
struct cell {
	const char *outcome;
	double noticed, out, made, first;
	double lost; /* bytes of GPU memory of the worst survivor; NaN: GPUs are shared, or not known */
	int files, shm; /* descriptors; files in /dev/shm */
	char note[256];
};

static void take_words(struct argp_state *state, void *into, const struct argument *row, char *list)
{
	bool of_cures = row->at == offsetof(struct job, cures);
	const struct word *words = of_cures ? cures : breaks;
	int n = of_cures ? RECOVER_CURE_KINDS : RECOVER_BREAK_KINDS;
	unsigned *field = (unsigned *)(void *)((char *)into + row->at), bits = 0;
	char *rest = NULL, all[160] = "all";

	for (int i = 0; i < n; i++)
		text_add(all, sizeof(all), ", %s", words[i].name);
	for (char *w = strtok_r(list, ",", &rest); w; w = strtok_r(NULL, ",", &rest)) {
		unsigned bit = strcmp(w, "all") == 0 ? (1u << n) - 1 : 0;

		for (int i = 0; i < n; i++)
			bit |= strcmp(w, words[i].name) == 0 ? 1u << i : 0;
		if (!bit)
			argument_refuse(state, "unknown --%s '%s'; there are: %s", row->name, w,
					all);
		bits |= bit;
	}
	if (!bits)
		argument_refuse(state, "--%s needs one of: %s", row->name, all);
	*field = bits;
}

static int count_shm(void)
{
	glob_t found = { .gl_pathc = 0 };
	int n = glob("/dev/shm/nccl-*", GLOB_NOSORT, NULL, &found) ? 0 : (int)found.gl_pathc;

	globfree(&found);
	return n;
}

/* ---- the processes of a cell ---- */

struct crew {
	struct recover_shared *s;
	pid_t pids[RECOVER_RANKS + 1]; /* 0: none, or it was waited for */
	int status[RECOVER_RANKS + 1];
};

static void start(struct crew *crew, int rank)
{
	crew->pids[rank] = fork();
	if (crew->pids[rank] == 0) {
		int null = open("/dev/null", O_RDWR);

		prctl(PR_SET_PDEATHSIG, SIGKILL); /* one that is stopped dies of it, too */
		dup2(null, STDOUT_FILENO);
		_exit(recover_rank(crew->s, rank));
	}
	if (crew->pids[rank] < 0) {
		perror("recover_perf: starting a rank");
		exit(OUTCOME_INTERNAL); /* ranks die with their parent */
	}
}

static void end(struct crew *crew, int rank)
{
	if (crew->pids[rank] > 0) {
		kill(crew->pids[rank], SIGKILL);
		waitpid(crew->pids[rank], &crew->status[rank], 0);
	}
	crew->pids[rank] = 0;
}

/* Takes the ranks that ended by themselves. Returns how many survivors, with the one that joins, run. */
static int look(struct crew *crew)
{
	int n = 0;

	for (int r = 0; r <= crew->s->nranks; r++) {
		if (crew->pids[r] > 0 && waitpid(crew->pids[r], &crew->status[r], WNOHANG) > 0)
			crew->pids[r] = 0;
		n += crew->pids[r] > 0 && (r == crew->s->nranks || !recover_breaks(crew->s, r));
	}
	return n;
}

/* When the communicator broke; 0: not yet, since ranks start and make it. */
static double when_broken(const struct recover_shared *s)
{
	double broke = 0;

	for (int r = s->nranks - s->broken; r < s->nranks; r++) {
		if (s->slots[r].broke <= 0)
			return 0;
		broke = fmax(broke, s->slots[r].broke);
	}
	return broke;
}

/* The ranks that are in a call for longer than the limit, and of them the call of the first: survivors, while the communicator
 * is made all ranks. The one that joins waits for the others from its start. */
static const char *stuck(const struct crew *crew, double limit, bool *in)
{
	bool broken = when_broken(crew->s) > 0;
	const char *call = NULL;

	for (int r = 0; r <= crew->s->nranks; r++) {
		const struct recover_slot *slot = &crew->s->slots[r];
		double since = slot->since;
		bool joins = r == crew->s->nranks;

		in[r] = crew->pids[r] > 0 && since > 0 &&
			clock_seconds() - since > (broken ? limit : SET_UP) &&
			(joins	  ? strncmp(slot->call, "meeting", 7) != 0
			 : broken ? !recover_breaks(crew->s, r)
				  : true);
		/* one that waits for another is not the one to name */
		if (in[r] && (!call || strncmp(call, "meeting", 7) == 0))
			call = slot->call;
	}
	return call;
}

/* Watches the ranks until the survivors ended, failed, or hang. Returns the call that hangs, NULL: none. */
static const char *attend(struct crew *crew, double limit, bool *in)
{
	struct recover_shared *s = crew->s;
	int survivors = s->nranks - s->broken + (s->cure == RECOVER_CURE_GROW);
	const char *call = NULL;

	while (look(crew) > 0 && !call) {
		bool failed = false;

		for (int r = 0; r <= s->nranks; r++)
			failed |= s->slots[r].result > RECOVER_RIGHT ||
				  (crew->pids[r] == 0 && crew->status[r] != 0 && r < s->nranks &&
				   !recover_breaks(s, r));
		if (failed) { /* the others get a moment to say the same */
			clock_sleep(0.2);
			break;
		}
		if (s->met[6] >= survivors && !s->cleared) {
			for (int r = s->nranks - s->broken; r < s->nranks; r++)
				end(crew, r);
			s->cleared = true;
		}
		call = stuck(crew, limit, in);
		clock_sleep(2e-3);
	}
	if (call) { /* others came to it later */
		clock_sleep(0.3);
		call = stuck(crew, limit, in);
	}
	return call;
}

/* ---- a cell ---- */

static void judge(const struct crew *crew, const char *call, const bool *in, double limit,
		  struct cell *cell)
{
	const struct recover_shared *s = crew->s;
	double broke = when_broken(s);
	int worst = RECOVER_RIGHT;

	*cell = (struct cell){ .noticed = NAN, .out = NAN, .made = NAN, .first = NAN, .lost = NAN };
	for (int r = 0; r < s->nranks - s->broken; r++) {
		const struct recover_slot *slot = &s->slots[r];
		int result = slot->result;

#define LATEST(field)                                                                              \
	cell->field =                                                                              \
		slot->field > 0 ? fmax(cell->field, fmax(slot->field - broke, 0)) : cell->field
		LATEST(noticed);
		LATEST(out);
		LATEST(made);
		LATEST(first);
#undef LATEST
		if (s->gpus == s->nranks)
			cell->lost = fmax(cell->lost, (double)slot->lost);
		cell->files = slot->files > cell->files ? slot->files : cell->files;
		if (slot->why[0] && (!cell->note[0] || result > worst))
			snprintf(cell->note, sizeof(cell->note), "rank %d: %s", r, slot->why);
		worst = result > worst					   ? result
			: result == RECOVER_RUNS && worst == RECOVER_RIGHT ? RECOVER_RUNS
									   : worst;
		if (WIFSIGNALED(crew->status[r]) && !call && !cell->note[0])
			snprintf(cell->note, sizeof(cell->note),
				 "rank %d was killed by signal %d in %s", r,
				 WTERMSIG(crew->status[r]), slot->call ? slot->call : "no call");
	}
	cell->outcome = worst == RECOVER_LACKS	 ? "n/a"
			: broke <= 0		 ? "void"
			: call			 ? "hangs"
			: worst == RECOVER_RIGHT ? "right"
			: worst == RECOVER_WRONG ? "wrong"
						 : "error";
	if (call) {
		char who[96];

		snprintf(cell->note, sizeof(cell->note), "%s%s: %s for %.3g s",
			 broke > 0 ? "" : "before anything broke: ",
			 in[s->nranks] ? "the one that joins"
				       : rank_list_words(in, s->nranks, who, sizeof(who)),
			 call, broke > 0 ? limit : SET_UP);
	}
}

/* Why a cell can't be, NULL: it can. */
static const char *cannot(const struct recover_shared *s)
{
	static const char *const since[] = {
		[RECOVER_CURE_SHRINK] = "ncclCommShrink is in NCCL 2.27 and later",
		[RECOVER_CURE_SHRINK_ABORT] = "ncclCommShrink is in NCCL 2.27 and later",
		[RECOVER_CURE_REVOKE] = "ncclCommRevoke is in NCCL 2.28.7 and later",
		[RECOVER_CURE_GROW] = "ncclCommGrow is in NCCL 2.29 and later"
	};

	if (s->lacks >> s->cure & 1)
		return since[s->cure];
	if (s->how == RECOVER_INIT && s->cure != RECOVER_CURE_ABORT)
		return "a communicator that was never made can be aborted alone";
	if (s->how == RECOVER_TWO && s->nranks < 3)
		return "of two ranks two leave none; -g 3";
	return NULL;
}

static void run_cell(const struct job *job, struct recover_shared *s, struct cell *cell)
{
	struct crew crew = { .s = s };
	bool in[RECOVER_RANKS + 1] = { false };
	int before = count_shm();
	const char *call;

	memset(s->slots, 0, sizeof(s->slots));
	memset((void *)s->met, 0, sizeof(s->met));
	s->cleared = false;
	s->nranks = job->ranks;
	s->broken = s->how == RECOVER_TWO ? 2 : 1;
	s->notice = job->notice;
	for (int r = 0; r < s->nranks + (s->cure == RECOVER_CURE_GROW); r++)
		start(&crew, r);
	call = attend(&crew, job->limit, in);
	for (int r = 0; r <= s->nranks; r++)
		end(&crew, r);
	judge(&crew, call, in, job->limit, cell);
	cell->shm = count_shm() - before;
}

/* ---- output ---- */

static void put_ms(FILE *out, double seconds)
{
	if (isfinite(seconds))
		fprintf(out, " %9.1f", seconds * 1e3);
	else
		fputs("         -", out);
}

static void print_cell(const struct recover_shared *s, const struct cell *c)
{
	printf(" %-11s %-13s %-7s", breaks[s->how].name, cures[s->cure].name, c->outcome);
	put_ms(stdout, c->noticed);
	put_ms(stdout, c->out);
	put_ms(stdout, c->made);
	put_ms(stdout, c->first);
	if (isfinite(c->lost))
		printf(" %8.1f", c->lost / 1048576);
	else
		printf(" %8s", "-");
	printf(" %5d %4d  %s\n", c->files, c->shm, c->note);
	fflush(stdout);
}

static void csv_number(FILE *out, double value)
{
	if (isfinite(value))
		fprintf(out, ",%.6g", value);
	else
		fputs(",", out);
}

static void csv_cell(FILE *out, const struct recover_shared *s, const struct cell *c, int run)
{
	char version[32];

	nccl_version_text(s->version, version, sizeof(version));
	fprintf(out, "%s,%s,%d,%d,%s,%d,%s", breaks[s->how].name, cures[s->cure].name, s->nranks,
		s->gpus, version, run, c->outcome);
	csv_number(out, c->noticed * 1e3);
	csv_number(out, c->out * 1e3);
	csv_number(out, c->made * 1e3);
	csv_number(out, c->first * 1e3);
	csv_number(out, c->lost / 1048576);
	fprintf(out, ",%d,%d,\"%s\"\n", c->files, c->shm, c->note);
	fflush(out);
}

/* ---- the program ---- */

#define OF(kind, field) ARGUMENT(kind, struct job, field)
static const struct argument rows[] = {
	{ "break", 0, "NAME[,NAME]|all", OF(OWN, breaks), .take = take_words },
	{ "cure", 0, "NAME[,NAME]|all", OF(OWN, cures), .take = take_words },
	{ "ngpus", 'g', "N", OF(WHOLE, ranks), .min = 2, .most = RECOVER_RANKS },
	{ "share-gpu", 0, NULL, OF(FLAG, share) },
	{ "repeat", 0, "N", OF(WHOLE, repeat), .min = 1, .most = 1000 },
	{ "notice", 0, "SECONDS", OF(REAL, notice), .min = 0.01, .most = 600 },
	{ "limit", 0, "SECONDS", OF(REAL, limit), .min = 0.5, .most = 600 },
	{ "csv", 0, "FILE", OF(TEXT, csv) },
	{ "nccl-lib", 0, "FILE", OF(TEXT, library) },
	{ "list", 0, NULL, OF(FLAG, list) },
};

static void check(struct argp_state *state, void *into)
{
	struct job *job = into;
	const char *world = getenv("OMPI_COMM_WORLD_SIZE");

	if (world && strcmp(world, "1") != 0)
		argument_refuse(state, "it starts its ranks by itself: without mpirun, and -g N");
	if ((job->breaks >> RECOVER_TWO & 1) && job->ranks < 3 &&
	    job->breaks != (1u << RECOVER_BREAK_KINDS) - 1)
		argument_refuse(state, "--break=two-killed needs -g 3 or more");
}

static const struct argument_table table = {
	.program = "recover_perf",
	.rows = rows,
	.n = sizeof(rows) / sizeof(rows[0]),
	.check = check,
};

static void print_list(void)
{
	puts("# --break");
	for (int i = 0; i < RECOVER_BREAK_KINDS; i++)
		printf("%-13s %s\n", breaks[i].name, breaks[i].help);
	puts("# --cure");
	for (int i = 0; i < RECOVER_CURE_KINDS; i++)
		printf("%-13s %s\n", cures[i].name, cures[i].help);
}

/* In a process of its own: one that has opened CUDA must not fork. Returns the machine's GPUs; exits where the program lacks
 * something. */
static int probe(struct recover_shared *s, const char *library)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		nccl_library_ask(library);
		_exit(recover_probe(s));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) {
		fputs("recover_perf: the search for GPUs failed\n", stderr);
		exit(OUTCOME_INTERNAL);
	}
	if (WEXITSTATUS(status) != 0) {
		fprintf(stderr, "recover_perf: %s\n", s->slots[0].why);
		exit(OUTCOME_UNSUPPORTED);
	}
	return s->gpus;
}

static void print_head(const struct recover_shared *s, const struct job *job)
{
	char version[32];

	nccl_version_text(s->version, version, sizeof(version));
	printf("# recover_perf: %d ranks on %d GPU%s, NCCL %s; a wait of %g s is a hang to the "
	       "survivors\n"
	       "# Milliseconds from the break until the slowest survivor noticed it, was out of "
	       "the call, had a\n"
	       "# new communicator, and had the first right sum on it. Left behind: MiB of GPU "
	       "memory, descriptors,\n"
	       "# files of NCCL in /dev/shm\n"
	       "#break       cure          outcome   noticed       out       new     first      "
	       "MiB files  shm\n",
	       job->ranks, s->gpus, s->gpus > 1 ? "s" : "", version, job->notice);
	fflush(stdout);
}

/* Runs all cells. A hang or an error is a result here, since the program measures; wrong data alone fail it. */
static enum outcome run_all(const struct job *job, struct recover_shared *s, FILE *csv)
{
	int wrong = 0;

	for (int run = 0; run < job->repeat; run++)
		for (int cell = 0; cell < RECOVER_BREAK_KINDS * RECOVER_CURE_KINDS; cell++) {
			struct cell found;

			s->how = (enum recover_break)(cell / RECOVER_CURE_KINDS);
			s->cure = (enum recover_cure)(cell % RECOVER_CURE_KINDS);
			if (!(job->breaks >> s->how & 1) || !(job->cures >> s->cure & 1))
				continue;
			s->nranks = job->ranks;
			if (cannot(s))
				found = (struct cell){ "n/a", NAN, NAN, NAN, NAN, NAN, 0, 0, "" };
			else
				run_cell(job, s, &found);
			if (cannot(s))
				snprintf(found.note, sizeof(found.note), "%s", cannot(s));
			print_cell(s, &found);
			if (csv)
				csv_cell(csv, s, &found, run);
			wrong += strcmp(found.outcome, "wrong") == 0;
		}
	return wrong ? OUTCOME_WRONG_DATA : OUTCOME_OK;
}

int main(int argc, char **argv)
{
	struct job job = { .breaks = (1u << RECOVER_BREAK_KINDS) - 1,
			   .cures = (1u << RECOVER_CURE_KINDS) - 1,
			   .ranks = 2,
			   .repeat = 1,
			   .notice = 0.5,
			   .limit = 10 };
	struct recover_shared *s;
	enum outcome outcome;
	FILE *csv = NULL;
	int gpus;

	arguments_read(&table, argc, argv, &job);
	if (job.list) {
		print_list();
		return 0;
	}
	s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s == MAP_FAILED) {
		perror("recover_perf: shared memory");
		return OUTCOME_INTERNAL;
	}
	if (job.csv) {
		csv = fopen(job.csv, "w");
		if (!csv) {
			fprintf(stderr, "recover_perf: %s: %s\n", job.csv, strerror(errno));
			return OUTCOME_USAGE;
		}
		fputs("break,cure,nranks,gpus,nccl,run,outcome,noticed_ms,out_ms,new_ms,first_ms,"
		      "lost_mib,files,"
		      "shm,note\n",
		      csv);
	}
	gpus = probe(s, job.library);
	if (gpus < job.ranks && !job.share) {
		fprintf(stderr, "recover_perf: %d ranks and %d GPUs: --share-gpu puts all on one\n",
			job.ranks, gpus);
		return OUTCOME_UNSUPPORTED;
	}
	nccl_library_ask(job.library);
	s->gpus = job.share ? 1 : job.ranks;
	s->bytes = (size_t)256 << 20;
	print_head(s, &job);
	outcome = run_all(&job, s, csv);
	if (csv && output_close(csv) != 0) {
		fprintf(stderr, "recover_perf: %s: cannot be written\n", job.csv);
		return OUTCOME_INTERNAL;
	}
	return (int)outcome;
}
