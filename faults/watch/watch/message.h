/* message.h: types of messages between supervisors, monitors and preloaded programs. */
#pragma once

enum message {
	MESSAGE_HELLO = 1, /* member: its memory's descriptor comes along; payload: pid */
	MESSAGE_STATE,	   /* member: struct state */
	/* int32: the run is over, with this exit code. Empty, between leaders: a signal told the sender to end; of a
	 * member: another one ends the run */
	MESSAGE_END,
	MESSAGE_VIEWS,	  /* between leaders: struct views_head, then views of the sender's ranks */
	MESSAGE_COLLECT,  /* between leaders: struct collect; a folder's name after COLLECT_SLOW */
	MESSAGE_EVIDENCE, /* leader to root: struct evidence_head, then that of the rank */
	MESSAGE_ANSWER,	  /* root to leader: struct answer_head; text after TOLD_LINES */
	/* Both ways: a heartbeat; with a byte: the sender hears nothing. The first and last message of a second
	 * connection has what VIEWS has. */
	MESSAGE_BEAT,
	MESSAGE_PACE,	/* leader to root: struct pace_sample of its ranks */
	MESSAGE_STATUS, /* a question to a hangar_run ("json", or nothing), and its answer, text */
	MESSAGE_SIGNAL, /* of a process of a hangar_run: struct signal_sent, which it is about to send */
};

struct signal_sent {
	int32_t pid;	/* of the sender, as it sees itself */
	int32_t target; /* as of kill(): a process, or a group where negative */
};

struct views_head {
	uint64_t token;
	uint32_t round; /* of the COLLECT that this answers, 0: none */
	uint32_t unused;
};

/* Requests of the root. All but PREPARE are answered, with evidence first and VIEWS at last. */
enum collect_what {
	COLLECT_PREPARE = 1,  /* something seems wrong: a first look at ranks */
	COLLECT_VIEWS = 2,    /* a census: ranks are watched from now on */
	COLLECT_EVIDENCE = 4, /* a verdict is near */
	COLLECT_SLOW =
		8, /* the verdict is out: evidence that takes time, and files in the folder */
};
struct collect {
	uint32_t what, round;
};

enum answer_what {
	TOLD_ARRIVALS, /* how the ranks meet at init, as of the census */
	TOLD_LINES     /* of a hangar_run: the verdict's lines, which each host prints */
};
struct answer_head {
	uint32_t what;
	uint32_t arrivals; /* enum arrivals */
};
