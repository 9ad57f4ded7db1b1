/* site.c: the line of code that a call comes from: the innermost Python frame of the calling thread outside of the
 * frameworks' own files, else the address that called NCCL. A thread's frames stay as they are while it is inside of
 * NCCL, with the interpreter's lock or without. A thread without Python is PyTorch's autograd engine, if the main thread waits
 * in that: its frames stand for the call, and are read with care. */
#include <dlfcn.h>
#include <sys/uio.h>

#include "library/library.h"
#include "process/python.h"

#define DEPTH 128 /* frames that are looked at */

static struct {
	bool tried, off, on, checked;
	struct python self;
	void *(*thread)(void);
	const void *main, *engine; /* the main thread's state; the code that waits for autograd */
} python;

/* Code objects that were looked at, and places that calls came from. An entry's slot is that of its hash, or one
 * of the three behind it. session_lock() guards both. */
static struct code {
	const void *code, *file;
	enum python_file of;
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

	return (size_t)(key * 0x9e3779b97f4a7c15ull >> 40) % (LENGTH(codes) - 3);
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
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
	snprintf(buf, len, "%.48s%s%.32s+0x%tx", last_part(info.dli_fname), named ? ":" : "",
		 named ? info.dli_sname : "",
		 (const char *)caller - (const char *)(named ? info.dli_saddr : info.dli_fbase));
}

struct spot {
	const void *code, *at;
};

static bool copy_own(const void *arg, uintptr_t at, void *to, size_t bytes)
{
	struct iovec own = { to, bytes }, other = { (void *)at, bytes };

	(void)arg;
	return process_vm_readv(getpid(), &own, 1, &other, 1, 0) == (ssize_t)bytes;
}

/* Reads memory that may not be there: the kernel says so. */
static bool peek(const void *arg, uintptr_t at, void *to, size_t bytes)
{
	const int *ends = arg;

	return write(ends[1], (const void *)at, bytes) == (ssize_t)bytes &&
	       read(ends[0], to, bytes) == (ssize_t)bytes;
}

static bool copy(const void *arg, uintptr_t at, void *to, size_t bytes)
{
	(void)arg;
	memcpy(to, (const void *)at, bytes);
	return true;
}

/* Before a frame is believed, all of the first thread's are looked at with care. */
static bool are_frames(const void *first)
{
	struct python_frame frame = { .previous = (uintptr_t)first };
	struct python_line line;
	int ends[2];
	bool sound = pipe2(ends, O_CLOEXEC) == 0;

	if (!sound)
		return false;
	python.self.read = peek;
	python.self.arg = ends;
	for (int i = 0; sound && frame.previous && i < DEPTH; i++)
		sound = python_frame(&python.self, frame.previous, &frame) &&
			(!frame.code || python_line(&python.self, frame.code, frame.at, &line));
	close(ends[0]);
	close(ends[1]);
	python.self.read = copy;
	return sound;
}

unsigned int python_minor(void)
{
	const char *(*version)(void) = symbol("Py_GetVersion");
	unsigned int minor = 0;

	return version && sscanf(version(), "3.%u", &minor) == 1 ? minor : 0;
}

static void python_open(void)
{
	const char *sites = getenv("HANGAR_SITES");
	unsigned int minor = python_minor();

	python.tried = true;
	python.off = sites && strcmp(sites, "0") == 0;
	if (!minor || python.off)
		return;
	python.thread = symbol("PyGILState_GetThisThreadState");
	python.on = python.thread && python_layout(&python.self.at, minor, symbol("_PyRuntime"));
	if (!python.on)
		say_once("Python 3.%u is not known here: lines of code are not recorded", minor);
}

