/* stacks.c: holding threads one by one with libdwfl, and their frames in words. */
#include "probe/probe.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include "base/clock.h"
#include "base/proc_stat.h"

#define FRAMES	40  /* of one thread */
#define THREADS 512 /* of one process */
#define LINE	400

_Static_assert(STACKS_BYTES + 256 <= EVIDENCE_STACK_BYTES, "a folder holds all that is taken");

struct frame {
	Dwarf_Addr pc;
	bool exact; /* interrupted there; else a return address, which lies behind its call */
};

struct thread {
	pid_t tid;
	char name[64], state; /* before it was held */
	size_t nframes;
	bool more;
	bool shown;
	char why[100]; /* without frames: why */
	struct frame frames[FRAMES];
};

struct stacks {
	int fd;
	pid_t pid;
	uint64_t deadline;
	size_t written;
	bool full;
	size_t left_out; /* threads that time or room did not reach */
	Dwfl *dwfl;
	struct thread *threads;
	size_t nthreads;
};

__attribute__((format(printf, 2, 3))) static void say(struct stacks *s, const char *fmt, ...)
{
	static const char cut[] = "[cut: no room for more]\n";
	char line[LINE];
	va_list args;
	int n;

	if (s->full)
		return;
	va_start(args, fmt);
	n = vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	if (n >= (int)sizeof(line)) {
		n = sizeof(line) - 1;
		line[n - 1] = '\n';
	}
	s->full = s->written + (size_t)n + sizeof(cut) > STACKS_BYTES;
	if (s->full)
		n = snprintf(line, sizeof(line), "%s", cut);
	evidence_clean(line);
	if (n > 0 && write(s->fd, line, (size_t)n) == n)
		s->written += (size_t)n;
	else
		s->full = true;
}

/* State letter of a process or thread, '?': gone; its name to `name` (64 bytes) unless NULL. */
static char state_of(pid_t pid, pid_t tid, char *name)
{
	struct proc_stat stat = { .name = "?", .state = '?' };

	if (!proc_stat_read(&stat, pid, tid))
		stat = (struct proc_stat){ .name = "?", .state = '?' };
	if (name)
		memcpy(name, stat.name, sizeof(stat.name));
	return stat.state;
}

/* ---- symbols and lines ---- */

/* A mapped file may be a device, whose opening has effects: only regular files and the vdso. */
static int find_elf(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
		    char **file, Elf **elf)
{
	struct stat st;

	if (name[0] == '/' && (stat(name, &st) < 0 || !S_ISREG(st.st_mode)))
		return -1;
	return dwfl_linux_proc_find_elf(module, user, name, base, file, elf);
}

/* Nothing is looked for outside the mapped file: not in /usr/lib/debug, not on a server. */
static int find_debuginfo(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
			  const char *file, const char *link, GElf_Word crc, char **debug)
{
	return -1;
}

static const Dwfl_Callbacks callbacks = { .find_elf = find_elf, .find_debuginfo = find_debuginfo };

/* The unit that holds `pc`. Without the index (.debug_aranges) each is asked. */
static Dwarf_Die *find_unit(Dwfl_Module *module, Dwarf_Addr pc, Dwarf_Addr *bias)
{
	Dwarf_Die *unit = dwfl_module_addrdie(module, pc, bias);

	if (unit) /* the index knows ranges' beginnings better than their ends */
		return dwarf_haspc(unit, pc - *bias) == 1 ? unit : NULL;
	if (!dwfl_module_getdwarf(module, bias))
		return NULL;
	while ((unit = dwfl_module_nextcu(module, unit, bias)))
		if (dwarf_haspc(unit, pc - *bias) == 1)
			return unit;
	return NULL;
}

/* Without the folder that the unit was compiled in. */
static const char *short_path(Dwarf_Die *unit, const char *path)
{
	Dwarf_Attribute attribute;
	const char *folder = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
	size_t n = folder ? strlen(folder) : 0;

	if (n > 0 && strncmp(path, folder, n) == 0 && path[n] == '/')
		return path + n + 1;
	return path;
}

static void line_of(Dwarf_Die *unit, Dwarf_Addr pc, char *source, size_t len)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit, pc);
	const char *path = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
	int number = 0;

	if (path && dwarf_lineno(line, &number) == 0 && number > 0)
		snprintf(source, len, "%.200s:%d", short_path(unit, path), number);
}

/* Writes where an inlined function was called. */
static void call_line(Dwarf_Die *unit, Dwarf_Die *inlined, char *source, size_t len)
{
	Dwarf_Attribute attribute;
	Dwarf_Word file = 0, number = 0;
	Dwarf_Files *files;
	const char *path = NULL;

	source[0] = '\0';
	if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &file) == 0 &&
	    dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &number) == 0 &&
	    dwarf_getsrcfiles(unit, &files, NULL) == 0)
		path = dwarf_filesrc(files, file, NULL, NULL);
	if (path)
		snprintf(source, len, "%.200s:%u", short_path(unit, path), (unsigned int)number);
}

