/* test_observation.c: an observation as JSON and back, and files that are none. */
#include "rig/unit.h"

#include "machine/observation.h"

static char path[UNIT_TEMP];

static void put(const char *text, size_t len)
{
	CU_ASSERT_EQUAL(unit_put(NULL, path, text, len), 0);
}

static int read_text(struct observation *o, const char *text)
{
	struct error err = { .rank = -1 };
	int rc;

	put(text, strlen(text));
	rc = observation_read(o, path, &err);
	if (rc < 0)
		UNIT_ALL(err.outcome == OUTCOME_USAGE, err.text[0] != '\0');
	return rc;
}

/* The recorded one, read, written, read and written once more: the same text. */
UNIT_TEST(test_there_and_back, "there and back")
{
	struct observation o;
	struct error err = { .rank = -1 };
	char *first, *second;
	size_t n, m;

	CU_ASSERT_EQUAL_FATAL(observation_read(&o, "ci/tests/data/observation_healthy.json", &err),
			      0);
	UNIT_ALL(o.nhosts == 2, reading_value(&o.before[1], "NVML", "gpus") == 2,
		 reading_value(&o.before[1], "GPU 0000:2a:00.0", "links") == 18,
		 !strcmp(reading_text(&o.after[0], "eth0", "name"), "eth0"),
		 reading_value(&o.after[0], "RDMA mlx5_0:1", "mbps") == 400000,
		 reading_value(&o.after[0], "RDMA mlx5_0:1", "mtu") == -1, /* not there */
		 !strcmp(reading_text(&o.before[0], "environment", "NCCL_DEBUG_FILE"),
			 "nccl-%h-%p.log"),
		 reading_value(&o.after[1], "rank 3", "pid") == 103,
		 reading_value(&o.run, "run", "worst_ppm") == 615000);
	CU_ASSERT_EQUAL(observation_write(&o, path), 0);
	observation_release(&o);
	first = unit_read(path, &n);
	CU_ASSERT_EQUAL_FATAL(observation_read(&o, path, &err), 0);
	CU_ASSERT_EQUAL(reading_value(&o.before[1], "GPU 0000:2a:00.0", "links"), 18);
	CU_ASSERT_EQUAL(observation_write(&o, path), 0);
	observation_release(&o);
	second = unit_read(path, &m);
	UNIT_ALL(n == m, n == m && memcmp(first, second, n) == 0);
	free(first);
	free(second);
}

#define HOST "{\"version\":2,\"host\":\"a\",\"seconds\":0,\"why\":\"\",\"parts\":{}}"
#define RUN(parts)                                                                                 \
	"{\"format\":3,\"run\":{\"version\":2,\"host\":\"\",\"seconds\":0,\"why\":\"\","           \
	"\"parts\":" parts "}"

UNIT_TEST(test_unseen, "what is not in the file")
{
	struct observation o;

	CU_ASSERT_EQUAL_FATAL(read_text(&o, RUN("{}") ",\"hosts_before\":[" HOST
						      "],\"hosts_after\":[" HOST "]}"),
			      0);
	UNIT_ALL(o.nhosts == 1, reading_value(&o.before[0], "CPU", "cpus") == -1,
		 o.before[0].n == 0, o.before[0].seconds == 0,
		 reading_value(&o.run, "NCCL", "gdr") == -1,
		 !strcmp(reading_text(&o.run, "run", "backend"), ""));
	observation_release(&o);
	CU_ASSERT_EQUAL_FATAL(read_text(&o, RUN("{}") "}"), 0);
	CU_ASSERT_EQUAL(o.nhosts, 0);
	observation_release(&o);
}

UNIT_TEST(test_refused, "refused")
{
	static const char *const texts[] = {
		"",
		"x",
		"[]",
		"3",
		"null",
		"{",
		"{}",
		"{\"format\":2}",
		"{\"format\":\"3\"}",
		"{\"format\":3}",
		"{\"format\":3,\"format\":3}",
		"{\"format\":3,\"run\":[]}",
		RUN("[]") "}",
		RUN("{\"run\":[]}") "}",
		RUN("{\"run\":{\"states\":{\"ranks\":-2}}}") "}",
		RUN("{\"run\":{\"states\":{\"ranks\":1e3}}}") "}",
		RUN("{\"run\":{\"states\":{\"ranks\":99999999999999999999}}}") "}",
		RUN("{\"run\":{\"counters\":{\"hop\":\"NVLink\"}}}") "}",
		RUN("{}") ",\"hosts_before\":[{}]}",
		RUN("{}") ",\"hosts_before\":[7],\"hosts_after\":[7]}",
		RUN("{}") ",\"hosts_before\":[" HOST "],\"hosts_after\":[{}]}",
		RUN("{}") ",\"hosts_before\":[{\"parts\":[[]]}],\"hosts_after\":[" HOST "]}",
	};
	struct observation o;
	struct error err = { .rank = -1 };

	for (size_t i = 0; i < LENGTH(texts); i++) {
		int rc = read_text(&o, texts[i]);

		if (rc == 0)
			printf("\n    taken: %s\n", texts[i]);
		CU_ASSERT_TRUE(rc < 0);
	}
	CU_ASSERT_TRUE(observation_read(&o, "/no/such/file", &err) < 0);
	CU_ASSERT_TRUE(observation_read(&o, "/tmp", &err) < 0);
}

/* Cut anywhere, any byte changed: read or refused, and nothing else (sanitizers look on). */
UNIT_TEST(test_torn, "torn and changed")
{
	struct error err = { .rank = -1 };
	struct observation o;
	size_t n;
	char *text = unit_read("ci/tests/data/observation_healthy.json", &n);

	for (size_t at = 0; at < n; at += 97) {
		char was = text[at];

		err.code = 0;
		put(text, at);
		CU_ASSERT_TRUE(observation_read(&o, path, &err) < 0);
		text[at] = (char)(was ^ 0x15);
		put(text, n);
		if (observation_read(&o, path, &err) == 0)
			observation_release(&o);
		text[at] = was;
	}
	free(text);
}

UNIT_TEST(test_write_fails, "a folder that is not there")
{
	struct observation o;

	observation_init(&o, 1);
	CU_ASSERT_TRUE(observation_write(&o, "/no/such/folder/x.json") < 0);
	observation_release(&o);
}

UNIT_MAIN(unit_main_file(path))
