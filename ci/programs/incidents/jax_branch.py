"""jax_branch.py: one process of a JAX job compiles another program for its last batch, with a sum of another size.

Source: https://github.com/marin-community/marin/issues/7344
"""
import sys

import common
import jax_stall

LABEL = {"kind": 10, "ranks": 2, "rank": "0|1|-", "call": "AllReduce", "class": "mismatch|diverged",
         "reason": "process 0 sums 4 Mi numbers, process 1 sums 64 Ki: two ranks tell both sides", "two": True, "launch": "ranks", "seconds": 75,
         "line": "-"}
AT = 30


def main():
    import glob

    import jax
    jax_stall.connect(jax, len(glob.glob("/dev/nvidia[0-9]*")))
    total = jax.pmap(lambda x: jax.lax.psum(x, "all"), axis_name="all")
    few, many = (jax.numpy.ones((jax.local_device_count(), n)) for n in (1 << 16, 1 << 22))
    total(many).block_until_ready()
    for step in common.steps(50):
        batch = few
        if step == AT and common.rank == 0 and not common.healthy:
            common.strike()
            batch = many
        total(batch).block_until_ready()


if __name__ == "__main__":
    sys.exit(main())
