"""The training of skip-thought: steps, time limit, and continuation after an interruption."""

import contextlib
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..keeping import Checkpoint
from ..progress import progress
from .gru import SIDES, Batch, TrainingSentences, batch_loss, torch_for

WARM_UP = 100, 0.02  # the learning rate rises for so many steps or such a part of all, whichever is less
REPORT = 50  # steps between two reads of the loss, each of which waits for the device


@dataclass
class Plan:
    """Length and learning rate of the training.

    The learning rate falls linearly to zero after ``n_steps`` or ``seconds``, whichever comes first.
    """

    batch_size: int
    learning_rate: float
    clip: float
    seed: int
    n_steps: int | None
    seconds: float | None
    checkpoint_seconds: float = 300.0

    def done(self, step: int, seconds: float) -> float:
        """Return the part of the training that is done, from 0 to 1."""
        by_steps = 0.0 if self.n_steps is None else step / self.n_steps
        by_time = 0.0 if self.seconds is None else seconds / self.seconds
        return min(1.0, max(by_steps, by_time))

    def rate(self, step: int, seconds: float) -> float:
        """Return the learning rate of a step."""
        done = self.done(step, seconds)
        return self.learning_rate * min(1.0, max((step + 1) / WARM_UP[0], done / WARM_UP[1])) * (1.0 - done)


class Training:
    """A training that can be interrupted and continued with the same result."""

    def __init__(
        self, model: Any, sentences: TrainingSentences, plan: Plan, device: Any, *, verbose: bool = False
    ) -> None:
        torch = torch_for("SkipThought")
        self.model, self.sentences, self.plan, self.device = model.to(device), sentences, plan, device
        self.verbose = verbose
        for part in ("encoder", *SIDES):
            model[part].flatten_parameters()
        self.optimiser = torch.optim.Adam(model.parameters(), plan.learning_rate, fused=device.type == "cuda")
        self.n_steps = 0
        self.losses: list[float] = []  # of each step so far
        self.seconds = 0.0  # spent so far, also before an interruption
        self.words_seen = 0
        self._fresh: list[Any] = []  # losses that are still on the device

    def run(self, checkpoint: Checkpoint | None = None) -> None:
        """Train to the end of the plan, from the state of a checkpoint if it has one."""
        plan = self.plan
        state = None if checkpoint is None else checkpoint.resume()
        if state is not None:
            self._resume(*state)
        before, began, written = self.seconds, time.monotonic(), time.monotonic()
        with _interruptions(checkpoint is not None) as interrupted, self._bar() as advance:
            for rows in self._batches():
                if plan.done(self.n_steps, self.seconds) >= 1.0:
                    break
                self.step(rows)
                self.seconds = before + time.monotonic() - began
                if self.n_steps % REPORT == 0:
                    self._read_losses()
                    advance(REPORT)
                    if checkpoint is not None and time.monotonic() - written >= plan.checkpoint_seconds:
                        self._write(checkpoint)
                        written = time.monotonic()
                if interrupted():
                    assert checkpoint is not None
                    self._write(checkpoint)
                    raise KeyboardInterrupt
        self._read_losses()
        self.seconds = before + time.monotonic() - began
        if checkpoint is not None:
            checkpoint.remove()

    def step(self, rows: NDArray[np.int64]) -> None:
        """Learn from one batch, without waiting for the device."""
        torch = torch_for("SkipThought")
        for group in self.optimiser.param_groups:
            group["lr"] = self.plan.rate(self.n_steps, self.seconds)
        self.optimiser.zero_grad(set_to_none=True)
        loss = batch_loss(self.model, Batch.of(self.sentences, rows, self.device))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.plan.clip)
        self.optimiser.step()
        self._fresh.append(loss.detach())
        self.n_steps += 1
        self.words_seen += int(self.sentences.lengths[rows].sum())

    def _write(self, checkpoint: Checkpoint) -> None:
        self._read_losses()
        arrays = {f"model.{name}": value.cpu().numpy() for name, value in self.model.state_dict().items()}
        for place, state in self.optimiser.state_dict()["state"].items():
            arrays |= {f"adam.{place}.{name}": value.cpu().numpy() for name, value in state.items()}
        arrays["losses"] = np.array(self.losses)
        facts = {"n_steps": self.n_steps, "seconds": self.seconds, "words_seen": self.words_seen}
        checkpoint.write(arrays, facts | {"seed": self.plan.seed})

    def _resume(self, arrays: Mapping[str, NDArray[Any]], facts: dict[str, Any]) -> None:
        torch = torch_for("SkipThought")
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
        self.plan.seed = facts["seed"]

    def _batches(self) -> Iterator[NDArray[np.int64]]:
        """Yield batches without end, from the current step on; they depend on the seed and the step alone."""
        epoch, skipped = divmod(self.n_steps, self.sentences.n_batches(self.plan.batch_size))
        while True:
            yield from self.sentences.batches(self.plan.batch_size, self.plan.seed, epoch)[skipped:]
            epoch, skipped = epoch + 1, 0

    def _read_losses(self) -> None:
        if self._fresh:
            self.losses += torch_for("SkipThought").stack(self._fresh).tolist()
            self._fresh = []

    @contextlib.contextmanager
    def _bar(self) -> Iterator[Any]:
        """Show steps, or seconds if there is a time limit."""
        total, seconds = self.plan.n_steps, self.plan.seconds
        total = total if seconds is None else int(seconds)
        with progress("skip-thought", total, shown=self.verbose) as advance:
            shown = 0

            def moved(steps: int) -> None:
                nonlocal shown
                advance(steps if seconds is None else int(self.seconds) - shown)
                shown = int(self.seconds)

            moved(self.n_steps)
            yield moved


@contextlib.contextmanager
def _interruptions(caught: bool) -> Iterator[Any]:
    """Delay Ctrl-C and requests to end until a step is over: half a step cannot be continued."""
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
