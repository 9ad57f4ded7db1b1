/* link.h: framed messages between supervisors and monitors, over Unix and TCP stream sockets. */
#pragma once

#include <sys/un.h>

/* Largest payload: the views of 256 local ranks. A larger one is a protocol error. */
#define LINK_MAX (2048 * 1024) /* views of some 1,500 ranks of a host */

struct link {
	int fd;	       /* -1: closed */
	int passed_fd; /* descriptor that came along, -1 for none; the taker closes */
	size_t have;   /* bytes of an unfinished message */
	size_t room;
	unsigned char *in;
	bool broken; /* a send found it reset: what is read then looks like its end */
};

struct link_message {
	uint32_t type;	     /* the protocol is the monitor's */
	uint32_t bytes;	     /* of payload */
	const void *payload; /* inside the link's buffer: valid until the next receive */
};

/* Take over a connected descriptor; it becomes non-blocking. */
void link_init(struct link *link, int fd);
/* Closes both descriptors; safe to repeat. */
void link_release(struct link *link);
/* The same for a TCP connection: the other side finds it reset, not ended: this process lives. */
void link_abort(struct link *link);

/* Send whole, waiting at most one second for room. `pass_fd` -1 for none. 0 or a negative errno
 * (-EPIPE when the other side is gone, -EMSGSIZE above LINK_MAX, -ENOMEM); after -ETIMEDOUT in the middle
 * of a message the other side finds the end of the connection there. Never raises SIGPIPE. */
int link_send(struct link *link, uint32_t type, const void *payload, uint32_t bytes, int pass_fd);

/* The name of a run's nth job (1 to LINK_JOBS), each of which has a leader of its own: the run's, or "KEY+n". */
#define LINK_JOBS 16
void link_job(char *name, size_t len, const char *key, int nth);

/* Send a small message to the leaders of the run with this name, each over a connection of its own, without waiting and
 * without memory of the heap: a signal's handler may. 0 or a negative errno, of the first job's. */
int link_note(const char *key, uint32_t type, const void *payload, uint32_t bytes);

/* Next complete message: 1 with *message filled, 0 when there is none yet, -EPIPE at the end of
 * the connection, -ECONNRESET where it breaks off in any other way, -EPROTO on nonsense,
 * -ENOMEM. Never blocks. */
int link_receive(struct link *link, struct link_message *message);

/* The type of the message that comes next, 0: none is there yet. Nothing is taken. */
uint32_t link_next(const struct link *link);

#define LINK_NAMES 10 /* of a run */

/* The abstract address on which the leader of a host listens, for the run with this name. Names of that kind are anybody's:
 * `taken` (below LINK_NAMES) of the run's are another user's. */
struct sockaddr_un link_address(const char *key, int taken, socklen_t *len);

/* Connects to the leader of the run: the first of its names behind which a process of this user listens. Returns the socket,
 * with these flags of socket(), or a negative errno: -ECONNREFUSED where none listens yet, -EPERM where all are another user's. *taken gets the
 * number of names before it, unless NULL. */
int link_connect(const char *key, int flags, int *taken);

/* The process at the other end of a Unix socket: that called connect(), or listen(). */
struct ucred link_peer(int fd);
/* Returns true if it is of this user: a memory, and what is known of a run, are for no other. */
bool link_same_user(int fd);
