/* read_pci.c: PCIe links, bridges and IOMMU between a GPU or NIC and its CPU. */
#include "machine/read.h"

#include "base/error.h"
#include "base/file.h"
#include "topo/topo.h"

#define PCI   "/sys/bus/pci/devices/"
#define DEPTH 16 /* devices between root and endpoint */

/* The devices from the root port to the endpoint itself, as folders (real paths, root included). */
struct chain {
	char path[PATH_MAX];
	size_t end[DEPTH]; /* length of the path down to each */
	int n;
};

/* "0000:18:00.0" */
static bool is_address(const char *name, size_t len)
{
	return len >= 7 && len < 32 && strspn(name, "0123456789abcdefABCDEF:.") >= len &&
	       name[len - 2] == '.' && memchr(name, ':', len);
}

static void follow(const char *root, const char *folder, struct chain *chain)
{
	char path[PATH_MAX];

	chain->n = 0;
	if ((size_t)snprintf(path, sizeof(path), "%s%s", root, folder) >= sizeof(path) ||
	    !realpath(path, chain->path))
		return;
	for (char *at = chain->path; at && chain->n < DEPTH; at = strchr(at + 1, '/')) {
		size_t len = strcspn(at + 1, "/");

		if (is_address(at + 1, len))
			chain->end[chain->n++] = (size_t)(at - chain->path) + 1 + len;
	}
}

/* "16.0 GT/s PCIe" */
static int read_gen(const char *folder, const char *file)
{
	char text[32];
	int gen = file_text(folder, text, sizeof(text), "/%s", file) > 0
			  ? topo_pcie_gen(strtod(text, NULL))
			  : 0;

	return gen > 0 ? gen : -1;
}

/* 0 and 255 are what virtual machines show. */
static int read_width(const char *folder, const char *file)
{
	int64_t lanes = file_number(folder, "/%s", file);

	return lanes > 0 && lanes <= 32 ? (int)lanes : -1;
}

/* The part of its bandwidth that a link has, 1 where it is not known. */
static double bandwidth_left(const int link[4])
{
	double part = link[0] > 0 && link[1] > 0 ? (double)link[0] / link[1] : 1;

	return link[2] > 0 && link[2] < link[3] ? ldexp(part, link[2] - link[3]) : part;
}

/* Every second device faces the CPU: the endpoint, and upstream ports of switches. The ports above
 * them may have more lanes than the card below. */
void read_link(const char *root, const char *folder, const char *part, struct reading *m)
{
	static const char *const names[] = { "width", "max_width", "gen", "max_gen" };
	struct chain chain;
	int link[4] = { -1, -1, -1, -1 };

	follow(root, folder, &chain);
	for (int i = chain.n - 1; i >= 0 && (i > 0 || chain.n == 1); i -= 2) {
		int found[4];

		chain.path[chain.end[i]] = '\0';
		found[0] = read_width(chain.path, "current_link_width");
		found[1] = read_width(chain.path, "max_link_width");
		found[2] = read_gen(chain.path, "current_link_speed");
		found[3] = read_gen(chain.path, "max_link_speed");
		if (i == chain.n - 1 || bandwidth_left(found) < bandwidth_left(link))
			memcpy(link, found, sizeof(found));
	}
	for (int i = 0; i < 4; i++)
		reading_state(m, part, names[i], link[i]);
}

/* ---- ACS ---------------------------------------------------------------------------------- */

/* PCI Express Base Specification 7.7.11: extended capability 000Dh; control register: request
 * redirect, completion redirect. Either sends traffic between devices up to the CPU. */
#define ACS_CAPABILITY 0x0d
#define ACS_CONTROL    6
#define ACS_REDIRECT   0x0c

static bool read_at(int fd, unsigned offset, void *to, size_t len)
{
	return pread(fd, to, len, (off_t)offset) == (ssize_t)len;
}

/* 1 redirects, 0 does not, -1: without CAP_SYS_ADMIN the kernel shows 64 bytes. */
static int acs_redirects(const char *folder)
{
	char path[PATH_MAX + 8];
	unsigned char head[4], control[2];
	unsigned at = 0x100;
	int fd, found = 0;

	snprintf(path, sizeof(path), "%s/config", folder);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -1;
	for (int i = 0; i < 64 && at >= 0x100 && found == 0; i++) { /* lists may be rings */
		if (!read_at(fd, at, head, sizeof(head))) {
			found = -1;
			break;
		}
		if (head[0] == ACS_CAPABILITY && head[1] == 0)
			found = !read_at(fd, at + ACS_CONTROL, control, sizeof(control)) ? -1
				: control[0] & ACS_REDIRECT				 ? 1
											 : 0;
		at = (unsigned)(head[2] >> 4 | head[3] << 4) & 0xffc;
	}
	close(fd);
	return found;
}

