"""How skip-thought learns: step by step, against the clock if need be, and on from where it was interrupted."""

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import storage
from ..errors import StoreError
from ..progress import progress
from .gru import SIDES, Batch, Corpus, batch_loss, torch_for

CHECKPOINT = "skip-thought checkpoint"
WARM_UP = 100, 0.02  # the learning rate rises for so many steps, or such a part of all, whichever is less
REPORT = 50  # steps between looks at the loss, each of which waits for the device


@dataclass
class Plan:
    """How long to learn and how fast.

    The learning rate falls to zero, linearly, in ``n_steps`` or in ``seconds``, whichever end comes first.
    """

    batch_size: int
    learning_rate: float
    clip: float
    seed: int
    n_steps: int | None
    seconds: float | None
    checkpoint: Path | None
    checkpoint_seconds: float
    key: dict[str, Any] = field(default_factory=dict)  # what a checkpoint must agree in

    def done(self, step: int, seconds: float) -> float:
        """Return the part of the learning that is over, from 0 to 1."""
        by_steps = 0.0 if self.n_steps is None else step / self.n_steps
        by_time = 0.0 if self.seconds is None else seconds / self.seconds
        return min(1.0, max(by_steps, by_time))

    def rate(self, step: int, seconds: float) -> float:
        """Return the learning rate of a step."""
        done = self.done(step, seconds)
        return self.learning_rate * min(1.0, max((step + 1) / WARM_UP[0], done / WARM_UP[1])) * (1.0 - done)


class Training:
    """A model that is being trained, step by step; can be put down and taken up again exactly.

    Attributes
    ----------
    model : torch module
        On its device.
    losses : list of float
        One a step, of those that were looked at.
    seconds : float
        Spent so far, those before an interruption included.
    """

    def __init__(self, model: Any, corpus: Corpus, plan: Plan, device: Any) -> None:
        torch = torch_for("SkipThought")
        self.model, self.corpus, self.plan, self.device = model.to(device), corpus, plan, device
        for part in ("encoder", *SIDES):
            model[part].flatten_parameters()
        self.optimiser = torch.optim.Adam(model.parameters(), plan.learning_rate, fused=device.type == "cuda")
        self.n_steps = 0
        self.losses: list[float] = []
        self.seconds = 0.0
        self.words_seen = 0
        self._fresh: list[Any] = []  # losses that are still on the device

    def run(self) -> None:
        """Learn until the plan is done, from where a checkpoint left off if there is one."""
        plan = self.plan
        if plan.checkpoint is not None and storage.is_saved(plan.checkpoint, CHECKPOINT):
            self._resume(plan.checkpoint)
        size = self.corpus.n_batches(plan.batch_size)
        before, began, saved = self.seconds, time.monotonic(), time.monotonic()
        with _interruptions(plan.checkpoint is not None) as interrupted, self._bar() as advance:
            for rows in self._batches(size):
                if plan.done(self.n_steps, self.seconds) >= 1.0:
                    break
                self.step(rows)
                self.seconds = before + time.monotonic() - began
                if self.n_steps % REPORT == 0:
                    self._look()
                    advance(REPORT)
                    if plan.checkpoint is not None and time.monotonic() - saved >= plan.checkpoint_seconds:
                        self.save(plan.checkpoint)
                        saved = time.monotonic()
                if interrupted():
                    assert plan.checkpoint is not None
                    self.save(plan.checkpoint)
                    raise KeyboardInterrupt
        self._look()
        self.seconds = before + time.monotonic() - began
        if plan.checkpoint is not None and storage.is_saved(plan.checkpoint, CHECKPOINT):
            storage.remove(plan.checkpoint)

    def step(self, rows: NDArray[np.int64]) -> None:
        """Learn from one batch; nothing here waits for the device."""
        torch = torch_for("SkipThought")
        for group in self.optimiser.param_groups:
            group["lr"] = self.plan.rate(self.n_steps, self.seconds)
        self.optimiser.zero_grad(set_to_none=True)
        loss = batch_loss(self.model, Batch.of(self.corpus, rows, self.device))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.plan.clip)
        self.optimiser.step()
        self._fresh.append(loss.detach())
        self.n_steps += 1
        self.words_seen += int(self.corpus.lengths[rows].sum())

    def save(self, folder: Path) -> None:
        """Write all that is needed to go on as if nothing had happened."""
        self._look()
        arrays = {f"model.{name}": value.cpu().numpy() for name, value in self.model.state_dict().items()}
        for place, state in self.optimiser.state_dict()["state"].items():
            arrays |= {f"adam.{place}.{name}": value.cpu().numpy() for name, value in state.items()}
        arrays["losses"] = np.array(self.losses)
        facts = {"n_steps": self.n_steps, "seconds": self.seconds, "words_seen": self.words_seen}
        storage.save(folder, CHECKPOINT, arrays, facts | {"seed": self.plan.seed, "key": self.plan.key})

    def _resume(self, folder: Path) -> None:
        torch = torch_for("SkipThought")
        arrays, facts = storage.load(folder, CHECKPOINT)
        other = [name for name, value in self.plan.key.items() if facts["key"].get(name) != value]
        if other:
            raise StoreError(
                f"{folder} is a checkpoint of another training (other are: {', '.join(other)}); "
                "take that up with what it was begun with, or choose another folder"
            )
        tensors = {name: torch.from_numpy(np.array(array)) for name, array in arrays.items() if name != "losses"}
        self.model.load_state_dict({name[6:]: value for name, value in tensors.items() if name.startswith("model.")})
        state: dict[int, dict[str, Any]] = {}
        for name, value in tensors.items():
            if name.startswith("adam."):
                _, place, what = name.split(".")
                state.setdefault(int(place), {})[what] = value
        groups = self.optimiser.state_dict()["param_groups"]
        self.optimiser.load_state_dict({"state": state, "param_groups": groups})
        self.losses = arrays["losses"].tolist()
        self.n_steps, self.seconds, self.words_seen = facts["n_steps"], facts["seconds"], facts["words_seen"]
        self.plan.seed = facts["seed"]  # another one if none was asked for

    def _batches(self, size: int) -> Iterator[NDArray[np.int64]]:
        """Yield batches without end, from the place that was reached: it follows from the seed and the step alone."""
        epoch, skipped = divmod(self.n_steps, size)
        while True:
            yield from self.corpus.batches(self.plan.batch_size, self.plan.seed, epoch)[skipped:]
            epoch, skipped = epoch + 1, 0

    def _look(self) -> None:
        if self._fresh:
            self.losses += torch_for("SkipThought").stack(self._fresh).tolist()
            self._fresh = []

    @contextlib.contextmanager
    def _bar(self) -> Iterator[Any]:
        """Show steps, or seconds where there is a limit on time."""
        total, seconds = self.plan.n_steps, self.plan.seconds
        with progress("skip-thought", total if seconds is None else int(seconds), unit="steps") as advance:
            shown = 0

            def moved(steps: int) -> None:
                nonlocal shown
                advance(steps if seconds is None else int(self.seconds) - shown)
                shown = int(self.seconds)

            moved(self.n_steps)
            yield moved


@contextlib.contextmanager
def _interruptions(caught: bool) -> Iterator[Any]:
    """Hold back Ctrl-C and requests to end until a step is over: half a step cannot be taken up again."""
    asked: list[int] = []
    if not caught or threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    kinds = (signal.SIGINT, signal.SIGTERM)
    before = {kind: signal.signal(kind, lambda number, _: asked.append(number)) for kind in kinds}
    try:
        yield lambda: bool(asked)
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)
