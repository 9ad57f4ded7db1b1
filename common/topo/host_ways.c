/* host_ways.c: how data leave a rank: what the MPI library does between ranks of a host, and the
 * network of the host. */
#include "topo/host_topo.h"

#include <mpi.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/read.h"
#include "machine/file.h"

enum { VALUE = 4096 };	 /* a string variable of Open MPI is 2048 bytes */
#define MOST_GBPS 1600.0 /* drivers say -1, read as unsigned, when they do not know */

/* A control variable of the library into `value`; its type, MPI_DATATYPE_NULL when there is no such
 * variable. */
static MPI_Datatype read_variable(const char *name, char value[VALUE])
{
	char text[VALUE], help[VALUE];
	int index, len = sizeof(text), helplen = sizeof(help), verbosity, bind, scope, count = 0;
	MPI_Datatype type = MPI_DATATYPE_NULL;
	MPI_T_cvar_handle handle;
	MPI_T_enum names;

	memset(value, 0, VALUE);
	if (MPI_T_cvar_get_index(name, &index) != MPI_SUCCESS ||
	    MPI_T_cvar_get_info(index, text, &len, &verbosity, &type, &names, help, &helplen, &bind,
				&scope) != MPI_SUCCESS ||
	    MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) != MPI_SUCCESS)
		return MPI_DATATYPE_NULL;
	if (count * (type == MPI_CHAR ? 1 : 8) > VALUE ||
	    MPI_T_cvar_read(handle, value) != MPI_SUCCESS)
		type = MPI_DATATYPE_NULL;
	MPI_T_cvar_handle_free(&handle);
	value[VALUE - 1] = '\0';
	return type;
}

/* Does Open MPI's list of components (`a,b`, or `^a,b` for all others) take shared memory? */
static bool takes_shared_memory(const char *list)
{
	bool named = strstr(list, "vader") || strstr(list, "sm");

	return list[0] == '\0' ? true : list[0] == '^' ? !named : named;
}

void host_library_read(struct host_library *l)
{
	char value[VALUE];
	int provided, mechanism;
	unsigned long eager;
	bool yields;

	/* what Open MPI 4.1 does on a machine with CMA: ompi_info --param btl vader --level 9 */
	*l = (struct host_library){ .path = HOST_SINGLE_COPY, .eager = 4096 };
	if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS)
		return;
	if (read_variable("btl", value) == MPI_CHAR && !takes_shared_memory(value))
		l->path = HOST_NO_PATH;
	if (read_variable("btl_vader_eager_limit", value) == MPI_UNSIGNED_LONG) {
		memcpy(&eager, value, sizeof(eager));
		l->eager = (double)eager;
		l->known = true;
	}
	if (read_variable("btl_vader_single_copy_mechanism", value) == MPI_INT) {
		memcpy(&mechanism, value, sizeof(mechanism));
		/* 0 xpmem, 1 cma, 2 knem; 3 none, 4 emulated */
		if (mechanism >= 3 && l->path == HOST_SINGLE_COPY)
			l->path = HOST_TWO_COPIES;
	}
	if (read_variable("mpi_yield_when_idle", value) == MPI_C_BOOL) {
		memcpy(&yields, value, sizeof(yields));
		l->yields = yields;
	}
	MPI_T_finalize();
}

static bool is_up(const struct observed_nic *nic)
{
	return strcmp(nic->state, "up") == 0;
}

/* The first InfiniBand port that is active and says its rate, NULL: none. RoCE ports count as
 * well. */
static const struct observed_nic *infiniband(const struct observed_host *host)
{
	for (int i = 0; i < host->nnics; i++)
		if (host->nics[i].rdma > 0 && is_up(&host->nics[i]) && host->nics[i].mbps > 0)
			return &host->nics[i];
	return NULL;
}

/* The interface of the default route; "" when there is none. */
static void default_route(const char *root, char interface[IFNAMSIZ])
{
	char path[512], line[256], name[IFNAMSIZ];
	unsigned long to;
	FILE *file;

	interface[0] = '\0';
	snprintf(path, sizeof(path), "%.400s/proc/net/route", root);
	file = fopen(path, "re");
	while (file && interface[0] == '\0' && fgets(line, sizeof(line), file))
		if (sscanf(line, "%15s %lx", name, &to) == 2 && to == 0)
			memcpy(interface, name, sizeof(name));
	if (file)
		fclose(file);
}

/* Without a default route: the only interface that is up besides lo; "" when there are none or
 * several. */
static void only_one(const struct observed_host *host, char interface[IFNAMSIZ])
{
	int found = 0;

	for (int i = 0; i < host->nnics; i++) {
		const struct observed_nic *nic = &host->nics[i];

		if (nic->rdma == 0 && is_up(nic) && strcmp(nic->name, "lo") != 0 && found++ == 0)
			snprintf(interface, IFNAMSIZ, "%.15s", nic->name);
	}
	if (found != 1)
		interface[0] = '\0';
}

/* Gb/s of what was seen; 0: unknown. */
static double find_network(const struct observed_host *host, const char *root, char *name,
			   size_t len, bool *ethernet)
{
	const struct observed_nic *port = infiniband(host);
	char interface[IFNAMSIZ];
	double gbps;

	*ethernet = !port;
	if (port) {
		snprintf(name, len, "%s", port->name);
		return (double)port->mbps / 1e3;
	}
	default_route(root, interface);
	if (!interface[0])
		only_one(host, interface);
	if (!interface[0]) {
		snprintf(name, len, "no interface to speak of");
		return 0;
	}
	gbps = (double)observe_number(root, "/sys/class/net/%s/speed", interface) / 1e3;
	if (!(gbps > 0) || gbps > MOST_GBPS) {
		snprintf(name, len, "%s does not say its speed", interface);
		return 0;
	}
	snprintf(name, len, "%s", interface);
	return gbps;
}

double host_network_gbs(const char *root, char *name, size_t len, bool *ethernet)
{
	struct observed_host *host = malloc(sizeof(*host));
	double gbps = 0;

	*ethernet = true;
	snprintf(name, len, "out of memory");
	if (host) {
		observed_host_clear(host);
		observe_net(root, host);
		gbps = find_network(host, root, name, len, ethernet);
	}
	free(host);
	return gbps / 8;
}
