"""jax_sum.py: sums over all GPUs by JAX, whose XLA loads NCCL by hand: one process for all GPUs, or, with RANK and WORLD_SIZE
set, a process each. --asleep STEP: the last rank's process sleeps instead of that step."""
import argparse
import os
import sys
import time

try:
    import jax
    import jax.numpy as jnp
except ImportError:
    sys.stderr.write("this program needs JAX (pip install jax[cuda13])\n")
    sys.exit(77)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--asleep", type=int, default=-1)
    o = parser.parse_args()
    rank, size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    if size > 1:
        jax.distributed.initialize(f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}", size, rank, local_device_ids=[rank])
    total = jax.pmap(lambda x: jax.lax.psum(x, "all"), axis_name="all")
    x = jnp.ones((jax.local_device_count(), 1 << 20))
    for step in range(o.steps):
        if step == o.asleep and rank == size - 1:
            time.sleep(3600)
        x = total(x) / jax.device_count()
    print(f"# jax_sum rank {rank}: {jax.device_count()} devices, {jax.local_device_count()} here, jax {jax.__version__}, "
          f"{o.steps} steps, {float(x[0, 0])}", flush=True)


if __name__ == "__main__":
    main()
