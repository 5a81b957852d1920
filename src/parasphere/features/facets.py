"""Facets: regions of the sphere that words fall into, so that a text can point in several directions at once.

A text about two things has no good single direction. Let the words fall into T regions, by a mixture of vMFs over their
vectors, and let r_t(w) be the probability that word w belongs to region t. The word then becomes

    (sqrt(r_1) w, sqrt(r_2) w, ..., sqrt(r_T) w),

which is a unit vector again, in T times the dimension: words of one region meet as they did, words of different ones
are orthogonal. SPM on these *lifted* vectors is SPM as it was, with its exact posterior and evidence; the direction of
a text now has T blocks, one direction a facet, each as long as the root of its share in the whole. T = 1 is SPM.

The blocks of a text's sum are ``s_t = sum_w sqrt(r_t(w)) a_w w``, those of its posterior are ``eta_t = kappa0 mu_t +
kappa_n s_t``. Lifted vectors are never written out: a word has a part in few facets, and only these are added to.
"""

from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..compiled import check_layouts
from ..errors import VectorsError
from ..sphere import MovMF
from ..storage import storable
from ..text import phrase_rows

NEGLIGIBLE = 1e-2  # a smaller probability of a region is taken for none
MAX_KAPPA = 10.0  # of a region: closer ones would cut between words that mean the same
WORDS = 20_000  # the first words, which files have in the order of their frequency, make the regions
CHUNK = 65_536  # words that are put into regions at a time
COMMON = 3_000  # words of which the descriptions of facets are made


@storable("facets")
@dataclass(frozen=True, eq=False)
class Facets:
    """Which regions words belong to.

    Attributes
    ----------
    centres : (n_facets, dim) float32
        The regions' mean directions.
    starts, which, parts : (n_words + 1,) int64, (n,) int32 and (n,) float64
        The facets of word w are ``which[starts[w]:starts[w + 1]]``, its parts in them ``sqrt(r)``; their squares add
        up to 1.
    """

    centres: NDArray[np.float32]
    starts: NDArray[np.int64]
    which: NDArray[np.int32]
    parts: NDArray[np.float64]

    def __post_init__(self) -> None:
        layouts = {"centres": "f4[facets,dim]", "starts": "i8[words+1]", "which": "i4[n]", "parts": "f8[n]"}
        check_layouts(vars(self), layouts)
        # Compiled code trusts these numbers, so they are looked at before it does.
        counts = np.diff(self.starts)
        if self.starts[0] != 0 or self.starts[-1] != len(self.which) or (counts < 0).any():
            raise VectorsError(f"the facets of words must begin at 0, rise, and end at {len(self.which):,}")
        if len(self.which) and not 0 <= self.which.min() <= self.which.max() < self.n_facets:
            raise VectorsError(f"words must belong to facets 0 to {self.n_facets - 1}")
        if not ((self.parts >= 0) & (self.parts <= 1 + 1e-6)).all() or not np.isfinite(self.centres).all():
            raise VectorsError("words' parts in facets must lie between 0 and 1, and the centres be finite")
        squares = np.add.reduceat(self.parts**2, self.starts[:-1]) if len(counts) and counts.all() else np.zeros(1)
        if not (abs(squares - 1) <= 1e-6).all():
            raise VectorsError("each word must belong to a facet, and the squares of its parts add up to 1")

    def tables(self) -> tuple[NDArray[Any], ...]:
        """Return starts, which and parts, as the compiled loop takes them."""
        return self.starts, self.which, self.parts

    @property
    def n_facets(self) -> int:
        """How many regions there are."""
        return len(self.centres)

    def lifted(self, word: int, row: NDArray[Any]) -> NDArray[np.float64]:
        """Return a word's vector, (dim,), in all its facets: (n_facets * dim,)."""
        blocks = np.zeros(self.centres.shape)
        begin, end = self.starts[word], self.starts[word + 1]
        blocks[self.which[begin:end]] = self.parts[begin:end, None] * np.asarray(row, np.float64)
        return blocks.ravel()

    def nearest_words(self, vectors: Any, k: int) -> list[list[str]]:
        """Return the ``k`` words of each facet that are nearest to its middle, nearest first.

        ``vectors`` has the words and their unit rows. Looked at are the common words (the first of a file, and no
        phrases) that belong to a facet more than to any other: what is rare describes nothing.
        """
        n_words = min(COMMON, len(vectors.matrix))
        cosines = np.asarray(vectors.matrix[:n_words] @ self.centres.T)
        word = np.repeat(np.arange(n_words), np.diff(self.starts[: n_words + 1]))
        part = np.zeros(cosines.shape)
        part[word, self.which[: len(word)]] = self.parts[: len(word)]
        elsewhere = part < part.max(1, keepdims=True)
        phrases = phrase_rows(vectors.vocabulary)
        elsewhere[phrases[phrases < n_words]] = True
        cosines[elsewhere] = -np.inf
        best = np.argsort(-cosines, axis=0, kind="stable")[:k].T
        return [[vectors.vocabulary.word(w) for w in row if not elsewhere[w, t]] for t, row in enumerate(best.tolist())]

    def to_saved(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what a saved model keeps."""
        return {}, {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_saved(cls, _facts: dict[str, Any], arrays: dict[str, NDArray[Any]], _given: Any) -> Self:
        """Make facets of what was saved."""
        return cls(*(np.array(arrays[field.name]) for field in fields(cls)))


def find_facets(rows: NDArray[np.float32], n_facets: int, seed: int = 0) -> Facets:
    """Let word vectors, (n_words, dim) unit rows, fall into regions."""
    if n_facets > len(rows):
        raise VectorsError(f"{len(rows)} words cannot fall into {n_facets} facets; choose fewer")
    mixture = MovMF(n_facets, kappa="shared", max_kappa=MAX_KAPPA, random_state=seed).fit(rows[:WORDS])
    chunks = [_parts(mixture.predict_proba(rows[i : i + CHUNK])) for i in range(0, len(rows), CHUNK)]
    counts = np.concatenate([count for count, _, _ in chunks])
    return Facets(
        centres=np.asarray(mixture.mean_directions_, np.float32),
        starts=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        which=np.concatenate([which for _, which, _ in chunks]).astype(np.int32),
        parts=np.concatenate([parts for _, _, parts in chunks]),
    )


def _parts(probabilities: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return how many regions each word has, which they are, and the roots of their probabilities."""
    least = np.minimum(NEGLIGIBLE, probabilities.max(1, keepdims=True))  # each word has one region at least
    found = np.where(probabilities < least, 0.0, probabilities)
    found /= found.sum(1, keepdims=True)
    word, which = np.nonzero(found)
    return np.bincount(word, minlength=len(found)), which, np.sqrt(found[word, which])
