/* test_reading.c: readings out of made-up /proc and /sys; what lies between two readings;
 * JSON that must not be trusted. */
#include "rig/unit.h"

#include "machine/read.h"
#include "rig/tree.h"

#define SNMP                                                                                       \
	"Ip: Forwarding DefaultTTL\nIp: 1 64\n"                                                    \
	"Tcp: RtoAlgorithm RtoMin MaxConn InSegs OutSegs RetransSegs InErrs\n"                     \
	"Tcp: 1 200 -1 500 12345 67 0\n"
#define NETSTAT                                                                                    \
	"TcpExt: SyncookiesSent TCPTimeouts TCPLossProbes\nTcpExt: 5 9 11\n"                       \
	"IpExt: InNoRoutes TCPTimeouts\nIpExt: 0 77\n"
#define DEV                                                                                        \
	"Inter-|   Receive                                                |  Transmit\n"           \
	" face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs " \
	"drop fifo colls carrier compressed\n"                                                     \
	"    lo: 100 1 0 0 0 0 0 0 100 1 0 0 0 0 0 0\n"                                            \
	"  eth0:1000 10 2 3 0 0 0 0 2000 20 4 5 0 0 0 0\n"

static struct reading counters;

static void read_tree(const struct tree_file *files)
{
	struct read_request request = { .readers = READ_TCP | READ_TRAFFIC,
					.root = tree_make(files) };

	reading_release(&counters);
	read_host(&request, &counters);
	tree_remove();
}

static int64_t value(const char *part, const char *name)
{
	return reading_value(&counters, part, name);
}

struct expected {
	const char *part, *name;
	int64_t value; /* -1: not there */
};

static void check_values(const struct expected *want, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int64_t got = value(want[i].part, want[i].name);

		CU_ASSERT_EQUAL(got, want[i].value);
		if (got != want[i].value)
			printf("  %s %s: %lld\n", want[i].part, want[i].name, (long long)got);
	}
}

#define CHECK_VALUES(table) check_values(table, LENGTH(table))

UNIT_TEST(test_host, "a host's counters")
{
	static const struct tree_file files[] = {
		{ "/proc/net/snmp", SNMP, 0 },
		{ "/proc/net/netstat", NETSTAT, 0 },
		{ "/proc/net/dev", DEV, 0 },
		{ "/sys/class/net/eth0/carrier_down_count", "6\n", 0 },
		{ "/sys/class/net/eth0/device/vendor", "0x15b3\n", 0 },
		{ "/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error", "7\n", 0 },
		{ "/sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data", "250\n", 0 },
		{ "/sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_wait", "8\n", 0 },
		{ "/sys/class/infiniband/mlx5_0/ports/2/counters/link_downed", "1\n", 0 },
		{ "/sys/class/infiniband/mlx5_0/ports/2/hw_counters/packet_seq_err", "2\n", 0 },
		{ NULL, NULL, 0 },
	};
	static const struct expected want[] = {
		{ "TCP", "sent", 12345 },
		{ "TCP", "resent", 67 },
		{ "TCP", "timeouts", 9 },
		{ "lo", "rx_bytes", 100 },
		{ "lo", "carrier_lost", -1 }, /* no such file */
		{ "eth0", "rx_bytes", 1000 },
		{ "eth0", "rx_errors", 2 },
		{ "eth0", "rx_dropped", 3 },
		{ "eth0", "tx_bytes", 2000 },
		{ "eth0", "tx_errors", 4 },
		{ "eth0", "tx_dropped", 5 },
		{ "eth0", "carrier_lost", 6 },
		{ "RDMA mlx5_0:1", "symbol_errors", 7 },
		{ "RDMA mlx5_0:1", "rx_bytes", 1000 }, /* 250 words of 4 */
		{ "RDMA mlx5_0:1", "tx_wait", 8 },
		{ "RDMA mlx5_0:1", "link_downed", -1 },
		{ "RDMA mlx5_0:2", "link_downed", 1 },
		{ "RDMA mlx5_0:2", "sequence_errors", 2 },
	};

	read_tree(files);
	CHECK_VALUES(want);
	/* 3 of TCP, 6 of lo, 7 of eth0, 3 and 2 of the ports, which come first; then hardware's interface */
	UNIT_ALL(counters.n == 21, !strcmp(counters.list[8].part, "eth0"),
		 counters.host[0] != '\0' && counters.seconds > 0);
}

