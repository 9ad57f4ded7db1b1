/* programs.c: schedules as programs: in C over NCCL and over MPI, as a script of PyTorch. */
#include "verify/programs.h"

#include "base/built_in.h"
#include "process/task.h"

#define BUILT_SECONDS 60 /* for the compiler and mpirun */

BUILT_IN(program_nccl, "faults/verify/program_nccl.txt");
BUILT_IN(program_mpi, "faults/verify/program_mpi.txt");
BUILT_IN(program_torch, "faults/verify/program_torch.txt");

/* Names that each kind of program has for types and operators. */
static const char *const types[DT_COUNT + 1][PROGRAM_COUNT] = {
	[DT_INT8] = { "", "ncclInt8", "MPI_INT8_T", "torch.int8" },
	[DT_UINT8] = { "", "ncclUint8", "MPI_UINT8_T", "torch.uint8" },
	[DT_INT32] = { "", "ncclInt32", "MPI_INT32_T", "torch.int32" },
	[DT_UINT32] = { "", "ncclUint32", "MPI_UINT32_T", "torch.int32" },
	[DT_INT64] = { "", "ncclInt64", "MPI_INT64_T", "torch.int64" },
	[DT_UINT64] = { "", "ncclUint64", "MPI_UINT64_T", "torch.int64" },
	[DT_HALF] = { "", "ncclFloat16", "MPI_UINT16_T", "torch.float16" },
	[DT_FLOAT] = { "", "ncclFloat", "MPI_FLOAT", "torch.float32" },
	[DT_DOUBLE] = { "", "ncclDouble", "MPI_DOUBLE", "torch.float64" },
	[DT_BFLOAT16] = { "", "ncclBfloat16", "MPI_UINT16_T", "torch.bfloat16" },
	[DT_F8E4M3] = { "", "ncclFloat8e4m3", "MPI_UINT8_T", "torch.uint8" },
	[DT_F8E5M2] = { "", "ncclFloat8e5m2", "MPI_UINT8_T", "torch.uint8" },
	[DT_COUNT] = { "", "ncclFloat", "MPI_FLOAT", "torch.float32" },
};

static const char *const ops[OP_COUNT][PROGRAM_COUNT] = {
	[OP_SUM] = { "", "ncclSum", "MPI_SUM", "dist.ReduceOp.SUM" },
	[OP_PROD] = { "", "ncclProd", "MPI_PROD", "dist.ReduceOp.PRODUCT" },
	[OP_MAX] = { "", "ncclMax", "MPI_MAX", "dist.ReduceOp.MAX" },
	[OP_MIN] = { "", "ncclMin", "MPI_MIN", "dist.ReduceOp.MIN" },
	[OP_AVG] = { "", "ncclAvg", "MPI_SUM", "dist.ReduceOp.AVG" },
	[OP_MULSUM] = { "", "ncclSum", "MPI_SUM", "dist.ReduceOp.SUM" },
};

const char *program_name(enum program program)
{
	static const char *const names[PROGRAM_COUNT] = { "text", "nccl", "mpi", "torch" };

	return names[program];
}

/* A program that is printed. */
struct printer {
	FILE *out;
	enum program program;
	const struct schedule *schedule;
};

/* Bytes that the largest call needs. */
static size_t bytes_of(const struct schedule *s)
{
	size_t most = 64;

	for (int i = 0; i < s->nranks; i++)
		for (size_t k = 0; k < s->ranks[i].n; k++) {
			const struct step *step = &s->ranks[i].steps[k];
			size_t bytes = step->count * (size_t)s->groups[step->group].n *
				       (step->dtype < DT_COUNT ? dtype_size(step->dtype) : 8);

			most = bytes > most ? bytes : most;
		}
	return most;
}

static void print_groups(const struct printer *p)
{
	for (size_t g = 0; g < p->schedule->ngroups; g++) {
		const struct schedule_group *group = &p->schedule->groups[g];

		if (p->program == PROGRAM_TORCH)
			fprintf(p->out, "g%zu = dist.new_group([", g);
		else if (p->program == PROGRAM_NCCL)
			fprintf(p->out, "\tncclComm_t g%zu = group(%zu, %d, (int[]){ ", g, g,
				group->n);
		else
			fprintf(p->out, "\tMPI_Comm g%zu = group(%d, (int[]){ ", g, group->n);
		for (int i = 0; i < group->n; i++)
			fprintf(p->out, "%s%d", i ? ", " : "", group->ranks[i]);
		fprintf(p->out, p->program == PROGRAM_TORCH ? "])  # %s\n" : " }); /* %s */\n",
			group->name);
	}
}

