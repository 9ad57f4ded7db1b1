/* nvml.c: the driver's library, loaded where it is. */
#include "machine/nvml.h"

#include <dlfcn.h>

#define FIND(field, symbol, arguments) *(void **)&nvml->field = dlsym(nvml->library, #symbol);

bool nvml_open(struct nvml *nvml)
{
	const char *(*text)(int rc);
	int rc;

	memset(nvml, 0, sizeof(*nvml));
	nvml->library = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
	if (!nvml->library) {
		nvml->missing = true;
		snprintf(nvml->why, sizeof(nvml->why), "libnvidia-ml.so.1 is not here");
		return false;
	}
	NVML_FUNCTIONS(FIND)
	if (!nvml->reasons)
		nvml->reasons = nvml->older_reasons;
	if (!nvml->init || !nvml->shutdown || !nvml->by_bus) {
		snprintf(nvml->why, sizeof(nvml->why), "libnvidia-ml.so.1 is too old");
	} else if ((rc = nvml->init()) != 0) {
		*(void **)&text = dlsym(nvml->library, "nvmlErrorString");
		snprintf(nvml->why, sizeof(nvml->why), "nvmlInit fails with %d%s%.60s%s", rc,
			 text ? " (" : "", text ? text(rc) : "", text ? ")" : "");
	} else {
		return true;
	}
	dlclose(nvml->library);
	memset(nvml, 0, offsetof(struct nvml, why));
	memset(&nvml->init, 0, sizeof(*nvml) - offsetof(struct nvml, init));
	return false;
}

void nvml_close(struct nvml *nvml)
{
	if (!nvml->library)
		return;
	nvml->shutdown();
	dlclose(nvml->library);
	nvml->library = NULL;
}