/* The functions that the compiler put in line at `pc`, innermost first. `source` is that of `pc`
 * before and that of the function that really is there after. Returns the next number. */
static int say_inlined(struct stacks *s, Dwarf_Die *unit, Dwarf_Addr pc, int number,
		       const char *module, char *source, size_t len)
{
	Dwarf_Die *innermost = NULL, *scopes = NULL;
	int n = 0;

	if (dwarf_getscopes(unit, pc, &innermost) > 0)
		n = dwarf_getscopes_die(&innermost[0], &scopes);
	for (int i = 0; i < n && dwarf_tag(&scopes[i]) != DW_TAG_subprogram; i++) {
		const char *name;

		if (dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine)
			continue;
		name = dwarf_diename(&scopes[i]);
		say(s, "  #%d %.120s [inlined]%s%s (%s)\n", number++, name ? name : "?",
		    source[0] ? " " : "", source, module);
		call_line(unit, &scopes[i], source, len);
	}
	free(scopes);
	free(innermost);
	return number;
}

/* Returns the next frame's number. */
static int say_frame(struct stacks *s, const struct frame *frame, int number)
{
	Dwarf_Addr pc = frame->pc - !frame->exact, bias = 0;
	Dwfl_Module *module = dwfl_addrmodule(s->dwfl, pc);
	const char *path, *base, *name;
	char source[256] = "";
	Dwarf_Die *unit;
	GElf_Off offset;
	GElf_Sym symbol;

	if (!module) {
		say(s, "  #%d 0x%llx\n", number, (unsigned long long)frame->pc);
		return number + 1;
	}
	path = dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
	base = path ? basename(path) : NULL;
	unit = find_unit(module, pc, &bias);
	if (unit) {
		line_of(unit, pc - bias, source, sizeof(source));
		number = say_inlined(s, unit, pc - bias, number, base, source, sizeof(source));
	}
	name = dwfl_module_addrinfo(module, pc, &offset, &symbol, NULL, NULL, NULL);
	if (name)
		say(s, "  #%d %.120s+0x%llx%s%s (%s)\n", number, name,
		    (unsigned long long)offset + !frame->exact, source[0] ? " " : "", source, base);
	else
		say(s, "  #%d 0x%llx%s%s (%s)\n", number, (unsigned long long)frame->pc,
		    source[0] ? " " : "", source, base);
	return number + 1;
}

/* ---- threads ---- */

static int take_frame(Dwfl_Frame *state, void *arg)
{
	struct thread *thread = arg;
	Dwarf_Addr pc;
	bool exact;

	if (!dwfl_frame_pc(state, &pc, &exact) || pc == 0)
		return DWARF_CB_ABORT;
	if (thread->nframes == FRAMES) {
		thread->more = true;
		return DWARF_CB_ABORT;
	}
	thread->frames[thread->nframes++] = (struct frame){ .pc = pc, .exact = exact };
	return DWARF_CB_OK;
}

static struct thread *add_thread(struct stacks *s, pid_t tid)
{
	struct thread *thread;

	if (s->nthreads == THREADS)
		return NULL;
	thread = &s->threads[s->nthreads++];
	thread->tid = tid;
	thread->state = state_of(s->pid, tid, thread->name);
	return thread;
}

/* Unwinding ends with an error at the end of many a sound stack: it counts without frames. */
static void note_result(struct thread *thread, int rc)
{
	const char *text = rc < 0 ? dwfl_errmsg(-1) : NULL;

	if (thread->nframes == 0)
		snprintf(thread->why, sizeof(thread->why), "%s", text ? text : "no frames");
}

static int take_thread(Dwfl_Thread *state, void *arg)
{
	struct stacks *s = arg;
	pid_t tid = dwfl_thread_tid(state);
	struct thread *thread;

	if (tid == s->pid)
		return DWARF_CB_OK; /* was first */
	thread = clock_ns() < s->deadline ? add_thread(s, tid) : NULL;
	if (!thread) {
		s->left_out++;
		return DWARF_CB_OK;
	}
	note_result(thread, dwfl_thread_getframes(state, take_frame, thread));
	return DWARF_CB_OK;
}

static bool alike(const struct thread *a, const struct thread *b)
{
	if (a->nframes != b->nframes || a->more != b->more || strcmp(a->why, b->why) != 0)
		return false;
	for (size_t i = 0; i < a->nframes; i++)
		if (a->frames[i].pc != b->frames[i].pc)
			return false;
	return true;
}

static void say_frames(struct stacks *s, const struct thread *thread)
{
	int number = 0;

	for (size_t i = 0; i < thread->nframes && !s->full; i++)
		number = say_frame(s, &thread->frames[i], number);
	if (thread->more)
		say(s, "  and more below\n");
	if (thread->nframes == 0)
		say(s, "  not taken: %s\n", thread->why);
}

#define NAMES_SHOWN 8

