/* seats.h: observers without ranks. A seat is a process that drives a monitor as a supervisor
 * would; the flight recorder it watches and the state of the process it believes to have are
 * written by the test. */
#pragma once

#include <stdatomic.h>
#include <sys/eventfd.h>

#include "backend/call.h"
#include "base/clock.h"
#include "watch/monitor.h"
#include "record/recorder.h"
#include "rig/unit.h"

enum {
	SEATS = 8,
	SEAT_FAILED = 99,
	NOT_ENDED = -1,
	PATIENCE =
		10 /* seconds for what has to come; where it matters how soon, that is asserted */
};

/* Shared with the seat's process. */
struct desk {
	_Atomic int running, stopped, wait_status, changes; /* of the rank; the test writes */
	_Atomic int opened, leader; /* the seat's monitor; the leader that it has forked, 0: none */
	_Atomic int peers, nodes;   /* of that leader */
	_Atomic long steps;
};

struct seat {
	pid_t pid; /* 0: no rank sits there */
	int wake, out;
	struct desk *desk;
	struct record_memory *memory;
	int memory_fd;
	struct recorder recorder;
	struct watch watch;
};

extern struct seat seats[SEATS];
extern char
	seats_key[64]; /* of the first node's observers; those of others take it with a suffix */
extern struct monitor_config seats_config;

void seats_open(int n);

void seat_take(int i, const char *key);

void seats_take(int first, int last);

/* Wait until the expression holds. */
#define SOON(expression)                                                                           \
	do {                                                                                       \
		double give_up = unit_until(PATIENCE);                                             \
		while (!(expression) && clock_seconds() < give_up)                                 \
			clock_sleep(0.002);                                                        \
		CU_ASSERT(expression);                                                             \
	} while (0)

/* One after the other, so that the first one leads. */
void seats_take_in_order(int first, int last);

void seat_tell(int i);

/* The rank ends with this wait status; having announced nothing it died. */
void rank_ends(int i, int wait_status);

void rank_finishes(int i, enum outcome outcome, const char *culprits, const char *error);

/* It calls communicator init with these arguments, and is inside for at most 10 s. */
void rank_enters_init(int i, int nranks, unsigned char id);

void ranks_finish(int first, int last, enum outcome outcome);

bool seats_end(int first, int last, int code);

bool seats_sit(int first, int last);

/* The seat's output so far; valid until the next call. */
const char *seat_said(int i);

int seat_leading(int first, int last);

int verdict_lines(int first, int last);

void seats_close(void);
