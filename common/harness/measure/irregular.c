/* irregular.c: counts and call of an exchange that follows a traffic matrix. */
#include "measure/irregular.h"

#include "base/error.h"
#include "backend/traffic.h"

size_t irregular_count(const struct geometry *geometry, int from, int to)
{
	size_t bytes = slice_count(geometry) * (size_t)geometry->nranks * geometry->elsize;

	return traffic_count(geometry->traffic, from, to, bytes, geometry->elsize);
}

void irregular_totals(const struct geometry *geometry, int rank, bool self, size_t *send,
		      size_t *recv)
{
	*send = *recv = 0;
	for (int peer = 0; peer < geometry->nranks; peer++) {
		if (peer == rank && !self)
			continue;
		*send += irregular_count(geometry, rank, peer);
		*recv += irregular_count(geometry, peer, rank);
	}
}

size_t irregular_busiest(const struct geometry *geometry, bool self)
{
	size_t send, recv, most = 0;

	for (int rank = 0; rank < geometry->nranks; rank++) {
		irregular_totals(geometry, rank, self, &send, &recv);
		most = send > most ? send : most;
		most = recv > most ? recv : most;
	}
	return most;
}

void irregular_summary(const struct geometry *geometry, int rank, double us, char *buf, size_t len)
{
	size_t send, recv, away_send, away_recv, most, away;

	irregular_totals(geometry, rank, true, &send, &recv);
	irregular_totals(geometry, rank, false, &away_send, &away_recv);
	most = (send > recv ? send : recv) * geometry->elsize;
	away = (away_send > away_recv ? away_send : away_recv) * geometry->elsize;
	snprintf(buf, len,
		 "rank %d: sends %zu B, receives %zu B, time %.2f us, algbw %.2f GB/s, busbw %.2f "
		 "GB/s",
		 rank, send * geometry->elsize, recv * geometry->elsize, us,
		 us > 0 ? (double)most / us / 1e3 : 0, us > 0 ? (double)away / us / 1e3 : 0);
}

int irregular_run(struct chain *chain, const struct invocation *invocation)
{
	const struct geometry *geometry = invocation->geometry;
	struct call call = invocation_call(invocation, CALL_ALLTOALLV);
	size_t n = (size_t)geometry->nranks, send_at = 0, recv_at = 0;
	size_t *table = must(malloc(4 * n * sizeof(*table)));
	int rc;

	for (size_t peer = 0; peer < n; peer++) {
		table[peer] = irregular_count(geometry, geometry->rank, (int)peer);
		table[n + peer] = send_at;
		table[2 * n + peer] = irregular_count(geometry, (int)peer, geometry->rank);
		table[3 * n + peer] = recv_at;
		send_at += table[peer];
		recv_at += table[2 * n + peer];
	}
	call.send_counts = table;
	call.send_at = table + n;
	call.recv_counts = table + 2 * n;
	call.recv_at = table + 3 * n;
	rc = chain_call(chain, &call);
	free(table);
	return rc;
}
