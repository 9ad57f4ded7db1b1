/* vendor.c: the reader of vendor_specs.csv. */
#include "topo/vendor.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "topo/topo.h"

enum { COLUMNS = 7 };

/* Split a CSV line in place; fields may be quoted. Returns the number of fields. */
static int split_csv(char *line, char *field[COLUMNS])
{
	int n = 0;
	char *at = line;

	while (n < COLUMNS) {
		char *to = at;
		bool quoted = *at == '"';

		field[n++] = at;
		at += quoted;
		for (; *at != '\0' && (quoted || *at != ','); at++) {
			if (*at == '"' && at[1] != '"')
				quoted = false;
			else
				*to++ = *at == '"' ? *at++ : *at;
		}
		if (*at == '\0') {
			*to = '\0';
			return n;
		}
		*to = '\0';
		at++;
	}
	return n;
}

const char *vendor_mark(const struct vendor_row *row)
{
	return strcmp(row->verified, "yes") == 0      ? "verified"
	       : strcmp(row->verified, "partly") == 0 ? "partly verified"
						      : "NOT verified";
}

int vendor_each(const char *path, int (*each)(void *ctx, const struct vendor_row *row), void *ctx,
		struct error *err)
{
	char dir[4096], found[4096 + 32], line[2048], *f[COLUMNS];
	int number = 0, rc = 0;
	FILE *in;

	if (path == NULL) {
		if (topo_spec_dir(dir, sizeof(dir)) != 0)
			return error_set(err, OUTCOME_USAGE, -ENOENT,
					 "no folder of specs: set HANGAR_SPECS");
		snprintf(found, sizeof(found), "%s/../vendor_specs.csv", dir);
		path = found;
	}
	rc = topo_open(path, &in, err);
	if (rc != 0)
		return rc;
	while (rc == 0 && fgets(line, sizeof(line), in) != NULL) {
		line[strcspn(line, "\r\n")] = '\0';
		if (split_csv(line, f) < COLUMNS || number++ == 0)
			continue;
		rc = each(ctx, &(struct vendor_row){ f[0], f[1], f[2], f[3], f[4], f[5], f[6] });
	}
	fclose(in);
	if (rc != 0 || number > 1)
		return rc;
	return error_set(err, OUTCOME_USAGE, -EINVAL, "%.200s: holds no rows", path);
}
