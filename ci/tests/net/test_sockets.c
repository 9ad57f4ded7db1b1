/* test_sockets.c: a process' TCP peers, from lines of /proc. */
#include "rig/unit.h"

#include "net/sockets.h"

#define HEAD                                                                                       \
	"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  "      \
	"timeout inode\n"
/* state, resends and inode of a connection from 10.0.0.2 to port 80 of 10.0.0.3 */
#define LINE(state, resends, inode)                                                                \
	"   0: 0200000A:1F90 0300000A:0050 " state " 00000001:00000000 01:00000014 " resends       \
	"     0        0 " inode " 1 0000 20 4 0 10 -1\n"
#define SIX                                                                                        \
	"   0: B80D0120000000000000000001000000:0050 B80D0120000000000000000002000000:0050 01 "    \
	"00000001:00000000 01:00000014 00000003 0 0 7 1\n"
#define MAPPED                                                                                     \
	"   0: 0000000000000000FFFF00000200010A:0050 0000000000000000FFFF00000300010A:0050 02 "    \
	"00000001:00000000 01:00000014 00000003 0 0 7 1\n"
#define LOCAL                                                                                      \
	"   0: 0100007F:0050 0100007F:0051 01 00000001:00000000 01:00000014 00000009 0 0 7 1\n"
#define BOUND                                                                                      \
	"   0: 0500000A:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000009 0 0 7 1\n"

static void play(const char *root, const char *tcp, const char *tcp6)
{
	static const char *const folders[] = { "proc", "proc/9", "proc/9/fd", "proc/9/net" };
	char path[300], text[1200];

	for (size_t i = 0; i < LENGTH(folders); i++) {
		snprintf(path, sizeof(path), "%s/%s", root, folders[i]);
		mkdir(path, 0700);
	}
	snprintf(path, sizeof(path), "%s/proc/9/fd/3", root);
	unlink(path);
	CU_ASSERT_EQUAL(symlink("socket:[7]", path), 0);
	snprintf(path, sizeof(path), "%s/proc/9/net", root);
	snprintf(text, sizeof(text), HEAD "%s", tcp);
	CU_ASSERT_EQUAL(unit_put(path, "tcp", text, strlen(text)), 0);
	CU_ASSERT_EQUAL(unit_put(path, "tcp6", tcp6, strlen(tcp6)), 0);
}

UNIT_TEST(test_lines, "lines of the kernel")
{
	static const struct {
		const char *tcp, *tcp6;
		const char *addresses, *peer;
		int port, resends;
	} cases[] = {
		{ "", "", "", "", 0, 0 },
		{ LINE("01", "00000000", "7"), "", "10.0.0.2", "", 0, 0 },
		{ LINE("01", "00000004", "7"), "", "10.0.0.2", "10.0.0.3", 80, 4 },
		{ LINE("02", "00000001", "7"), "", "10.0.0.2", "10.0.0.3", 80, 1 },
		{ LINE("01", "00000400", "7"), "", "10.0.0.2", "10.0.0.3", 80, 99 },
		/* another process' socket, a closing one, a torn line */
		{ LINE("01", "00000004", "8"), "", "", "", 0, 0 },
		{ LINE("04", "00000004", "7"), "", "", "", 0, 0 },
		{ "   0: 0200000A:1F90 0300000A:0050 01 0000", "", "", "", 0, 0 },
		/* the worst of several; loopback and listeners do not count */
		{ LINE("01", "00000002", "7") LOCAL, MAPPED, "10.0.0.2 10.1.0.2", "10.1.0.3", 80,
		  3 },
		{ LINE("01", "00000002", "7") BOUND, SIX, "10.0.0.2 10.0.0.5 2001:db8::1",
		  "2001:db8::2", 80, 3 },
	};
	char root[64] = "/tmp/hangar-sockets-XXXXXX";
	struct sockets s;

	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(root));
	UNIT_ROWS(c, cases) {
		play(root, c->tcp, c->tcp6);
		sockets_read(&s, root, 9);
		CU_ASSERT_STRING_EQUAL(s.addresses, c->addresses);
		CU_ASSERT_STRING_EQUAL(s.peer, c->peer);
		UNIT_ALL(s.port == c->port, s.resends == c->resends);
	}
	sockets_read(&s, root, 10);
	UNIT_ALL(s.addresses[0] == '\0', s.resends == 0);
	CU_ASSERT_EQUAL(unit_remove(root), 0);
}

UNIT_TEST(test_has, "an address among several")
{
	struct sockets s = { .addresses = "10.0.0.12 10.0.0.1" };

	UNIT_ALL(sockets_has(&s, "10.0.0.12"), sockets_has(&s, "10.0.0.1"),
		 !sockets_has(&s, "10.0.0"), !sockets_has(&s, "0.0.0.1"), !sockets_has(&s, ""));
}
