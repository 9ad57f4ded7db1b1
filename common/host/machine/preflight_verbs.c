/* preflight_verbs.c: RDMA bandwidth between two hosts, by perftest's ib_write_bw where it is installed. */
#include "machine/preflight_net.h"

#include "base/clock.h"
#include "base/file.h"
#include "machine/read.h"

#define WORDS  "ib_write_bw -F --report_gbits -s 1048576 -n 500 -d %s -i %s -p %d"
#define BEHIND 64 /* from a host's first port: none of another pre-flight's */

/* The first port that is active, as "mlx5_0" and "1". */
static bool find_port(char device[32], char port[32], int64_t *mbps)
{
	struct read_request request = { .root = "", .readers = READ_NICS };
	struct reading m = { .list = NULL };
	const char *part;
	bool found = false;
	size_t at = 0;

	read_nics(&request, &m);
	while (!found && (part = reading_next(&m, "rdma", &at))) {
		found = reading_value(&m, part, "rdma") == 1 &&
			strcmp(reading_text(&m, part, "state"), "up") == 0 &&
			sscanf(part, "RDMA %31[^:]:%31s", device, port) == 2;
		*mbps = reading_value(&m, part, "mbps");
	}
	reading_release(&m);
	return found;
}

bool verbs_ready(void)
{
	char device[32], port[32];
	int64_t mbps;

	return find_port(device, port, &mbps) &&
	       system("command -v ib_write_bw >/dev/null 2>&1") == 0;
}

/* Average Gbit/s of the table's line, "1048576 500 PEAK AVERAGE RATE"; -1: there is none. `said` gets the last line. */
static double run_client(const char *command, char *said, size_t len)
{
	FILE *out = popen(command, "re");
	double average, found = -1;
	char line[256];

	while (out && fgets(line, sizeof(line), out)) {
		if (sscanf(line, "%*u %*u %*f %lf", &average) == 1)
			found = average;
		if (line[strspn(line, " -\n")])
			snprintf(said, len, "%.*s", (int)strcspn(line, "\n"), line);
	}
	if (out)
		pclose(out);
	return found;
}

void verbs_probe(const struct preflight_peer *mine, const struct preflight_peer *to,
		 const char *part, struct reading *m)
{
	char device[32], port[32], command[400], said[128] = "no word of it in 8 s";
	double until = clock_seconds() + 6, gbps = -1;
	int64_t mbps = -1;
	FILE *server;

	/* words of a shell: an address is another host's */
	if (!find_port(device, port, &mbps) ||
	    to->address[strspn(to->address, "0123456789abcdefABCDEF.:")])
		return;
	snprintf(command, sizeof(command), "exec timeout -k 1 14 " WORDS " >/dev/null 2>&1", device,
		 port, mine->ports[0] + BEHIND);
	server = popen(command, "re");
	snprintf(command, sizeof(command), "exec timeout -k 1 8 " WORDS " %s 2>&1", device, port,
		 to->ports[0] + BEHIND, to->address);
	do { /* the other end begins a little later */
		gbps = run_client(command, said, sizeof(said));
		if (gbps < 0)
			clock_sleep(0.3);
	} while (gbps < 0 && clock_seconds() < until);
	if (server)
		pclose(server);
	reading_state(m, part, "verbs_mbit", (int64_t)(fmax(gbps, 0) * 1e3));
	reading_state(m, part, "verbs_mbps", mbps);
	reading_say(m, part, "verbs_said", said);
}
