/* test_hosts.c: hosts that a launcher names. */
#include "rig/unit.h"

#include "net/hosts.h"

UNIT_TEST(test_hosts, "Slurm's and Open MPI's lists, each host once")
{
	static const struct {
		const char *environment[4], *list;
	} table[] = {
		{ { NULL }, "" },
		{ { "SLURM_JOB_NODELIST=node[1-3,05],gpu7", NULL },
		  "node1 node2 node3 node05 gpu7" },
		{ { "SLURM_JOB_NODELIST=a[08-11]-x", NULL }, "a08-x a09-x a10-x a11-x" },
		{ { "SLURM_JOB_NODELIST=a[1-4]", "SLURM_STEP_NODELIST=a2", NULL }, "a2" },
		{ { "OMPI_MCA_orte_node_regex=vm,[2:10].213.0.2,[2:10].213.0.3@0(3)", NULL },
		  "vm 10.213.0.2 10.213.0.3" },
		{ { "OMPI_MCA_orte_node_regex=head,node[2:8-11]@0(5)",
		    "OMPI_MCA_orte_hnp_uri=336.0;tcp://10.0.0.1,10.1.0.1:59113", NULL },
		  "head node08 node09 node10 node11 10.0.0.1 10.1.0.1" },
		{ { "MASTER_ADDR=n1", "OMPI_MCA_orte_hnp_uri=3.0;tcp://n1:5", NULL }, "n1" },
		{ { "SLURM_JOB_NODELIST=node[1-", NULL }, "node[1-" },
	};

	UNIT_ROWS(row, table) {
		char list[2048];

		hosts_listed((char *const *)row->environment, list, sizeof(list));
		CU_ASSERT_STRING_EQUAL(list, row->list);
	}
}

UNIT_TEST(test_port, "one port of one text")
{
	UNIT_ALL(hosts_port("a") == hosts_port("a"), hosts_port("a") != hosts_port("b"),
		 hosts_port("") >= 20000, hosts_port("") < 32000);
}

UNIT_TEST(test_connect, "a host that does not listen, and a name of no host")
{
	UNIT_ALL(hosts_connect("127.0.0.1", 1, false) == -ECONNREFUSED,
		 hosts_connect("no.such.host.invalid", 1, true) == -EADDRNOTAVAIL);
}