/* Nothing there, or nothing sound: absent, never 0. */
UNIT_TEST(test_host_hostile, "hostile /proc and /sys")
{
	static const struct tree_file none[] = { { "/empty", "", 0 }, { NULL, NULL, 0 } };
	static const struct tree_file files[] = {
		{ "/proc/net/snmp", "Tcp: OutSegs RetransSegs\nTcp: 99999999999999999999 12", 0 },
		{ "/proc/net/netstat", "TcpExt: TCPTimeouts TCPOther", 0 },
		{ "/proc/net/dev",
		  "no colon 1 2 3\n: 1 2 3\n"
		  "averyveryverylongnameofaninterface: 1 2 3\n"
		  "  a: 18446744073709551615 1 -2 4\n"
		  "  b: x 1 7 8 9 9 9 9 5\n"
		  "../../c: 1 1 1 1\n"
		  "  d: 3",
		  0 },
		{ "/sys/class/net/b/carrier_down_count", "many\n", 0 },
		{ "/sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data",
		  "9223372036854775807\n", 0 },
		{ "/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error", "-1\n", 0 },
		{ NULL, NULL, 0 },
	};
	static const struct expected want[] = {
		{ "TCP", "sent", -1 },
		{ "TCP", "resent", 12 },
		{ "TCP", "timeouts", -1 },
		{ "a", "rx_bytes", -1 }, /* more than a counter holds */
		{ "a", "rx_errors", -1 },
		{ "a", "rx_dropped", 4 },
		{ "a", "tx_bytes", -1 },
		{ "b", "rx_bytes", -1 },
		{ "b", "rx_dropped", 8 },
		{ "b", "tx_bytes", 5 },
		{ "b", "carrier_lost", -1 },
		{ "d", "rx_bytes", 3 },
		{ "RDMA mlx5_0:1", "rx_bytes", -1 },
		{ "RDMA mlx5_0:1", "symbol_errors", -1 },
		{ "../../c", "rx_bytes", -1 },
	};

	read_tree(none);
	CU_ASSERT_EQUAL(counters.n, 0);
	read_tree(files);
	CHECK_VALUES(want);
	CU_ASSERT_EQUAL(counters.n, 1 + 1 + 3 + 1); /* of TCP, a, b, d */
}

/* 400 interfaces of containers and one of hardware behind them all: 64 are read, that one first. */
UNIT_TEST(test_many_interfaces, "more interfaces than room")
{
	static char dev[64 << 10];
	static const struct tree_file files[] = {
		{ "/proc/net/dev", dev, 0 },
		{ "/sys/class/net/hard/device/vendor", "0x15b3\n", 0 },
		{ NULL, NULL, 0 },
	};
	char *at = dev;

	for (int i = 0; i < 400; i++)
		at += sprintf(at, "veth%d: 1 1 1 1\n", i);
	sprintf(at, "hard: 2 2 2 2\n");
	read_tree(files);
	UNIT_ALL(value("hard", "rx_bytes") == 2, value("veth62", "rx_bytes") == 1,
		 value("veth63", "rx_bytes") == -1);
}

UNIT_TEST(test_between, "between two readings")
{
	struct reading a = { .seconds = 10 }, b = { .seconds = 12.5, .host = "vm" };
	struct reading empty = { .list = NULL };

	reading_count(&a, "TCP", "resent", 10);
	reading_count(&a, "eth0", "rx_dropped", 100);
	reading_count(&a, "eth0", "tx_dropped", 3);
	reading_count(&a, "eth1", "rx_dropped", 3);
	reading_state(&a, "GPU 0", "clock_reasons", 8);
	reading_count(&a, "GPU 1", "ecc_uncorrected", 0);
	reading_state(&a, "GPU 0", "gen", 5); /* the GPU came to rest */
	reading_state(&b, "GPU 0", "gen", 1);
	reading_count(&b, "TCP", "resent", 22);
	reading_count(&b, "eth0", "rx_dropped", 7); /* ran backwards */
	reading_count(&b, "eth0", "tx_dropped", 3);
	reading_count(&b, "eth2", "rx_dropped", 1000); /* appeared; eth1 is gone */
	reading_state(&b, "GPU 0", "clock_reasons", 4);
	reading_state(&b, "GPU 0", "remap_pending", 1);
	reading_release(&counters);
	counter_delta(&a, &b, &counters);
	UNIT_ALL(!strcmp(counters.host, "vm"), fabs(counters.seconds - 2.5) <= 1e-9,
		 value("TCP", "resent") == 12, value("eth0", "rx_dropped") == -1,
		 value("eth0", "tx_dropped") == 0, value("eth2", "rx_dropped") == -1,
		 value("GPU 0", "clock_reasons") == 4, value("GPU 0", "remap_pending") == 1,
		 value("GPU 0", "gen") == 5);
	CU_ASSERT_EQUAL(counters.n, 5); /* GPU 1: NVML was not asked again, or did not answer */
	reading_release(&counters);
	reading_state(&b, "NVML", "gpus", 2);
	counter_delta(&a, &b, &counters);
	UNIT_ALL(value("GPU 1", "gone") == 1, value("eth1", "gone") == -1, counters.n == 7);
	reading_release(&counters);
	/* no earlier reading: what is a state, and no time */
	counter_delta(&empty, &b, &counters);
	UNIT_ALL(counters.n == 4, value("NVML", "gpus") == 2, counters.seconds == 0);
	reading_release(&a);
	reading_release(&b);
}

