"""The route of a text: the files whose functions it passes through, which CONTRIBUTING.md lists for readers."""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import parasphere
from parasphere import SphericalParagraphModel, WordVectors, datasets
from parasphere.corpus import Block
from parasphere.model import Bags, Partition, Posterior

ROOT = Path(parasphere.__file__).parent
CONTRIBUTING = Path(__file__).parent.parent / "CONTRIBUTING.md"
TEXTS = list(datasets.load("docstrings").texts)[:1237]  # a number that nothing else has


def holds_documents(value: Any) -> bool:
    """Return whether a value holds texts, or numbers of each of them."""
    if isinstance(value, list | tuple):
        return any(map(holds_documents, value[:9])) or (
            len(value) > 0 and isinstance(value[0], str) and len(value) > 99
        )
    if isinstance(value, np.ndarray):
        return value.ndim > 0 and len(value) == len(TEXTS)
    return isinstance(value, Bags | Block | Partition | Posterior)


def route(work: Callable[[], object]) -> list[str]:
    """Return the files whose functions are called with documents, in order."""
    files: list[str] = []

    def note(frame: FrameType, event: str, _argument: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event != "call" or ROOT not in path.parents:
            return
        given = [frame.f_locals.get(name) for name in frame.f_code.co_varnames[: frame.f_code.co_argcount]]
        name = path.relative_to(ROOT).as_posix()
        if name not in files and any(map(holds_documents, given)):
            files.append(name)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return files


def listed(heading: str) -> list[str]:
    """Return the files that CONTRIBUTING.md lists for a method."""
    (line,) = re.findall(rf"^- `{heading}`: (.*)$", CONTRIBUTING.read_text(), flags=re.MULTILINE)
    return re.findall(r"`([\w/]+\.py)`", line)


def test_a_text_passes_through_few_files() -> None:
    vectors = WordVectors.load("english-128")
    model = SphericalParagraphModel(vectors, adapt=False)
    fit = route(lambda: model.fit(TEXTS))
    transform = route(lambda: model.transform(TEXTS))
    assert sorted(fit) == sorted(listed("fit"))
    assert sorted(transform) == sorted(listed("transform"))
    assert len(fit) <= 11
    assert len(transform) <= 10
