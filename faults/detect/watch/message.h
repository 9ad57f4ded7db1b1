/* message.h: types of messages between supervisors, monitors and preloaded programs. */
#pragma once

enum message {
	MESSAGE_HELLO = 1, /* member: its memory's descriptor comes along; payload: pid */
	MESSAGE_STATE,	   /* member: struct state */
	MESSAGE_END, /* from above: int32 exit code; member to leader: another one ends the run */
	MESSAGE_JOIN, /* leader to root: token, then views; root to leader: the same of its own, once */
	MESSAGE_VIEWS,	  /* leader to root: views in answer to a query */
	MESSAGE_ABNORMAL, /* leader to root: views, something is wrong */
	MESSAGE_DONE,	  /* leader to root: views, all finished by themselves */
	MESSAGE_QUERY,	  /* root to leader */
	MESSAGE_PREPARE,  /* root to leader: a query is near */
	MESSAGE_EVIDENCE, /* leader to root: struct evidence_head, then that of the rank, texts without NUL */
	MESSAGE_SLOW,	      /* root to leader: text, the evidence folder's name or nothing */
	MESSAGE_READY,	      /* leader to root: the slow evidence is complete */
	MESSAGE_EXTENSION,    /* root to leader: the run is given more time */
	MESSAGE_INIT_OVERDUE, /* leader to root: ranks here wait at init, or in a first call */
	MESSAGE_CENSUS,	      /* root to leader: it asks who has come to it */
	MESSAGE_PRESENT,      /* leader to root: views in answer to that */
	MESSAGE_ARRIVALS,     /* root to leader: uint32 enum arrivals, as of the census */
	MESSAGE_BEAT,	      /* both ways: a heartbeat; with a byte: the sender hears nothing */
	MESSAGE_STATUS, /* a question to a hangar_run, and its answer, text; between leaders the answer is a JOIN */
	MESSAGE_LINES, /* root to leader of a hangar_run: the verdict's lines, which it prints too */
	MESSAGE_LEAVE, /* between leaders: a signal told this one to end */
	MESSAGE_PACE,  /* leader to root: struct pace_sample of its ranks */
	MESSAGE_LIFE,  /* leader to root, first and last over a second connection: token, views */
};
