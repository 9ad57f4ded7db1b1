/* meaning.h: what each class means, from meanings.txt. Internal to diagnose. */
#pragma once

#include "diagnose/diagnose.h"

/* Fills in cause, fix, prevention and side of the diagnosis' class. */
void class_explain(struct diagnosis *diagnosis);
