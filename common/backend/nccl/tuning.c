/* tuning.c: what NCCL used for calls, and what it expects of them: its log switched on
 * for a moment, and calls that are only simulated.
 *
 * ncclResetDebugInit makes NCCL read NCCL_DEBUG and its like again, at the next thing it might log;
 * a group without calls is such a thing (src/debug.cc, group.cc of 2.25 to 2.30). So the
 * environment is another one only while NCCL reads it, on the main thread, between calls; and when
 * the end hook returns, the level is the user's again and the private log is closed: the calls that
 * follow find NCCL as those before did. Rank 0 alone logs its choices (enqueue.cc), so the other
 * ranks leave their logs alone.
 *
 * A simulated group is planned and dropped (group.cc of 2.22 to 2.30): the next group starts with
 * an empty plan. Its sends and receives are not, nor from 2.29 on its broadcasts from several
 * roots: they stay queued for the next group, so none may be in it. A simulated collective leaks
 * NCCL's record of it, some 300 bytes, and a group without calls 160. */
#include <dlfcn.h>
#include <strings.h>
#include <sys/mman.h>

#include "backend/nccl/ops.h"
#include "backend/job.h"

#define LOG_MOST (1 << 20) /* bytes; a few lines are expected */

static const char *const settings[] = { "NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE" };
enum { SETTINGS = sizeof(settings) / sizeof(settings[0]) };

/* With these, rank 0's log says how each call is carried out: TUNING has the choice, COLL the
 * communicator that it is for (NCCL 2.25 to 2.30). */
#define LEVEL	   "INFO"
#define SUBSYSTEMS "COLL,TUNING"

void nccl_tuning_init(struct nccl_probe *probe)
{
	*probe = (struct nccl_probe){
		.log = -1,
		.reset = (__typeof__(probe->reset))dlsym(RTLD_DEFAULT, "ncclResetDebugInit"),
#ifdef NCCL_SIM_INFO_INITIALIZER
		.simulate_end = (__typeof__(probe->simulate_end))dlsym(RTLD_DEFAULT,
								       "ncclGroupSimulateEnd"),
#endif
	};
}

void nccl_tuning_release(struct nccl_probe *probe)
{
	if (probe->log >= 0)
		close(probe->log);
	probe->log = -1;
}

/* The private log has no name that outlives us. NCCL opens it by this path; where it could not,
 * its lines would go to standard output. */
static int log_path(struct nccl_probe *probe, char *path, size_t len)
{
	if (probe->log < 0)
		probe->log = memfd_create("nccl-used", MFD_CLOEXEC);
	if (probe->log < 0)
		return -errno;
	snprintf(path, len, "/proc/self/fd/%d", probe->log);
	return access(path, W_OK) < 0 ? -errno : 0;
}

/* Levels at which NCCL opens NCCL_DEBUG_FILE (debug.cc). */
static bool writes_file(const char *level)
{
	static const char *const levels[] = { "WARN", "INFO", "ABORT", "TRACE" };

	for (size_t i = 0; level && i < sizeof(levels) / sizeof(levels[0]); i++)
		if (strcasecmp(level, levels[i]) == 0)
			return true;
	return false;
}

/* Why NCCL's log must be left alone, by the environment: switching it would start the user's own log
 * file anew, or would not reach it. One line; NULL: it may be switched. */
static const char *environment_refusal(void)
{
	const char *file = getenv("NCCL_DEBUG_FILE"), *plugin = getenv("NCCL_ENV_PLUGIN");

	if (plugin && strcasecmp(plugin, "none") != 0)
		return "NCCL_ENV_PLUGIN is set: NCCL does not take its settings from the "
		       "environment";
	if (file && *file && writes_file(getenv("NCCL_DEBUG")))
		return "NCCL_DEBUG_FILE is in use: NCCL would begin that file anew (nccl_log reads "
		       "it; NCCL_DEBUG without a file, or none, gives the columns)";
	return NULL;
}

const char *nccl_tuning_refusal(struct backend *be)
{
	struct nccl *nccl = to_nccl(be);
	const char *why = environment_refusal();
	char path[32];

	if (why)
		return why;
	if (!nccl->probe.reset)
		return "this NCCL library has no ncclResetDebugInit, which switches its log";
	return log_path(&nccl->probe, path, sizeof(path)) < 0 ? "no memory file to log to (/proc)"
							      : NULL;
}

