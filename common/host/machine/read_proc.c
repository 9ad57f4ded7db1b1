/* read_proc.c: counters of the kernel: ticks of the CPUs, memory pressure, TCP's segments, Xids; what a container lacks. */
#include "machine/read.h"

#include <sys/ptrace.h>
#include <sys/statvfs.h>

#include "base/error.h"
#include "base/file.h"

#define ROOM	   (512 << 10) /* /proc/stat has a line per CPU */
#define KERNEL_LOG (4 << 20)

/* "cpu  user nice system idle iowait irq softirq steal ...", ticks. */
static void take_ticks(const char *text, struct reading *m)
{
	int64_t ticks, total = 0, unused = 0;

	if (strncmp(text, "cpu ", 4) != 0)
		return;
	text += 4;
	for (int i = 0; i < 8; i++) {
		text = file_next(text, &ticks);
		if (!text || ticks > INT64_MAX / 8)
			return;
		total += ticks;
		unused += i == 3 || i == 4 ? ticks : 0;
	}
	reading_count(m, "CPU", "busy_ticks", total - unused);
	reading_count(m, "CPU", "all_ticks", total);
}

/* The slowest CPU now, its limit, slow-downs for heat. Virtual machines show neither. */
static void read_frequency(const char *root, struct reading *m)
{
	static const char *const folder = "/sys/devices/system/cpu/cpu%d/%s";
	int64_t throttled = -1, slowest = -1;
	int64_t cpus = reading_value(m, "CPU", "cpus");

	for (int cpu = 0; cpu < cpus; cpu++) {
		int64_t khz = file_number(root, folder, cpu, "cpufreq/scaling_cur_freq");
		int64_t n =
			file_number(root, folder, cpu, "thermal_throttle/package_throttle_count");

		slowest = khz >= 0 && (slowest < 0 || khz < slowest) ? khz : slowest;
		throttled = n > throttled ? n : throttled;
	}
	reading_state(m, "CPU", "slowest_khz", slowest);
	reading_state(m, "CPU", "max_khz",
		      file_number(root, folder, 0, "cpufreq/cpuinfo_max_freq"));
	reading_count(m, "CPU", "throttled", throttled);
}

void read_cpu(const struct read_request *request, struct reading *m)
{
	char *text = must(malloc(ROOM));
	int cpus = 0;

	if (file_text(request->root, text, ROOM, "/proc/stat") > 0)
		take_ticks(text, m);
	for (const char *at = text; (at = strstr(at, "\ncpu")); at++)
		cpus++;
	reading_state(m, "CPU", "cpus", cpus > 0 ? cpus : -1);
	free(text);
	read_frequency(request->root, m);
}

static void take_vmstat(const char *text, struct reading *m)
{
	int64_t in = file_behind(text, "\npswpin "), out = file_behind(text, "\npswpout ");

	reading_count(m, "memory", "oom_kills", file_behind(text, "\noom_kill "));
	reading_count(m, "memory", "swapped", in < 0 || out < 0 ? -1 : in + out);
}

void read_memory(const struct read_request *request, struct reading *m)
{
	char text[8 << 10];

	if (file_text(request->root, text, sizeof(text), "/proc/pressure/memory") > 0)
		reading_count(m, "memory", "stalled_us", file_behind(text, "total="));
	if (file_text(request->root, text, sizeof(text), "/proc/vmstat") > 0)
		take_vmstat(text, m);
	if (file_text(request->root, text, sizeof(text), "/proc/pressure/io") > 0)
		reading_count(m, "disks", "io_stalled_us", file_behind(text, "total="));
	if (file_text(request->root, text, sizeof(text), "/proc/meminfo") > 0) {
		reading_state(m, "memory", "all_kib", file_behind(text, "MemTotal:"));
		reading_state(m, "memory", "available_kib", file_behind(text, "MemAvailable:"));
	}
}

/* A process may always trace its child, unless seccomp or ptrace_scope 3 refuse it to all. */
static int64_t ptrace_refused(void)
{
	pid_t child = fork();
	int64_t refused;

	if (child == 0) {
		pause();
		_exit(0);
	}
	if (child < 0)
		return -1;
	refused = ptrace(PTRACE_SEIZE, child, NULL, NULL) < 0 && errno == EPERM;
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return refused;
}

void read_container(const struct read_request *request, struct reading *m)
{
	char path[PATH_MAX];
	struct statvfs shm;

	snprintf(path, sizeof(path), "%s/dev/shm", request->root);
	if (statvfs(path, &shm) == 0)
		reading_state(m, "/dev/shm", "shm_mib",
			      (int64_t)(shm.f_blocks * shm.f_frsize >> 20));
	if (!request->root[0])
		reading_state(m, "ptrace", "ptrace_refused", ptrace_refused());
}

/* "NVRM: Xid (PCI:0000:18:00): 79, pid=...", of the GPU that has this bus. */
static void count_xids(const char *text, const char *part, const char *bus, struct reading *m)
{
	static const char start[] = "NVRM: Xid (PCI:";
	int64_t n = 0;

	for (const char *at = text; (at = strstr(at, start));) {
		size_t len = strcspn(at += sizeof(start) - 1, ")\n");
		const char *code = at + len + strspn(at + len, "): ");
		char name[32], address[32];
		int64_t number = file_count(code);

		snprintf(address, sizeof(address), "%.*s", (int)len, at);
		if (number < 0 || number > 9999 || !strcasestr(bus, address))
			continue;
		n++;
		reading_state(m, part, "xid_last", number);
		snprintf(name, sizeof(name), "xid_%ld", number);
		reading_state(m, part, name, 1);
	}
	reading_count(m, part, "xids", n);
}

/* As far back as the kernel's log goes, where we may read it. */
void read_xids(const struct read_request *request, struct reading *m)
{
	size_t at = 0;
	char part[sizeof(m->list->part)], *text;
	const char *next;

	if (!reading_next(m, "bus", &at))
		return;
	at = 0;
	text = must(malloc(KERNEL_LOG));
	if (file_text(request->root, text, KERNEL_LOG, "/dev/kmsg") > 0)
		while ((next = reading_next(m, "bus", &at))) {
			snprintf(part, sizeof(part), "%s", next); /* the list moves as it grows */
			count_xids(text, part, reading_text(m, part, "bus"), m);
		}
	free(text);
}

void read_tcp(const struct read_request *request, struct reading *m)
{
	char text[8 << 10];

	if (file_text(request->root, text, sizeof(text), "/proc/net/snmp") > 0) {
		reading_count(m, "TCP", "sent", file_column(text, "Tcp:", "OutSegs"));
		reading_count(m, "TCP", "resent", file_column(text, "Tcp:", "RetransSegs"));
	}
	if (file_text(request->root, text, sizeof(text), "/proc/net/netstat") > 0)
		reading_count(m, "TCP", "timeouts", file_column(text, "TcpExt:", "TCPTimeouts"));
}
