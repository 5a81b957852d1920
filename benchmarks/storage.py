"""Robustness of saved folders: killed writers, concurrent writers, readers beside writers, and full disks.

Run with ``python -m benchmarks storage``. Each save writes its number everywhere, so that a mixture of two saves would
be noticed. Writers are forked processes, which can be killed at any instruction.
"""

from benchmarks.measure import table

import contextlib
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from parasphere import storage
from parasphere.errors import ParasphereError, StoreError

KIND = "under-fire"
KILLS, PAIRS, LOADS, FULL = 1_000, 1_000, 10_000, 200


def save(folder: Path, number: int, size: int = 100_000) -> None:
    storage.save(folder, KIND, {"x": np.full(size, number), "y": np.full(7, number)}, {"number": number})


def whole(folder: Path) -> bool:
    """Load a folder; return whether all of it is of one save."""
    arrays, meta = storage.load(folder, KIND)
    return all((array == meta["number"]).all() for array in arrays.values())


def child(work: Callable[[], None]) -> int:
    """Run a function in a forked process; return its id. The exit status is 0, 1 for an error of ours, or 2."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    try:
        work()
        os._exit(0)
    except ParasphereError:
        os._exit(1)
    except BaseException:
        os._exit(2)


def save_repeatedly(folder: Path, first: int) -> None:
    for number in range(first, first + 10**9):
        save(folder, number)


def kills(folder: Path, count: int, rng: random.Random) -> dict[str, int]:
    """Kill a saving process at a random moment; then load, and save again."""
    counts = dict.fromkeys(("runs", "broken loads", "refused saves", "files left over"), 0)
    save(folder, 0)
    for run in range(count):
        pid = child(lambda run=run: save_repeatedly(folder, 1 + 1_000 * run))
        time.sleep(rng.uniform(0.0, 0.03))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        counts["runs"] += 1
        try:
            counts["broken loads"] += not whole(folder)
        except StoreError:
            counts["broken loads"] += 1
        try:
            save(folder, -run)
        except StoreError:
            counts["refused saves"] += 1
        counts["files left over"] += len(list(folder.iterdir())) - 2
    return counts


def pairs(folder: Path, count: int) -> dict[str, int]:
    """Let two processes save to one folder at the same time."""
    counts = dict.fromkeys(("runs", "refused saves", "broken folders", "files left over"), 0)
    for run in range(count):
        pids = [child(lambda number=number: save(folder, number)) for number in (2 * run, 2 * run + 1)]
        counts["runs"] += 1
        counts["refused saves"] += sum(os.waitpid(pid, 0)[1] != 0 for pid in pids)
        try:
            counts["broken folders"] += not whole(folder)
        except StoreError:
            counts["broken folders"] += 1
        counts["files left over"] += len(list(folder.iterdir())) - 2
    return counts


def loads(folder: Path, count: int) -> dict[str, int]:
    """Load repeatedly while two other processes save."""
    counts = dict.fromkeys(("runs", "failed loads", "different saves seen"), 0)
    save(folder, 0)
    pids = [child(lambda number=number: save_repeatedly(folder, number)) for number in (1, 10**6)]
    seen = set()
    for _ in range(count):
        counts["runs"] += 1
        try:
            arrays, meta = storage.load(folder, KIND)
            seen.add(meta["number"])
            counts["failed loads"] += not all((array == meta["number"]).all() for array in arrays.values())
        except StoreError:
            counts["failed loads"] += 1
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    counts["different saves seen"] = len(seen)
    return counts


@contextlib.contextmanager
def little_room(folder: Path, room: int) -> Iterator[str]:
    """Mount a file system of ``room`` bytes on a folder; if that is not allowed, limit the size of files instead."""
    folder.mkdir()
    if os.system(f"mount -t tmpfs -o size={room} tmpfs '{folder}' 2>/dev/null") == 0:
        try:
            yield "a full file system"
        finally:
            os.system(f"umount -l '{folder}'")
    else:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
        try:
            yield "a limit on the size of files"
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)


def full(folder: Path, count: int, rng: random.Random) -> dict[str, Any]:
    """Save what does not fit, over an earlier save that must not change."""
    counts: dict[str, Any] = dict.fromkeys(("runs", "told by an error of ours", "broken loads", "files left over"), 0)
    with little_room(folder, 1 << 20) as counts["by"]:
        save(folder / "a", 1, 50_000)
        for _ in range(count):
            counts["runs"] += 1
            try:
                save(folder / "a", 2, rng.randrange(131_000, 1_000_000))
            except StoreError as error:
                counts["told by an error of ours"] += "What it held before is unchanged" in str(error)
            try:
                counts["broken loads"] += not whole(folder / "a")
            except StoreError:
                counts["broken loads"] += 1
            counts["files left over"] += len(list((folder / "a").iterdir())) - 2
    return counts


def run() -> dict[str, Any]:
    """Return the counts of each experiment."""
    rng = random.Random(0)
    folder = Path(tempfile.mkdtemp())
    try:
        return {
            "a process that saves is killed": kills(folder / "kills", KILLS, rng),
            "two processes save to one folder": pairs(folder / "pairs", PAIRS),
            "loads beside two processes that save": loads(folder / "loads", LOADS),
            "a save for which there is no room": full(folder / "full", FULL, rng),
        }
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def report(result: dict[str, Any]) -> str:
    """Return the counts as a table."""
    rows = [
        (name, f"{counts['runs']:,}", ", ".join(f"{what}: {n}" for what, n in counts.items() if what != "runs"))
        for name, counts in result.items()
    ]
    return table(("what happens", "times", "counted"), rows)