/* A call's name in the program: within a group of calls sends do not wait. */
static void print_call(const struct printer *p, const struct step *step)
{
	const char *op = step->op >= 0 ? ops[step->op][p->program] : ops[OP_SUM][p->program];
	const char *begun = step->flags & RECORD_ALONE || !call_is_pair(step->kind) ? "" : "i";
	const char *name = schedule_kind_name(step->kind);
	int peer = step->peer;

	if (p->program != PROGRAM_TORCH) {
		fprintf(p->out, "%s%s(g%u, %lu, %d, %s, %s", begun, name, step->group, step->count,
			peer, types[step->dtype][p->program], op);
		if (p->program == PROGRAM_NCCL)
			fprintf(p->out, ", streams[%d]",
				p->schedule->streams == STREAMS_ONE ? 0 : step->group);
		putc(')', p->out);
		return;
	}
	peer = peer >= 0 ? p->schedule->groups[step->group].ranks[peer] : peer;
	fprintf(p->out, "call(\"%s%s\", g%u, %lu, %d, %s, %s)", begun, name, step->group,
		step->count, peer, types[step->dtype][p->program], op);
}

/* Returns true if call `k` of a rank begins a group of calls, or stands in the one before it. */
static bool in_group(const struct schedule_rank *r, size_t k, bool begins)
{
	const struct step *step = &r->steps[k];

	if (step->flags & RECORD_ALONE)
		return false;
	if (begins)
		return k == 0 || step->flags & RECORD_HEADS || r->steps[k - 1].flags & RECORD_ALONE;
	return true;
}

static void print_comment(const struct printer *p, const struct step *step)
{
	const char *site = p->schedule->sites[step->site];
	char text[128];

	if (!site)
		return;
	snprintf(text, sizeof(text), "%s", site);
	for (char *c = text; *c; c++)
		*c = *c == '*' ? '?' : *c;
	fprintf(p->out, p->program == PROGRAM_TORCH ? "  # %s" : " /* %s */", make_printable(text));
}

/* A rank's calls, a line each; in Python those of a group are arguments of one. */
static void print_rank(const struct printer *p, const struct schedule_rank *r)
{
	bool script = p->program == PROGRAM_TORCH;
	const char *indent = script ? "    " : "\t\t";

	for (size_t k = 0; k < r->n; k++) {
		bool begins = in_group(r, k, true), inside = in_group(r, k, false);
		bool ends = inside && (k + 1 == r->n || !in_group(r, k + 1, false) ||
				       in_group(r, k + 1, true));

		if (begins && script)
			fprintf(p->out, "%stogether(\n", indent);
		else if (begins && p->program == PROGRAM_NCCL)
			fprintf(p->out, "%sgroup_begin();\n", indent);
		fputs(indent, p->out);
		fputs(inside && script ? "    " : "", p->out);
		print_call(p, &r->steps[k]);
		fputs(!script ? ";" : inside ? "," : "", p->out);
		print_comment(p, &r->steps[k]);
		putc('\n', p->out);
		if (ends)
			fprintf(p->out, script ? "%s)\n" : "%sgroup_end();\n", indent);
	}
	if (r->n == 0)
		fprintf(p->out, script ? "%spass\n" : "%s;\n", indent);
}

static void print_calls(const struct printer *p)
{
	for (int i = 0; i < p->schedule->nranks; i++) {
		fprintf(p->out,
			p->program == PROGRAM_TORCH ? "if rank == %d:\n" : "\tif (rank == %d) {\n",
			i);
		print_rank(p, &p->schedule->ranks[i]);
		fputs(p->program == PROGRAM_TORCH ? "" : "\t}\n", p->out);
	}
}

static void print_head(const struct printer *p, const char *head)
{
	while (*head) {
		size_t n = strcspn(head, "\n");

		fprintf(p->out,
			p->program == PROGRAM_NCCL || p->program == PROGRAM_MPI ? "// %.*s\n"
										: "# %.*s\n",
			(int)n, head);
		head += n + (head[n] == '\n');
	}
}

