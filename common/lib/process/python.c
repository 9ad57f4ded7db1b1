/* python.c: CPython's frames, by tables for 3.10 to 3.12, from 3.13 on by its own description. Nothing that is read is
 * trusted. */
#include "process/python.h"

#include <sys/uio.h>

#include "base/clock.h"
#include "base/error.h"

#define THREADS 64
#define TABLE	4096 /* bytes of a table of lines */
#define TRIES	5    /* for two equal reads */

/* 3.10 counts instructions, of two bytes, instead of pointing at them: `start` -1. */
static const struct python_layout layouts[] = {
	[10] = { 24, -1, 32, 24, 96, -1, 104, 112, 40, 120, -1, 48, 72, 40, 8, 8, -1 },
	[11] = { 56, 8, 32, 48, 56, 69, 112, 128, 72, 136, 184, 48, 72, 48, 16, 8, 160 },
	[12] = { 56, 0, 0, 8, 56, 70, 112, 128, 68, 136, 192, 40, 56, 48, 72, 8, 144 },
};

/* Words of _PyRuntime, behind a cookie; the main interpreter's word is the one behind `head`. */
enum {
	WORD_VERSION = 1,
	WORD_FREE_THREADED,
	WORD_HEAD = 5,
	WORD_THREADS = 9,
	WORD_NEXT = 21,
	WORD_FRAME = 23,
	WORD_ID = 25,
	WORD_PREVIOUS = 29, /* executable, instr_ptr, localsplus, owner */
	WORD_FILE = 35	    /* name, qualname, linetable, firstlineno, 3 more, co_code_adaptive */
};

bool python_layout(struct python_layout *l, unsigned int minor, const uint64_t *w)
{
	if (minor >= 10 && minor <= 12)
		*l = layouts[minor];
	if (minor != 13)
		return minor >= 10 && minor <= 12;
	if (!w || memcmp(w, "xdebugpy", 8) != 0 || w[WORD_VERSION] >> 16 != (0x300u | minor) ||
	    w[WORD_FREE_THREADED])
		return false;
	for (int i = WORD_HEAD; i < WORD_FILE + 9; i++)
		if (w[i] > 1 << 20)
			return false;
	*l = (struct python_layout){ .thread = (int)w[WORD_FRAME],
				     .held = -1,
				     .previous = (int)w[WORD_PREVIOUS],
				     .code = (int)w[WORD_PREVIOUS + 1],
				     .instruction = (int)w[WORD_PREVIOUS + 2],
				     .owner = (int)w[WORD_PREVIOUS + 4],
				     .file = (int)w[WORD_FILE],
				     .name = (int)w[WORD_FILE + 2],
				     .lines = (int)w[WORD_FILE + 3],
				     .first_line = (int)w[WORD_FILE + 4],
				     .start = (int)w[WORD_FILE + 8],
				     .text = 40,
				     .wide = 56,
				     .interpreter = (int)w[WORD_HEAD] + 8,
				     .threads = (int)w[WORD_THREADS],
				     .next = (int)w[WORD_NEXT],
				     .id = (int)w[WORD_ID] };
	return true;
}

/* ---- memory ---- */

static bool word(const struct python *p, uintptr_t at, uintptr_t *value)
{
	*value = 0;
	return p->read(p->arg, at, value, sizeof(*value));
}

/* Returns true if the object's type has this name, which is asked once; then `seen` is that type. */
static bool has_type(const struct python *p, uintptr_t object, const char *name, uintptr_t *seen)
{
	uintptr_t type, at;
	char text[8] = "";

	if (object % sizeof(void *) || !word(p, object + 8, &type))
		return false;
	if (*seen)
		return type == *seen;
	if (!word(p, type + 24, &at) || !p->read(p->arg, at, text, strlen(name) + 1) ||
	    memcmp(text, name, strlen(name) + 1) != 0)
		return false;
	*seen = type;
	return true;
}

/* Reads the last characters of a string, as many as there is room for; '?': one that is not ASCII. */
static bool read_text(struct python *p, uintptr_t string, char *buf, size_t len)
{
	char head[40], bytes[4 * 256];
	uint64_t n, from;
	uint32_t state, wide;

	if (!has_type(p, string, "str", &p->text_type) ||
	    !p->read(p->arg, string, head, sizeof(head)))
		return false;
	memcpy(&n, head + 16, sizeof(n));
	memcpy(&state, head + 32, sizeof(state));
	wide = state >> 2 & 7;
	if (n > 1 << 20 || (wide != 1 && wide != 2 && wide != 4) || len > 256)
		return false;
	from = n < len ? 0 : n - len + 1;
	string += (uintptr_t)(state >> 6 & 1 ? p->at.text : p->at.wide) + from * wide;
	if (n > from && !p->read(p->arg, string, bytes, (n - from) * wide))
		return false;
	for (size_t i = 0; i < n - from; i++) {
		uint32_t c = 0;

		memcpy(&c, bytes + i * wide, wide);
		buf[i] = (char)(c >= 32 && c < 127 ? c : '?');
	}
	buf[n - from] = '\0';
	return true;
}

