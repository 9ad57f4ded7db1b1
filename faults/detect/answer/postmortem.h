/* postmortem.h: a diagnosis as a page, on the screen and as files. */
#pragma once

#include "answer/describe.h"
#include "answer/meaning.h"
#include "evidence/evidence.h"

/* The diagnosis as verdict.json has it (verdict.schema.json). */
void answer_print_json(FILE *out, const struct answer *diagnosis, const struct evidence *evidence);

/* The diagnosis in short, for the screen: culprit, others, where to look, then the rest. `page`: the
 * report's name, "" for none. */
void answer_print_whole(FILE *out, const struct answer *diagnosis, const struct evidence *evidence,
			const char *page);

/* The rank's view, without times where its evidence may be older than the others', or has none. */
struct rank_view report_view(const struct evidence_rank *rank);

/* answer_describe of the ranks as the evidence has them. */
void report_describe(struct answer *answer, const struct evidence *evidence);

/* Write verdict.json, postmortem.md, timeline.csv and timeline.json to `dir`, in this order and each whole or not
 * at all. 1: the timeline holds calls to draw, 0: it holds none; or a negative errno with the error set. */
int answer_save(const struct answer *diagnosis, const struct evidence *evidence, const char *dir,
		struct error *err);
/* The same, verdict.json and postmortem.md alone. */
int answer_save_report(const struct answer *diagnosis, const struct evidence *evidence,
		       const char *dir, struct error *err);

/* postmortem.md. `dir` is where the evidence lies: command.txt and nccl-*.log in it are read,
 * each if it is there. `drawable`: there is a timeline to draw. */
void postmortem_print(FILE *out, const struct answer *diagnosis, const struct evidence *evidence,
		      const char *dir, bool drawable);

/* Writes where timelines parted, and in which call the others stand, or whose data were wrong. */
void report_place(FILE *out, const struct answer *diagnosis);
void report_hang(FILE *out, const struct answer *diagnosis);

#define REPORT_ERRORS 16

/* The next rank that reported an error (view_error), culprits first, from *at = 0 on; -1: none. */
int report_error(const struct answer *diagnosis, const struct evidence *evidence, int *at);
/* A line for each, REPORT_ERRORS at most, and how many more there are; `page`: of Markdown. */
void report_errors(FILE *out, const struct answer *diagnosis, const struct evidence *evidence,
		   bool page);

/* Hosts and the ranks on each, "a: 0-3, 8; b: 4-7" ("?" where unknown); cut with "..." at `len`. */
void report_hosts(const struct evidence *evidence, char *buf, size_t len);
/* The hosts of these ranks ("1,3", "-") and those that are `lost`, each once, as "node1,node2". */
void report_hosts_of(const struct evidence *evidence, const char *ranks, const char *lost,
		     char *buf, size_t len);

/* Lines "PREFIXrank 3 is stuck on ..." by ranks' stacks, `culprits` first, at most `most`. */
void report_stuck(FILE *out, const char *prefix, const struct evidence *evidence,
		  const char *culprits, int most);

/* Writes such a line of the first culprit, of any rank where none is named, for the screen. */
void report_where(FILE *out, const char *prefix, const struct answer *diagnosis,
		  const struct evidence *evidence);

/* A sentence behind its name, of 12 characters at most, in lines of 100 characters. */
void report_folded(FILE *out, const char *name, const char *text);

/* Text as a code block of Markdown, indented: its own content cannot end it. */
void report_block(FILE *out, const char *text);

/* A section "### Stacks" of a Markdown page: those lines, then the stacks of the culprits ("1,3",
 * "-": none) and of one rank that waits for them. Says so when no stacks were taken. */
void report_stacks(FILE *out, const struct evidence *evidence, const char *culprits);

/* Sections of a Markdown page, of NCCL's own logs in an evidence folder (nccl-*.log): rings with
 * their transports, whether they are rational, the calls of all ranks compared, warnings.
 * Unreadable logs are counted. Returns how many logs there are; with 0 nothing is printed. */
int logs_print(FILE *out, const char *dir);
