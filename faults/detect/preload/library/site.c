/* site.c: the line of code that a call comes from: the innermost Python frame of the calling thread outside of the
 * frameworks' own files, else the address that called NCCL. A thread's frames stay as they are while it is inside of
 * NCCL, with the interpreter's lock or without. */
#include <dlfcn.h>
#include <fcntl.h>

#include "preload/library/library.h"

#define DEPTH 128 /* frames that are looked at */

/* Where CPython keeps things: bytes from the beginning of each object; -1: there is none. */
struct layout {
	int thread, held; /* of a thread: its frame, or what holds that, there */
	int code, previous, instruction, owner; /* of a frame */
	int file, name, first_line, start;	/* of a code object; `start`: of its instructions */
	int text, wide;				/* behind a string: of ASCII, of other characters */
};

/* 3.10 counts instructions, of two bytes, instead of pointing at them: `start` -1. */
static const struct layout layouts[] = {
	[10] = { 24, -1, 32, 24, 96, -1, 104, 112, 40, -1, 48, 72 },
	[11] = { 56, 8, 32, 48, 56, 69, 112, 128, 72, 184, 48, 72 },
	[12] = { 56, 0, 0, 8, 56, 70, 112, 128, 68, 192, 40, 56 },
};

/* From 3.13 on CPython describes itself: words of _PyRuntime, behind a cookie and the version. */
enum { WORD_VERSION = 1, WORD_FREE_THREADED, WORD_FRAME = 23, WORD_PREVIOUS = 29 };

enum frame_of { OF_USER, OF_FRAMEWORK, OF_NO_FILE };

static struct {
	bool tried, off, on, checked;
	struct layout at;
	void *(*thread)(void);
	int (*line)(void *code, int offset);
	const void *code_type, *text_type;
} python;

/* Code objects that were looked at, and places that calls came from. An entry's slot is that of its hash, or one
 * of the three behind it. session_lock() guards both. */
static struct code {
	const void *code, *file;
	enum frame_of of;
} codes[4096];
static struct place {
	const void *code, *name, *at;
	const struct session *session;
	uint32_t comm, site;
} places[4096];

#define WORD(object, offset) (*(void *const *)((const char *)(object) + (offset)))

static size_t slot_of(const void *a, const void *b)
{
	uint64_t key = (uint64_t)(uintptr_t)a * 31 + (uint64_t)(uintptr_t)b;

	return (size_t)(key * 0x9e3779b97f4a7c15ull >> 40) % (sizeof(codes) / sizeof(*codes) - 3);
}

/* ---- texts ---- */

/* The last characters of a string, as many as there is room for; '?': one that is not ASCII. */
static void copy_text(const void *string, char *buf, size_t len)
{
	size_t n = (size_t)WORD(string, 16), from = n < len ? 0 : n - len + 1;
	uint32_t state = *(const uint32_t *)((const char *)string + 32), wide = state >> 2 & 7;
	const char *text =
		(const char *)string + (state >> 6 & 1 ? python.at.text : python.at.wide);

	for (size_t i = from; i < n; i++) {
		uint32_t c = 0;

		memcpy(&c, text + i * wide, wide <= 4 ? wide : 1);
		buf[i - from] = (char)(c < 127 ? c : '?');
	}
	buf[n - from] = '\0';
}

static bool has_package(const char *at)
{
	static const char names[] = " torch torchgen functorch triton jax jaxlib flax cupy cupyx "
				    "cupy_backends nccl mpi4py numpy torch_tensorrt torchft "
				    "_distutils_hack pytest _pytest pluggy ";
	char name[32];
	int n = (int)strcspn(at, "/.");

	snprintf(name, sizeof(name), " %.*s ", n, at);
	return strstr(names, name) != NULL;
}

/* A file of the layers between a program and NCCL: the standard library, PyTorch, JAX, CuPy. */
static enum frame_of frame_of(const char *path)
{
	const char *package = NULL, *at = path;

	if (path[0] == '<' || strstr(path, "torchinductor_") || strstr(path, "/torch_compile_"))
		return OF_NO_FILE;
	while ((at = strstr(at, "-packages/")))
		package = at += strlen("-packages/");
	if (package)
		return has_package(package) ? OF_FRAMEWORK : OF_USER;
	return strstr(path, "/lib/python3") || strstr(path, "pytorch/torch/") ? OF_FRAMEWORK
									      : OF_USER;
}

static const char *last_parts(const char *path, int parts)
{
	const char *at = path + strlen(path);

	while (at > path && (at[-1] != '/' || --parts > 0))
		at--;
	return at;
}

