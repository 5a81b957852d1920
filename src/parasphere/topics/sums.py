"""Sums over the texts of each topic, from which its direction, its words and its place in a hierarchy follow."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import logsumexp, softmax
from sklearn.utils.validation import check_is_fitted

from ..corpus import Block
from ..errors import ParasphereError
from ..sphere import vmf
from ..sphere.rows import unit_rows
from ..tables import Table
from .merging import Merges, merge_topics
from .naming import MOST_PHRASES, SEPARATOR, Phrases, words_of
from .representation import texts_at
from .tables import over_column
from .weights import WordWeights
from .words import counted_together, together, top_words

Floats = NDArray[np.float64]
Rows = NDArray[np.float32]

TYPICAL, CHARACTERS = 3, 5000  # typical texts that are kept per topic, and characters of each
OUTLIERS = 0.01  # share of texts that are expected to belong to no topic
MOST_OUTLIERS = 1 / 8  # of the texts of the fit
OFFERED = 10  # phrases per topic that ``naming`` is given
FEW = 20  # first words of a topic without phrases; those that are in no other name become its name
FEWEST_DIVIDED = 15  # topics from which on a map has levels


class TopicSums:
    """The part of :class:`SphericalTopics` that holds the topics; texts come as unit rows."""

    sum_layouts: ClassVar = {
        "sums_": "f8[topics,dim]", "sizes_": "f8[topics]", "background_": "f8[dim]",
        "counts_": "f8[topics,columns]", "together_": "f8[topics,columns]", "labels_": "i8[docs]",
    }  # fmt: skip

    words_: WordWeights
    temperature_: float
    outliers_: bool
    outlier_limit_: float  # texts with a smaller log-likelihood ratio between topics and corpus belong to no topic
    sums_: Floats  # of the texts per topic
    sizes_: Floats
    background_: Floats  # the sum of all texts
    counts_: Floats  # of each word in the texts of each topic, damped by the logarithm of its logarithm in each text
    together_: Floats  # the same, weighted by how many of the topic's first words each text has
    labels_: NDArray[np.int64]
    typical_: list[list[str]]
    typical_scores_: list[list[float]]
    phrases_: Phrases  # that may name topics, merged or not
    names_: list[str]
    naming: Any

    def topic_words(self, k: int = 10) -> list[list[str]]:
        """Return the ``k`` words that describe each topic best, best first.

        Parameters
        ----------
        k : int, default=10

        Notes
        -----
        Words are scored by their share in the log-likelihood ratio between the topic and the corpus. A word counts more
        in texts that have more of the topic's first words, and less if several topics share it. A word that a text has
        ``c`` times counts ``1 + log(1 + log(c))`` times, so that no single text decides by repetition.
        """
        check_is_fitted(self)
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        scores = together(self.counts_, self.together_)
        return top_words(scores, self.words_.vocabulary.words, k)

    def text_names(self, labels: Sequence[int] | None = None) -> list[str]:
        """Return the name of the topic of each text; "" for outliers and texts without known words.

        Parameters
        ----------
        labels : (n_docs,) ints, default=None
            Topics, as ``predict`` returns them; None is ``labels_``.
        """
        check_is_fitted(self)
        names = self.names_
        if labels is not None and len(labels) and max(labels) >= len(names):
            raise ValueError(f"there is no topic {max(labels)}: the topics are 0 to {len(names) - 1}, or -1 for none")
        return [names[label] if label >= 0 else "" for label in (self.labels_ if labels is None else labels)]

    def over(self, column: Sequence[Any], labels: Sequence[int] | None = None) -> Table:
        """Count the texts of each topic per value of a column, such as a year or a source.

        Parameters
        ----------
        column : (n_docs,) values
            One value per text of ``labels_``.
        labels : (n_docs,) ints, default=None
            Topics, as :meth:`predict` returns them; None is ``labels_``.

        Returns
        -------
        Table
            A list of one dict per value, in ascending order, and one column per topic; -1 comes first if there is any.
        """
        check_is_fitted(self)
        return over_column(column, self.labels_ if labels is None else np.asarray(labels), len(self.sizes_))

    def at(self, n_topics: int) -> Self:
        """Return a copy with fewer topics, merged along :attr:`tree_`; this object does not change.

        Topic 0 is again the largest. In ``labels_`` each text has the topic that its own was merged into, while
        :meth:`predict` compares a text with the merged topics and may choose another one. The names are new: the best
        phrases of the merged topics.
        """
        renamed = self.groups(n_topics)
        members = np.eye(n_topics)[renamed].T  # (n_topics, k)
        fewer = copy.copy(self)
        for name in ("sums_", "sizes_", "counts_", "together_"):
            setattr(fewer, name, members @ getattr(self, name))
        fewer.labels_ = np.where(self.labels_ < 0, -1, renamed[self.labels_])
        fewer.typical_, fewer.typical_scores_ = [[] for _ in members], [[] for _ in members]
        for topic, group in enumerate(renamed):
            fewer._keep_typical(group, list(zip(self.typical_scores_[topic], self.typical_[topic], strict=True)))
        fewer.phrases_ = self.phrases_.merged(members, self.texts_per_topic())
        fewer.names_ = fewer._named()
        return fewer

    def groups(self, n_topics: int) -> NDArray[np.int64]:
        """Return the topic of :meth:`at` into which each topic is merged, (k,)."""
        check_is_fitted(self)
        if not 1 <= n_topics <= len(self.sizes_):
            raise ValueError(f"n_topics must be from 1 to {len(self.sizes_)}, the number of topics, not {n_topics}")
        groups = self.tree_.groups(n_topics)
        texts = self.texts_per_topic()
        order = np.argsort(-np.bincount(groups, texts, n_topics), kind="stable")
        return np.asarray(np.argsort(order)[groups], np.int64)

    @property
    def levels_(self) -> list[int]:
        """Numbers of topics on the successive levels of a map: a few large ones first, all topics last."""
        check_is_fitted(self)
        levels = [len(self.sizes_)]
        while levels[0] >= FEWEST_DIVIDED:
            levels.insert(0, round(levels[0] / 3))
        return levels

    @property
    def topics_(self) -> Table:
        """One row per topic."""
        check_is_fitted(self)
        tight = np.linalg.norm(self.sums_, axis=1) / np.maximum(self.sizes_, 1)
        sizes = self.texts_per_topic().astype(np.int64)
        return Table.of({
            "topic": list(range(len(sizes))),
            "size": sizes.tolist(),
            "share": (sizes / max(len(self.labels_), 1)).tolist(),
            "name": self.names_,
            "words": self.topic_words(),
            "texts": self.typical_,
            "tightness": tight.tolist(),
        })  # fmt: skip

    @property
    def tree_(self) -> Merges:
        """The merges from all topics to one."""
        check_is_fitted(self)
        return merge_topics(self.sums_, self.sizes_)

    @property
    def directions_(self) -> Floats:
        """Mean direction of each topic."""
        check_is_fitted(self)
        return unit_rows(self.sums_)

    @property
    def weights_(self) -> Floats:
        """Mixing weights."""
        check_is_fitted(self)
        return np.asarray(self.sizes_ / self.sizes_.sum())

    @property
    def concentration_(self) -> float:
        """Concentration of all topics."""
        check_is_fitted(self)
        mean = np.linalg.norm(self.sums_, axis=1).sum() / self.sizes_.sum()
        return float(vmf.concentration(min(float(mean), 1.0), self.sums_.shape[1]))

    @property
    def _n_features_out(self) -> int:
        return len(self.sizes_)

    def _start(self, known: Rows, labels: NDArray[np.int64]) -> None:
        """Make topics from one label per text; the topic with most texts comes first."""
        names, labels = np.unique(labels, return_inverse=True)
        k, dim = len(names), known.shape[1]
        self.sums_, self.sizes_ = np.zeros((k, dim)), np.zeros(k)
        self.background_ = np.zeros(dim)
        self.counts_, self.together_ = np.zeros((k, len(self.words_))), np.zeros((k, len(self.words_)))
        self.labels_ = np.zeros(0, np.int64)
        self.typical_, self.typical_scores_ = [[] for _ in names], [[] for _ in names]
        self._add(known, labels)
        ratios = self._ratios(known, self._joint(known))
        self.outlier_limit_ = min(float(np.log(OUTLIERS)), float(np.quantile(ratios, MOST_OUTLIERS)))
        order = np.argsort(-members(self._labels(known), k).sum(axis=1), kind="stable")
        self.sums_, self.sizes_ = self.sums_[order], self.sizes_[order]

    def _add(self, known: Rows, labels: NDArray[np.int64]) -> None:
        """Add texts, none of which is empty, to the sums of their topics."""
        k = len(self.sizes_)
        self.sums_ = self.sums_ + sums_of(known, labels, k)
        self.sizes_ = self.sizes_ + np.bincount(labels, minlength=k)
        self.background_ = self.background_ + known.sum(axis=0, dtype=np.float64)

    def _describe(self, held: list[Block], rows: Rows) -> None:
        """Label texts, count their words, and keep the most typical of them."""
        labels, k = self._labels(rows), len(self.sizes_)
        counts = self.words_.counts(held).astype(np.float64)
        counts.data = 1 + np.log1p(np.log(counts.data))
        own = members(labels, k)
        self.counts_ = self.counts_ + own @ counts
        self.together_ = self.together_ + own @ counted_together(counts, labels, self.counts_)
        self.labels_ = np.concatenate([self.labels_, labels])
        cosines = np.einsum("ij,ij->i", rows, self.directions_.astype(np.float32)[labels])
        for topic in range(k):
            own = np.flatnonzero(labels == topic)
            best = own[np.argsort(-cosines[own], kind="stable")[: 4 * TYPICAL]]
            new = list(zip(cosines[best].tolist(), texts_at(held, best), strict=True))
            self._keep_typical(topic, new)

    def _keep_typical(self, topic: int, new: list[tuple[float, str]]) -> None:
        """Keep the most typical texts of a topic, each once."""
        pairs = [*zip(self.typical_scores_[topic], self.typical_[topic], strict=True), *new]
        kept: dict[str, float] = {}
        for score, text in sorted(pairs, key=lambda pair: -pair[0]):
            kept.setdefault(text[:CHARACTERS], score)
        best = list(kept.items())[:TYPICAL]
        self.typical_[topic], self.typical_scores_[topic] = [text for text, _ in best], [score for _, score in best]

    def texts_per_topic(self) -> Floats:
        """Return the number of texts with the label of each topic, (k,)."""
        return np.bincount(self.labels_[self.labels_ >= 0], minlength=len(self.sizes_)).astype(np.float64)

    def _named(self) -> list[str]:
        """Return a name for each topic: its phrases, or its first words if it has none; or what ``naming`` returns."""
        sizes = self.texts_per_topic()
        if self.naming is None:
            names = self.phrases_.names(sizes)
            used = {word for phrases in names for phrase in phrases for word in words_of(phrase)}
            for own, words in zip(names, self.topic_words(FEW), strict=True):
                if not own:
                    own += [word for word in words if not words_of(word) & used][:MOST_PHRASES]
                    used |= {part for word in own for part in words_of(word)}
            return [SEPARATOR.join(own) or f"topic {topic}" for topic, own in enumerate(names)]
        named = self.naming(self.phrases_.best(sizes, OFFERED), self.typical_)
        if not isinstance(named, list) or not all(isinstance(name, str) for name in named) or len(named) != len(sizes):
            raise ParasphereError(
                f"naming must return a list of {len(sizes)} strings, one per topic, not {named!r:.60}"
            )
        return named

    def _joint(self, rows: Rows) -> Floats:
        """Return the log-density of each text and topic together, (n, k)."""
        kappa, dim = self.concentration_, self.sums_.shape[1]
        with np.errstate(divide="ignore"):
            constants = np.log(self.weights_) - vmf.log_partition(kappa, dim)
        return np.asarray(kappa * (rows.astype(np.float64) @ self.directions_.T) + constants)

    def _probabilities(self, rows: Rows) -> Floats:
        shares = softmax(self._joint(rows) / self.temperature_, axis=1)
        shares[~rows.any(axis=1)] = self.weights_
        return np.asarray(shares)

    def _labels(self, rows: Rows) -> NDArray[np.int64]:
        joint = self._joint(rows)
        labels = joint.argmax(axis=1) if len(joint) else np.zeros(0, np.int64)
        labels[~rows.any(axis=1)] = -1
        if self.outliers_:
            labels[self._ratios(rows, joint) < self.outlier_limit_] = -1
        return np.asarray(labels, np.int64)

    def _ratios(self, rows: Rows, joint: Floats) -> Floats:
        """Return the log-likelihood ratio of texts between the topics and one distribution for the corpus, (n,)."""
        dim, length = self.sums_.shape[1], float(np.linalg.norm(self.background_))
        kappa = float(vmf.concentration(min(length / self.sizes_.sum(), 1.0), dim))
        along = rows.astype(np.float64) @ (self.background_ / max(length, 1e-300))
        return np.asarray(logsumexp(joint, axis=1) - kappa * along + vmf.log_partition(kappa, dim))


def members(labels: NDArray[np.int64], k: int) -> sparse.csr_array:
    """Return which rows have which label, (k, n); rows with a negative label are in none."""
    rows = np.flatnonzero(labels >= 0)
    return sparse.csr_array((np.ones(len(rows)), (labels[rows], rows)), shape=(k, len(labels)))


def sums_of(rows: Rows, labels: NDArray[np.int64], k: int) -> Floats:
    """Return the sum of the rows of each label, (k, dim)."""
    return np.asarray(members(labels, k) @ rows.astype(np.float64))
