"""Fixtures that more than one test file uses."""

import importlib.util
import mmap
import os
import resource
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import pytest
from hypothesis import settings

HERE = Path(__file__).parent
sys.path += map(str, [HERE.parent / "scripts", HERE.parent / "scripts/english", HERE / "integration"])  # of some tests


def use_kernels(file: str) -> None:
    """Let the package that is imported later have other compiled loops, such as those that sanitizers watch."""
    spec = importlib.util.spec_from_file_location("parasphere._kernels", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules["parasphere._kernels"] = module


if os.environ.get("PARASPHERE_TEST_KERNELS"):
    use_kernels(os.environ["PARASPHERE_TEST_KERNELS"])

# Every process that the tests start, and the tests themselves, use a cache of their own.
os.environ.setdefault("PARASPHERE_CACHE", str(Path(__file__).parent.parent / ".pytest_cache" / "vectors"))
# Encoders that somebody trained here are none of the tests' business.
os.environ["PARASPHERE_DATA"] = str(Path(__file__).parent.parent / ".pytest_cache" / "data")

# A deadline would measure how busy the machine is.
settings.register_profile("parasphere", deadline=None)
settings.load_profile("parasphere")


def is_mapped(array: Any) -> bool:
    """Tell whether an array's memory is a file's."""
    while array is not None and not isinstance(array, mmap.mmap):
        array = array.obj if isinstance(array, memoryview) else array.base
    return array is not None


@contextmanager
def full_disk(room: int) -> Iterator[None]:
    """Let no file grow beyond so many bytes; the system then says so as it does when a disk is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


class Child:
    """A copy of this process that does some work, which may print to ``out``; it ends with the block at the latest.

    Unlike a new interpreter, it need not import anything.
    """

    def __init__(self, work: Callable[[Callable[[object], None]], object]) -> None:
        end, begin = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads, which do nothing here
            self.pid = os.fork()
        if self.pid:
            os.close(begin)
            self.out: TextIO = os.fdopen(end)
            return
        try:
            signal.alarm(60)
            work(lambda what: os.write(begin, f"{what}\n".encode()))
        finally:
            os._exit(0)

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *_: object) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.out.close()


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20261115)


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A model, an index and topics, in memory and saved for a server."""
    from serving import saved

    return saved(tmp_path_factory.mktemp("service"))


@pytest.fixture(scope="session")
def client(served: Any) -> Iterator[Any]:
    """A client of a server of them."""
    from serving import serving

    with serving(served.settings()) as client:
        yield client
