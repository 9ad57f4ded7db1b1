/* nccl_choice.c: algorithm, protocol and channels from NCCL's log of a few calls. */
#include "nccl_log/nccl_choice.h"

#include <strings.h>

#include "topo/model.h"
#include "nccl_log/nccl_log.h"

/* The lines so far agree in this. */
struct seen {
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
	algo = model_find(model_algo_names, MODEL_ALGOS, plain);
	return algo < 0 ? NULL : model_algo_names[algo];
}

static const char *proto_name(const char *printed)
{
	int proto = model_find(model_proto_names, MODEL_PROTOS, printed);

	return proto < 0 ? NULL : model_proto_names[proto];
}

static void take(struct seen *seen, const struct nccl_tuning *tuning)
{
	const char *algo = algo_name(tuning->algorithm), *proto = proto_name(tuning->protocol);

	if (!seen->any) {
		seen->algo = algo;
		seen->proto = proto;
	}
	seen->any = true;
	if (seen->algo != algo)
		seen->algo = NULL;
	if (seen->proto != proto)
		seen->proto = NULL;
	for (int c = tuning->low; c <= tuning->high && c < NCCL_LOG_CHANNELS; c++)
		seen->channel[c] = true;
}

int nccl_choice_read(struct nccl_choice *choice, const char *log, size_t len)
{
	struct seen seen = { .any = false };
	struct nccl_log read;
	int channels = 0;

	nccl_log_init(&read);
	nccl_log_read(&read, log, len, 0);
	nccl_log_finish(&read);
	for (int i = 0; i < read.n_comms; i++)
		for (int k = 0; k < read.comms[i].n_tunings; k++)
			take(&seen, &read.comms[i].tunings[k]);
	nccl_log_release(&read);
	if (!seen.any)
		return -ENODATA;
	for (int c = 0; c < NCCL_LOG_CHANNELS; c++)
		channels += seen.channel[c];
	*choice = (struct nccl_choice){ seen.algo, seen.proto, channels ? channels : -1 };
	return 0;
}
