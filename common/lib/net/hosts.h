/* hosts.h: the hosts that a launcher's variables name, a port that all make of one text, and a connection to a host. */
#pragma once

/* Hosts that the launcher's variables name (Slurm's, Open MPI's, MASTER_ADDR), each once, separated
 * by blanks; "node[1-3,5]" and Open MPI's "node[2:1-3]@0(3)" are taken apart. Pure but for the
 * environment that is given. */
void hosts_listed(char *const *environment, char *list, size_t len);

/* Adds the words of such a list to one. */
void hosts_add(char *list, size_t len, const char *text);

/* A port below those of the kernel, made of a text: 20000 to 31999. */
int hosts_port(const char *text);

/* Small packets alone leave this socket, or those that it accepts. */
void hosts_send_small(int fd);

/* Connects to a host, a name or address, within a second for each of its addresses. Returns a descriptor that does not
 * block, or a negative errno. */
int hosts_connect(const char *host, int port, bool small);
