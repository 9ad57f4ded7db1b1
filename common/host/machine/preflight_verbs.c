/* preflight_verbs.c: runs preflight_verbs.sh. */
#include "machine/preflight_net.h"

#include "base/built_in.h"
#include "machine/reading.h"

/* A host's own number from perftest's 18515 on, below the ports that connections are given. */
#define PORT(peer) (18515 + (peer)->ports[0] % 1000)

BUILT_IN(script, "common/host/machine/preflight_verbs.sh");

bool verbs_ready(void)
{
	unsetenv("mine");
	setenv("HANGAR_VERBS", script, 1);
	return system("eval \"$HANGAR_VERBS\"") == 0;
}

void verbs_probe(const struct preflight_peer *mine, const struct preflight_peer *to,
		 const char *part, struct reading *m)
{
	char text[16], said[256] = "";
	long long mbit, mbps;
	int at = 0;
	FILE *out;

	snprintf(text, sizeof(text), "%d", PORT(mine));
	setenv("mine", text, 1);
	snprintf(text, sizeof(text), "%d", PORT(to));
	setenv("port", text, 1);
	setenv("to", to->address, 1);
	out = popen("timeout 16 sh -c \"$HANGAR_VERBS\"", "re");
	if (!out)
		return;
	if (fgets(said, sizeof(said), out) &&
	    sscanf(said, "%lld %lld %n", &mbit, &mbps, &at) >= 2) {
		said[strcspn(said, "\n")] = '\0';
		reading_state(m, part, "verbs_mbit", mbit);
		reading_state(m, part, "verbs_mbps", mbps);
		reading_say(m, part, "verbs_said", said + at);
	}
	pclose(out);
}
