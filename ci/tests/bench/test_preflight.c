/* test_preflight.c: ranks of a host that a launcher names; which host bad pairs blame; the rules. */
#include "rig/unit.h"

#include "base/built_in.h"
#include "preflight/preflight_judge.h"
#include "preflight/preflight_meet.h"

BUILT_IN(rules_under_test, "bench/preflight_rules.txt");

static struct reading hosts[12];

UNIT_TEST(test_meanings, "each check says what it means, and what it needs")
{
	struct error err = { .rank = -1 };
	struct health *health = health_open(NULL, rules_under_test, &err);
	const struct health_check *check;

	CU_ASSERT_PTR_NOT_NULL_FATAL(health);
	for (size_t i = 0; (check = health_check(health, i)); i++)
		if (!*check->meaning || !*check->needs || strlen(check->group) > 16)
			CU_FAIL(check->group);
	free(health);
}

UNIT_TEST(test_slurm, "hosts, ranks of a host, and rank, as srun tells them")
{
	static const char *const names[] = { "SLURM_STEP_ID",	     "SLURM_STEP_NUM_TASKS",
					     "SLURM_STEP_NUM_NODES", "SLURM_STEP_TASKS_PER_NODE",
					     "SLURM_NODEID",	     "SLURM_PROCID" };
	static const struct {
		const char *values[6];
		int hosts, local, rank;
	} table[] = {
		{ { "0", "8", "4", "2(x4)", "3", "6" }, 4, 2, 6 },
		{ { "0", "5", "3", "2(x2),1", "2", "4" }, 3, 1, 4 },
		{ { "0", "5", "3", "2(x2),1", "1", "2" }, 3, 2, 2 },
		{ { "1", "3", "2", "1,2", "1", "1" }, 2, 2, 1 },
		{ { "0", "4", "2", NULL, NULL, "3" }, 2, 2, 3 },
		{ { "0", "4", "2", "2(x", "1", "3" }, 2, 2, 3 },
		{ { "0", "1", "1", "1", "0", "0" }, 1, 1, 0 },
	};

	UNIT_ROWS(row, table) {
		struct launch launch;

		for (size_t i = 0; i < LENGTH(names); i++)
			if (row->values[i])
				setenv(names[i], row->values[i], 1);
		launch_detect(&launch);
		UNIT_ALL(launch.launched == (row->hosts > 1 || row->local > 1),
			 launch.rank == row->rank, preflight_count_hosts(&launch) == row->hosts,
			 preflight_count_local(&launch, row->hosts) == row->local);
		for (size_t i = 0; i < LENGTH(names); i++)
			unsetenv(names[i]);
	}
}

UNIT_TEST(test_meeting_ports, "where ranks will meet")
{
	static const struct {
		const char *environment[3];
		int n, ports[2];
		bool given;
	} table[] = {
		{ { NULL }, 2, { 29500, 29400 }, false },
		{ { "MASTER_PORT=1234", NULL }, 1, { 1234 }, true },
		{ { "MASTER_PORT=70000", NULL }, 2, { 29500, 29400 }, true },
		{ { "NCCL_COMM_ID=10.0.0.1:555", "MASTER_PORT=44", NULL }, 2, { 44, 555 }, true },
		{ { "NCCL_COMM_ID=[::1]:44", "MASTER_PORT=44", NULL }, 1, { 44 }, true },
		{ { "TORCHELASTIC_RUN_ID=x", "MASTER_PORT=44", NULL }, 0, { 0 }, true },
	};

	UNIT_ROWS(row, table) {
		int ports[PREFLIGHT_MEETING], n;
		bool given = preflight_meeting_ports((char *const *)row->environment, ports, &n);

		UNIT_ALL(given == row->given, n == row->n);
		for (int i = 0; i < n && i < row->n; i++)
			CU_ASSERT_EQUAL(ports[i], row->ports[i]);
	}
}

static struct health *open_rules(void)
{
	struct error err = { .rank = -1 };
	struct health *health = health_open(NULL, rules_under_test, &err);

	CU_ASSERT_PTR_NOT_NULL_FATAL(health);
	return health;
}

