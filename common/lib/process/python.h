/* python.h: frames of CPython 3.10 to 3.13, read by its own layout, in its process or in another one. */
#pragma once

#define PYTHON_DEPTH 64 /* frames of a thread */

/* Offsets in bytes from the beginning of each object; -1: there is none. */
struct python_layout {
	int thread, held; /* of a thread: its frame, or what holds that, there */
	int code, previous, instruction, owner;	  /* of a frame */
	int file, name, first_line, lines, start; /* of a code object; of its instructions */
	int text, wide;		  /* behind a string: of ASCII, of other characters */
	int interpreter, threads; /* the main interpreter; of that its newest thread */
	int next, id;		  /* of a thread: the one before it; the kernel's number */
};

/* A reader of frames. `read` copies memory that may not be there, and says whether it was. */
struct python {
	struct python_layout at;
	bool (*read)(const void *arg, uintptr_t at, void *to, size_t bytes);
	const void *arg;
	uintptr_t code_type, text_type; /* as they were seen; 0: not yet */
};

enum python_file { PYTHON_USER, PYTHON_FRAMEWORK, PYTHON_NO_FILE };

/* A file of the layers between a program and NCCL (Python's own, PyTorch, JAX, CuPy), of the
 * program, which may be installed as a package, or of none. */
enum python_file python_file_of(const char *path);

/* A line of code, as text. */
struct python_line {
	char path[256]; /* its last characters */
	char name[64];	/* of its function, without what that is local to */
	int number;
	enum python_file of;
};

/* Finds the layout of Python 3.`minor`; `runtime`: the first words of its _PyRuntime, from 3.13 on. Returns false where it
 * is not known, or has no lock (free-threaded). */
#define PYTHON_WORDS 48
bool python_layout(struct python_layout *layout, unsigned int minor, const uint64_t *runtime);

/* Reads a frame's code object (0: of no Python code), instruction, and the frame that called it. False: it is none. */
struct python_frame {
	uintptr_t code, at, previous;
};
bool python_frame(const struct python *python, uintptr_t frame, struct python_frame *out);

/* Reads the line of that instruction. False: the code object is none. */
bool python_line(struct python *python, uintptr_t code, uintptr_t at, struct python_line *line);
/* "dir/train.py:88 (Trainer.step)", of so many parts of the path */
void python_print(const struct python_line *line, int parts, char *buf, size_t len);

struct python_process {
	pid_t pid;
	uint64_t runtime; /* where its _PyRuntime is; 0: it is no Python */
	uint32_t minor;
};

/* Writes the line that a thread stands in: "train.py:88 (load_batch)", and what of a framework was called there. It is the
 * first one that is in the function of `site`, where its last call came from, else the main thread, or one that this joins.
 * Frames that change between two reads are left out. False, and "": not known. */
bool python_where(const struct python_process *process, const char *site, char *buf, size_t len);
/* A number of the functions that its main thread is in, 0: not known. It changes while that works. */
uint64_t python_place(const struct python_process *process);
/* Writes the stacks of all threads, the main one's first, or why there are none; "" of what is no Python. Returns buf. */
char *python_stacks(const struct python_process *process, char *buf, size_t len);