/* "dir/train.py:88 (Trainer.step)" */
static void say_line(const void *code, const void *at, char *buf, size_t len)
{
	const struct layout *l = &python.at;
	char path[64], name[256], *local;
	int offset = l->start < 0 ? 2 * (int)(intptr_t)at
				  : (int)((const char *)at - ((const char *)code + l->start));

	copy_text(WORD(code, l->file), path, sizeof(path));
	copy_text(WORD(code, l->name), name, sizeof(name));
	while ((local = strstr(name, "<locals>.")))
		memmove(name, local + 9, strlen(local + 9) + 1);
	snprintf(buf, len, "%s:%d (%.30s)", last_parts(path, 2),
		 python.line((void *)(uintptr_t)code, offset), name);
}

/* "prog:train+0x1c", or where its function has no name "libfoo.so+0x1234" */
static void say_address(const void *caller, char *buf, size_t len)
{
	Dl_info info;
	bool named;

	buf[0] = '\0';
	if (!caller || !dladdr(caller, &info) || !info.dli_fname)
		return;
	named = info.dli_sname && strncmp(info.dli_sname, "_Z", 2) != 0;
	snprintf(buf, len, "%.48s%s%.32s+0x%tx", last_parts(info.dli_fname, 1), named ? ":" : "",
		 named ? info.dli_sname : "",
		 (const char *)caller - (const char *)(named ? info.dli_saddr : info.dli_fbase));
}

/* ---- frames ---- */

/* Reads memory that may not be there: the kernel says so. */
static bool peek(const int *ends, const void *at, void *to, size_t bytes)
{
	return write(ends[1], at, bytes) == (ssize_t)bytes &&
	       read(ends[0], to, bytes) == (ssize_t)bytes;
}

static bool has_type(const int *ends, const void *object, const void *type)
{
	const void *head[2];

	return peek(ends, object, head, sizeof(head)) && head[1] == type;
}

/* Returns true if this looks like a frame of Python code, or is one of C code. */
static bool is_frame(const int *ends, const char *frame, const char **previous)
{
	const struct layout *l = &python.at;
	char bytes[104];
	const char *code, *at, *texts[2];
	uint32_t first_line;

	if (!peek(ends, frame, bytes, l->owner >= 0 ? (size_t)l->owner + 1 : sizeof(bytes)))
		return false;
	*previous = WORD(bytes, l->previous);
	if (l->owner >= 0 && bytes[l->owner] >= 3)
		return bytes[l->owner] <= 4;
	code = WORD(bytes, l->code);
	at = WORD(bytes, l->instruction);
	return has_type(ends, code, python.code_type) &&
	       peek(ends, code + l->file, &texts[0], sizeof(char *)) &&
	       peek(ends, code + l->name, &texts[1], sizeof(char *)) &&
	       has_type(ends, texts[0], python.text_type) &&
	       has_type(ends, texts[1], python.text_type) &&
	       peek(ends, code + l->first_line, &first_line, sizeof(first_line)) &&
	       first_line < 1 << 24 && (l->start < 0 || (size_t)(at - code) < 1 << 24);
}

/* Before a frame is believed, all of the first thread's are looked at with care. */
static bool are_frames(const char *frame)
{
	int ends[2];
	bool sound = pipe2(ends, O_CLOEXEC) == 0;

	if (!sound)
		return false;
	for (int i = 0; sound && frame && i < DEPTH; i++)
		sound = is_frame(ends, frame, &frame);
	close(ends[0]);
	close(ends[1]);
	return sound;
}

/* The layout that Python 3.13 tells of itself. */
static bool read_layout(struct layout *l, int minor)
{
	const uint64_t *w = symbol("_PyRuntime");

	if (!w || memcmp(w, "xdebugpy", 8) != 0 ||
	    w[WORD_VERSION] >> 16 != (0x300u | (unsigned)minor) || w[WORD_FREE_THREADED])
		return false;
	l->thread = (int)w[WORD_FRAME];
	l->held = -1;
	w += WORD_PREVIOUS; /* frame: previous, executable, instr_ptr, localsplus, owner */
	l->previous = (int)w[0];
	l->code = (int)w[1];
	l->instruction = (int)w[2];
	l->owner = (int)w[4];
	w += 6; /* code: filename, name, qualname, linetable, firstlineno, 3 more, co_code_adaptive */
	l->file = (int)w[0];
	l->name = (int)w[2];
	l->first_line = (int)w[4];
	l->start = (int)w[8];
	l->text = 40;
	l->wide = 56;
	return true;
}

