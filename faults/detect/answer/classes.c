/* classes.c: the names of classes, confidences and sides. */
#include "answer/classes.h"

#include "base/error.h"
#include "record/view.h"

#define CLASS_NAME(name, text, final) [CLASS_##name] = text,
static const char *const names[CLASS_COUNT] = { CLASSES(CLASS_NAME) };

#define CLASS_FINAL(name, text, final) [CLASS_##name] = final,
bool class_is_final(enum answer_class class)
{
	static const bool finals[CLASS_COUNT] = { CLASSES(CLASS_FINAL) };

	return finals[class];
}

#define LOST_CLASS(name, number, class, words) [name] = class,
enum answer_class class_of_lost(uint32_t lost)
{
	static const enum answer_class classes[LOST_KINDS] = { LOSTS(LOST_CLASS) };

	return lost < LOST_KINDS && classes[lost] ? classes[lost] : CLASS_HOST_SILENT;
}

bool class_is_lost(enum answer_class class)
{
	return class >= CLASS_HOST_SILENT && class <= CLASS_LAUNCHER_GONE;
}

const char *class_name(enum answer_class class, enum outcome outcome)
{
	return class > CLASS_OUTCOME && class < CLASS_COUNT ? names[class] : outcome_name(outcome);
}

bool class_of_calls(enum answer_class class)
{
	static const enum answer_class classes[] = {
		CLASS_MISSING,		CLASS_SKIPPED,	 CLASS_EXTRA,	      CLASS_EARLY,
		CLASS_SKIPPED_OR_EARLY, CLASS_SWAPPED,	 CLASS_MISMATCH,      CLASS_UNMATCHED,
		CLASS_PAIR_SIZE,	CLASS_PAIR_PEER, CLASS_PAIR_DEADLOCK, CLASS_CYCLE,
	};

	for (size_t i = 0; i < LENGTH(classes); i++)
		if (class == classes[i])
			return true;
	return false;
}

bool class_known(const char *name)
{
	for (int i = CLASS_OUTCOME + 1; i < CLASS_COUNT; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return outcome_parse(name) >= 0;
}

char *class_list(char *buf, size_t len)
{
	buf[0] = '\0';
	for (int i = CLASS_OUTCOME + 1; i < CLASS_COUNT; i++)
		if (outcome_parse(names[i]) < 0)
			text_add(buf, len, "%s%s", *buf ? " " : "", names[i]);
	return buf;
}

const char *confidence_name(enum confidence confidence)
{
	static const char *const words[] = { [CONFIDENCE_INCONCLUSIVE] = "inconclusive",
					     [CONFIDENCE_MAJORITY] = "majority",
					     [CONFIDENCE_PROVED] = "proved" };

	return words[confidence];
}

const char *side_name(enum fault_side side)
{
	static const char *const words[] = { [SIDE_NOT_SHOWN] = NULL,
					     [SIDE_HOST] = "host",
					     [SIDE_GPU] = "gpu",
					     [SIDE_FABRIC] = "fabric",
					     [SIDE_UNKNOWN] = "unknown" };

	return words[side];
}
