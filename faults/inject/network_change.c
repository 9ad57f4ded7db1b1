/* network_change.c: changes to a host's network, each with a process that undoes it. */
#include "inject/network_change.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "process/child.h"
#include "process/leftovers.h"

/* Two sides of a cut come to their verdicts within a second of each other. */
#define HOLD_SECONDS 3.0
#define LOOK_SECONDS 0.02

/* Waits until every process of the run has let go of its folder, at most so long: are they gone? */
static bool run_ends(int folder, double seconds)
{
	double until = clock_seconds() + seconds;

	for (;;) {
		if (folder < 0 || flock(folder, LOCK_EX | LOCK_NB) == 0)
			break;
		if (seconds > 0 && clock_seconds() >= until)
			return false;
		clock_nap(LOOK_SECONDS);
	}
	if (folder >= 0)
		flock(folder, LOCK_UN);
	return true;
}

/* Lines of commands. */
static void run_lines(const char *lines)
{
	char text[sizeof((struct network_change){ 0 }.undo)], said[8], *save = NULL;

	snprintf(text, sizeof(text), "%s", lines);
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		network_run(line, said, sizeof(said));
}

static _Noreturn void keep(const char *run, const struct network_change *change)
{
	int folder;

	child_detach();
	prctl(PR_SET_NAME, "hangar-network");
	folder = open(run, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	for (long i = 0;; i++) {
		bool over = run_ends(folder, change->seconds);

		if (over)
			clock_nap(change->hold);
		run_lines(change->undo);
		if (over || i == change->again || run_ends(folder, change->pause))
			break;
		run_lines(change->apply);
	}
	if (run_ends(folder, LOOK_SECONDS)) /* its own keeper may be gone, with the host */
		run_folder_remove(run);
	_exit(0);
}

int network_change(const struct fault_act *act, struct network_change *change)
{
	char said[400];
	int rc;

	change->seconds = fault_real(act->spec, "for", change->seconds);
	change->hold =
		fault_real(act->spec, "hold", change->hold > 0 ? change->hold : HOLD_SECONDS);
	change->keeper = fork();
	if (change->keeper < 0)
		return -errno;
	if (change->keeper == 0)
		keep(act->machine->run, change);
	rc = network_run(change->apply, said, sizeof(said));
	if (rc == 0)
		return 0;
	said[strcspn(said, "\n")] = '\0';
	return error_set(act->chain->backend->err, OUTCOME_UNSUPPORTED, rc,
			 "fault %s could not act: %.60s...: %s", act->spec->fault->name,
			 change->apply, *said ? said : strerror(-rc));
}

static void add_direction(char *buf, size_t len, const char *table, bool in, const char *device,
			  const char *peer, const char *statement)
{
	const char *chain = in ? "input" : "output";

	text_add(buf, len,
		 " ; add chain inet %s %s { type filter hook %s priority -300 ; } ; "
		 "add rule inet %s %s %s %s",
		 table, chain, chain, table, chain, in ? "iifname" : "oifname", device);
	if (peer)
		text_add(buf, len, " ip %s %s", in ? "saddr" : "daddr", peer);
	text_add(buf, len, " %s", statement);
}

char *network_filter_text(char *buf, size_t len, const char *table, const char *device,
			  const char *peer, const char *dir, const char *statement)
{
	snprintf(buf, len, "nft add table inet %s", table);
	if (strcmp(dir, "out") != 0)
		add_direction(buf, len, table, true, device, peer, statement);
	if (strcmp(dir, "in") != 0)
		add_direction(buf, len, table, false, device, peer, statement);
	return buf;
}
