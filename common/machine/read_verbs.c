/* read_verbs.c: the active MTU of RDMA ports, which libibverbs alone knows. */
#include "machine/read.h"

#include <dlfcn.h>
#include <stdio.h>

#define ACTIVE_MTU 2  /* of struct ibv_port_attr's words: state, max_mtu, active_mtu, ... */
#define WORDS	   64 /* the library fills 13 */

/* enum ibv_mtu: 1 is 256, 5 is 4096. Port 1, as read_sys.c. */
static void ask_port(const struct verbs *verbs, void *device, struct reading *m)
{
	unsigned port[WORDS] = { 0 };
	char part[sizeof(m->list->part)], text[64];
	void *context;

	snprintf(text, sizeof(text), "RDMA %.31s:1", verbs->name(device));
	reading_part(part, sizeof(part), text);
	context = verbs->open(device);
	if (!context)
		return;
	if (verbs->query_port(context, 1, port) == 0 && port[ACTIVE_MTU] >= 1 &&
	    port[ACTIVE_MTU] <= 5)
		reading_state(m, part, "mtu", 128 << port[ACTIVE_MTU]);
	verbs->close(context);
}

static void ask_all(const struct verbs *verbs, struct reading *m)
{
	int n = 0;
	void **devices = verbs->list(&n);

	for (int i = 0; devices && i < n; i++)
		ask_port(verbs, devices[i], m);
	if (devices)
		verbs->free(devices);
}

void read_verbs(const struct read_request *request, struct reading *m)
{
	struct verbs found;
	void *library, **const to[] = { (void **)&found.list,  (void **)&found.free,
					(void **)&found.name,  (void **)&found.open,
					(void **)&found.close, (void **)&found.query_port };
	static const char *const names[] = { "ibv_get_device_list", "ibv_free_device_list",
					     "ibv_get_device_name", "ibv_open_device",
					     "ibv_close_device",    "ibv_query_port" };
	bool whole = true;

	if (request->verbs) {
		ask_all(request->verbs, m);
		return;
	}
	library = dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_LOCAL);
	for (size_t i = 0; library && i < sizeof(names) / sizeof(names[0]); i++) {
		*to[i] = dlsym(library, names[i]);
		whole &= *to[i] != NULL;
	}
	if (library && whole)
		ask_all(&found, m);
}