/* Hosts a, b, ... and a pair for each two; `bad` lists those with a closed port: "ab ba", or that are late: "AB". */
static int play(int n, const char *bad, const char **owner)
{
	struct health *health = open_rules();
	struct reading pairs[64] = { 0 };
	int npairs = 0, all;

	for (int h = 0; h < 12; h++)
		hosts[h] = (struct reading){ .seconds = 0 };
	for (int h = 0; h < n; h++)
		snprintf(hosts[h].host, sizeof(hosts[h].host), "%c", 'a' + h);
	for (int from = 0; from < n; from++)
		for (int to = 0; to < n; to++) {
			char part[8], name[3] = { (char)('a' + from), (char)('a' + to) };
			struct reading *m = &pairs[npairs];

			if (from == to)
				continue;
			npairs++;
			snprintf(part, sizeof(part), "%c>%c", name[0], name[1]);
			reading_say(m, part, "from", (char[2]){ name[0] });
			reading_say(m, part, "to", (char[2]){ name[1] });
			reading_state(m, part, "ports_open", 60);
			reading_state(m, part, "ports_closed", strstr(bad, name) ? 4 : 0);
			name[0] = (char)toupper(name[0]);
			name[1] = (char)toupper(name[1]);
			reading_state(m, part, "round_trip_us", strstr(bad, name) ? 40000 : 90);
		}
	all = preflight_blame(health, hosts, n, pairs, npairs);
	*owner = "";
	for (int h = 0; h < all; h++)
		for (size_t i = 0; i < hosts[h].n; i++)
			if (strcmp(hosts[h].list[i].name, "ports_closed") == 0 &&
			    hosts[h].list[i].value > 0)
				*owner = strcmp(*owner, "") == 0 ||
							 strcmp(*owner, hosts[h].host) == 0
						 ? hosts[h].host
						 : "several";
	for (int i = 0; i < npairs; i++)
		reading_release(&pairs[i]);
	free(health);
	return all;
}

UNIT_TEST(test_blame, "the host in most bad pairs; both of a single pair")
{
	static const struct {
		int n;
		const char *bad, *owner;
	} table[] = {
		{ 3, "", "" },
		{ 3, "ac bc", "c" },
		{ 3, "ca cb", "c" },
		{ 4, "ad bd cd da db dc", "d" },
		{ 3, "ab", "a or b" },
		{ 2, "ab ba", "a or b" },
		{ 3, "ac bc AB BA CA", "c" },
		{ 4, "ab ad ac", "a" },
		{ 4, "ab cd", "several hosts" },
		{ 3, "ab ba ac ca bc cb", "several hosts" },
	};

	UNIT_ROWS(row, table) {
		const char *owner;
		int all = play(row->n, row->bad, &owner);

		CU_ASSERT_STRING_EQUAL(owner, row->owner);
		CU_ASSERT_EQUAL(all, row->n + (strchr(row->owner, ' ') != NULL));
		for (int h = 0; h < all; h++)
			reading_release(&hosts[h]);
	}
}

static char told[512];

static void tell(void *ctx, const struct health_finding *f)
{
	(void)ctx;
	if (f->holds)
		snprintf(told, sizeof(told), "%s %s: %s", health_weights[f->weight], f->group,
			 f->text);
}

struct rule_row {
	const char *names[3];
	int64_t values[3];
	const char *told;
};

static void check_rules(const struct rule_row *table, size_t n)
{
	struct health *health = open_rules();

	for (const struct rule_row *row = table; row < table + n; row++) {
		struct reading m = { .seconds = 0 };

		for (int i = 0; i < 3 && row->names[i]; i++)
			reading_state(&m, "part", row->names[i], row->values[i]);
		told[0] = '\0';
		health_judge(health, &m, tell, NULL);
		CU_ASSERT(row->told[0] ? strncmp(told, row->told, strlen(row->told)) == 0
				       : !told[0]);
		reading_release(&m);
	}
	free(health);
}

UNIT_TEST(test_bandwidth, "what is too little between two hosts")
{
	static const struct rule_row table[] = {
		{ { "mbit", "usual_mbit" }, { 1500, 10000 }, "" },
		{ { "mbit", "usual_mbit" }, { 500, 10000 }, "warn bandwidth" },
		{ { "mbit", "nic_mbit" }, { 900, 1000 }, "" },
		{ { "mbit", "nic_mbit" }, { 90, 1000 }, "warn bandwidth" },
		{ { "mbit", "best_mbit" }, { 500, 5000 }, "" },
		{ { "mbit", "best_mbit" }, { 8, 1000 }, "warn bandwidth" },
		{ { "mbit", "own_mbit" }, { 500, 40000 }, "" },
		{ { "mbit", "own_mbit" }, { 8, 8000 }, "warn bandwidth" },
		{ { "mbit", "floor_mbit" }, { 900, 800 }, "" },
		{ { "mbit", "floor_mbit" }, { 900, 9000 }, "warn bandwidth" },
		{ { "mbit" }, { 0 }, "drain bandwidth" },
	};

	check_rules(table, LENGTH(table));
}

