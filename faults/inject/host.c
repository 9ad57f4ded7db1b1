/* host.c: finds the interface that may be broken, and runs what breaks it. */
#include "inject/host.h"

#include <fcntl.h>
#include <ifaddrs.h>
#include <jansson.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/stat.h>

#include "base/error.h"
#include "process/task.h"

/* Constants of the kernel (include/uapi/linux/nsfs.h): the first namespace of processes, and of
 * networks from Linux 6.18 on. */
#define FIRST_PID 0xEFFFFFFCu
#define FIRST_NET 0xEFFFFFF9u

#define WORDS_MAX   96
#define RUN_SECONDS 5.0
#define NO_PROGRAM  127

const char *network_refusal(const struct network_names *names)
{
	static const char *const own = "a network namespace that is not the machine's own";

	if (names->net == 0 || names->pid == 0)
		return "a kernel that shows its namespaces (/proc/self/ns)";
	if (names->net == FIRST_NET)
		return own;
	if (names->pid == FIRST_PID && (names->init == 0 || names->init == names->net))
		return own;
	return NULL;
}

static ino_t inode(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_ino : 0;
}

int network_parse(struct network_host *host, const char *json)
{
	json_t *root = json_loads(json, 0, NULL), *one;
	size_t i;

	host->device[0] = '\0';
	json_array_foreach(root, i, one)
	{
		const char *alias = json_string_value(json_object_get(one, "ifalias"));
		const char *name = json_string_value(json_object_get(one, "ifname"));

		if (alias && strcmp(alias, NETWORK_ALIAS) == 0 && name &&
		    strlen(name) < sizeof(host->device))
			strcpy(host->device, name);
	}
	json_decref(root);
	return host->device[0] ? 0 : -ENODEV;
}

static int find_address(struct network_host *host)
{
	struct ifaddrs *list, *at;
	int rc = -EADDRNOTAVAIL;

	if (getifaddrs(&list) < 0)
		return -errno;
	for (at = list; at && rc < 0; at = at->ifa_next)
		if (strcmp(at->ifa_name, host->device) == 0 && at->ifa_addr &&
		    at->ifa_addr->sa_family == AF_INET)
			rc = getnameinfo(at->ifa_addr, sizeof(struct sockaddr_in), host->address,
					 sizeof(host->address), NULL, 0, NI_NUMERICHOST);
	freeifaddrs(list);
	return rc;
}

/* Words behind the path of a FIFO, as one write: others may write to it at the same time. */
static int write_line(char *const argv[])
{
	int fd = open(argv[0], O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	char line[1024] = "";

	for (int i = 1; argv[i]; i++)
		text_add(line, sizeof(line), "%s%s", argv[i], argv[i + 1] ? " " : "\n");
	return fd < 0 || write(fd, line, strlen(line)) != (ssize_t)strlen(line) ? -1 : 0;
}

static void be_program(int fd, const void *arg)
{
	char words[4096], *argv[WORDS_MAX + 1], *save = NULL;
	int n = 0;

	snprintf(words, sizeof(words), "%s", (const char *)arg);
	for (char *word = strtok_r(words, " ", &save); word && n < WORDS_MAX;
	     word = strtok_r(NULL, " ", &save))
		argv[n++] = word;
	argv[n] = NULL;
	if (n > 2 && strcmp(argv[0], ">") == 0)
		_exit(write_line(argv + 1) < 0);
	if (dup2(fd, STDOUT_FILENO) >= 0 && dup2(fd, STDERR_FILENO) >= 0 && n > 0)
		execvp(argv[0], argv);
	_exit(errno == ENOENT ? NO_PROGRAM : 126);
}

int network_run(const char *words, char *text, size_t len)
{
	struct task task = { .run = be_program, .arg = words, .limit = 1 << 16 };

	tasks_run(&task, 1, 1, RUN_SECONDS, RUN_SECONDS);
	snprintf(text, len, "%s", task.text ? task.text : "");
	free(task.text);
	if (task.end == TASK_DONE)
		return 0;
	return task.end == TASK_BROKEN && task.bytes == 0 ? -ENOENT : -EIO;
}

void network_look(struct network_host *host)
{
	const struct network_names names = {
		.pid = inode("/proc/self/ns/pid"),
		.net = inode("/proc/self/ns/net"),
		.init = inode("/proc/1/ns/net"),
	};
	char text[1 << 14];
	int rc;

	*host = (struct network_host){ .lacks = network_refusal(&names) };
	if (host->lacks)
		return;
	rc = network_run("ip -j link show", text, sizeof(text));
	if (rc == -ENOENT)
		host->lacks = "the program ip (iproute2)";
	else if (rc < 0 || network_parse(host, text) < 0)
		host->lacks =
			"a host made of namespaces, with an interface of alias " NETWORK_ALIAS;
	else if (find_address(host) != 0)
		host->lacks = "an IPv4 address on the interface of alias " NETWORK_ALIAS;
}
