"""Near-duplicates, beside all pairs compared by scipy and lengths summed by Python."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from parasphere import _kernels
from parasphere.search import near_duplicates
from parasphere.search.bm25 import TfIdf

F4 = np.float32


def rows_of(docs: int, words: int, seed: int) -> sparse.csr_array:
    rng = np.random.default_rng(seed)
    dense = rng.uniform(0.1, 3, (docs, words)) * (rng.uniform(size=(docs, words)) < rng.uniform(0.02, 0.4, words))
    for i in range(0, docs - 1, 4):
        dense[i + 1] = dense[i] * rng.uniform(0.9, 1.1, words)
    dense /= np.maximum(np.linalg.norm(dense, axis=1, keepdims=True), 1e-9)
    return sparse.csr_array(dense)


@pytest.mark.parametrize("threshold", [0.2, 0.6, 1.0])
def test_rare_words_begin_where_the_vector_is_long_enough(threshold: float) -> None:
    rows = rows_of(30, 40, 1)
    rare, reach = np.empty(30, np.int64), np.empty(rows.nnz, F4)
    _kernels.find_rare(rows.indptr.astype(np.int64), rows.data, threshold, rare, reach)
    for doc in range(30):
        begin, end = rows.indptr[doc : doc + 2]
        squares, first = 0.0, end
        for at in range(begin, end):
            squares += float(rows.data[at]) * float(rows.data[at])
            assert reach[at] == F4(np.sqrt(squares))
            if first == end and float(reach[at]) >= threshold * (1 - 1e-5):
                first = at
        assert rare[doc] == first


@pytest.mark.parametrize("room", [1, 1 << 16])
@pytest.mark.parametrize("threshold", [0.1, 0.5, 0.9])
def test_pairs_are_those_of_all_that_are_similar(threshold: float, room: int, monkeypatch: Any) -> None:
    monkeypatch.setattr(near_duplicates, "PAIRS_PER_CALL", room)
    rows = rows_of(60, 30, 2)
    cosines = (rows @ rows.T).toarray()
    found = list(near_duplicates._pairs(TfIdf(rows.indptr.astype(np.int64), rows.indices, rows.data), threshold))
    pairs = np.concatenate([each for each, _ in found])
    values = np.concatenate([each for _, each in found])
    due = {(i, j) for j in range(60) for i in range(j) if cosines[i, j] >= threshold}
    assert set(map(tuple, pairs.tolist())) == due
    assert len(pairs) == len(due)
    np.testing.assert_allclose(values, np.minimum(cosines[tuple(pairs.T)], 1), rtol=1e-12)
    for (one, other), value in zip(pairs.tolist(), values, strict=True):
        left, right = (dict(zip(rows[[i]].indices, rows[[i]].data, strict=True)) for i in (other, one))
        total = 0.0
        for word in sorted(left.keys() & right.keys()):
            total += float(left[word]) * float(right[word])
        assert value == min(total, 1.0)


def good() -> dict[str, Any]:
    """Return the arguments of a good call: two equal documents of two words, both of them rare."""
    return {
        "starts": np.array([0, 2, 4]),
        "words": np.array([0, 1, 0, 1], np.int32),
        "values": np.full(4, 0.5**0.5),
        "rare": np.array([0, 2]),
        "reach": np.array([0.7, 1, 0.7, 1], F4),
        "begins": np.array([0, 2, 4]),
        "documents": np.array([0, 1, 0, 1], np.int32),
        "reaches": np.array([0.7, 0.7, 1, 1], F4),
        "threshold": 0.4,
        "first": 0,
        "pairs": np.zeros((9, 2), np.int64),
        "cosines": np.zeros(9),
    }


def find(**changed: Any) -> Any:
    a = good() | changed
    postings = a["begins"], a["documents"], a["reaches"]
    rest = a["threshold"], a["first"], a["pairs"], a["cosines"]
    return _kernels.find_pairs(a["starts"], a["words"], a["values"], a["rare"], a["reach"], postings, *rest)


def test_a_good_call() -> None:
    pairs = np.zeros((9, 2), np.int64)
    assert find(pairs=pairs) == (2, 1)
    assert pairs[0].tolist() == [0, 1]
    assert find(first=2) == (2, 0)
    assert find(pairs=np.zeros((0, 2), np.int64), cosines=np.zeros(0)) == (1, 0)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("starts", np.array([0, 2, 5]), "starts must rise from 0 to at most 4, but 5 follows 2"),
        ("starts", np.array([-1, 2, 4]), "starts must rise from 0 to at most 4"),
        ("starts", np.array([0, 2]), "an array must have size 3"),
        ("starts", np.array([0, 2**62, 4]), "starts must rise"),
        ("words", np.array([0, 2, 0, 2], np.int32), "words must be from 0 to below 2, not 2"),
        ("words", np.array([0, -1, 0, -1], np.int32), "words must be from 0 to below 2, not -1"),
        ("words", np.zeros(4, np.int64), "incompatible function arguments"),
        ("values", np.zeros(3), "an array must have size 4"),
        ("rare", np.array([0, -2]), "rare must be within the words of a document, which begin at 2, not -2"),
        ("rare", np.array([0, 1]), "rare must be within the words of a document"),
        ("reach", np.zeros(5, F4), "an array must have size 4"),
        ("begins", np.array([0, 2, 9]), "postings.starts must rise from 0 to at most 4, but 9 follows 2"),
        ("begins", np.array([0, 2, -4]), "postings.starts must rise"),
        ("begins", np.array([], np.int64), "postings.starts must have one number more"),
        ("documents", np.array([-1, 1, -1, 1], np.int32), "postings.documents must be from 0 to below 2, not -1"),
        ("documents", None, "incompatible function arguments"),
        ("reaches", np.zeros(3, F4), "an array must have size 4"),
        ("threshold", np.nan, "threshold must be above 0 and at most 1, not nan"),
        ("threshold", 0.0, "threshold must be above 0"),
        ("first", -1, "first must be from 0 to the 2 documents, not -1"),
        ("first", 3, "first must be from 0 to the 2 documents, not 3"),
        ("pairs", np.zeros((9, 3), np.int64), "an array must have size 2 along axis 1"),
        ("pairs", np.zeros((8, 2), np.int64), "an array must have size 9 along axis 0"),
        ("pairs", np.zeros((18, 2), np.int64)[::2], "incompatible function arguments"),
    ],
)
def test_wrong_arguments(name: str, value: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        find(**{name: value})


def test_numbers_that_are_harmless() -> None:
    find(rare=np.array([2**62, 2**62]))  # no rare words
    find(documents=np.array([2**31 - 1] * 4, np.int32))  # never earlier than the one that is looked at
    find(values=np.full(4, np.nan), reach=np.full(4, np.nan, F4))
    find(reaches=np.full(4, np.inf, F4))


def test_pairs_that_are_written_over_what_is_read() -> None:
    shared = np.array([0, 2, 4, 0, 2, 4, 0, 0])
    with pytest.raises(ValueError, match="must"):
        find(starts=shared[:3], begins=shared[3:6], pairs=shared.reshape(4, 2), cosines=np.zeros(4), first=1,
             documents=np.array([0, 0, 0, 0], np.int32), rare=np.array([0, 2, 4])[:2], reaches=np.ones(4, F4)[:4],
             words=np.array([0, 9, 0, 9], np.int32))  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("starts", np.array([0, 2, 5]), "starts must rise from 0 to at most 4"),
        ("starts", np.array([0, 3, 2]), "starts must rise from 0 to at most 4, but 2 follows 3"),
        ("starts", np.array([0.0, 2, 4]), "incompatible function arguments"),
        ("values", np.ones(5), "an array must have size 5"),
        ("values", np.ones(4, F4), "incompatible function arguments"),
        ("threshold", np.nan, "threshold must be"),
        ("rare", np.zeros(3, np.int64), "an array must have size 4"),
        ("reach", np.zeros(4, F4)[::-1], "incompatible function arguments"),
    ],
)
def test_wrong_arguments_of_rare_words(name: str, value: Any, message: str) -> None:
    a = good() | {name: value}
    with pytest.raises((ValueError, TypeError), match=message):
        _kernels.find_rare(a["starts"], a["values"], a["threshold"], a["rare"], a["reach"])