/* threads[at] and all that stand where it stands. */
static void say_group(struct stacks *s, size_t at)
{
	size_t twins = 0, named = 0;

	for (size_t i = at; i < s->nthreads; i++)
		twins += alike(&s->threads[at], &s->threads[i]);
	say(s, "\n");
	if (twins > 1)
		say(s, "%zu threads alike: ", twins);
	for (size_t i = at; i < s->nthreads; i++) {
		struct thread *thread = &s->threads[i];

		if (!alike(&s->threads[at], thread))
			continue;
		thread->shown = true;
		if (named++ < NAMES_SHOWN)
			say(s, "%s%s (tid %d, %c)",
			    named > 1	? ", "
			    : twins > 1 ? ""
					: "thread ",
			    thread->name, thread->tid, thread->state);
	}
	say(s, "%s\n", named > NAMES_SHOWN ? ", ..." : "");
	say_frames(s, &s->threads[at]);
}

static void say_threads(struct stacks *s)
{
	struct thread *main_thread = add_thread(s, s->pid);

	note_result(main_thread, dwfl_getthread_frames(s->dwfl, s->pid, take_frame, main_thread));
	say(s, "main thread %s (tid %d, %c)\n", main_thread->name, s->pid, main_thread->state);
	say_frames(s, main_thread); /* whatever happens to the others */
	if (dwfl_getthreads(s->dwfl, take_thread, s) < 0 && s->nthreads == 1)
		say(s, "\nother threads: %s\n", dwfl_errmsg(-1));
	for (size_t i = 1; i < s->nthreads; i++) {
		if (s->threads[i].shown)
			continue;
		if (clock_ns() >= s->deadline || s->full)
			s->left_out++;
		else
			say_group(s, i);
	}
	if (s->left_out > 0)
		say(s, "\n[cut: %zu more threads, time was over]\n", s->left_out);
}

static bool attach(struct stacks *s)
{
	int rc;

	s->dwfl = dwfl_begin(&callbacks);
	if (!s->dwfl)
		return false;
	rc = dwfl_linux_proc_report(s->dwfl, s->pid);
	if (rc == 0)
		rc = dwfl_report_end(s->dwfl, NULL, NULL);
	if (rc == 0)
		rc = dwfl_linux_proc_attach(s->dwfl, s->pid, false);
	if (rc != 0)
		say(s, "no stacks of process %d: %s\n", s->pid,
		    rc > 0 ? strerror(rc) : dwfl_errmsg(-1));
	return rc == 0;
}

static void write_native(int fd, const struct stacks_order *order, size_t written)
{
	struct stacks s = { .fd = fd, .pid = order->pid, .written = written };
	char state = order->pid > 0 ? state_of(order->pid, 0, NULL) : '?';

	s.deadline = clock_ns() + (uint64_t)(order->seconds * 1e9);
	if (state == '?' || state == 'Z' || state == 'X')
		say(&s, "no stacks of process %d: it is dead\n", order->pid);
	else if (state == 'T')
		say(&s, "no stacks of process %d: it is stopped (SIGSTOP) and was left so\n",
		    order->pid);
	else if (state == 't')
		say(&s, "no stacks of process %d: a debugger holds it\n", order->pid);
	else if ((s.threads = must(calloc(THREADS, sizeof(*s.threads)))) && attach(&s))
		say_threads(&s);
	dwfl_end(s.dwfl);
	free(s.threads);
}

/* ---- as a task ---- */

/* Python's own stacks: native ones say only that it is inside Python. */
static size_t write_python(int fd, const struct python_process *python)
{
	char text[STACKS_BYTES / 2];
	ssize_t n;

	evidence_clean(python_stacks(python, text, sizeof(text)));
	n = write(fd, text, strlen(text));
	return n > 0 ? (size_t)n : 0;
}

static void run(int fd, const void *arg)
{
	const struct stacks_order *order = arg;

	write_native(fd, order, write_python(fd, &order->python));
}

void stacks_order(struct task *task, struct stacks_order *order)
{
	order->stopped = state_of(order->pid, 0, NULL) == 'T';
	*task = (struct task){ .run = run, .arg = order, .limit = STACKS_BYTES };
}

char *stacks_result(struct task *task)
{
	const struct stacks_order *order = task->arg;
	char *text = NULL;

	if (task->end == TASK_DONE) {
		text = task->text;
		task->text = NULL;
		return text;
	}
	/* A tracer that ends between asking for a stop and seeing it leaves the stop behind. */
	if (task->end != TASK_NEVER && !order->stopped && state_of(order->pid, 0, NULL) == 'T')
		kill(order->pid, SIGCONT);
	if (asprintf(&text, "%s%sprocess %d: %s%.3f s\n", task->text ? task->text : "",
		     task->bytes ? "[cut] " : "no stacks of ", order->pid,
		     task->end == TASK_NEVER ? "time was over before its turn, after "
		     : task->end == TASK_CUT ? "did not come to an end within "
					     : "the unwinder failed after ",
		     task->seconds) < 0)
		must(NULL);
	free(task->text);
	task->text = NULL;
	return text;
}