/* States in words: printable they come back, and a difference has them as they were later. The
 * entries of a part stand together. */
UNIT_TEST(test_words, "states in words")
{
	struct reading a = { .host = "vm" }, b = { .host = "vm" };
	char *text;

	reading_say(&a, "eth0", "state", "up");
	reading_state(&a, "CPU", "cpus", 2);
	reading_state(&a, "eth0", "mtu", 1500);
	reading_say(&a, "environment", "NCCL_ALGO", "Ri\nng\033");
	reading_say(&a, "environment", "NCCL_PROTO", "");
	CU_ASSERT_STRING_EQUAL(a.list[1].part, "eth0");
	text = reading_dump(&a, false);
	CU_ASSERT_EQUAL(reading_parse(&b, text), 0);
	free(text);
	UNIT_ALL(b.n == a.n, !strcmp(reading_text(&b, "environment", "NCCL_ALGO"), "Ri?ng?"),
		 reading_find(&b, "environment", "NCCL_PROTO") != NULL,
		 !strcmp(reading_text(&b, "eth0", "mtu"), ""),
		 reading_value(&b, "eth0", "state") == -1);
	reading_say(&b, "eth0", "state", "down");
	reading_release(&counters);
	counter_delta(&a, &b, &counters);
	CU_ASSERT_STRING_EQUAL(reading_text(&counters, "eth0", "state"), "down");
	CU_ASSERT_EQUAL(value("eth0", "mtu"), 1500);
	reading_release(&a);
	reading_release(&b);
}

/* No more than there is room for, and no name that does not fit. */
UNIT_TEST(test_room, "room")
{
	char name[64];

	reading_release(&counters);
	for (int i = 0; i < 2 * READING_MOST; i++) {
		snprintf(name, sizeof(name), "eth%d", i);
		reading_count(&counters, name, "rx_bytes", i);
	}
	reading_count(&counters, "eth7", "rx_bytes", 8);
	UNIT_ALL(counters.n == READING_MOST, value("eth2047", "rx_bytes") == 2047,
		 value("eth7", "rx_bytes") == 8);
	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	reading_release(&counters);
	reading_count(&counters, name, "a", 1);
	reading_count(&counters, "a", name, 1);
	reading_count(&counters, "a", "b", -1);
	CU_ASSERT_EQUAL(counters.n, 0);
}

UNIT_TEST(test_json, "JSON there and back")
{
	char *line, *folded, both[4096];
	struct reading other = { .host = "vm", .seconds = 1.5 };

	reading_release(&counters);
	reading_count(&other, "TCP", "resent", INT64_MAX);
	reading_count(&other, "eth0", "rx_bytes", 0);
	line = reading_dump(&other, false);
	snprintf(other.why, sizeof(other.why), "not here");
	other.seconds = 2.5;
	reading_count(&other, "GPU 0", "pcie_replays", 4);
	folded = reading_dump(&other, true);
	CU_ASSERT_PTR_NOT_NULL_FATAL(line);
	CU_ASSERT_PTR_NOT_NULL_FATAL(folded);
	CU_ASSERT_PTR_NULL(strchr(line, '\n'));
	snprintf(both, sizeof(both), "%s\n%s\n", line, folded);
	UNIT_ALL(reading_parse(&counters, both) == 0, counters.n == 3,
		 value("TCP", "resent") == INT64_MAX, value("eth0", "rx_bytes") == 0,
		 value("GPU 0", "pcie_replays") == 4, counters.seconds == 2.5,
		 !strcmp(counters.why, "not here"));
	/* cut anywhere: no crash, never taken for whole, and the first one stays */
	for (size_t cut = strlen(both) - 2; cut > 0; cut--) {
		both[cut] = '\0';
		reading_release(&counters);
		UNIT_ALL(reading_parse(&counters, both) ==
				 (cut == strlen(line) || cut == strlen(line) + 1 ? 0 : -EINVAL),
			 value("TCP", "resent") == (cut >= strlen(line) ? INT64_MAX : -1));
	}
	free(line);
	free(folded);
	reading_release(&other);
}

