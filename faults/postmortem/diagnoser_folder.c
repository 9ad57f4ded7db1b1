/* diagnoser_folder.c: the folder of a run's evidence is made, or it is said why not. */
#include <sys/stat.h>
#include <time.h>

#include "postmortem/diagnoser.h"

#define RUNS "results/runs/"

/* Also where they are there. */
static bool make_parents(void)
{
	return (mkdir("results", 0777) == 0 || errno == EEXIST) &&
	       (mkdir("results/runs", 0777) == 0 || errno == EEXIST);
}

static void refuse(const struct diagnoser_site *site, const char *folder, int code)
{
	fprintf(stderr, "%s: no evidence can be saved in %s: %s\n", site->name, folder,
		strerror(code));
}

bool diagnoser_make_folder(char *path, size_t len, const struct diagnoser_site *site)
{
	bool told = site->out && site->out[0];
	time_t now = time(NULL);
	char date[32];
	struct tm tm;

	localtime_r(&now, &tm);
	strftime(date, sizeof(date), "%Y%m%d-%H%M%S", &tm);
	if (told)
		snprintf(path, len, "%s", site->out);
	else
		snprintf(path, len, RUNS "%s-%.40s-%.8s", date, site->name, site->key);
	if ((told || make_parents()) && (mkdir(path, 0777) == 0 || (told && errno == EEXIST)))
		return true;
	refuse(site, path, errno);
	path[0] = '\0';
	return false;
}

bool diagnoser_take_folder(char *path, size_t len, const char *told,
			   const struct diagnoser_site *site)
{
	bool below = strncmp(told, RUNS, strlen(RUNS)) == 0;
	const char *name = below ? told + strlen(RUNS) : ".";

	path[0] = '\0';
	if (name[0] == '\0' || name[0] == '.' || strchr(name, '/') || strlen(told) >= len)
		return false; /* it came over the network */
	if (!make_parents() || (mkdir(told, 0777) < 0 && errno != EEXIST)) {
		refuse(site, told, errno);
		return false;
	}
	snprintf(path, len, "%s", told);
	return true;
}
