/* folder.c: where evidence is saved: results/runs/ or HANGAR_RUNS, below --out, or TMPDIR where
 * that cannot be written. */
#include "diagnoser/folder.h"

#include "base/clock.h"
#include "base/file.h"
#include "process/command.h"
#include "process/task.h"
#include "answer/describe.h"
#include "evidence/saved.h"

#define MAX_FOLDERS	8   /* of a run that goes on after verdicts */
#define STALLED_SECONDS 2.0 /* a file system that takes longer is as none */
#define NAME_BYTES	128
#define ROOM_BYTES	(1 << 20) /* of a run of a few ranks */

#define RUNS "results/runs"

/* Where runs go: to the folder HANGAR_RUNS; of an installed hangar, which has a file for a mark
 * beside its programs, to hangar-runs/. */
const char *folder_runs(void)
{
	static const char *where;
	char path[PATH_MAX + 16];

	if (!where)
		where = getenv("HANGAR_RUNS");
	if (!where || !*where)
		where = file_beside(path, sizeof(path), ".installed") && access(path, F_OK) == 0
				? "hangar-runs"
				: RUNS;
	return where;
}

/* A folder can be made in `root`, which need not exist yet, and has room for so many bytes. 0 or
 * an errno. */
static int try_root(const char *root, size_t bytes)
{
	char there[PATH_MAX], path[PATH_MAX + 16];
	int fd, rc = file_ancestor(root, there);

	if (rc < 0)
		return -rc;
	snprintf(path, sizeof(path), "%s/.hangar-XXXXXX", there);
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return errno;
	unlink(path); /* first: a child that is too slow here is killed */
	rc = posix_fallocate(fd, 0, (off_t)bytes);
	close(fd);
	return rc;
}

/* About as much as the evidence takes. */
static size_t room_of(const struct evidence *e)
{
	size_t bytes = ROOM_BYTES;

	for (int i = 0; e->ranks && i < e->nranks; i++)
		bytes += e->ranks[i].present ? saved_bytes(&e->ranks[i], SIZE_MAX) : 0;
	return bytes;
}

/* 0 or an errno; a negative one where the folder is made, and has no room. */
static int make_folder(const struct diagnoser *self, bool shared)
{
	int rc = -file_folders(self->site.out ? self->site.out : self->root);

	if (rc == 0 && (shared ? file_folders(self->folder) : mkdir(self->folder, 0777)) != 0)
		rc = errno;
	return rc ? rc : -try_root(self->folder, room_of(&self->evidence));
}

/* Something that a file system may never answer. */
struct attempt {
	const char
		*root; /* to be tried for so many bytes; NULL: the folder of `self` is to be made */
	size_t bytes;
	const struct diagnoser *self;
	bool shared;
};

static void run_attempt(int fd, const void *arg)
{
	const struct attempt *a = arg;

	dprintf(fd, "%d", a->root ? try_root(a->root, a->bytes) : make_folder(a->self, a->shared));
}

/* Returns the attempt's own number, or ETIMEDOUT. */
static int in_time(struct attempt attempt)
{
	struct task task = { .run = run_attempt, .arg = &attempt, .limit = 16 };
	int rc;

	tasks_run(&task, 1, 1, STALLED_SECONDS, STALLED_SECONDS);
	rc = task.end == TASK_DONE ? atoi(task.text) : task.end == TASK_NEVER ? EAGAIN : ETIMEDOUT;
	free(task.text);
	return rc;
}

static const char *temporary_root(void)
{
	const char *set = getenv("TMPDIR");

	return set && set[0] ? set : "/tmp";
}

static const char *why_not(int rc)
{
	return rc == ETIMEDOUT ? "it does not answer"
	       : rc == EAGAIN  ? "no process can be made to look there (ulimit -u?)"
			       : strerror(rc);
}

