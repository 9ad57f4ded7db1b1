/* test_network.c: which network may be broken, on which interface, and by what commands. */
#include "rig/unit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "inject/network_change.h"
#include "process/leftovers.h"

enum { PID1 = 0xEFFFFFFC, NET1 = 0xEFFFFFF9, OLD = 0xF0000000, OTHER };

UNIT_TEST(test_refusal, "whose network it is")
{
	static const struct {
		struct network_names names;
		bool allowed;
	} cases[] = {
		{ { .pid = PID1, .net = NET1, .init = NET1 }, false }, /* the machine */
		{ { .pid = PID1, .net = OLD, .init = OLD }, false },   /* before Linux 6.18 */
		{ { .pid = PID1, .net = OTHER, .init = OLD }, true },  /* ip netns exec */
		{ { .pid = PID1, .net = OTHER, .init = 0 }, false },   /* not shown to us */
		{ { .pid = OTHER, .net = OTHER, .init = OTHER },
		  true }, /* a container: its mark says */
		{ { .pid = OTHER, .net = NET1, .init = NET1 },
		  false }, /* one with the machine's network */
		{ { .pid = 0, .net = OTHER, .init = OLD }, false },
		{ { .pid = OTHER, .net = 0, .init = OLD }, false },
	};

	UNIT_ROWS(c, cases)
		CU_ASSERT_EQUAL(!network_refusal(&c->names), c->allowed);
}

UNIT_TEST(test_parse, "the marked interface")
{
	static const struct {
		const char *json, *device;
	} cases[] = {
		{ "[{\"ifname\":\"lo\"},{\"ifname\":\"eth0\",\"ifalias\":\"hangar-host\"}]",
		  "eth0" },
		{ "[{\"ifname\":\"eth0\",\"ifalias\":\"hangar-hosts\"}]", "" },
		{ "[{\"ifname\":\"a-name-that-is-too-long\",\"ifalias\":\"hangar-host\"}]", "" },
		{ "[{\"ifalias\":\"hangar-host\"}]", "" },
		{ "[{\"ifname\":7,\"ifalias\":\"hangar-host\"}]", "" },
		{ "{\"ifname\":\"eth0\"}", "" },
		{ "[", "" },
		{ "", "" },
	};

	UNIT_ROWS(c, cases) {
		struct network_host host;
		int rc = network_parse(&host, c->json);

		UNIT_ALL(rc == (*c->device ? 0 : -ENODEV), !strcmp(host.device, c->device));
	}
}

#define IN                                                                                         \
	" ; add chain inet t input { type filter hook input priority -300 ; } ; add rule inet t "  \
	"input iifname eth0"
#define OUT                                                                                        \
	" ; add chain inet t output { type filter hook output priority -300 ; } ; add rule inet "  \
	"t "                                                                                       \
	"output oifname eth0"

UNIT_TEST(test_filter, "filters")
{
	static const struct {
		const char *peer, *dir, *text;
	} cases[] = {
		{ NULL, "both", "nft add table inet t" IN " drop" OUT " drop" },
		{ NULL, "in", "nft add table inet t" IN " drop" },
		{ "10.0.0.2", "out", "nft add table inet t" OUT " ip daddr 10.0.0.2 drop" },
		{ "10.0.0.2", "both",
		  "nft add table inet t" IN " ip saddr 10.0.0.2 drop" OUT
		  " ip daddr 10.0.0.2 drop" },
	};
	char text[1024];

	UNIT_ROWS(c, cases)
		CU_ASSERT_STRING_EQUAL(network_filter_text(text, sizeof(text), "t", "eth0", c->peer,
							   c->dir, "drop"),
				       c->text);
}

UNIT_TEST(test_run, "programs")
{
	char text[16];

	UNIT_ALL(network_run("echo  two words", text, sizeof(text)) == 0,
		 !strcmp(text, "two words\n"), network_run("false", text, sizeof(text)) < 0,
		 network_run("ls /nowhere", text, sizeof(text)) == -EIO,
		 network_run("no-such-program", text, sizeof(text)) == -ENOENT);
}

