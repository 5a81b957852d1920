"""Facets: regions of the sphere that the words belong to, so that a text can have one direction in each.

A text about two subjects has no good single direction. Divide the words into T regions, by a mixture of vMFs over their
vectors, and let r_t(w) be the probability that word w belongs to region t. The word then becomes

    (sqrt(r_1) w, sqrt(r_2) w, ..., sqrt(r_T) w),

which is a unit vector again, in T times the dimension: words of one region keep their cosine, words of different
regions are orthogonal. SPM on these *lifted* vectors is the same model, with its exact posterior and evidence. The
direction of a text has T blocks, one per facet, and the squared length of a block is the share of its facet. T = 1 is
SPM itself.

The blocks of a text's sum are ``s_t = sum_w sqrt(r_t(w)) a_w w``, those of its posterior are ``eta_t = kappa0 mu_t +
kappa_n s_t``. Lifted vectors are never stored: most words belong to few facets, and only those blocks are added to.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..compiled import check_layouts
from ..errors import VectorsError
from ..sphere import MovMF
from ..storage import storable
from ..text import phrase_rows

NEGLIGIBLE = 1e-2  # smaller probabilities of a region are set to 0
MAX_KAPPA = 10.0  # concentration of a region; larger ones would separate words that mean the same
WORDS = 20_000  # the regions are fitted to this many words: the first ones, which are the most frequent in most files
CHUNK = 65_536  # words whose regions are computed at a time
COMMON = 3_000  # the words that descriptions of facets are chosen from


@storable("facets")
@dataclass(frozen=True, eq=False)
class Facets:
    """The regions that each word belongs to.

    Attributes
    ----------
    centres : (n_facets, dim) float32
        Mean directions of the regions.
    starts, which, parts : (n_words + 1,) int64, (n,) int32 and (n,) float64
        The facets of word w are ``which[starts[w]:starts[w + 1]]``, and ``parts`` at the same places are the square
        roots of their probabilities.
    """

    centres: NDArray[np.float32]
    starts: NDArray[np.int64]
    which: NDArray[np.int32]
    parts: NDArray[np.float64]

    def __post_init__(self) -> None:
        layouts = {"centres": "f4[facets,dim]", "starts": "i8[words+1]", "which": "i4[n]", "parts": "f8[n]"}
        check_layouts(vars(self), layouts)
        # Compiled code trusts these numbers, so they are checked here.
        counts = np.diff(self.starts)
        if self.starts[0] != 0 or self.starts[-1] != len(self.which) or (counts < 0).any():
            raise VectorsError(f"the starts of words must begin at 0, rise, and end at {len(self.which):,}")
        if len(self.which) and not 0 <= self.which.min() <= self.which.max() < self.n_facets:
            raise VectorsError(f"words must belong to facets 0 to {self.n_facets - 1}")
        if not ((self.parts >= 0) & (self.parts <= 1 + 1e-6)).all() or not np.isfinite(self.centres).all():
            raise VectorsError("the parts of words in facets must lie between 0 and 1, and the centres must be finite")
        squares = np.add.reduceat(self.parts**2, self.starts[:-1]) if len(counts) and counts.all() else np.zeros(1)
        if not (abs(squares - 1) <= 1e-6).all():
            raise VectorsError("each word must belong to a facet, and the squares of its parts must add up to 1")

    def tables(self) -> tuple[NDArray[Any], ...]:
        """Return starts, which and parts, the arguments of the compiled loop."""
        return self.starts, self.which, self.parts

    @property
    def n_facets(self) -> int:
        """Number of regions."""
        return len(self.centres)

    def lifted(self, word: int, row: NDArray[Any]) -> NDArray[np.float64]:
        """Return the lifted vector of a word: (dim,) -> (n_facets * dim,)."""
        blocks = np.zeros(self.centres.shape)
        begin, end = self.starts[word], self.starts[word + 1]
        blocks[self.which[begin:end]] = self.parts[begin:end, None] * np.asarray(row, np.float64)
        return blocks.ravel()

    def nearest_words(self, vectors: Any, k: int, words: Sequence[str] | None = None) -> list[list[str]]:
        """Return the ``k`` words of each facet that are nearest to its centre, nearest first.

        Candidates are ``words``, or else the first 3,000 words of ``vectors`` (rare words describe nothing), without
        phrases, each in the facet that it mostly belongs to.
        """
        if words is None:
            ids = np.arange(min(COMMON, len(vectors.matrix)))
        else:
            ids = vectors.vocabulary.get_many(list(words)).astype(np.int64)
            ids = ids[ids >= 0]
        ids = ids[~np.isin(ids, phrase_rows(vectors.vocabulary))]
        cosines = np.asarray(np.asarray(vectors.matrix[ids]) @ self.centres.T)
        part = np.zeros(cosines.shape)
        for row, word in enumerate(ids):
            own = slice(self.starts[word], self.starts[word + 1])
            part[row, self.which[own]] = self.parts[own]
        elsewhere = part < part.max(1, keepdims=True)
        cosines[elsewhere] = -np.inf
        best = np.argsort(-cosines, axis=0, kind="stable")[:k].T
        return [
            [vectors.vocabulary.word(int(ids[w])) for w in row if not elsewhere[w, t]]
            for t, row in enumerate(best.tolist())
        ]

    def to_saved(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the facts and arrays of a saved model."""
        return {}, {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_saved(cls, _facts: dict[str, Any], arrays: dict[str, NDArray[Any]], _given: Any) -> Self:
        """Make facets of saved facts and arrays."""
        return cls(*(np.array(arrays[field.name]) for field in fields(cls)))


def find_facets(rows: NDArray[np.float32], n_facets: int, random_state: Any = 0) -> Facets:
    """Divide words into regions, given their vectors, (n_words, dim) unit rows."""
    if n_facets > len(rows):
        raise VectorsError(f"{len(rows)} words cannot be divided into facets={n_facets}; choose fewer")
    mixture = MovMF(n_facets, kappa="shared", max_kappa=MAX_KAPPA, random_state=random_state).fit(rows[:WORDS])
    chunks = [_parts(mixture.predict_proba(rows[i : i + CHUNK])) for i in range(0, len(rows), CHUNK)]
    counts = np.concatenate([count for count, _, _ in chunks])
    return Facets(
        centres=np.asarray(mixture.mean_directions_, np.float32),
        starts=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        which=np.concatenate([which for _, which, _ in chunks]).astype(np.int32),
        parts=np.concatenate([parts for _, _, parts in chunks]),
    )


def _parts(probabilities: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return the number of regions of each word, their indices, and the square roots of their probabilities."""
    least = np.minimum(NEGLIGIBLE, probabilities.max(1, keepdims=True))  # each word keeps at least one region
    kept = np.where(probabilities < least, 0.0, probabilities)
    kept /= kept.sum(1, keepdims=True)
    word, which = np.nonzero(kept)
    return np.bincount(word, minlength=len(kept)), which, np.sqrt(kept[word, which])
