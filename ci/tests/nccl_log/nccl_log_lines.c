/* nccl_log_lines.c: NCCL logs made for tests, line by line. */
#include "nccl_log/nccl_log_lines.h"

void lines_open(struct lines *lines, int nranks, int per_host)
{
	*lines = (struct lines){ .nranks = nranks, .per_host = per_host, .prefix = "" };
	lines->out = open_memstream(&lines->text, &lines->size);
	CU_ASSERT_PTR_NOT_NULL_FATAL(lines->out);
}

void lines_say(struct lines *lines, int rank, const char *format, ...)
{
	const char *number = strstr(lines->prefix, "%d");
	va_list args;

	if (number)
		fprintf(lines->out, "%.*s%d%s", (int)(number - lines->prefix), lines->prefix, rank,
			number + 2);
	else
		fputs(lines->prefix, lines->out);
	fprintf(lines->out, "host-%c:%d:%d [%d] NCCL INFO ", 'A' + rank / lines->per_host,
		1000 + rank, 2000 + rank, rank % lines->per_host);
	va_start(args, format);
	vfprintf(lines->out, format, args);
	va_end(args);
	fputc('\n', lines->out);
}

void lines_start(struct lines *lines, int rank)
{
	lines_say(lines, rank,
		  "ncclCommInitRank comm 0x%x rank %d nranks %d cudaDev %d nvmlDev %d busId %x "
		  "commId 0xabc - Init START",
		  0x5000 + rank, rank, lines->nranks, rank % lines->per_host,
		  rank % lines->per_host, 0x1000 * (rank % lines->per_host + 1));
	lines_say(lines, rank,
		  "comm 0x%x rank %d nRanks %d nNodes %d localRanks %d localRank %d MNNVL 0",
		  0x5000 + rank, rank, lines->nranks, lines->nranks / lines->per_host,
		  lines->per_host, rank % lines->per_host);
}

void lines_started(struct lines *lines, int nranks, int per_host)
{
	lines_open(lines, nranks, per_host);
	for (int r = 0; r < nranks; r++)
		lines_start(lines, r);
}

void lines_call(struct lines *lines, int rank, const char *function, int count, int root)
{
	lines_say(lines, rank,
		  "%s: opCount 0 sendbuff 0x7f00 recvbuff (nil) count %d datatype 7 op 0 root %d "
		  "comm 0x%x [nranks=%d] stream 0x1",
		  function, count, root, 0x5000 + rank, lines->nranks);
}

void lines_ring(struct lines *lines, int channel, const int *order, bool listed)
{
	int n = lines->nranks;
	char text[512] = "";

	for (int i = 0; i < n; i++) {
		int rank = order[i], next = order[(i + 1) % n];

		snprintf(text + strlen(text), sizeof(text) - strlen(text), " %d", rank);
		lines_say(lines, rank, "Ring %02d : %d -> %d -> %d", channel,
			  order[(i + n - 1) % n], rank, next);
	}
	if (listed)
		lines_say(lines, 0, "Channel %02d/02 :%s", channel, text);
}

void lines_link(struct lines *lines, int channel, int from, int to, const char *transport)
{
	lines_say(lines, from, "Channel %02d/0 : %d[%d] -> %d[%d]%s via %s", channel, from,
		  from % lines->per_host, to, to % lines->per_host,
		  strncmp(transport, "NET", 3) == 0 ? " [send]" : "", transport);
}

void lines_links(struct lines *lines, int channel, const int *order, const char *net)
{
	for (int i = 0; i < lines->nranks; i++) {
		int from = order[i], to = order[(i + 1) % lines->nranks];
		bool near = from / lines->per_host == to / lines->per_host;

		lines_link(lines, channel, from, to, near ? "P2P/CUMEM" : net);
	}
}

void lines_job(struct lines *lines, const char *prefix)
{
	int order[16];

	lines_open(lines, 16, 8);
	lines->prefix = prefix;
	for (int r = 0; r < 16; r++) {
		order[r] = r;
		lines_start(lines, r);
	}
	for (int c = 0; c < 2; c++)
		lines_ring(lines, c, order, true);
	for (int c = 0; c < 2; c++)
		lines_links(lines, c, order, "NET/IB/0/GDRDMA");
}

void lines_read_text(struct nccl_log *log, const char *text, size_t len)
{
	nccl_log_init(log);
	nccl_log_read(log, text, len, -1);
	nccl_log_finish(log);
}

void lines_read(struct lines *lines, struct nccl_log *log)
{
	fclose(lines->out);
	lines_read_text(log, lines->text, lines->size);
	free(lines->text);
}
