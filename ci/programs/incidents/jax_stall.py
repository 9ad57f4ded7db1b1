"""jax_stall.py: one process of a JAX job stays alive and stops entering the collective; the others wait for ever.

Source: https://github.com/jax-ml/jax/issues/38503
"""
import sys
import time

import common

LABEL = {"kind": 12, "ranks": 2, "rank": "1", "call": "AllReduce", "class": "missing-call|host-blocked",
         "reason": "process 1 stopped before the sum of step 30", "two": True, "launch": "ranks", "seconds": 75}
AT = 30


def stall():
    common.strike()
    time.sleep(45)  # BUG


def connect(jax, gpus):
    import os
    if gpus < common.size:
        os.environ.update(NCCL_HOSTID=f"rank{common.rank}", NCCL_NET="Socket", NCCL_SOCKET_IFNAME="lo", NCCL_NVLS_ENABLE="0")
    where = [common.rank % gpus] if gpus else None
    if not gpus:
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"127.0.0.1:{int(os.environ['MASTER_PORT']) + 2}", common.size, common.rank, local_device_ids=where)


def main():
    import glob

    import jax
    connect(jax, len(glob.glob("/dev/nvidia[0-9]*")))
    total = jax.pmap(lambda x: jax.lax.psum(x, "all"), axis_name="all")
    x = jax.numpy.ones((jax.local_device_count(), 1 << 16))
    for step in common.steps(50):
        if step == AT and common.rank == 1 and not common.healthy:
            stall()
        x = (total(x) / jax.device_count()).block_until_ready()
    print(f"rank {common.rank}: {float(x[0, 0])}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
