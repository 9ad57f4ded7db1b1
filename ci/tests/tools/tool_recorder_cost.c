/* tool_recorder_cost.c: what noting a call costs: the recorder's hooks in a tight loop, as
 * chain_emit calls them, nothing between them. Prints nanoseconds per call over the samples. */

#include "backend/call.h"
#include "base/clock.h"
#include "base/error.h"
#include "record/recorder.h"
#include "base/stats.h"

#define SAMPLES 101
#define CALLS	20000 /* a sample of a few ms; the ring goes round five times */

static double sample(const struct watch *watch, struct call *call)
{
	double begin = clock_seconds();

	for (int i = 0; i < CALLS; i++) {
		call->count = (size_t)i;
		watch->returned(watch->ctx, watch->call(watch->ctx, call), 0);
	}
	return (clock_seconds() - begin) / CALLS * 1e9;
}

int main(void)
{
	struct error err = { .rank = -1 };
	struct call call = { .kind = CALL_ALL_REDUCE, .dtype = DT_FLOAT, .op = OP_SUM, .peer = -1 };
	struct record_memory *memory;
	struct recorder recorder;
	struct watch watch;
	struct stats stats;
	double ns[SAMPLES];
	int fd;

	if (recorder_create("tool_recorder_cost", &memory, &fd, &err) < 0) {
		error_print(&err, "tool_recorder_cost");
		return 1;
	}
	recorder_init(&recorder, memory, true, 0);
	watch = recorder_watch(&recorder);
	sample(&watch, &call); /* touches the ring */
	for (int i = 0; i < SAMPLES; i++)
		ns[i] = sample(&watch, &call);
	if (stats_compute(ns, SAMPLES, &stats) == 0)
		printf("recorder ns per call: median=%.1f p5=%.1f p95=%.1f (%d samples of %d "
		       "calls)\n",
		       stats.median, stats.p5, stats.p95, SAMPLES, CALLS);
	munmap(memory, sizeof(*memory));
	close(fd);
	return 0;
}