/* ---- lines ---- */

static bool has_package(const char *at)
{
	static const char names[] = " torch torchgen functorch triton jax jaxlib flax cupy cupyx "
				    "accelerate lightning lightning_fabric pytorch_lightning "
				    "deepspeed horovod fairscale ray "
				    "cupy_backends nccl mpi4py numpy torch_tensorrt torchft "
				    "_distutils_hack pytest _pytest pluggy ";
	char name[32];
	int n = (int)strcspn(at, "/.");

	snprintf(name, sizeof(name), " %.*s ", n, at);
	return strstr(names, name) != NULL;
}

enum python_file python_file_of(const char *path)
{
	const char *package = NULL, *at = path;

	if (path[0] == '<' || strstr(path, "torchinductor_") || strstr(path, "/torch_compile_"))
		return PYTHON_NO_FILE;
	while ((at = strstr(at, "-packages/")))
		package = at += strlen("-packages/");
	if (package)
		return has_package(package) ? PYTHON_FRAMEWORK : PYTHON_USER;
	return strstr(path, "/lib/python3") || strstr(path, "pytorch/torch/") ? PYTHON_FRAMEWORK
									      : PYTHON_USER;
}

/* A number in parts of `bits`, the lowest first; a higher bit says that more follows. */
static uint32_t number_of(const uint8_t *table, size_t bytes, size_t *at)
{
	uint32_t value = 0;

	for (unsigned int shift = 0; *at < bytes && shift < 30; shift += 6) {
		uint8_t byte = table[(*at)++];

		value |= (uint32_t)(byte & 63) << shift;
		if (!(byte & 64))
			break;
	}
	return value;
}

/* The line of an instruction by 3.10's table: pairs of bytes and lines; -128: it has none. */
static int line_by_pairs(const uint8_t *table, size_t bytes, int line, size_t offset)
{
	size_t end = 0;

	for (size_t i = 0; i + 1 < bytes; i += 2) {
		int lines = (int8_t)table[i + 1];

		line += lines == -128 ? 0 : lines;
		end += table[i];
		if (offset < end)
			return line;
	}
	return line;
}

/* By the table of 3.11 and later: kinds of entries, of 1 to 8 instructions. */
static int line_by_entries(const uint8_t *table, size_t bytes, int line, size_t offset)
{
	size_t end = 0, at = 0;

	while (at < bytes) {
		uint8_t kind = table[at] >> 3 & 15;
		uint32_t lines;

		end += 2 * ((table[at++] & 7u) + 1);
		if (kind == 13 || kind == 14) {
			lines = number_of(table, bytes, &at);
			line += lines & 1 ? -(int)(lines >> 1) : (int)(lines >> 1);
		} else if (kind >= 10 && kind <= 12) {
			line += kind - 10;
		}
		if (offset < end)
			return line;
		while (at < bytes && !(table[at] & 128))
			at++;
	}
	return line;
}

bool python_line(struct python *p, uintptr_t code, uintptr_t at, struct python_line *line)
{
	const struct python_layout *l = &p->at;
	uint8_t table[TABLE];
	uintptr_t file, name, lines, bytes;
	size_t offset = l->start < 0 ? 2 * (size_t)(at & 0x7fffffff) : at - code - (size_t)l->start;
	char *local;

	if (!has_type(p, code, "code", &p->code_type) || !word(p, code + (size_t)l->file, &file) ||
	    !word(p, code + (size_t)l->name, &name) ||
	    !read_text(p, file, line->path, sizeof(line->path)) ||
	    !read_text(p, name, line->name, sizeof(line->name)) ||
	    !p->read(p->arg, code + (size_t)l->first_line, &line->number, sizeof(int)) ||
	    line->number < 0 || line->number > 1 << 24)
		return false;
	line->of = strstr(line->name, "torch_dynamo_resume_in") ? PYTHON_NO_FILE
								: python_file_of(line->path);
	while ((local = strstr(line->name, "<locals>.")))
		memmove(line->name, local + 9, strlen(local + 9) + 1);
	if (!word(p, code + (size_t)l->lines, &lines) || !word(p, lines + 16, &bytes))
		return true;
	bytes = bytes < sizeof(table) ? bytes : sizeof(table);
	if (offset < 1 << 24 && p->read(p->arg, lines + 32, table, bytes))
		line->number = l->start < 0 ? line_by_pairs(table, bytes, line->number, offset)
					    : line_by_entries(table, bytes, line->number, offset);
	return true;
}

