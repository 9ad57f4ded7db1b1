/* uplink_rig.h: connecting as a leader does, but waiting for it. */
#pragma once

#include "base/clock.h"
#include "net/uplink.h"

/* The first address of the list that answers, each within `seconds`: a descriptor or a negative errno. */
int connect_to(const char *list, double seconds);
