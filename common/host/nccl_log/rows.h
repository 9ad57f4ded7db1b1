/* rows.h: nccl_lines.txt: the forms of lines as rows: a kind, and a pattern whose named groups are what the line says. */
#pragma once

#include "base/error.h"
#include "nccl_log/pattern.h"

/* clang-format off */
/* Kinds, and the set of which the first row that fits is taken. */
#define ROW_KINDS(X) \
	X(marker, marker) X(origin, origin) X(rank, rank) X(time, time) X(fold, fold) \
	X(version, version) X(order, message) X(link, message) X(ring, message) \
	X(fact, message) X(counts, message) X(timings, message) X(paths, message) \
	X(network, message) X(home, message) X(nics, message) X(speed, message) X(gdr, message) \
	X(setting, message) X(call, message) X(api, message) X(init, message) \
	X(comm, message) X(choice, message) X(trace, message) X(ras, program) X(ras_at, program) \
	X(ras_rank, program) X(ras_json, program) X(ras_count, program) X(traceback, program) \
	X(timeout, program) X(progress, program) X(failure, program) X(torn, torn) X(path, path) \
	X(nic, nic) X(step, step) X(peer, peer) X(device, device) X(within, within) \
	X(address, address) X(aftermath, aftermath) X(late, late) \
	X(net, net)

#define ROW_SETS(X) \
	X(marker) X(origin) X(rank) X(time) X(fold) X(version) X(message) X(program) X(torn) \
	X(path) X(nic) X(step) X(peer) X(device) X(within) X(address) X(aftermath) X(late) X(net)

/* Names of groups. */
#define ROW_FIELDS(X) \
	X(host) X(pid) X(tid) X(dev) X(file) X(rank) X(stamp) X(month) X(day) X(hour) \
	X(minute) X(second) X(times) X(version) X(rccl) X(channel) X(connection) X(from) \
	X(to) X(receive) X(transport) X(old) X(before) X(next) X(order) X(cut) X(gdr) \
	X(nvls) X(coll_channels) X(nvls_channels) X(seconds) X(system) X(gpu) X(paths) \
	X(kind) X(bw) X(type) X(network) X(index) X(name) X(link) X(port) X(mbps) X(value) \
	X(count) X(number) X(dtype) X(op) X(root) X(comm) X(nranks) X(nodes) X(cuda) \
	X(bus) X(id) X(parent) X(split) X(color) X(start) X(state) X(text) X(group) \
	X(place) X(seq) X(numel_in) X(numel_out) X(waited) X(at) X(rings) X(promised) X(enqueued) \
	X(started) X(completed) X(ended)
/* clang-format on */

#define ROW_KIND_ENUM(name, set) ROW_##name,
#define ROW_SET_ENUM(name)	 ROWS_##name,
#define ROW_FIELD_ENUM(name)	 FIELD_##name,
enum row_kind { ROW_KINDS(ROW_KIND_ENUM) N_ROW_KINDS };
enum row_set { ROW_SETS(ROW_SET_ENUM) N_ROW_SETS };
enum row_field { ROW_FIELDS(ROW_FIELD_ENUM) N_ROW_FIELDS };

struct row {
	enum row_kind kind;
	enum row_set set;
	struct pattern pattern;
	const char *sample;		/* a line; NULL: none */
	const char *where;		/* "FILE:LINE" */
	uint8_t group[N_ROW_FIELDS];	/* its number, 0: none of this name */
	const char *said[N_ROW_FIELDS]; /* what the row itself says, "NAME=VALUE" */
	bool bound;			/* its pattern is compiled, and groups are known */
};

struct span {
	const char *at; /* NULL: nothing */
	size_t len;
};

/* A row that fits a text, and where its groups are. */
struct found {
	const struct row *row;
	const char *text;
	size_t at[PATTERN_SPANS];
};

#define ROWS_REMEMBERED 4096

/* Which row fits texts of a shape. */
struct remembered {
	uint64_t shape; /* 0: free */
	int item;	/* -1: none */
};

struct rows {
	struct row **rows; /* by set, a user's before the others */
	int n, from[N_ROW_SETS + 1];
	char **texts; /* of which they are parts */
	int n_texts;
	struct matcher matcher;
	struct remembered remembered[ROWS_REMEMBERED];
};

/* Takes the built-in table. */
void rows_init(struct rows *rows);
void rows_release(struct rows *rows);

/* Puts the rows of a file before the others. 0, or -EINVAL: "FILE:LINE: why". */
int rows_read(struct rows *rows, const char *path, struct error *err);

/* The first row of the set that fits. `shape`: of the text, then its row is remembered; 0: no. */
bool rows_find(struct rows *rows, enum row_set set, const char *text, size_t len, uint64_t shape,
	       struct found *found);

/* A group's text, else what the row says: as a span, a number in this base (negative ones: base 10), a real number. */
struct span found_span(const struct found *found, enum row_field field);
int64_t found_number(const struct found *found, enum row_field field, int base, int64_t unset);
double found_real(const struct found *found, enum row_field field, double unset);

/* For other tables of patterns: what is remembered of a text's shape, and the place for it. */
struct remembered *rows_remembered(struct rows *rows, uint64_t shape);

/* A table's file, as a text of the caller's. NULL: an error. */
char *rows_file(const char *path, struct error *err);