UNIT_TEST(test_rules, "what values make lines, and which are healthy")
{
	static const struct rule_row table[] = {
		{ { "loopback", "hosts" },
		  { 1, 1 },
		  "" }, /* Debian's 127.0.1.1 on one host is no fault */
		{ { "loopback", "hosts" }, { 1, 2 }, "drain name" },
		{ { "matched", "hosts" }, { 1, 1 }, "" },
		{ { "matched", "hosts" }, { 0, 1 }, "drain interface" }, /* NCCL ends there, too */
		{ { "memlock_kib", "rdma_ports" }, { 64, 0 }, "" },
		{ { "memlock_kib", "rdma_ports" }, { 64, 2 }, "drain memlock" },
		{ { "nofile", "ranks" }, { 1024, 8 }, "" },
		{ { "nofile", "ranks" }, { 1024, 512 }, "warn nofile" },
		{ { "nofile", "ranks" }, { 200, 1 }, "drain nofile" },
		{ { "taken", "given" }, { 1, 1 }, "drain rendezvous" },
		{ { "taken", "given" }, { 1, 0 }, "note rendezvous" },
		{ { "meeting_closed", "meeting_given" }, { 0, 1 }, "" },
		{ { "meeting_closed", "meeting_given" }, { 1, 1 }, "drain rendezvous" },
		{ { "meeting_closed", "meeting_given" }, { 1, 0 }, "note rendezvous" },
		{ { "verbs_mbit", "verbs_mbps" }, { 350000, 400000 }, "" },
		{ { "verbs_mbit", "verbs_mbps" }, { 90000, 400000 }, "warn verbs-bandwidth" },
		{ { "verbs_mbit", "verbs_mbps" }, { 0, 400000 }, "drain verbs-bandwidth" },
		{ { "ways" }, { 1 }, "" },
		{ { "ways" }, { 0 }, "warn gpudirect" },
		{ { "roce_v2_gids" }, { 0 }, "" }, /* and the port is not up */
		{ { "peers_refused", "links_active" }, { 2, 18 }, "warn peer-access" },
		{ { "peers_refused", "peers" }, { 2, 7 }, "note peer-access" },
		{ { "bridges_acs" }, { 0 }, "" },
		{ { "bridges_acs" }, { 1 }, "note acs" },
		{ { "persistence" }, { 1 }, "" },
		{ { "persistence" }, { 0 }, "note persistence" },
		{ { "pair_mbs", "usual_mbs" }, { 600, 1000 }, "" },
		{ { "pair_mbs", "usual_mbs" }, { 400, 1000 }, "warn pairs" },
		{ { "pair_mbs", "promised_mbs" }, { 400, 1000 }, "warn pairs" },
		{ { "udp_lost", "udp_sent" }, { 3, 200 }, "" },
		{ { "udp_lost", "udp_sent" }, { 9, 200 }, "warn loss" },
		{ { "ports_open", "ports_closed" }, { 60, 4 }, "drain tcp" },
		{ { "ports_open", "ports_closed" }, { 0, 64 }, "drain tcp" },
		{ { "round_trip_us" }, { 4000 }, "" },
		{ { "round_trip_us" }, { 40000 }, "warn latency" },
		{ { "full_lost" }, { 1 }, "drain path-mtu" },
		{ { "apart_ms" }, { 900 }, "" },
		{ { "apart_ms" }, { 1100 }, "warn clock" },
		{ { "differ", "matters" }, { 1, 1 }, "drain settings" },
		{ { "differ", "matters" }, { 1, 0 }, "warn settings" },
		{ { "busbw_mbs", "low_mbs" }, { 500, 900 }, "" },
		{ { "busbw_mbs", "low_mbs" }, { 400, 900 }, "warn busbw" },
		{ { "wrong" }, { 1 }, "drain data" },
		{ { "hang" }, { 1 }, "hung calls" },
		{ { "hung" }, { 1 }, "hung pre-flight" },
	};
	check_rules(table, LENGTH(table));
}

int main(void)
{
	return unit_main();
}