/* Downstream ports of switches: where two GPUs below one switch would meet. */
static void read_bridges(struct chain *chain, const char *part, struct reading *m)
{
	int bridges = 0, unread = 0, redirecting = 0;

	for (int i = chain->n - 2; i > 0; i -= 2) {
		int acs;

		chain->path[chain->end[i]] = '\0';
		acs = acs_redirects(chain->path);
		bridges++;
		unread += acs < 0;
		redirecting += acs > 0;
		if (acs > 0)
			reading_say(m, part, "acs_bridge", strrchr(chain->path, '/') + 1);
	}
	reading_state(m, part, "bridges", bridges);
	if (unread == 0 || redirecting > 0)
		reading_state(m, part, "bridges_acs", redirecting);
}

/* The type of its domain: "identity", "DMA", ...; "none". */
static void read_iommu(const char *root, const char *folder, const char *part, struct reading *m)
{
	char path[PATH_MAX], target[PATH_MAX], type[16];
	ssize_t n;

	if ((size_t)snprintf(path, sizeof(path), "%s%s/iommu_group", root, folder) >= sizeof(path))
		return;
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0) {
		if (errno == ENOENT)
			reading_say(m, part, "iommu", "none");
		return;
	}
	target[n] = '\0';
	if (file_text(root, type, sizeof(type), "/sys/kernel/iommu_groups/%.16s/type",
		      strrchr(target, '/') ? strrchr(target, '/') + 1 : target) > 0)
		reading_say(m, part, "iommu", type);
}

static void read_gpu(const char *root, const char *bus, const char *part, struct reading *m)
{
	char folder[64] = PCI, cpus[512];
	size_t at = strlen(folder);
	struct chain chain;

	if (!is_address(bus, strlen(bus)))
		return;
	for (const char *c = bus; *c && at < sizeof(folder) - 1; c++)
		folder[at++] = (char)tolower((unsigned char)*c);
	folder[at] = '\0';
	follow(root, folder, &chain);
	if (chain.n == 0)
		return;
	read_bridges(&chain, part, m);
	read_link(root, folder, part, m);
	read_iommu(root, folder, part, m);
	if (file_text(root, cpus, sizeof(cpus), "%s/local_cpulist", folder) > 0)
		reading_say(m, part, "cpus", cpus);
}

/* ---- all NVIDIA devices ---------------------------------------------------------------------- */

#define DEVICES 4096

/* A GPU of NVIDIA (class 03h: display, 3D) that the host keeps; `driver`: its driver or "". */
static bool is_nvidia(const char *root, const char *bus, char driver[16])
{
	char text[16], link[PATH_MAX], target[PATH_MAX];
	ssize_t n;

	*driver = '\0';
	if (file_text(root, text, sizeof(text), PCI "%s/vendor", bus) <= 0 ||
	    strcmp(text, "0x10de") != 0 ||
	    file_text(root, text, sizeof(text), PCI "%s/class", bus) <= 0 ||
	    strncmp(text, "0x03", 4) != 0)
		return false;
	snprintf(link, sizeof(link), "%s" PCI "%s/driver", root, bus);
	n = readlink(link, target, sizeof(target) - 1);
	target[n > 0 ? n : 0] = '\0';
	if (n > 0)
		snprintf(driver, 16, "%.15s", basename(target));
	return strcmp(driver, "vfio-pci") != 0; /* a virtual machine's */
}

/* Tells whether the host has GPUs that NVML should show. Nothing is said where /sys has no PCI. */
void read_driver(const struct read_request *request, struct reading *m)
{
	char(*names)[32], driver[16], version[16];
	int gpus = 0, without = 0, loaded, n;

	if (request->ranks || !request->nvml)
		return;
	names = must(calloc(DEVICES, sizeof(*names)));
	n = file_list(request->root, PCI, names, DEVICES);
	for (int i = 0; i < n; i++) {
		bool is = is_nvidia(request->root, names[i], driver);

		gpus += is;
		without += is && !*driver;
	}
	free(names);
	loaded = file_text(request->root, version, sizeof(version), "/proc/driver/nvidia/version") >
		 0;
	if (gpus == 0 && !loaded && !request->nvml->by_bus)
		return;
	reading_state(m, "NVML", "failed", !request->nvml->by_bus && !request->nvml->missing);
	reading_state(m, "NVML", "missing", request->nvml->missing);
	reading_state(m, "NVML", "driver_loaded", loaded);
	if (m->why[0])
		reading_say(m, "NVML", "why", m->why);
	if (n == 0)
		return;
	reading_state(m, "NVML", "pci_gpus", gpus);
	reading_state(m, "NVML", "without_driver", without);
}

void read_pci(const struct read_request *request, struct reading *m)
{
	const char *next;
	size_t at = 0;

	while ((next = reading_next(m, "bus", &at))) {
		char part[sizeof(m->list->part)], bus[32];

		/* the list moves as it grows */
		snprintf(part, sizeof(part), "%s", next);
		snprintf(bus, sizeof(bus), "%s", reading_text(m, part, "bus"));
		read_gpu(request->root, bus, part, m);
	}
}
