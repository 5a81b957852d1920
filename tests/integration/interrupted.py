"""The child process of test_interrupts: works, is interrupted, and looks whether all is as it was.

python interrupted.py learning 100
"""

import faulthandler
import os
import queue
import random
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from parasphere import JointVectors, SphericalParagraphModel, WordVectors, count_words
from parasphere.search import duplicates

MOST_SECONDS = 2.0  # from the signal to the end of the work, on a busy machine
STUCK_SECONDS = 120

WORDS = [f"w{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}{chr(97 + i // 676)}" for i in range(3000)]


class Work(NamedTuple):
    """Something that takes some tenths of a second, always with the same result, and a look at what it leaves alone."""

    run: Callable[[], Any]
    state: Callable[[], Any]


def texts_of(number: int, length: int) -> list[str]:
    rng = np.random.default_rng(number)
    places = (len(WORDS) * rng.uniform(size=(number, length)) ** 3).astype(int)
    return [" ".join(WORDS[place] for place in row) for row in places]


def vectors() -> WordVectors:
    return WordVectors.from_arrays(WORDS, np.random.default_rng(0).normal(size=(len(WORDS), 100)))


def fitted() -> SphericalParagraphModel:
    return SphericalParagraphModel(vectors(), adapt=False, tol=1e-2).fit(texts_of(500, 40))


def learning() -> Work:
    texts = texts_of(600, 60)
    one, other = (JointVectors(50, start=None, epochs=2, min_count=1, random_state=0) for _ in range(2))
    one.fit(texts[:200])
    return Work(lambda: other.fit(texts).vectors_.matrix.tobytes(), lambda: one.vectors_.matrix.tobytes())


def counting() -> Work:
    texts = texts_of(40_000, 60)
    return Work(lambda: count_words(texts)[1].tobytes(), lambda: count_words(texts[:100])[1].tobytes())


def indexing() -> Work:
    model, texts = fitted(), texts_of(6000, 60)
    index = model.index(texts[:300])
    return Work(lambda: repr(model.index(texts).search(texts[:5], k=3)), lambda: repr(index.search(texts[:5], k=3)))


def growing() -> Work:
    """Add to an index that holds something: it holds that afterwards, and all or none of what was added."""
    model, texts = fitted(), texts_of(6000, 60)
    first = texts[:300]
    index = model.index(first)
    alone = repr(index.search(texts[:5], k=3))

    def grow() -> None:
        nonlocal index
        if len(index) > len(first):
            index = model.index(first)
        index.add(texts)

    def state() -> str:
        assert len(index) in (len(first), len(first) + len(texts)), len(index)
        assert len(index.search(texts[:5], k=3)) == 5
        return repr(index.search(texts[:5], k=3)) if len(index) == len(first) else alone

    return Work(grow, state)


def near_duplicates() -> Work:
    texts = texts_of(2500, 40)
    return Work(lambda: list(duplicates(texts, 0.3)), lambda: list(duplicates(texts[:50], 0.3)))


def transforming() -> Work:
    model, texts = fitted(), texts_of(30_000, 60)
    return Work(lambda: model.transform(texts).tobytes(), lambda: model.transform(texts[:20]).tobytes())


def fitting() -> Work:
    texts = texts_of(1500, 60)
    model = fitted()
    other = SphericalParagraphModel(vectors(), adapt=False, tol=1e-4)
    return Work(lambda: other.fit(texts).transform(texts[:20]).tobytes(), lambda: model.transform(texts[:20]).tobytes())


WORKS = {
    "learning": learning,
    "counting": counting,
    "indexing": indexing,
    "growing": growing,
    "duplicates": near_duplicates,
    "transforming": transforming,
    "fitting": fitting,
}


class Sender(threading.Thread):
    """Sends SIGINT to this process, each time after as long as it is told to wait."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.waits: queue.SimpleQueue[float] = queue.SimpleQueue()
        self.done = threading.Event()
        self.sent = 0.0
        self.start()

    def run(self) -> None:
        while True:
            time.sleep(self.waits.get())
            self.sent = time.monotonic()
            os.kill(os.getpid(), signal.SIGINT)
            self.done.set()


def interrupted(run: Callable[[], object], sender: Sender, after: float) -> tuple[bool, float]:
    """Return whether the work was interrupted, and how long it went on after the signal."""
    sender.done.clear()
    working = True
    try:
        sender.waits.put(after)
        run()
        working = False
        sender.done.wait()  # the signal comes here if not before
        time.sleep(0.05)
        return False, 0.0  # Python drops an exception that is raised while an object is freed
    except KeyboardInterrupt:
        ended = time.monotonic()
        sender.done.wait()
        return working, ended - sender.sent


def main(kind: str, number: int) -> None:
    warnings.simplefilter("ignore")
    work = WORKS[kind]()
    due = work.state()
    begin = time.monotonic()
    result = work.run()
    whole = time.monotonic() - begin
    random.seed(kind)
    sender = Sender()
    during, worst = 0, 0.0
    for n in range(number):
        faulthandler.dump_traceback_later(STUCK_SECONDS, exit=True)
        stopped, seconds = interrupted(work.run, sender, random.uniform(0, min(whole, 1.0)))
        during += stopped
        worst = max(worst, seconds)
        assert seconds < MOST_SECONDS, f"interrupt {n} took {seconds:.2f} s"
        if n % 5 == 4 or n == number - 1:
            assert work.state() == due, f"interrupt {n} has changed what there was"
        faulthandler.cancel_dump_traceback_later()
    assert work.run() == result, "what was interrupted cannot be done any more"
    print(f"{number} interrupts, {during} of them during {whole:.2f} s of work; the slowest took {worst:.2f} s")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
