"""A few steps of a framework's own loop; says how many steps it counted and what the probe did, as JSON.

`frameworks.py NAME hook|callback FOLDER`: with the start-up hook alone, or with the framework's hook of mfu_probe.
"""

import json
import os
import sys
import urllib.request

import torch

NAME, WAY, FOLDER = sys.argv[1:]
PHASES: dict[str, str] = {}
"""The phase that the probe was in where the framework evaluated and saved."""


def probe_of():
    return sys.modules["mfu_probe_start_up"]._given


def seen(where: str) -> None:
    PHASES[where] = probe_of().snapshot().phase


def with_lightning() -> int:
    import lightning
    from torch.utils.data import DataLoader

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(8, 1)

        def training_step(self, batch, index):
            return self.layer(batch).pow(2).mean()

        def validation_step(self, batch, index):
            if not self.trainer.sanity_checking:
                seen("evaluation")

        def on_save_checkpoint(self, checkpoint):
            seen("checkpoint")

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.01)

    callbacks = []
    if WAY == "callback":
        from mfu_probe.frameworks.lightning import MfuProbe

        callbacks = [MfuProbe()]
    rows = DataLoader(torch.randn(160, 8), batch_size=4)
    trainer = lightning.Trainer(
        max_epochs=2, accelerator="cpu", devices=1, accumulate_grad_batches=2, callbacks=callbacks,
        default_root_dir=FOLDER, logger=False, enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    trainer.fit(Module(), rows, DataLoader(torch.randn(8, 8), batch_size=4))
    return trainer.global_step


def with_transformers() -> int:
    from transformers import Trainer, TrainingArguments

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(8, 1)

        def forward(self, x, labels=None):
            if not self.training:
                seen("evaluation")
            return {"loss": self.layer(x).pow(2).mean(), "logits": x}

    class Saving(Trainer):
        def _save(self, *args, **kwargs):
            seen("checkpoint")
            super()._save(*args, **kwargs)

    rows = [{"x": torch.randn(8), "labels": torch.tensor(0.0)} for _ in range(80)]
    callbacks = []
    if WAY == "callback":
        from mfu_probe.frameworks.transformers import MfuProbe

        callbacks = [MfuProbe()]
    given = TrainingArguments(
        output_dir=FOLDER, max_steps=20, per_device_train_batch_size=2, gradient_accumulation_steps=2, use_cpu=True,
        eval_strategy="steps", eval_steps=5, save_strategy="steps", save_steps=10, logging_steps=5, report_to=[],
        disable_tqdm=True,
    )  # fmt: skip
    trainer = Saving(Model(), given, train_dataset=rows, eval_dataset=rows[:4], callbacks=callbacks)
    trainer.train()
    return trainer.state.global_step


def with_accelerate() -> int:
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    if WAY == "callback":
        from mfu_probe.frameworks.accelerate import watch

        watch(accelerator)
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.AdamW(model.parameters())
    rows = torch.utils.data.DataLoader(torch.randn(80, 8), batch_size=2)
    model, optimizer, rows = accelerator.prepare(model, optimizer, rows)
    accelerator.register_save_state_pre_hook(lambda *_: seen("checkpoint"))
    steps = 0
    for batch in rows:
        with accelerator.accumulate(model):
            accelerator.backward(model(batch).pow(2).mean())
            optimizer.step()
            optimizer.zero_grad()
        steps += accelerator.sync_gradients
    accelerator.save_state(FOLDER)
    return steps


steps = {"lightning": with_lightning, "transformers": with_transformers, "accelerate": with_accelerate}[NAME]()
page = urllib.request.urlopen(f"http://127.0.0.1:{os.environ['MFU_PROBE_PORT']}/metrics").read().decode()
counted = next(float(line.split()[1]) for line in page.splitlines() if line.startswith("mfu_probe_steps_total "))
loss = any(line.startswith("mfu_probe_loss ") for line in page.splitlines())
print("\n" + json.dumps({"steps": steps, "counted": counted, "phases": PHASES, "loss": loss}))  # noqa: T201
