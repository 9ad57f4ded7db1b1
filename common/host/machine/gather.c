/* gather.c: what hosts read, at rank 0. */
#include "machine/gather.h"
#include "machine/read.h"

int reading_gather(struct job *job, const char *text, struct reading *hosts)
{
	int len = text ? (int)strlen(text) + 1 : 0, rc = job_max_int(job, &len, 1);
	char *mine = NULL, *all = NULL;

	if (rc < 0)
		return rc;
	mine = must(calloc(1, (size_t)len + 1));
	all = must(calloc(job->rank == 0 ? (size_t)job->nnodes : 1, (size_t)len + 1));
	if (text)
		strcpy(mine, text);
	rc = job_gather_nodes(job, mine, (size_t)len, all);
	/* a list for which a host had no memory stays empty */
	for (int h = 0; rc == 0 && job->rank == 0 && h < job->nnodes; h++)
		reading_parse(&hosts[h], all + (size_t)h * (size_t)len);
	free(mine);
	free(all);
	return rc;
}
