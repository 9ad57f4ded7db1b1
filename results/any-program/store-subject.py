import os
rank = int(os.environ["RANK"]); os.environ["NCCL_HOSTID"] = f"h{rank}"
os.environ.update(NCCL_NET="Socket", NCCL_SOCKET_IFNAME="lo", NCCL_NVLS_ENABLE="0")
import torch, torch.distributed as dist
torch.cuda.set_device(0)
for k in range(60):
    dist.init_process_group("nccl")
    x = torch.ones(1000, device="cuda"); dist.all_reduce(x); x.sum().item()
    dist.destroy_process_group()