static void python_open(void)
{
	const char *(*version)(void) = symbol("Py_GetVersion"), *sites = getenv("HANGAR_SITES");
	int minor = 0;

	python.tried = true;
	python.off = sites && strcmp(sites, "0") == 0;
	if (!version || python.off)
		return;
	if (sscanf(version(), "3.%d", &minor) == 1 && minor >= 10 && minor <= 12)
		python.at = layouts[minor];
	else if (minor != 13 || !read_layout(&python.at, minor))
		minor = 0;
	python.thread = symbol("PyGILState_GetThisThreadState");
	python.line = symbol("PyCode_Addr2Line");
	python.code_type = symbol("PyCode_Type");
	python.text_type = symbol("PyUnicode_Type");
	python.on = minor && python.thread && python.line && python.code_type && python.text_type;
	if (!python.on)
		say_once("Python %.20s is not known here: lines of code are not recorded",
			 version());
}

static const void *innermost(void)
{
	const void *thread = python.on ? python.thread() : NULL, *frame;

	if (!thread)
		return NULL;
	frame = WORD(thread, python.at.thread);
	if (frame && python.at.held >= 0)
		frame = WORD(frame, python.at.held);
	if (frame && !python.checked) {
		python.checked = true;
		python.on = are_frames(frame);
		if (!python.on)
			say_once("Python's frames are not as expected: lines of code are not "
				 "recorded");
	}
	return python.on ? frame : NULL;
}

/* Looks at a code object for the first time. */
static enum frame_of learn(const void *code, struct code *slot)
{
	char path[256], name[64];

	if (WORD(code, 8) != python.code_type)
		return OF_NO_FILE;
	for (int i = 0; i < 3 && slot->code; i++)
		slot++;
	copy_text(WORD(code, python.at.file), path, sizeof(path));
	copy_text(WORD(code, python.at.name), name, sizeof(name));
	*slot = (struct code){ code, WORD(code, python.at.file), frame_of(path) };
	if (strstr(name, "torch_dynamo_resume_in"))
		slot->of = OF_NO_FILE;
	return slot->of;
}

static inline enum frame_of kind_of(const void *code)
{
	struct code *first = &codes[slot_of(code, NULL)];

	for (struct code *c = first; c < first + 4; c++)
		if (c->code == code && c->file == WORD(code, python.at.file))
			return c->of;
	return learn(code, first);
}

/* The frame that stands for the thread's call; NULL: there is none. */
static const void *find_frame(void)
{
	const struct layout l = python.at;
	const void *framework = NULL, *frame = innermost();

	for (int i = 0; frame && i < DEPTH; i++, frame = WORD(frame, l.previous)) {
		enum frame_of of;

		if (l.owner >= 0 && ((const uint8_t *)frame)[l.owner] >= 3)
			continue;
		if (!WORD(frame, l.code))
			break;
		of = kind_of(WORD(frame, l.code));
		if (of == OF_USER)
			return frame;
		framework = framework || of == OF_NO_FILE ? framework : frame;
	}
	return framework;
}

/* ---- sites ---- */

uint32_t site_find(struct session *s, uint32_t comm, const void *caller)
{
	const void *frame, *code = NULL, *name = NULL, *at = caller;
	struct place *p, *free;
	char text[sizeof(((struct record_site *)0)->text)];

	if (!python.tried)
		python_open();
	if (python.off)
		return 0;
	frame = find_frame();
	if (frame) {
		code = WORD(frame, python.at.code);
		name = WORD(code, python.at.name);
		at = WORD(frame, python.at.instruction);
		if (python.at.start < 0)
			at = (void *)(uintptr_t)(uint32_t)(uintptr_t)at;
	}
	free = p = &places[slot_of(code, (const char *)at + comm)];
	for (int i = 0; i < 4; i++, p++) {
		if (p->at == at && p->code == code && p->name == name && p->comm == comm &&
		    p->session == s)
			return p->site;
		free = p->session ? free : p;
	}
	if (frame)
		say_line(code, at, text, sizeof(text));
	else
		say_address(caller, text, sizeof(text));
	*free = (struct place){ code, name, at, s, comm, 0 };
	if (text[0])
		free->site = record_site_of(s->recorder.memory, comm, text);
	if (text[0] && !free->site)
		say_once("more than %d lines of code call NCCL: further ones are not recorded",
			 RECORD_SITES - 1);
	return free->site;
}
