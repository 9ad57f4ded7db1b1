/* against.c: is this number normal? A measured table beside the prediction. */
#include "topo/against.h"

enum { WORDS = 64 };

static const double GOOD = 80, LOW = 50; /* percent, as --good and --low of the programs */

/* Cuts a copy of a line into words. Returns how many. */
static int words_of(char *line, char *word[WORDS])
{
	char *rest = NULL;
	int n = 0;

	for (char *at = strtok_r(line, " \t\r", &rest); at && n < WORDS;
	     at = strtok_r(NULL, " \t\r", &rest))
		word[n++] = at;
	return n;
}

static bool is_number(const char *text)
{
	char *end;

	return isdigit((unsigned char)*text) && (strtod(text, &end), *end == '\0');
}

/* A row: size, count, type, then redop and root in most versions; time, algbw and busbw of out of place, what is wrong, and
 * the same of in place. The first number after the type and its words is the time. */
static bool take_row(struct against *t, char *word[WORDS], int n)
{
	double time_us = 0, busbw = 0;
	int at = 0, first;

	while (at + 5 < n && !(is_number(word[at]) && is_number(word[at + 1]) &&
			       isalpha((unsigned char)*word[at + 2])))
		at++;
	first = at + 3;
	if (at + 5 >= n)
		return false;
	if (!is_number(word[first])) /* the operation, "sum" or "none" */
		first += first + 1 < n && !strchr(word[first + 1], '.') ? 2 : 1;
	for (int i = 0; i < 2 && first + 2 < n; i++, first += 4)
		if (is_number(word[first]) && is_number(word[first + 2]) &&
		    strtod(word[first + 2], NULL) > busbw) {
			time_us = strtod(word[first], NULL);
			busbw = strtod(word[first + 2], NULL);
		}
	if (time_us <= 0 || strtod(word[at], NULL) <= 0)
		return false;
	if (t->nrows == AGAINST_ROWS) {
		t->left_out++;
		return false;
	}
	t->bytes[t->nrows] = strtod(word[at], NULL);
	t->time_us[t->nrows] = time_us;
	t->busbw[t->nrows++] = busbw;
	return true;
}

/* "#  Rank  0 Group  0 Pid 123 on HOST device  0 ...": a rank, and its host among those so far (" a b "). */
static void take_rank(struct against *t, char *word[WORDS], int n, char *hosts, size_t len)
{
	int at = 0;
	char name[132];

	while (at + 1 < n && strcmp(word[at], "Rank") != 0)
		at++;
	if (at + 1 >= n || !is_number(word[at + 1]))
		return;
	t->nranks++;
	while (at + 1 < n && strcmp(word[at], "on") != 0)
		at++;
	snprintf(name, sizeof(name), " %.128s ", at + 1 < n ? word[at + 1] : "");
	if (at + 1 < n && !strstr(hosts, name)) {
		text_add(hosts, len, "%s", name + 1);
		t->nhosts++;
	}
}

static void take_program(struct against *t, const char *line)
{
	size_t best = 0;

	for (int i = 0; i < MODEL_COLLS; i++) {
		const char *at = strstr(line, model_coll_names[i]);
		size_t size = strlen(model_coll_names[i]);

		if (at && strncmp(at + size, "_perf", 5) == 0 && size > best) {
			t->collective = i;
			best = size;
		}
	}
}

int against_parse(struct against *t, const char *text)
{
	char line[1024], hosts[16384] = " ", *word[WORDS];

	*t = (struct against){ .collective = -1 };
	for (const char *at = text, *end; at; at = end ? end + 1 : NULL) {
		end = strchr(at, '\n');
		snprintf(line, sizeof(line), "%.*s", end ? (int)(end - at) : (int)strlen(at), at);
		if (strlen(line) == sizeof(line) - 1)
			continue; /* no table has such lines */
		if (t->collective < 0)
			take_program(t, line);
		if (strchr(line, '#') && strstr(line, "Rank"))
			take_rank(t, word, words_of(line, word), hosts, sizeof(hosts));
		else
			take_row(t, word, words_of(line, word));
	}
	return t->nrows;
}

int against_read(struct against *t, const char *path, struct error *err)
{
	char *text;
	size_t size;
	int rc = topo_read(path, &text, &size, err);

	if (rc != 0)
		return rc;
	rc = against_parse(t, text);
	free(text);
	return rc > 0 ? 0 : error_usage(err, "%s: no row of a table of nccl-tests", path);
}

void against_fit(const struct against *t, const struct topo_system *sys, struct topo_change *change,
		 int *nodes)
{
	int each = t->nhosts > 0 && t->nranks % t->nhosts == 0 ? t->nranks / t->nhosts : 0;

	if (*nodes == 1 && change->gpus == 0 && each > 0 && each <= sys->ngpus) {
		*nodes = t->nhosts;
		change->gpus = each < sys->ngpus ? each : 0;
	}
}

static const char *judged(double percent, double busbw, const struct prediction *p)
{
	bool in_bar = p->bar != NULL && busbw >= p->low_busbw;

	if (percent > 125)
		return "above what is predicted";
	return percent >= GOOD || in_bar ? "good" : percent >= LOW ? "low" : "bad";
}

int against_show(const struct against *t, const struct model *model, unsigned colls,
		 const struct predict_request *template, struct error *err)
{
	struct predict_request request = *template;
	int coll = colls ? __builtin_ctz(colls) : (int)fmax(t->collective, MODEL_ALL_REDUCE),
	    shown = 0;

	request.collective = (enum model_coll)coll;
	printf("# %s on %d node%s of %d x %s%s\n", model_coll_names[coll], model->nnodes,
	       model->nnodes == 1 ? "" : "s", model->ppn, model->sys->gpu[0].model->name,
	       colls || t->collective >= 0 ? ""
					   : ": no collective is named in the table (-c NAME)");
	if (t->nranks > 0 && t->nranks != model->nranks)
		printf("# the table is of %d ranks, the prediction of %d: say -N and --gpus\n",
		       t->nranks, model->nranks);
	printf("# %12s %12s %9s %9s  %-16s %5s  %s\n", "size", "time(us)", "busbw", "predicted",
	       "nine in ten", "%", "");
	for (int i = 0; i < t->nrows; i++) {
		struct prediction p;
		char bar[48] = "never scored";

		request.bytes = t->bytes[i];
		if (model_predict(model, &request, &p) != 0)
			continue;
		if (p.bar != NULL)
			snprintf(bar, sizeof(bar), "%.3g to %.3g", p.low_busbw, p.high_busbw);
		printf("  %12.0f %12.2f %9.2f %9.2f  %-16s %5.0f  %s\n", t->bytes[i], t->time_us[i],
		       t->busbw[i], p.busbw, bar, 100 * t->busbw[i] / p.busbw,
		       judged(100 * t->busbw[i] / p.busbw, t->busbw[i], &p));
		shown++;
	}
	if (t->left_out > 0)
		printf("# %d more rows are not shown\n", t->left_out);
	return shown > 0 ? 0
			 : error_usage(err, "nothing can be predicted of %s there",
				       model_coll_names[coll]);
}
