/* settings_differ.h: settings of ranks that must be alike and are not. */
#pragma once

#include "finding/rule.h"

/* Returns true if settings differ of which one alone that has another value breaks calls. */
bool settings_break(const struct rule_ctx *ctx);
/* A line of evidence for each difference that can matter, whatever the diagnosis is. */
void note_settings(const struct evidence *evidence, struct answer *diagnosis);