/* A run that lives in a folder, and what faults do to its host: here a folder that comes and goes. */
struct scene {
	char folder[UNIT_TEMP], mark[UNIT_PATH];
	struct run_folder run;
	struct fault_machine machine;
	struct fault_spec spec;
	struct network_change change;
};

static void scene_open(struct scene *s, struct network_change change)
{
	static int n;
	struct error err = { .code = 0 };
	char key[32];

	*s = (struct scene){ .change = change };
	snprintf(key, sizeof(key), "net-%d-%d", (int)getpid(), n++);
	CU_ASSERT_EQUAL_FATAL(unit_folder(s->folder), 0);
	CU_ASSERT_EQUAL_FATAL(run_folder_open(&s->run, key, &err), 0);
	snprintf(s->mark, sizeof(s->mark), "%s/broken", s->folder);
	snprintf(s->change.apply, sizeof(s->change.apply), "mkdir %s", s->mark);
	snprintf(s->change.undo, sizeof(s->change.undo), "false\nrmdir %s", s->mark);
	s->machine.run = s->run.path;
	CU_ASSERT_EQUAL(network_change(&(struct fault_act){ .spec = &s->spec,
							    .machine = &s->machine },
				       &s->change),
			0);
}

static bool broken(const struct scene *s)
{
	return access(s->mark, F_OK) == 0;
}

/* Becomes so within so many seconds. */
static bool comes(const struct scene *s, bool is, double seconds)
{
	double until = clock_seconds() + seconds;

	while (broken(s) != is && clock_seconds() < until)
		clock_nap(0.002);
	return broken(s) == is;
}

static void scene_close(struct scene *s)
{
	run_folder_release(&s->run);
	CU_ASSERT(comes(s, false, 5));
	waitpid(s->change.keeper, NULL, 0);
	CU_ASSERT(access(s->machine.run, F_OK) < 0);
	rmdir(s->folder);
}

/* As long as the run has a process, and a moment longer. */
UNIT_TEST(test_until_the_end, "until the run is over")
{
	struct scene s;

	scene_open(&s, (struct network_change){ .hold = 0.2 });
	UNIT_ALL(broken(&s), !comes(&s, false, 0.1));
	close(s.run.fd);
	s.run.fd = -1;
	CU_ASSERT(!comes(&s, false, 0.1));
	scene_close(&s);
}

UNIT_TEST(test_heals, "for a while")
{
	struct scene s;

	scene_open(&s, (struct network_change){ .seconds = 0.05 });
	UNIT_ALL(broken(&s), comes(&s, false, 5), !comes(&s, true, 0.2),
		 access(s.machine.run, F_OK) == 0);
	scene_close(&s);
}

UNIT_TEST(test_flaps, "again and again")
{
	struct scene s;

	scene_open(&s, (struct network_change){ .seconds = 0.1, .pause = 0.1, .again = 1 });
	UNIT_ALL(broken(&s), comes(&s, false, 5), comes(&s, true, 5), comes(&s, false, 5),
		 !comes(&s, true, 0.3));
	scene_close(&s);
}

/* ---- rows: what they have programs do; ip and nft note it, and a FIFO stands for the switch ---- */

static char stubs[UNIT_TEMP];

static void stub(const char *name)
{
	char text[400];

	snprintf(text, sizeof(text),
		 "#!/bin/sh\necho %s \"$*\" >>%s/log\n"
		 "[ \"$2\" != route ] || [ \"$3\" != show ] || printf 'default via 10.0.0.1\\n"
		 "10.0.0.0/24 proto kernel scope link src 10.0.0.2\\n'\n",
		 name, stubs);
	CU_ASSERT_EQUAL_FATAL(unit_put(stubs, name, text, strlen(text)), 0);
	snprintf(text, sizeof(text), "%s/%s", stubs, name);
	chmod(text, 0700);
}