static const void *innermost(void)
{
	const void *thread = python.on ? python.thread() : NULL, *frame;

	if (!thread)
		return NULL;
	if (!python.main && gettid() == getpid())
		python.main = thread;
	frame = WORD(thread, python.self.at.thread);
	if (frame && python.self.at.held >= 0)
		frame = WORD(frame, python.self.at.held);
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
static enum python_file learn(const void *code, struct code *slot)
{
	struct python_line line;

	if (!python_line(&python.self, (uintptr_t)code, (uintptr_t)code, &line))
		return PYTHON_NO_FILE;
	for (int i = 0; i < 3 && slot->code; i++)
		slot++;
	*slot = (struct code){ code, WORD(code, python.self.at.file), line.of };
	return slot->of;
}

static inline enum python_file kind_of(const void *code)
{
	struct code *first = &codes[slot_of(code, NULL)];

	for (struct code *c = first; c < first + 4; c++)
		if (c->code == code && c->file == WORD(code, python.self.at.file))
			return c->of;
	return learn(code, first);
}

/* Returns true if the code is that in which PyTorch waits for its autograd engine. */
static bool is_engine(const void *code)
{
	struct python_line line;

	if (code != python.engine &&
	    python_line(&python.self, (uintptr_t)code, (uintptr_t)code, &line) &&
	    line.of == PYTHON_FRAMEWORK && strstr(line.path, "/autograd/") &&
	    strstr(line.name, "backward"))
		python.engine = code;
	return code == python.engine;
}

/* The innermost spot of the program's own in the main thread, while that waits for the autograd engine; else `native`. */
static struct spot find_backward(struct spot native)
{
	const struct python_layout l = python.self.at;
	struct python careful = python.self;
	struct python_frame f = { 0 };
	struct spot spot = { NULL, NULL };
	bool sound, inside = false;

	if (!python.on || !python.checked || !python.main || python.thread())
		return native;
	careful.read = copy_own;
	sound = copy_own(NULL, (uintptr_t)python.main + (size_t)l.thread, &f.previous, 8) &&
		(l.held < 0 || copy_own(NULL, f.previous + (size_t)l.held, &f.previous, 8));
	for (int i = 0; sound && f.previous && i < 16 && !spot.code; i++) {
		const void *code;

		sound = python_frame(&careful, f.previous, &f);
		code = (const void *)f.code; /* NOLINT(performance-no-int-to-ptr) */
		if (!sound || !code)
			continue;
		python.self.read = copy_own;
		inside = inside || is_engine(code);
		sound = inside;
		if (inside && kind_of(code) == PYTHON_USER)
			spot = (struct spot){ code, (const void *)f.at };
		python.self.read = copy;
	}
	return spot.code ? spot : native;
}

/* The frame that stands for the thread's call; NULL: there is none. */
static const void *find_frame(void)
{
	const struct python_layout l = python.self.at;
	const void *framework = NULL, *frame = innermost();

	for (int i = 0; frame && i < DEPTH; i++, frame = WORD(frame, l.previous)) {
		enum python_file of;

		if (l.owner >= 0 && ((const uint8_t *)frame)[l.owner] >= 3)
			continue;
		if (!WORD(frame, l.code))
			break;
		of = kind_of(WORD(frame, l.code));
		if (of == PYTHON_USER)
			return frame;
		framework = framework || of == PYTHON_NO_FILE ? framework : frame;
	}
	return framework;
}

uint32_t site_find(struct session *s, uint32_t comm, const void *caller)
{
	const void *frame, *name = NULL;
	struct spot spot = { NULL, caller };
	struct place *p, *free;
	struct python_line line;
	char text[sizeof(((struct record_site *)0)->text)];

	if (!python.tried)
		python_open();
	if (python.off)
		return 0;
	frame = find_frame();
	if (frame)
		spot = (struct spot){ WORD(frame, python.self.at.code),
				      WORD(frame, python.self.at.instruction) };
	else
		spot = find_backward(spot);
	if (spot.code && python.self.at.start < 0)
		spot.at = (void *)(uintptr_t)(uint32_t)(uintptr_t)spot.at;
	if (spot.code)
		name = WORD(spot.code, python.self.at.name);
	free = p = &places[slot_of(spot.code, (const char *)spot.at + comm)];
	for (int i = 0; i < 4; i++, p++) {
		if (p->at == spot.at && p->code == spot.code && p->name == name &&
		    p->comm == comm && p->session == s)
			return p->site;
		free = p->session ? free : p;
	}
	if (spot.code && python_line(&python.self, (uintptr_t)spot.code, (uintptr_t)spot.at, &line))
		python_print(&line, 2, text, sizeof(text));
	else
		say_address(caller, text, sizeof(text));
	*free = (struct place){ spot.code, name, spot.at, s, comm, 0 };
	if (text[0])
		free->site = record_site_of(s->recorder.memory, comm, text);
	if (text[0] && !free->site)
		say_once("more than %d lines of code call NCCL: further ones are not recorded",
			 RECORD_SITES - 1);
	return free->site;
}