/* Writes the text for a name in a program, between two @. Returns true if it is of whole lines. */
static bool print_name(const struct printer *p, const char *name)
{
	bool groups = strncmp(name, "GROUPS", 6) == 0, calls = strncmp(name, "CALLS", 5) == 0;

	if (groups)
		print_groups(p);
	else if (calls)
		print_calls(p);
	else if (*name == 'B')
		fprintf(p->out, "%zu", bytes_of(p->schedule));
	else if (*name == 'N')
		fprintf(p->out, "%zu", p->schedule->ngroups);
	else
		fprintf(p->out, "%d", p->schedule->nranks);
	return groups || calls;
}

void program_print(FILE *out, enum program program, const struct schedule *s, const char *head)
{
	const char *const texts[PROGRAM_COUNT] = { NULL, program_nccl, program_mpi, program_torch };
	const struct printer p = { out, program, s };
	const char *text = texts[program];

	print_head(&p, head);
	if (program == PROGRAM_TEXT) {
		schedule_print(out, s);
		return;
	}
	while (*text) {
		size_t n = strcspn(text, "@");

		fwrite(text, 1, n, out);
		text += n;
		if (!*text)
			return;
		n = strcspn(++text, "@") + 1;
		n += print_name(&p, text);
		text += n;
	}
}

/* ---- over MPI, here ---- */

/* A run in a folder of its own. */
struct trial {
	char dir[64], ranks[16], seconds[16];
};

/* Processes that are killed would leave segments of shared memory: these go with the folder. */
static const char script[] =
	"export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
	"OMPI_MCA_btl_vader_backing_directory=\"$0/shm\"\n"
	"command -v mpicc mpirun >/dev/null || { echo end 77; exit; }\n"
	"mkdir \"$0/shm\" && mpicc -w -o \"$0/hang\" \"$0/hang.c\" || { echo end 3; exit; }\n"
	"timeout -k 5 \"$2\" mpirun --oversubscribe -np \"$1\" \"$0/hang\"\n"
	"echo end $?\n"
	"rm -rf \"$0/shm\"\n";

static void run_trial(int fd, const void *arg)
{
	const struct trial *t = arg;

	dup2(fd, STDOUT_FILENO);
	execlp("sh", "sh", "-c", script, t->dir, t->ranks, t->seconds, (char *)NULL);
}

static int write_trial(const struct trial *t, const struct schedule *s)
{
	char path[96];
	FILE *out;

	snprintf(path, sizeof(path), "%s/hang.c", t->dir);
	out = fopen(path, "w");
	if (!out)
		return -errno;
	program_print(out, PROGRAM_MPI, s, "");
	return fclose(out) ? -errno : 0;
}

static void remove_trial(const struct trial *t)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/hang.c", t->dir);
	unlink(path);
	path[strlen(path) - 2] = '\0';
	unlink(path);
	rmdir(t->dir);
}

int program_run(const struct schedule *s, double seconds, enum program_end *end, struct error *err)
{
	struct trial t = { .dir = "/tmp/hang-XXXXXX" };
	struct task task = { .run = run_trial, .arg = &t, .limit = 1 << 20 };
	const char *said;
	int code = 0;

	snprintf(t.ranks, sizeof(t.ranks), "%d", s->nranks);
	snprintf(t.seconds, sizeof(t.seconds), "%.0f", seconds);
	if (!mkdtemp(t.dir) || write_trial(&t, s) < 0)
		return error_set(err, OUTCOME_INTERNAL, -EIO, "%s: %s", t.dir, strerror(errno));
	tasks_run(&task, 1, 1, seconds + BUILT_SECONDS, seconds + BUILT_SECONDS);
	remove_trial(&t);
	said = task.text ? strstr(task.text, "end ") : NULL;
	if (said)
		code = atoi(said + 4);
	*end = code == 0 ? PROGRAM_COMPLETES : code == 124 ? PROGRAM_HANGS : PROGRAM_FAILS;
	if (!said || code == 77 || code == 3)
		error_set(err, OUTCOME_UNSUPPORTED, -ENOENT, "--run: %s",
			  code == 3 ? "mpicc does not compile the program"
			  : said    ? "needs mpicc and mpirun"
				    : "the program did not come to an end");
	free(task.text);
	return err->code;
}