static const char *last_parts(const char *path, int parts)
{
	const char *at = path + strlen(path);

	while (at > path && (at[-1] != '/' || --parts > 0))
		at--;
	return at;
}

void python_print(const struct python_line *line, int parts, char *buf, size_t len)
{
	snprintf(buf, len, "%.63s:%d (%.30s)", last_parts(line->path, parts), line->number,
		 line->name);
}

bool python_frame(const struct python *p, uintptr_t frame, struct python_frame *out)
{
	const struct python_layout *l = &p->at;
	char bytes[128];
	size_t size = l->owner >= 0 ? (size_t)l->owner + 1 : 104;

	if (size > sizeof(bytes) || !p->read(p->arg, frame, bytes, size))
		return false;
	memcpy(&out->previous, bytes + l->previous, sizeof(out->previous));
	memcpy(&out->code, bytes + l->code, sizeof(out->code));
	memcpy(&out->at, bytes + l->instruction, sizeof(out->at));
	if (l->owner >= 0 && bytes[l->owner] >= 3)
		out->code = 0;
	return l->owner < 0 || (bytes[l->owner] >= 0 && bytes[l->owner] <= 4);
}

/* ---- another process ---- */

struct stack {
	size_t n;
	uintptr_t id; /* the kernel's number of its thread, 0: not known */
	bool changed; /* between two reads: what they have alike is left */
	struct python_frame frames[PYTHON_DEPTH];
};

static bool read_process(const void *arg, uintptr_t at, void *to, size_t bytes)
{
	struct iovec own = { to, bytes }, other = { (void *)at, bytes };

	return process_vm_readv(*(const pid_t *)arg, &own, 1, &other, 1, 0) == (ssize_t)bytes;
}

/* The runtime of the process can be read. */
static bool attach(struct python *p, const struct python_process *process)
{
	uint64_t words[PYTHON_WORDS];

	*p = (struct python){ .read = read_process, .arg = &process->pid };
	return process->pid > 0 && process->runtime &&
	       read_process(&process->pid, process->runtime, words, sizeof(words)) &&
	       python_layout(&p->at, process->minor, words);
}

/* Finds the threads, the oldest, which is the main one, first. Returns how many. */
static size_t find_threads(const struct python *p, uintptr_t runtime, uintptr_t *threads)
{
	uintptr_t at, newest[THREADS];
	size_t n = 0;

	if (!word(p, runtime + (size_t)p->at.interpreter, &at) || !at ||
	    !word(p, at + (size_t)p->at.threads, &at))
		return 0;
	for (size_t all = 0; at && all < 1 << 12; all++) {
		newest[n < THREADS ? n++ : THREADS - 1] = at;
		if (!word(p, at + (size_t)p->at.next, &at))
			return 0;
	}
	for (size_t i = 0; i < n; i++)
		threads[i] = newest[n - 1 - i];
	return n;
}

static bool read_stack(const struct python *p, uintptr_t thread, struct stack *s)
{
	struct python_frame f = { 0 };

	*s = (struct stack){ 0 };
	if (p->at.id >= 0 && !word(p, thread + (size_t)p->at.id, &s->id))
		return false;
	if (!word(p, thread + (size_t)p->at.thread, &f.previous) ||
	    (p->at.held >= 0 && !word(p, f.previous + (size_t)p->at.held, &f.previous)))
		return false;
	for (int i = 0; f.previous && i < 2 * PYTHON_DEPTH && s->n < PYTHON_DEPTH; i++) {
		if (!python_frame(p, f.previous, &f))
			return s->n > 0;
		if (f.code)
			s->frames[s->n++] = f;
	}
	return true;
}

/* Keeps of a stack what another read of it has alike: its oldest frames. */
static void keep_alike(struct stack *s, const struct stack *other)
{
	size_t n = 0;

	while (n < s->n && n < other->n &&
	       s->frames[s->n - 1 - n].code == other->frames[other->n - 1 - n].code &&
	       s->frames[s->n - 1 - n].at == other->frames[other->n - 1 - n].at)
		n++;
	s->changed = n < s->n || n < other->n;
	memmove(s->frames, s->frames + s->n - n, n * sizeof(*s->frames));
	s->n = n;
}

/* Reads a stack twice, anew while it changes. */
static bool read_twice(const struct python *p, uintptr_t thread, struct stack *s)
{
	struct stack other;

	for (int i = 0; i < TRIES; i++) {
		if (!read_stack(p, thread, s) || !read_stack(p, thread, &other))
			return false;
		keep_alike(s, &other);
		if (!s->changed)
			break;
	}
	return true;
}

/* Writes the line of a stack that says most: the innermost of the program's own, and the framework's function that it
 * called; or else the innermost. */
