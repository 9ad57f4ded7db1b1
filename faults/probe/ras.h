/* ras.h: NCCL's own RAS service: what it answers, and whether it names the ranks that we name.
 *
 * Each process of an NCCL job (2.24 and later) listens for clients, by default on localhost:28028,
 * all on one port: the kernel picks which of them answers, perhaps a stopped one. Lines of text:
 * "CLIENT PROTOCOL 2", "TIMEOUT 1", "SET FORMAT json" and "VERBOSE STATUS" go there, "SERVER
 * PROTOCOL 2", "OK", "OK" and a report come back, then the end. NCCL before 2.28.7 knows no
 * formats: "ERROR: Unknown command" comes back, and the report is text, which is saved unread. */
#pragma once

#include "diagnose/diagnose.h"
#include "evidence/evidence.h"

#define RAS_ADDRESS "localhost:28028"

struct ras_order {
	const char *address; /* HOST:PORT or [HOST]:PORT; NCCL_RAS_ADDR's value */
	double seconds;	     /* for everything: connecting, several attempts, the answer */
};

/* Ask, and write what was answered to `fd`, as it came; a line in brackets says why nothing or no
 * more came. Looking up a name may take longer than the order allows: run it as a task. */
void ras_ask(int fd, const struct ras_order *order);

enum ras_answer { RAS_NOT_ASKED, RAS_UNREAD, RAS_NAMES_NOBODY, RAS_AGREES, RAS_DISAGREES };

/* Writes what an answer (NULL: not asked; hostile text is fine) says about the ranks of a
 * diagnosis, as one sentence in `line` ("" for RAS_NOT_ASKED). Any form but the JSON of NCCL
 * 2.28.7 and later is RAS_UNREAD. Ranks are told from processes where the evidence knows those,
 * since RAS counts within communicators; processes that are none of ours belong to another job
 * and name nobody. It names whoever launched another number of a collective than most did (fewer
 * than the others, where there is no most), has another status than most, or is missing or dead. */
enum ras_answer ras_agrees(const char *text, const struct evidence *evidence,
			   const struct diagnosis *diagnosis, char *line, size_t len);
