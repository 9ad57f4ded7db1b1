/* meaning.h: what each class of a diagnosis means, how to fix it, how to prevent it. */
#pragma once

#include "diagnose/diagnose.h"

/* Fill in cause, fix, prevention and side of the diagnosis' class. */
void class_explain(struct diagnosis *diagnosis);