/* The log of a spec that has fired and been undone, to `text`. */
static void log_of(const char *spec, char *text, size_t len)
{
	static const char addresses[4][16] = { "10.0.0.1", "10.0.0.1", "10.0.0.2", "10.0.0.2" };
	struct error err = { .code = 0 };
	char path[UNIT_PATH];
	struct scene s = { .machine = { .host = { .device = "eth9", .address = "10.0.0.2" },
					.addresses = addresses } };
	FILE *log;
	size_t n;

	CU_ASSERT_EQUAL_FATAL(fault_parse(&s.spec, spec, &err), 0);
	snprintf(path, sizeof(path), "net-rows-%d", (int)getpid());
	CU_ASSERT_EQUAL_FATAL(run_folder_open(&s.run, path, &err), 0);
	s.machine.run = s.run.path;
	CU_ASSERT_EQUAL(s.spec.fault->fire(
				&(struct fault_act){ .spec = &s.spec, .machine = &s.machine }),
			FAULT_PASS);
	run_folder_release(&s.run);
	while (waitpid(-1, NULL, 0) > 0)
		;
	snprintf(path, sizeof(path), "%s/log", stubs);
	log = fopen(path, "r");
	n = log ? fread(text, 1, len - 1, log) : 0;
	text[n] = '\0';
	if (log)
		fclose(log);
	unlink(path);
}

#define BOTH(statement)                                                                            \
	"input iifname eth9 " statement " ; add chain",                                            \
		"output oifname eth9 " statement "\nnft delete table inet hangar_"

UNIT_TEST(test_rows, "rows")
{
	static const struct {
		const char *spec, *first, *then;
	} cases[] = {
		{ "net-cut,hold=0", "ip -4 route show dev eth9\nip link set eth9 down\n",
		  "down\nip link set eth9 up\nip route replace default via 10.0.0.1 dev eth9\n" },
		{ "net-flap,hold=0,down=0.01,up=0.01,times=2", "down\nip link set eth9 up\n",
		  "dev eth9\nip link set eth9 down\nip link set eth9 up\n" },
		{ "net-stall,hold=0", BOTH("drop") },
		{ "net-stall,hold=0,peer=1,dir=out", "add table inet hangar_",
		  " output oifname eth9 ip daddr 10.0.0.1 drop\n" },
		{ "net-slow,hold=0,rate=10000",
		  BOTH("limit rate over 10000 kbytes/second burst 1024000 bytes drop") },
		{ "net-loss,hold=0,loss=0.5", BOTH("numgen random mod 100000 < 500 drop") },
		{ "net-loss-large,hold=0", BOTH("meta length > 1000 drop") },
		{ "net-reset,hold=0", BOTH("meta l4proto tcp reject with tcp reset") },
		{ "port-blocked,hold=0", BOTH("tcp flags & (syn|ack) == syn drop") },
	};
	const char *path = getenv("PATH");
	char text[4096], longer[4096];

	CU_ASSERT_EQUAL_FATAL(unit_folder(stubs), 0);
	stub("ip");
	stub("nft");
	snprintf(longer, sizeof(longer), "%s:%s", stubs, path);
	snprintf(text, sizeof(text), "%s", path);
	setenv("PATH", longer, 1);
	UNIT_ROWS(c, cases) {
		log_of(c->spec, longer, sizeof(longer));
		UNIT_ALL(strstr(longer, c->first) != NULL, strstr(longer, c->then) != NULL);
	}
	setenv("PATH", text, 1);
}

UNIT_TEST(test_delay, "delay")
{
	char path[UNIT_PATH], said[300], text[16];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/switch", stubs);
	CU_ASSERT_EQUAL_FATAL(mkfifo(path, 0600), 0);
	fd = open(path, O_RDWR | O_CLOEXEC);
	setenv(NETWORK_SWITCH, path, 1);
	log_of("net-delay,hold=0,peer=0,delay=0.5", text, sizeof(text));
	log_of("net-delay,hold=0,dir=in", text, sizeof(text));
	n = read(fd, said, sizeof(said) - 1);
	said[n > 0 ? n : 0] = '\0';
	CU_ASSERT_STRING_EQUAL(said,
			       "pair 10.0.0.1 10.0.0.2 delay 0.5 pair 10.0.0.2 10.0.0.1 delay 0.5\n"
			       "pair 10.0.0.1 10.0.0.2 delay 0 pair 10.0.0.2 10.0.0.1 delay 0\n"
			       "pair * 10.0.0.2 delay 0.2\npair * 10.0.0.2 delay 0\n");
	close(fd);
	unit_remove(stubs);
}
