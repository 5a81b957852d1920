"""Saved files whose arrays and facts lie, with checksums that fit: loaded and used, they may raise our errors alone.

``case(seed)`` makes one such file, and raises if anything else comes out; :mod:`fuzzing` tries many.
"""

import copy
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parasphere import (
    Encoder,
    Index,
    JointVectors,
    MovMF,
    SphericalParagraphModel,
    SphericalTopics,
    WordVectors,
    storage,
)
from parasphere.errors import StoreError, VectorsError
from parasphere.model import Bags, Reader

WORDS = ["north", "south", "east", "west", "up", "down", "new", "york"]
TEXTS = [" ".join(np.random.default_rng(i).choice(WORDS, 6)) for i in range(20)]
ASKED = ["north new york", "", "down nowhere Äpfel", *TEXTS[:5]]
NUMBERS = [-1, 0, 1, 2, 7, 2**31, 10**30, -(2**63), 0.5, -0.5, 1e300, float("nan"), float("inf"), -float("inf")]
OTHERS = [
    None,
    True,
    "x",
    "",
    [],
    {},
    [[]],
    {"array": "x"},
    {"list": []},
    {"object": 0},
    {"object": 1},
    "newton",
    "/dev/null",
]

OURS = ("parasphere", "sklearn")  # packages whose errors may come out


class Target(NamedTuple):
    """A kind of file: how one is made, read, and used."""

    save: Callable[[Path], Any]
    load: Callable[..., Any]
    use: Callable[[Any], Any]


class Saved(NamedTuple):
    """What an honest file holds."""

    kind: str
    arrays: dict[str, NDArray[Any]]
    facts: Any


def _vectors(words: list[str] = WORDS) -> WordVectors:
    rows = np.random.default_rng(0).normal(size=(len(words), 5)) + 0.5
    return WordVectors.from_arrays(words, rows).with_weights(np.linspace(0.5, 2, len(words)))


def _adapted() -> WordVectors:
    """Return a few changes of the packaged vectors, and a word more."""
    base = WordVectors.load()
    rows = np.concatenate([base.matrix, base.matrix[:1]])
    rows[[0, 1]] = rows[[1, 0]]
    return WordVectors(base.vocabulary.extended(["nowhere"]), rows, weights=np.ones(len(rows)), base=base.source)


def _use_model(model: Any) -> None:
    model.posterior(ASKED)
    model.explain("north new york")
    model.similar("north", TEXTS[:5], k=2)
    model.partial_fit(TEXTS[:3])


def _use_vectors(vectors: Any) -> None:
    vectors.nearest("north", 3)
    vectors.coverage(ASKED)
    Reader(vectors).read(ASKED)
    assert len(vectors.words) == len(vectors)


def _model(**options: Any) -> Target:
    def save(folder: Path) -> None:
        settings = {"vectors": _vectors(WORDS), "tol": 1e-3, **options}
        SphericalParagraphModel(**settings).fit(TEXTS).save(folder)

    return Target(save, SphericalParagraphModel.load, _use_model)


def _fitted() -> SphericalParagraphModel:
    return SphericalParagraphModel(_vectors(), tol=1e-3).fit(TEXTS)


def _use_index(index: Index) -> None:
    index.search(ASKED, k=3)
    index.duplicates()
    index.add(["north of new york"], ids=["one more"])
    index.remove(index.ids[0])
    index.search(ASKED, k=3, weight=1)


def _use_topics(topics: SphericalTopics) -> None:
    topics.transform(ASKED)
    topics.predict(ASKED)
    topics.at(1).topic_words(2)
    topics.over(list(range(len(topics.labels_))))
    assert len(topics.topics_) == len(topics.weights_)
    topics.partial_fit(TEXTS[:3])


def _joint() -> JointVectors:
    return JointVectors(4, start=None, epochs=1, min_count=1)


def _learner(learner: Any) -> Target:
    return Target(lambda folder: learner.fit(4 * TEXTS).save(folder), type(learner).load, _use_learner)


def _use_learner(learner: Any) -> None:
    _use_vectors(learner.vectors_)
    SphericalParagraphModel(learner.vectors_, tokenizer=learner.tokenizer_, tol=1e-2).fit(TEXTS)


def _of_rows(estimator: Any) -> Target:
    rows = np.random.default_rng(1).normal(size=(20, 4))
    return Target(
        lambda folder: estimator.fit(rows).save(folder), type(estimator).load, lambda found: found.transform(rows[:5])
    )


