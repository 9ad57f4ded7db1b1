/* site.c: the table of the lines of code that calls come from. */
#include "base/error.h"
#include "record/record.h"

size_t record_sites(const struct record_site *sites)
{
	size_t n = 1;

	while (n < RECORD_SITES && record_get(&sites[n].hash))
		n++;
	return n;
}

uint32_t record_site_of(struct record_memory *memory, uint32_t comm, const char *text)
{
	size_t bytes = strnlen(text, sizeof(memory->sites->text) - 1), n = 1;
	uint64_t hash = record_hash_id(text, bytes), there;
	struct record_site *site;

	for (; n < RECORD_SITES && (there = record_get(&memory->sites[n].hash)); n++)
		if (there == hash && memory->sites[n].comm == comm)
			return (uint32_t)n;
	if (n == RECORD_SITES)
		return 0;
	site = &memory->sites[n];
	site->comm = (uint16_t)comm;
	memcpy(site->text, text, bytes);
	record_publish(&site->hash, hash);
	return (uint32_t)n;
}

char *record_site_text(const struct record_site *sites, size_t n, uint32_t site, char *buf,
		       size_t len)
{
	buf[0] = '\0';
	if (site > 0 && site < n && record_get(&sites[site].hash))
		snprintf(buf, len, "%.*s", (int)sizeof(sites->text), sites[site].text);
	return make_printable(buf);
}