/* A name that is both, states before counters: what was read is written and read again as it is. */
UNIT_TEST(test_json_twice, "JSON of a name twice")
{
	static const char both[] = "{\"version\":2,\"host\":\"a\",\"seconds\":0.0,\"why\":\"\","
				   "\"parts\":{\"T\":{\"counters\":{\"c\":4,\"p\":3},"
				   "\"states\":{\"c\":0}},\"B\":{\"states\":{\"x\":1}}}}";
	struct reading again = { .list = NULL };
	char *first, *second;

	reading_release(&counters);
	CU_ASSERT_EQUAL(reading_parse(&counters, both), 0);
	first = reading_dump(&counters, false);
	CU_ASSERT_PTR_NOT_NULL_FATAL(first);
	CU_ASSERT_EQUAL(reading_parse(&again, first), 0);
	second = reading_dump(&again, false);
	UNIT_ALL(!strcmp(first, second), reading_value(&again, "T", "c") == 0);
	free(first);
	free(second);
	reading_release(&again);
}

#define TOP    "{\"version\":2,\"host\":\"a\",\"seconds\":1,\"why\":\"\",\"parts\":"
#define TCP(x) TOP "{\"TCP\":{\"counters\":{" x "}}}}"

UNIT_TEST(test_json_hostile, "hostile JSON")
{
	static const char *const texts[] = {
		"",
		" \n",
		"{}",
		"[]",
		"7",
		"null",
		"{\"version\":1,\"host\":\"a\",\"seconds\":1,\"why\":\"\",\"parts\":{}}",
		"{\"version\":2,\"host\":7,\"seconds\":1,\"why\":\"\",\"parts\":{}}",
		"{\"version\":2,\"host\":\"\\u001b\",\"seconds\":1,\"why\":\"\",\"parts\":{}}",
		"{\"version\":2,\"host\":\"a\",\"seconds\":-1,\"why\":\"\",\"parts\":{}}",
		"{\"version\":2,\"host\":\"a\",\"seconds\":1,\"why\":\"\"}",
		TOP "[]}",
		TOP "{\"TCP\":7}}",
		TOP "{\"TCP\":{\"counters\":7}}}",
		TOP "{\"TCP\":{\"states\":[]}}}",
		TCP("\"resent\":-1"),
		TCP("\"resent\":1.5"),
		TCP("\"resent\":\"1\""),
		TCP("\"resent\":99999999999999999999"),
		TOP "{\"TCP\":{\"states\":{\"resent\":-1}}}}",
		TOP "{\"TCP\":{\"states\":{\"resent\":null}}}}",
		TOP "{\"\":{\"counters\":{\"resent\":1}}}}",
		TOP "{\"T\\n\":{\"counters\":{\"resent\":1}}}}",
		TCP("\"\\u00e4\":1"),
		TCP("\"a\":1,\"a\":2"),
		TOP "{}} and more",
		TOP "{}}\xff",
	};
	static char many[READING_BYTES + 100];

	for (size_t i = 0; i < LENGTH(texts); i++) {
		reading_release(&counters);
		if (reading_parse(&counters, texts[i]) != -EINVAL) {
			CU_FAIL("taken");
			printf("taken: %s\n", texts[i]);
		}
	}
	reading_release(&counters);
	UNIT_ALL(reading_parse(&counters, TCP("\"resent\":1")) == 0, value("TCP", "resent") == 1);
	memset(many, ' ', sizeof(many) - 1);
	memcpy(many + sizeof(many) - 100, TOP "{}}", strlen(TOP "{}}"));
	CU_ASSERT_EQUAL(reading_parse(&counters, many), -EINVAL);
	memset(many, '{', sizeof(many) - 200);
	CU_ASSERT_EQUAL(reading_parse(&counters, many), -EINVAL);
	reading_release(&counters);
}