/* Folders are made in TMPDIR from now on, or nowhere, since `rc` came of the root. */
static void turn_to_temporary(struct diagnoser *self, int rc)
{
	const char *temporary = temporary_root();
	int other = in_time((struct attempt){ .root = temporary, .bytes = ROOM_BYTES });

	fprintf(stderr, "%s: no evidence can be saved in %s: %s; ", self->site.name,
		self->site.out ? self->site.out : self->root, why_not(rc));
	if (other)
		fprintf(stderr, "nor in %s: %s\n", temporary, why_not(other));
	else
		fprintf(stderr, "if there is a verdict, it goes to %s\n", temporary);
	snprintf(self->root, sizeof(self->root), "%s", other ? "" : temporary);
	self->site.out = NULL;
	self->turned = true;
}

void folder_find_root(struct diagnoser *self)
{
	const char *root = self->site.root ? self->site.root : folder_runs();
	int rc = 0;

	self->rooted = true;
	if (snprintf(self->root, sizeof(self->root), "%s", root) >= (int)sizeof(self->root))
		rc = ENAMETOOLONG;
	else if (!self->site.out)
		rc = in_time((struct attempt){ .root = root, .bytes = ROOM_BYTES });
	if (rc != 0)
		turn_to_temporary(self, rc);
}

/* `last` there leads to the newest one. */
static void link_last(const struct diagnoser *self)
{
	char path[sizeof(self->root) + 32], last[sizeof(self->root) + 8];

	if (strcmp(self->root, folder_runs()) || self->site.out)
		return;
	snprintf(path, sizeof(path), "%s/.last-%d", folder_runs(), (int)getpid());
	snprintf(last, sizeof(last), "%s/last", folder_runs());
	if (symlink(strrchr(self->folder, '/') + 1, path) == 0 && rename(path, last) < 0)
		unlink(path);
}

static bool name_folder(struct diagnoser *self, const char *name)
{
	const char *out = self->site.out;
	const char *side = self->side, *mark = !side[0] ? "" : out ? "/" : "-";
	char nth[16] = "";
	int n;

	if (out && self->made > 0)
		snprintf(nth, sizeof(nth), "/%d", self->made + 1);
	n = out ? snprintf(self->folder, sizeof(self->folder), "%s%s%s%s", out, nth, mark, side)
		: snprintf(self->folder, sizeof(self->folder), "%s/%s%s%s", self->root, name, mark,
			   side);

	if ((out || self->root[0]) && n < (int)sizeof(self->folder))
		return true;
	self->folder[0] = '\0';
	return false;
}

/* As the site says, else of this name below the root, or below TMPDIR where that fails. */
static bool make_named(struct diagnoser *self, const char *name, bool shared)
{
	char next[NAME_BYTES];
	int rc;

	if (!self->rooted) /* this supervisor has become the leader */
		folder_find_root(self);
	if (!name_folder(self, name))
		return false;
	rc = in_time((struct attempt){ .self = self, .shared = shared });
	/* a leader that was killed has begun one within this second */
	if (rc == EEXIST && !shared && strlen(name) + 2 < sizeof(next)) {
		snprintf(next, sizeof(next), "%.*s-2", (int)sizeof(next) - 3, name);
		return make_named(self, next, shared);
	}
	if (rc < 0 &&
	    (self->turned || in_time((struct attempt){ .root = temporary_root(),
						       .bytes = room_of(&self->evidence) })))
		rc = 0; /* the report may fit, and comes first */
	if (rc < 0)
		rmdir(self->folder);
	rc = abs(rc);
	if (rc != 0 && !self->turned) {
		turn_to_temporary(self, rc);
		return make_named(self, name, shared);
	}
	if (rc != 0) {
		fprintf(stderr, "%s: no evidence can be saved in %s: %s\n", self->site.name,
			self->folder, why_not(rc));
		self->folder[0] = '\0';
		return false;
	}
	link_last(self);
	self->made++;
	return true;
}

bool folder_make(struct diagnoser *self)
{
	char date[32], name[NAME_BYTES];

	if (self->made == MAX_FOLDERS) {
		fprintf(stderr,
			"%s: evidence of this run's first %d verdicts is kept, not of this one\n",
			self->site.name, MAX_FOLDERS);
		self->folder[0] = '\0';
		return false;
	}
	clock_local(date, sizeof(date), "%Y%m%d-%H%M%S");
	snprintf(name, sizeof(name), "%s-%.40s-%.8s", date, self->site.name, self->site.key);
	return make_named(self, name, self->site.out != NULL);
}