static bool telling_line(struct python *p, const struct stack *s, char *buf, size_t len)
{
	struct python_line line, called = { .name = "" };
	bool found = false;

	buf[0] = '\0';
	for (size_t i = 0; i < s->n; i++) {
		if (!python_line(p, s->frames[i].code, s->frames[i].at, &line) ||
		    line.of == PYTHON_NO_FILE)
			continue;
		if (line.of == PYTHON_USER || !found)
			python_print(&line, 1, buf, len);
		found = true;
		if (line.of == PYTHON_USER)
			break;
		if (!strstr(line.name, "wrapper") && !strstr(line.name, "decorate_context"))
			called = line;
	}
	if (found && line.of == PYTHON_USER && called.name[0])
		text_add(buf, len, " in %.40s", called.name);
	return found;
}

/* Returns true if a function of the stack is that of a site, "dir/train.py:88 (step)". */
static bool has_function(struct python *p, const struct stack *s, const char *site)
{
	const char *file = last_parts(site, 1), *name = strchr(file, '(');
	struct python_line line;
	bool found = false;

	for (size_t i = 0; i < s->n && name && !found; i++) {
		char text[160];

		if (!python_line(p, s->frames[i].code, s->frames[i].at, &line))
			continue;
		python_print(&line, 1, text, sizeof(text));
		found = strncmp(text, file, strcspn(file, ":") + 1) == 0 &&
			strcmp(strchr(text, '('), name) == 0;
	}
	return found;
}

bool python_where(const struct python_process *process, const char *site, char *buf, size_t len)
{
	uintptr_t threads[THREADS];
	struct python p;
	struct stack s;
	size_t n = 0;

	buf[0] = '\0';
	if (attach(&p, process))
		n = find_threads(&p, process->runtime, threads);
	for (size_t i = 0; i < n; i++)
		if (read_twice(&p, threads[i], &s) && has_function(&p, &s, site))
			return telling_line(&p, &s, buf, len);
	if (n == 0 || !read_twice(&p, threads[0], &s) || !telling_line(&p, &s, buf, len))
		return false;
	for (size_t i = 1; i < n && strlen(buf) > 4 && strcmp(buf + strlen(buf) - 4, "join") == 0;
	     i++)
		if (read_twice(&p, threads[i], &s)) /* the main thread waits for it */
			telling_line(&p, &s, buf, len);
	return true;
}

uint64_t python_place(const struct python_process *process)
{
	uintptr_t threads[THREADS];
	uint64_t place = 1;
	struct python p;
	struct stack s;

	if (!attach(&p, process) || find_threads(&p, process->runtime, threads) == 0 ||
	    !read_stack(&p, threads[0], &s) || s.n == 0)
		return 0;
	for (size_t i = 0; i < s.n; i++)
		place = (place ^ s.frames[i].code) * 0x100000001b3; /* as FNV-1a does */
	return place ? place : 1;
}

static void print_stack(struct python *p, const struct python_process *process,
			const struct stack *s, bool main_thread, char *buf, size_t len)
{
	struct python_line line;
	char text[160];

	text_add(buf, len, "Python's %sthread", main_thread ? "main " : "");
	if (s->id)
		text_add(buf, len, " (tid %d)", (int)s->id);
	if (telling_line(p, s, text, sizeof(text)))
		text_add(buf, len, " at %s", text);
	text_add(buf, len, "%s\n", s->changed ? ", running: its newest frames are not read" : "");
	for (size_t i = 0; i < s->n; i++) {
		bool sound = python_line(p, s->frames[i].code, s->frames[i].at, &line);

		python_print(&line, 3, text, sizeof(text));
		text_add(buf, len, "  %s\n", sound ? text : "?");
	}
	text_add(buf, len, s->n == PYTHON_DEPTH ? "  and more below\n\n" : "\n");
}

char *python_stacks(const struct python_process *process, char *buf, size_t len)
{
	uintptr_t threads[THREADS];
	struct python p;
	struct stack s;
	size_t n = 0, i = 0;

	buf[0] = '\0';
	if (!process->runtime || process->pid <= 0)
		return buf;
	errno = 0;
	if (attach(&p, process))
		n = find_threads(&p, process->runtime, threads);
	for (; i < n && strlen(buf) < len * 3 / 4; i++)
		if (read_twice(&p, threads[i], &s))
			print_stack(&p, process, &s, i == 0, buf, len);
	if (i < n)
		text_add(buf, len, "[cut: %zu more threads of Python]\n\n", n - i);
	if (!buf[0])
		snprintf(buf, len, "no stacks of Python 3.%u in process %d: %s\n\n",
			 (unsigned int)process->minor, (int)process->pid,
			 errno ? strerror(errno) : "its layout is not known here");
	return buf;
}
