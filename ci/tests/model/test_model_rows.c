/* test_model_rows.c: rows of one's own in, predictions that follow them below 64 MiB. */
#include "model_machine.h"

#include <jansson.h>

#include "base/error.h"

static double time_of(double bytes, bool plain, enum model_mode mode)
{
	struct predict_request request = { .collective = MODEL_ALL_REDUCE,
					   .mode = mode,
					   .bytes = bytes,
					   .algo = -1,
					   .proto = -1,
					   .plain = plain };
	struct prediction p;

	CU_ASSERT_EQUAL_FATAL(model_predict(&model, &request, &p), 0);
	CU_ASSERT_DOUBLE_EQUAL(p.busbw, bytes / (1000 * p.time_us) * p.bus_factor, 1e-9 * p.busbw);
	return p.time_us;
}

/* Rows of all_reduce as `times` of what is predicted. */
static int take(struct model_rows *rows, const double sizes[3], const double times[3],
		struct error *err)
{
	struct model_row row[3];
	size_t n = 0;

	model.rows = NULL;
	for (int i = 0; i < 3 && sizes[i] > 0; i++)
		row[n++] = (struct model_row){ MODEL_ALL_REDUCE, MODEL_STREAM, sizes[i],
					       times[i] * time_of(sizes[i], true, MODEL_STREAM) };
	*rows = (struct model_rows){ .process_gpus = 1, .algo = -1, .proto = -1 };
	return model_take_rows(&model, rows, row, n, err);
}

UNIT_TEST(test_rows, "predictions meet the rows, and are the plain ones from 64 MiB on")
{
	static const struct {
		double sizes[3], times[3];
		const char *wrong; /* NULL: they are taken */
	} table[] = {
		{ { 16 << 10, 4 << 20 }, { 1.6, .9 }, NULL },
		{ { 1 << 10, 64 << 10, 8 << 20 }, { .5, .7, 1.2 }, NULL },
		{ { 16 << 10, 32 << 20 }, { 4, 4.9 }, NULL },
		{ { 16 << 10, 4 << 20 }, { 1, .19 }, "4194304 B took" },
		{ { 16 << 10, 4 << 20 }, { 5.1, 1 }, "another machine, or a broken one" },
		{ { 16 << 10 }, { 1.2 }, "rows of 1 size below 64 MiB: two are needed" },
		{ { 4 << 20, 4 << 20 }, { 1.2, 1.3 }, "rows of 1 size" },
		{ { 64 << 20, 1 << 30 }, { 1.2, 1.1 }, "rows of 0 sizes" },
		{ { 0 }, { 0 }, NULL },
	};

	machine_model("dgx-h100", 8, 1, false);
	UNIT_ROWS(row, table) {
		struct error err = { .outcome = OUTCOME_OK };
		struct model_rows rows;
		double before = 0;

		CU_ASSERT_EQUAL(take(&rows, row->sizes, row->times, &err),
				row->wrong ? -ERANGE : 0);
		CU_ASSERT(!row->wrong || strstr(err.text, row->wrong) != NULL);
		CU_ASSERT((model.rows != NULL) == !row->wrong);
		for (double bytes = 8; bytes <= 1 << 30; bytes *= 2) {
			double now = time_of(bytes, false, MODEL_STREAM);

			CU_ASSERT(now >= before);
			CU_ASSERT(bytes < MODEL_ROWS_END ||
				  now == time_of(bytes, true, MODEL_STREAM));
			CU_ASSERT_EQUAL(time_of(bytes, false, MODEL_GRAPH),
					time_of(bytes, true, MODEL_GRAPH));
			before = now;
		}
		for (int i = 0; !row->wrong && i < 3 && row->sizes[i] > 0 && row->times[i] < 3; i++)
			CU_ASSERT_DOUBLE_EQUAL(time_of(row->sizes[i], false, MODEL_STREAM) /
						       time_of(row->sizes[i], true, MODEL_STREAM),
					       row->times[i], 1e-6);
	}
}

/* Rows that a file has, and the reason for which they are refused. */
UNIT_TEST(test_files, "rows of another collective, type, number of ranks, or with wrong data")
{
	static const struct {
		const char *json; /* of the second row; the first one is right */
		const char *wrong;
	} table[] = {
		{ "", NULL },
		{ "\"dtype\":\"half\"", "rows are of half, not float" },
		{ "\"nranks\":16,\"nnodes\":2", "rows are of 16 ranks on 2 nodes, not of 8 on 1" },
		{ "\"wrong\":3", "4194304 B has wrong data" },
		{ "\"collective\":\"all_gather\"", "rows of 1 size below" },
		{ "\"time_us\":\"x\"", "lacks" },
	};
	static const char row_of[] =
		"{\"collective\":\"all_reduce\",\"mode\":\"stream\",\"dtype\":\"float\","
		"\"nranks\":8,\"nnodes\":1,\"size_bytes\":%d,\"time_us\":%g,\"wrong\":0}";

	machine_model("dgx-h100", 8, 1, false);
	UNIT_ROWS(row, table) {
		struct error err = { .outcome = OUTCOME_OK };
		struct model_rows rows = { .algo = -1, .proto = -1 };
		json_t *file = json_pack("{s:i s:[]}", "process_gpus", 1, "rows");
		json_t *list = json_object_get(file, "rows"), *other;
		char text[300];

		model.rows = NULL;
		snprintf(text, sizeof(text), row_of, 16 << 10,
			 1.5 * time_of(16 << 10, true, MODEL_STREAM));
		json_array_append_new(list, json_loads(text, 0, NULL));
		snprintf(text, sizeof(text), row_of, 4 << 20,
			 1.5 * time_of(4 << 20, true, MODEL_STREAM));
		json_array_append_new(list, json_loads(text, 0, NULL));
		snprintf(text, sizeof(text), "{%s}", row->json);
		other = json_loads(text, 0, NULL);
		json_object_update(json_array_get(list, 1), other);
		json_decref(other);
		CU_ASSERT((model_take_file(&model, &rows, file, 1u << MODEL_ALL_REDUCE, &err) ==
			   0) == !row->wrong);
		CU_ASSERT(!row->wrong || strstr(err.text, row->wrong) != NULL);
		json_decref(file);
	}
	model.rows = NULL;
}