bool folder_make_told(struct diagnoser *self, const char *told)
{
	const char *slash = strrchr(told, '/');

	self->folder[0] = '\0';
	if (!told[0] || (!self->site.out && (!slash || slash[1] == '\0' || slash[1] == '.')))
		return false; /* it came over the network */
	return make_named(self, slash ? slash + 1 : "", true);
}

void folder_name_run(struct diagnoser *self)
{
	char name[sizeof(self->folder)];

	strcpy(name, self->folder);
	name[strlen(name) - strlen(self->side) - 1] = '\0';
	snprintf(self->evidence.run, sizeof(self->evidence.run), "%.*s",
		 (int)sizeof(self->evidence.run) - 1, basename(name));
}

void folder_say_sides(const struct diagnoser *self, const char *hosts)
{
	const char *out = self->site.out;

	printf("# %s, if alive, saves its own view: %s%s%.8s%s\n", hosts, out ? out : self->root,
	       out ? "/" : "/*-", out ? "" : self->site.key, out ? "HOST" : "*");
	fflush(stdout);
}

/* `path` as a user can paste it: relative to the current folder or the one above, quoted. */
static const char *pasted(const char *path, char *buf, size_t len)
{
	char here[PATH_MAX], near[PATH_MAX + 4];
	const char *word = path;
	size_t n;

	if (path[0] == '/' && getcwd(here, sizeof(here)) && here[1]) {
		n = strlen(here);
		if (strncmp(path, here, n) == 0 && path[n] == '/')
			word = strcpy(near, path + n + 1);
		*strrchr(here, '/') = '\0';
		n = strlen(here);
		if (word == path && n > 0 && strncmp(path, here, n) == 0 && path[n] == '/') {
			snprintf(near, sizeof(near), "..%s", path + n);
			word = near;
		}
		if (word == near && !strchr(near, '/')) {
			memmove(near + 2, near, strlen(near) + 1);
			memcpy(near, "./", 2);
		}
	}
	return command_join(buf, len, 1, &word);
}

/* results/runs/last, or that of HANGAR_RUNS, where it leads to this folder, which is shorter;
 * else the folder. */
static const char *shortest(const char *folder)
{
	static char link[PATH_MAX];
	size_t length = strlen(folder_runs());
	char last[PATH_MAX];
	ssize_t n;

	if (strncmp(folder, folder_runs(), length) != 0 || folder[length] != '/')
		return folder; /* and the other folder is not looked at: its file system may be stalled */
	snprintf(link, sizeof(link), "%s/last", folder_runs());
	n = readlink(link, last, sizeof(last) - 1);
	last[n > 0 ? n : 0] = '\0';
	return strcmp(folder + length + 1, last) == 0 ? link : folder;
}

/* A command on the evidence, or a file of it where `tool` is "". */
static void say(const char *what, const char *tool, const char *file)
{
	char words[PATH_MAX + 2], quoted[PATH_MAX + 2];
	const char *space = tool[0] ? " " : "";
	size_t n;

	if (tool[0])
		tool = pasted(tool, words, sizeof(words));
	pasted(file, quoted, sizeof(quoted));
	n = strlen(what) + strlen(": ") + strlen(tool) + strlen(space) + strlen(quoted);
	printf("# %s:%s%s%s%s\n", what, n > ANSWER_WIDTH ? "\n#   " : " ", tool, space, quoted);
}

void folder_say(const char *folder, bool drawable, bool records)
{
	static const char *const plots[] = { "../plots/plot", "../../plots/plot" };
	char path[PATH_MAX + 16], plot[PATH_MAX];

	folder = shortest(folder);
	snprintf(path, sizeof(path), "%s/postmortem.md", folder);
	if (records && !file_beside(path, sizeof(path), "hang_diagnose"))
		return;
	if (records || access(path, F_OK) == 0)
		say("look further", records ? path : "", records ? folder : path);
	for (size_t i = 0; i < 2 && drawable; i++) {
		if (file_beside(path, sizeof(path), plots[i]) && realpath(path, plot)) {
			say("or draw it", plot, folder);
			break;
		}
	}
	fflush(stdout);
}
