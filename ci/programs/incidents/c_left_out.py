"""c_left_out.py: a program in C whose calls are all alike: its last rank leaves one of them out, and nothing but numbers tells.

Source: https://github.com/NVIDIA/nccl/issues/901 (a C++ program, all-reduces that are alike)
"""
import sys

import plain_c

LABEL = {"kind": 12, "ranks": 3, "rank": "last", "call": "AllReduce", "class": "skipped-or-early-exit|skipped-call|early-exit",
         "reason": "the last rank leaves a call out among equal ones; there is no Python", "two": True, "launch": "ranks", "line": "-"}

if __name__ == "__main__":
    sys.exit(plain_c.main("-DLEAVES_OUT"))