TARGETS: dict[str, Target] = {
    "plain": _model(),
    "unweighted": _model(weighted=False, n_jobs=2),
    "model with a learner": _model(vectors=_joint()),
    "joint": _learner(_joint()),
    "vectors": Target(lambda folder: _vectors().save(folder), WordVectors.load, _use_vectors),
    "adapted": Target(lambda path: _adapted().save(path), WordVectors.load, _use_vectors),
    "bags": Target(lambda path: _fitted().read(TEXTS).save(path), Bags.load, lambda bags: _fitted().transform(bags)),
    "encoder": Target(
        lambda folder: _fitted().encoder_.save(folder), Encoder.load, lambda found: found.transform(ASKED)
    ),
    "index": Target(lambda folder: _fitted().index(TEXTS).save(folder), Index.load, _use_index),
    "topics": Target(
        lambda folder: SphericalTopics(_fitted(), n_topics=3).fit(TEXTS).save(folder), SphericalTopics.load, _use_topics
    ),
    "movmf": _of_rows(MovMF(2, random_state=0)),
}


@cache
def _saved(name: str) -> Saved:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "saved"
        TARGETS[name].save(path)
        arrays, info = storage.read(path)
        return Saved(info.kind, {key: np.array(array) for key, array in arrays.items()}, info.facts)


def _crafted_array(array: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """Return an array that lies about its type, its shape or its numbers."""
    way = int(rng.integers(9))
    if way == 0:
        return array.astype(rng.choice(["f4", "f8", "i8", "i4", "u1", "u8", "?"]))
    if way == 1:
        return array.reshape(rng.permutation([*array.shape, 1]))
    if way == 2:
        return array[: int(rng.integers(len(array) + 1))] if array.ndim else array
    if way == 3:
        return np.concatenate([array, array[:1]]) if array.ndim else array
    if way == 4:
        return np.ascontiguousarray(array.T) if array.ndim > 1 else array[::-1].copy()
    if way == 5:
        return array[..., : int(rng.integers(array.shape[-1] + 1))].copy() if array.ndim else array
    if way == 6:
        return rng.permutation(array)
    changed = array.copy()
    if changed.size:
        places = rng.integers(changed.size, size=int(rng.integers(1, 4)))
        with np.errstate(all="ignore"):
            values = np.array([NUMBERS[i] for i in rng.integers(len(NUMBERS), size=len(places))], np.float64)
            changed.flat[places] = values.astype(changed.dtype)
    return changed


def _crafted_facts(facts: Any, rng: np.random.Generator) -> Any:
    """Return facts of which one, somewhere, is another, missing, or nested very deeply."""
    if rng.random() < 0.02:
        for _ in range(int(rng.integers(100))):
            facts = {"list": [facts]}
        return facts
    inside = isinstance(facts, dict | list) and len(facts) > 0
    if inside and rng.random() < 0.85:
        keys: list[Any] = list(facts) if isinstance(facts, dict) else list(range(len(facts)))
        key = keys[int(rng.integers(len(keys)))]
        if isinstance(facts, dict) and rng.random() < 0.1:
            del facts[key]
        elif isinstance(facts, dict) and rng.random() < 0.05:
            facts[f"{key}x"] = facts.pop(key)
        else:
            facts[key] = _crafted_facts(facts[key], rng)
        return facts
    pool = [*NUMBERS, *OTHERS]
    return copy.deepcopy(pool[int(rng.integers(len(pool)))])


def case(seed: int) -> None:
    """Load and use one crafted file; raise what comes out of it unless it is one of our errors."""
    rng = np.random.default_rng(seed)
    target = list(TARGETS)[int(rng.integers(len(TARGETS)))]
    kind, honest, facts = _saved(target)
    arrays, meta = dict(honest), copy.deepcopy(facts)
    for _ in range(int(rng.integers(1, 4))):
        if rng.random() < 0.6 and arrays:
            name = list(arrays)[int(rng.integers(len(arrays)))]
            if rng.random() < 0.05:
                del arrays[name]
            elif rng.random() < 0.1:
                arrays[name] = honest[list(honest)[int(rng.integers(len(honest)))]]
            else:
                arrays[name] = _crafted_array(arrays[name], rng)
        else:
            crafted = _crafted_facts(meta, rng)
            meta = crafted if isinstance(crafted, dict) else meta
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "crafted"
        storage.write(path, kind, arrays, meta)
        load_and_use(target, path)


def load_and_use(target: str, path: Path, **options: Any) -> None:
    """Load a file and use what comes; raise what comes out of that unless it is one of our errors."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found = TARGETS[target].load(path, **options)
        except (StoreError, VectorsError) as error:  # VectorsError: of a file that is none of ours any more
            if str(path) not in str(error):
                raise AssertionError(f"the error does not name the file: {error}") from error
            return
        try:
            TARGETS[target].use(found)
        except (ValueError, KeyError) as error:
            # Those of the parameters and of words that are unknown are ours; no other may come from inside.
            inside = _last_module(error)
            if not inside.startswith(OURS):
                raise AssertionError(f"{error!r} comes from {inside}") from error


def _last_module(error: BaseException) -> str:
    trace = error.__traceback__
    name = ""
    while trace is not None:
        name, trace = str(trace.tb_frame.f_globals.get("__name__", "")), trace.tb_next
    return name
