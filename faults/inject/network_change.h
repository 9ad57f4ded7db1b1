/* network_change.h: what is done to a host's network, and that it is undone whoever dies. Internal to
 * faults/inject/. */
#pragma once

#include "inject/fault.h"

/* Commands, as network_run takes them: one, and lines of them. */
struct network_change {
	char apply[1024], undo[1024];
	double hold; /* s that it stays when the run's last process on this host is gone; 0: 3 s */
	double seconds,
		pause; /* undone after so many; 0: when the run is over here. Then `again` times: */
	long again;    /* after a pause, made and undone again */
	pid_t keeper;  /* set: the process that undoes it */
};

/* The change is made when this returns 0; else a negative errno, with the error set. for= and hold= of the
 * spec go before what `change` says. */
int network_change(const struct fault_act *act, struct network_change *change);

/* The command that makes a filter in a table of that name: what `device` receives and sends (`dir`: in,
 * out, both), from and to `peer` (NULL: everybody) meets this statement of nftables. Returns buf. */
char *network_filter_text(char *buf, size_t len, const char *table, const char *device,
			  const char *peer, const char *dir, const char *statement);
