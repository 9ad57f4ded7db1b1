/* nccl_used.c: algorithm, protocol and channels from NCCL's log of a few calls. */
#include "nccl_log/nccl_used.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "topo/model.h"
#include "nccl_log/nccl_log.h"

/* What the lines so far agree in. */
struct choice {
	const char *algo, *proto;
	bool any;
	bool channel[NCCL_LOG_CHANNELS];
};

/* NCCL prints NVLS_TREE where the model has NVLSTree. */
static const char *algo_name(const char *printed)
{
	char plain[32];
	size_t n = 0;
	int algo;

	for (; *printed && n + 1 < sizeof(plain); printed++)
		if (*printed != '_')
			plain[n++] = *printed;
	plain[n] = '\0';
	if (strcasecmp(plain, NCCL_SYMMETRIC) == 0)
		return NCCL_SYMMETRIC;
	algo = model_algo_parse(plain);
	return algo < 0 ? NULL : model_algo_name(algo);
}

static const char *proto_name(const char *printed)
{
	int proto = model_proto_parse(printed);

	return proto < 0 ? NULL : model_proto_name(proto);
}

static void take(struct choice *choice, const struct nccl_tuning *tuning)
{
	const char *algo = algo_name(tuning->algorithm), *proto = proto_name(tuning->protocol);

	if (!choice->any) {
		choice->algo = algo;
		choice->proto = proto;
	}
	choice->any = true;
	if (choice->algo != algo)
		choice->algo = NULL;
	if (choice->proto != proto)
		choice->proto = NULL;
	for (int c = tuning->low < 0 ? 0 : tuning->low; c <= tuning->high && c < NCCL_LOG_CHANNELS;
	     c++)
		choice->channel[c] = true;
}

int nccl_used_read(struct backend_used *used, const char *log, size_t len)
{
	struct choice choice = { .any = false };
	struct error err = { .rank = -1 };
	struct nccl_log read;
	int rc = nccl_log_init(&read, &err), channels = 0;

	if (rc < 0)
		return rc;
	rc = nccl_log_read(&read, log, len, 0, &err);
	if (rc == 0)
		rc = nccl_log_finish(&read, &err);
	for (int i = 0; rc == 0 && i < read.n_comms; i++)
		for (int k = 0; k < read.comms[i].n_tunings; k++)
			take(&choice, &read.comms[i].tunings[k]);
	nccl_log_release(&read);
	if (rc < 0)
		return rc;
	if (!choice.any)
		return -ENODATA;
	for (int c = 0; c < NCCL_LOG_CHANNELS; c++)
		channels += choice.channel[c];
	*used = (struct backend_used){ choice.algo, choice.proto, channels ? channels : -1 };
	return 0;
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

const char *nccl_used_refusal(void)
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
