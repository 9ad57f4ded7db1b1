/* test_command.c: the command that starts a run again: words, launcher, settings. */
#include "rig/unit.h"

#include "process/command.h"

extern char **environ;

static char home[] = "HOME=/root";
static char *no_settings[] = { home, NULL };

UNIT_TEST(test_words, "words as a shell takes them")
{
	const char *argv[] = { "./x_perf", "--out", "a b", "",
			       "it's",	   "-b",    "64K", "--fault=drop-rank:1@8,when=after" };
	char buf[200];

	CU_ASSERT_STRING_EQUAL(command_join(buf, sizeof(buf), 8, argv),
			       "./x_perf --out 'a b' '' 'it'\\''s' -b 64K "
			       "--fault=drop-rank:1@8,when=after");
	/* whole words only, and never past the end */
	for (size_t len = 1; len < sizeof(buf); len++) {
		command_join(buf, len, 1, argv);
		CU_ASSERT_STRING_EQUAL(buf, len > strlen(argv[0]) ? argv[0] : "");
		CU_ASSERT(strlen(buf) < len);
	}
}

static const char *write_parent(const char *text, size_t n)
{
	static char path[UNIT_TEMP];
	static int fd = -1;

	if (fd < 0)
		fd = unit_file(path);
	CU_ASSERT_FATAL(fd >= 0 && ftruncate(fd, 0) == 0);
	CU_ASSERT_EQUAL(pwrite(fd, text, n, 0), (ssize_t)n);
	return path;
}

UNIT_TEST(test_launchers, "the launcher's line, or one like it")
{
	static const char mpirun[] = "/usr/bin/mpirun\0-np\0003\0-x\0NCCL_ALGO\0./x_perf\0-b\0"
				     "8";
	static const char shell[] = "/bin/sh\0wrap.sh";
	const char *argv[] = { "./x_perf", "-b", "8" };
	struct launch launch = { .launched = true };
	char buf[200];
	const char *path = write_parent(mpirun, sizeof(mpirun));

	environ = no_settings;
	CU_ASSERT_STRING_EQUAL(command_again(buf, sizeof(buf), &launch, 3, 3, argv, path),
			       "/usr/bin/mpirun -np 3 -x NCCL_ALGO ./x_perf -b 8");
	launch.own = true; /* -g is among the words */
	CU_ASSERT_STRING_EQUAL(command_again(buf, sizeof(buf), &launch, 3, 3, argv, path),
			       "./x_perf -b 8");
	launch.own = false;
	write_parent(shell, sizeof(shell));
	UNIT_ALL(!strcmp(command_again(buf, sizeof(buf), &launch, 3, 3, argv, path),
			 "mpirun -np 3 ./x_perf -b 8"),
		 !strcmp(command_again(buf, sizeof(buf), &launch, 3, 3, argv, "/proc/nothing"),
			 "mpirun -np 3 ./x_perf -b 8"));
	unlink(path);
}

UNIT_TEST(test_settings, "settings of NCCL")
{
	char algo[] = "NCCL_ALGO=Ring", other[] = "OMPI_X=1", file[] = "NCCL_TOPO_FILE=/tmp/a b";
	char debug[] = "NCCL_DEBUG=INFO", log[] = "NCCL_DEBUG_FILE=/tmp/gone/x.log";
	char *settings[] = { debug, algo, other, log, file, NULL };
	const char *argv[] = { "./x_perf" };
	struct launch launch = { .launched = true, .own = true };
	char buf[200];

	environ = settings;
	CU_ASSERT_STRING_EQUAL(command_again(buf, sizeof(buf), &launch, 4, 1, argv,
					     "/proc/nothing"),
			       "env NCCL_ALGO=Ring 'NCCL_TOPO_FILE=/tmp/a b' ./x_perf");
}
