/* stacks_text.c: reading stacks that were taken earlier, perhaps on another machine. */
#include "evidence/stacks_text.h"

#define MAIN_THREAD "main thread "

/* The text behind "  #N " of a frame's line, or NULL. */
static const char *frame_text(const char *at)
{
	size_t digits;

	if (strncmp(at, "  #", 3) != 0)
		return NULL;
	digits = strspn(at + 3, "0123456789");
	return digits > 0 && at[3 + digits] == ' ' ? at + 4 + digits : NULL;
}

/* The file of "symbol FILE:LINE (module)" in n characters: its start, NULL without one. */
static const char *frame_source(const char *frame, size_t n)
{
	const char *end = frame + n, *module = memrchr(frame, '(', n), *file, *colon;

	if (module && module > frame)
		end = module - 1;
	colon = memrchr(frame, ':', (size_t)(end - frame));
	if (!colon || colon + 1 == end ||
	    strspn(colon + 1, "0123456789") < (size_t)(end - colon - 1))
		return NULL;
	file = memrchr(frame, ' ', (size_t)(colon - frame));
	return file ? file + 1 : NULL;
}

/* Libraries that carry their own lines name them below /usr or below their build's folder. */
static bool is_application(const char *file)
{
	return strncmp(file, "/usr/", 5) != 0 && strncmp(file, "../", 3) != 0 &&
	       strncmp(file, "./", 2) != 0;
}

/* "train.py:88 (load_batch)" of "Python's main thread (tid 812) at train.py:88 (load_batch)" */
static bool stuck_in_python(const char *text, char *line, size_t len)
{
	static const char mark[] = "Python's main thread";
	const char *at =
		text && strncmp(text, mark, strlen(mark)) == 0 ? strstr(text, " at ") : NULL;

	if (!at || at > text + strcspn(text, "\n"))
		return false;
	at += 4;
	snprintf(line, len, "%.*s", (int)strcspn(at, "\n"), at);
	return true;
}

bool stacks_stuck_on(const char *text, char *line, size_t len)
{
	const char *at = text, *named = NULL;

	line[0] = '\0';
	if (stuck_in_python(text, line, len))
		return true;
	while (at && strncmp(at, MAIN_THREAD, strlen(MAIN_THREAD)) != 0)
		at = (at = strchr(at, '\n')) ? at + 1 : NULL;
	if (!at)
		return false;
	while ((at = strchr(at, '\n')) && *++at) {
		const char *frame = frame_text(at), *source;

		if (!frame)
			break;
		source = frame_source(frame, strcspn(frame, "\n"));
		if (source && is_application(source)) {
			named = frame;
			break;
		}
		if (!named && strncmp(frame, "0x", 2) != 0)
			named = frame;
	}
	if (!named)
		return false;
	snprintf(line, len, "%.*s", (int)strcspn(named, "\n"), named);
	return true;
}
