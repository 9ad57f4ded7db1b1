"""lightning_hook.py: a hook that only rank 0 runs reads trainer.log_dir, which broadcasts it.

Source: https://github.com/Lightning-AI/pytorch-lightning/issues/18148
"""
import os
import time

import common
import torch

LABEL = {"kind": 5, "ranks": 3, "rank": "0", "call": "Broadcast|AllGather|AllReduce", "class": "mismatch|extra-call",
         "reason": "rank 0 alone reads trainer.log_dir; the others are in the next backward", "two": True, "launch": "ranks", "seconds": 80}
AT = 30


def main():
    device = common.place()
    os.environ.update(LOCAL_RANK=str(common.rank), NODE_RANK="0")
    from lightning.pytorch import LightningModule, Trainer
    from lightning.pytorch.plugins.environments import TorchElasticEnvironment

    class Place(TorchElasticEnvironment):
        """The ranks are started already."""

        def validate_settings(self, num_devices, num_nodes):
            pass

    class Model(LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(64, 8)

        def training_step(self, batch, number):
            time.sleep(0.05)
            return self.layer(batch).square().mean()

        def on_train_batch_end(self, outputs, batch, number):
            if number == AT and (common.rank == 0 or common.healthy):
                if not common.healthy:
                    common.strike()
                self.path = self.trainer.log_dir  # BUG

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=1e-3)

    gpu = device.type == "cuda"
    from lightning.pytorch.strategies import DDPStrategy
    strategy = DDPStrategy(cluster_environment=Place(), process_group_backend="nccl" if gpu else "gloo", timeout=common.timeout(),
                           parallel_devices=[device] * common.size)
    trainer = Trainer(accelerator="gpu" if gpu else "cpu", devices=1 if gpu else common.size, strategy=strategy, max_epochs=1, logger=False,
                      enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(Model(), torch.utils.data.DataLoader(torch.randn(50 * 4 * common.size, 64), batch_size=4))


main()