/* Have NCCL read its settings, now: not when the next call finds that it has to. */
static int reread(struct nccl *nccl)
{
	ncclResult_t result;

	nccl->probe.reset();
	result = ncclGroupStart();
	if (result == ncclSuccess)
		result = ncclGroupEnd();
	return result == ncclSuccess ? 0 : nccl_fail(nccl, "ncclGroupEnd", result);
}

/* The environment of the pass and back: `saved` are the user's settings, NULL: unset. */
static int log_on(struct nccl *nccl, const char *path)
{
	const char *const values[SETTINGS] = { LEVEL, SUBSYSTEMS, path };
	char *saved[SETTINGS] = { NULL };
	int rc;

	for (int i = 0; i < SETTINGS; i++) {
		const char *value = getenv(settings[i]);

		saved[i] = value ? must(strdup(value)) : NULL;
		setenv(settings[i], values[i], 1);
	}
	nccl->probe.on = true;
	rc = reread(nccl);
	for (int i = 0; i < SETTINGS; i++) {
		if (saved[i])
			setenv(settings[i], saved[i], 1);
		else
			unsetenv(settings[i]);
		free(saved[i]);
	}
	return rc;
}

int nccl_tuning_begin(struct backend *be)
{
	struct nccl *nccl = to_nccl(be);
	char path[32];

	if (be->job->rank != 0 || nccl_tuning_refusal(be))
		return 0;
	if (log_path(&nccl->probe, path, sizeof(path)) < 0 || ftruncate(nccl->probe.log, 0) < 0)
		return 0;
	return log_on(nccl, path);
}

/* Sends and receives are not in the log. The library's AlltoAll, Gather and Scatter are made of
 * them in 2.28, except on symmetric windows (enqueue.cc); later ones are not known. */
static bool is_p2p(const struct nccl *nccl, unsigned kinds)
{
	const unsigned own = 1u << CALL_SEND | 1u << CALL_RECV | 1u << CALL_ALLTOALLV;
	unsigned library = 0;

	if (nccl->symbols.alltoall)
		library |= 1u << CALL_ALLTOALL;
	if (nccl->symbols.gather)
		library |= 1u << CALL_GATHER;
	if (nccl->symbols.scatter)
		library |= 1u << CALL_SCATTER;
	if (kinds == 0 ||
	    kinds & ~(own | 1u << CALL_ALLTOALL | 1u << CALL_GATHER | 1u << CALL_SCATTER))
		return false;
	return !(kinds & library) ||
	       (nccl->version / 100 == 228 && nccl->be.config.local_register < 2);
}

/* Reads what was logged into the private file, for whoever asked. */
static void log_read(const struct nccl_probe *own, struct backend_used *used)
{
	ssize_t n;

	used->log = must(malloc(LOG_MOST));
	n = pread(own->log, used->log, LOG_MOST, 0);
	used->len = n < 0 ? 0 : (size_t)n;
}

int nccl_tuning_end(struct backend *be, unsigned kinds, struct backend_used *used)
{
	struct nccl *nccl = to_nccl(be);
	int rc = 0;

	*used = (struct backend_used){ .p2p = is_p2p(nccl, kinds) };
	if (!nccl->probe.on)
		return 0;
	nccl->probe.on = false;
	rc = reread(nccl);
	if (rc == 0)
		log_read(&nccl->probe, used);
	return rc;
}

int nccl_estimate_begin(struct backend *be)
{
	struct nccl *nccl = to_nccl(be);
	ncclResult_t result = ncclGroupStart();

	if (result != ncclSuccess)
		return nccl_fail(nccl, "ncclGroupStart", result);
	nccl->depth++; /* no device times: nothing runs */
	return 0;
}

/* NCCL says -1 where it has no estimate (NCCL_UNDEF_FLOAT): symmetric kernels, one rank. */
int nccl_estimate_end(struct backend *be, double *us)
{
	struct nccl *nccl = to_nccl(be);
	ncclResult_t result;
#ifdef NCCL_SIM_INFO_INITIALIZER
	ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;

	result = nccl->probe.simulate_end ? nccl->probe.simulate_end(&info) : ncclGroupEnd();
	*us = nccl->probe.simulate_end && info.estimatedTime >= 0 ? (double)info.estimatedTime
								  : NAN;
#else
	result = ncclGroupEnd();
	*us = NAN;
#endif
	nccl->depth--;
	return result == ncclSuccess ? 0 : nccl_fail(nccl, "ncclGroupSimulateEnd", result);
}
