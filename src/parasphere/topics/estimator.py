"""Topics of a corpus: a mixture of von Mises-Fisher distributions over its texts, described by their words."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import chain
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..corpus import Block, blocks
from ..errors import CorpusError, ParasphereError
from ..model import Encoder
from ..model.estimator import SphericalParagraphModel
from ..parameters import BOOLEAN, CALLABLE, NONE, RANDOM_STATE, Constraints, check_parameters, having, number, one_of
from ..sphere import MovMF
from ..sphere.rows import unit_rows
from ..storage import Saved
from ..text import Tokenizer
from . import representation
from .calibration import best_temperature
from .merging import merge_topics
from .naming import Phrases, find_phrases
from .neighbours import smoothed
from .sums import TopicSums, sums_of
from .weights import WordWeights

Floats = NDArray[np.float64]
Rows = NDArray[np.float32]

WORDS = 20_000  # the most frequent words, by which topics are described
LANDMARKS = 10_000  # texts among which neighbours and the best start of a mixture are looked for
STARTS = 5  # of the mixture, of which the most likely is kept
MOST, FEWEST_TEXTS = 80, 25  # topics at the start of merging, at most, and texts per topic there, at least


class SphericalTopics(
    TopicSums, Saved, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin, BaseEstimator
):  # fmt: skip
    """Topics: groups of texts about the same subject, named by phrases of their own.

    A text is represented by its offset, from word vectors, beside its tf-idf weights in a few dimensions
    (:mod:`parasphere.topics.representation`). The topics are found by a mixture of von Mises-Fisher distributions with
    one concentration, fitted to texts averaged with their nearest neighbours; each text, without its neighbours, then
    belongs to the most likely topic. No labels are used.

    Parameters
    ----------
    model : Encoder or SphericalParagraphModel, default=None
        The model of the texts. An encoder or a fitted model is used as it is; otherwise a clone is fitted to the same
        texts. None is ``SphericalParagraphModel()``. It is not saved: loaded topics have ``encoder_`` and None here.
    n_topics : int or "auto", default="auto"
        Number of topics. "auto" begins with many, merges them by likelihood, two at a time, and takes the least
        number that keeps nine tenths of the mutual information between the topics of random halves of texts.
    lexical_weight : float or "auto", default="auto"
        Weight of the words of the corpus beside the word vectors, 0 to 1. "auto" is the weight, at most 0.7, with which
        the halves of texts find each other best.
    n_neighbours : int, default=15
        Number of neighbours with which each text is averaged to find the topics; 0 is none.
    outliers : bool, default=True
        Give the label -1 to texts that are more likely under one distribution for the whole corpus than under the
        topics: at most an eighth of the texts of the fit, the least likely.
    naming : callable, default=None
        ``naming(phrases, texts)`` returns the names of all topics, a list of str, given the ten best phrases and the
        three most typical texts of each, for example by a language model. It is called at the end of ``fit`` and by
        ``at``. The names are saved, the function is not. None joins up to three phrases per topic.
    random_state : int, RandomState or None, default=0
        Seed of all random choices.

    Attributes
    ----------
    labels_ : (n_docs,) int64
        Topic of each text of the fit, and of later calls of ``partial_fit``; topic 0 is the largest. Outliers and texts
        without known words have -1.
    topics_ : Table
        A list of one dict per topic (``to_frame()`` makes a data frame): its size, share, name, words, most typical
        texts, and how tight it is, which is the mean cosine of its texts with their mean direction.
    names_ : list of str
        Name of each topic: phrases that many of its texts have and few others
        (:mod:`parasphere.topics.naming`), such as "Fourier transform · FFT". No word is in two names. ``partial_fit``
        does not change them.
    tree_ : Merges
        The merges from all topics to one, by likelihood; ``at(n)`` follows them down to ``n`` topics.
    levels_ : list of int
        Numbers of topics on the successive levels of a map: a few large ones first, all topics last.
    directions_ : (n_topics, dim) float64
        Mean direction of each topic.
    weights_ : (n_topics,) float64
        Mixing weights.
    concentration_ : float
        Concentration of all topics.
    temperature_ : float
        Divisor of the log-odds between topics, at least 1, which makes them probabilities. It is found without labels,
        by how often other divisions of the texts agree. The topic of a text does not depend on it.
    lexical_weight_ : float
        The weight of the words.
    encoder_ : Encoder
        The encoder of the texts.
    words_ : WordWeights
        The words by which topics are described, and their weights.

    Notes
    -----
    Texts are whatever :func:`parasphere.corpus.blocks` takes. If there are more than 10,000, neighbours are looked for
    among 10,000 drawn at random, from which the number of topics is found too.

    Examples
    --------
    >>> from parasphere import datasets
    >>> corpus = datasets.load("docstrings")
    >>> topics = SphericalTopics(n_topics=12).fit(corpus.texts)
    >>> topics.labels_.shape, topics.transform(["solve a sparse linear system"]).shape
    ((2004,), (1, 12))
    >>> label = topics.predict(["the eigenvalues of a symmetric matrix"])[0]
    >>> "matrix" in topics.topic_words(5)[label]
    True
    >>> "discrete Fourier Transform" in " ".join(topics.names_)
    True
    """

    _parameters: ClassVar[Constraints] = {
        "model": having("transform") | NONE,
        "n_topics": number(int, 1) | one_of("auto"),
        "lexical_weight": number(float, 0, 1, "both") | one_of("auto"),
        "n_neighbours": number(int, 0),
        "outliers": BOOLEAN,
        "naming": CALLABLE | NONE,
        "random_state": RANDOM_STATE,
    }
    _layouts: ClassVar = {
        "axes_": "f4[axes,columns]", **TopicSums.sum_layouts,
    }  # fmt: skip
    _not_negative: ClassVar = ("sizes_", "counts_", "together_", "lexical_weight_")
    _left_out: ClassVar = ("model", "naming")

    encoder_: Encoder
    axes_: NDArray[np.float32]
    lexical_weight_: float

    def __init__(
        self,
        model: Any = None,
        n_topics: int | Literal["auto"] = "auto",
        *,
        lexical_weight: float | Literal["auto"] = "auto",
        n_neighbours: int = 15,
        outliers: bool = True,
        naming: Callable[[list[list[str]], list[list[str]]], list[str]] | None = None,
        random_state: Any = 0,
    ) -> None:
        self.model = model
        self.n_topics = n_topics
        self.lexical_weight = lexical_weight
        self.n_neighbours = n_neighbours
        self.outliers = outliers
        self.naming = naming
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, **columns: Any) -> Self:  # noqa: ARG002
        """Find the topics of a corpus.

        Parameters
        ----------
        X : texts, token lists, columns or path
        y : ignored
        **columns
            Passed to :func:`parasphere.corpus.blocks`.
        """
        check_parameters(self)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        held = list(blocks(X, **columns))
        rows = self._represent(held, rng)
        present = rows.any(axis=1)
        least = 1 if self.n_topics == "auto" else int(self.n_topics)
        if present.sum() < max(least, 2):
            raise CorpusError(
                f"{int(present.sum())} of {len(rows):,} texts have a known word; n_topics={self.n_topics!r} needs at "
                f"least {max(least, 2)}"
            )
        known = rows[present]
        some = np.sort(rng.choice(len(known), min(LANDMARKS, len(known)), replace=False))
        seed = int(rng.integers(2**31))
        halves = [] if self.n_topics != "auto" else [self._rows(half) for half in representation.halves(held, rng)]
        self.outliers_ = bool(self.outliers)
        self._start(known, self._mixture(known, some, halves, seed))
        self.temperature_ = best_temperature(known[some], self._joint(known[some]), seed)
        self._describe(held, rows)
        self.phrases_ = self._find_phrases(held)
        self.names_ = self._named()
        return self

    def partial_fit(self, X: Any, y: Any = None, **columns: Any) -> Self:  # noqa: ARG002
        """Add texts to the topics, which move towards them; the first call is :meth:`fit`.

        The number of topics, the words and the names stay those of the fit. ``labels_`` grows by the new texts.
        """
        if not hasattr(self, "labels_"):
            return self.fit(X, **columns)
        held = list(blocks(X, **columns))
        if not sum(map(len, held)):
            return self
        rows = self._rows(held)
        known = rows[rows.any(axis=1)]
        self._add(known, self._joint(known).argmax(axis=1))
        self._describe(held, rows)
        return self

    def transform(self, X: Any, **columns: Any) -> Floats:
        """Return the probability of each topic given each text, (n_docs, n_topics); rows sum to 1.

        They are calibrated by the temperature: a probability p is right in about a share p of cases. Outliers have no
        certain topic; texts without known words have the mixing weights.
        """
        check_is_fitted(self, "labels_")
        return self._probabilities(self.vectors(X, **columns))

    def predict(self, X: Any, **columns: Any) -> NDArray[np.int64]:
        """Return the most likely topic of each text, (n_docs,); -1 for outliers and texts without known words."""
        check_is_fitted(self, "labels_")
        return self._labels(self.vectors(X, **columns))

    def vectors(self, X: Any, **columns: Any) -> Rows:
        """Return the unit vectors by which texts are compared, (n_docs, dim); 0 for a text without known words.

        :func:`parasphere.plots.draw_map` draws them.
        """
        check_is_fitted(self, "labels_")
        return self._rows(list(blocks(X, **columns)))

    def _check_learned(self) -> None:
        super()._check_learned()
        k, dim = self.sums_.shape
        texts = [len(texts) for texts in self.typical_]
        if len(texts) != k or texts != [len(scores) for scores in self.typical_scores_]:
            raise ParasphereError("its typical texts do not fit its topics")
        if len(self.phrases_.shares) != k or len(self.names_) != k:
            raise ParasphereError("its names do not fit its topics")
        if dim != self.encoder_.dim + len(self.axes_) or self.lexical_weight_ > 1 or not self.sizes_.any():
            raise ParasphereError("its topics do not fit the vectors of its texts")
        if not 1 <= self.temperature_ < np.inf:
            raise ParasphereError("its temperature is not a number of at least 1")
        if len(self.labels_) and not -1 <= self.labels_.min() <= self.labels_.max() < k:
            raise ParasphereError("its labels do not fit its topics")

    def _represent(self, held: list[Block], rng: np.random.Generator) -> Rows:
        """Learn the representation of texts, and return theirs, (n_docs, dim)."""
        self.words_, weights = WordWeights.fit(held, Tokenizer(stop_words="english", min_length=2), WORDS)
        self.axes_ = representation.lexical_axes(weights, int(rng.integers(2**31)))
        self.encoder_ = self._encoder(held)
        lexical = representation.lexical_rows(weights, self.axes_)
        if self.lexical_weight == "auto":
            pairs = [self._parts(half) for half in representation.halves(held, rng)]
            self.lexical_weight_ = representation.best_weight(*zip(*pairs, strict=True)) if pairs[0][0].size else 0.4
        else:
            self.lexical_weight_ = float(self.lexical_weight)
        offsets = self.encoder_.transform(held, space="offset")
        return representation.joined(offsets, lexical, self.lexical_weight_)

    def _encoder(self, held: list[Block]) -> Encoder:
        """Return the encoder of the model, which is fitted to the texts if it has none."""
        model = SphericalParagraphModel() if self.model is None else self.model
        if not isinstance(model, Encoder) and not hasattr(model, "encoder_"):
            model = clone(model).fit(held)
        return Encoder.of(model)

    def _find_phrases(self, held: list[Block]) -> Phrases:
        """Return the phrases that may name the topics of the texts."""
        reader = self.encoder_.reader
        spaced = None if reader is None else getattr(reader.tokenizer, "spaced", None)
        return find_phrases(list(chain.from_iterable(block.texts for block in held)), self.labels_, self.tree_, spaced)

    def _parts(self, texts: Any) -> tuple[NDArray[Any], Rows]:
        lexical = representation.lexical_rows(self.words_.weigh(self.words_.counts(texts)), self.axes_)
        return self.encoder_.transform(texts, space="offset"), lexical

    def _rows(self, held: Any) -> Rows:
        return representation.joined(*self._parts(held), self.lexical_weight_)

    def _mixture(self, known: Rows, some: NDArray[np.int64], halves: list[Rows], seed: int) -> NDArray[np.int64]:
        """Divide texts, averaged with neighbours among the landmarks, (some,), into topics, (n,).

        The number of topics is found from the landmarks, and from halves of texts.
        """
        landmarks = known[some]
        means = smoothed(known, landmarks, self.n_neighbours)
        if self.n_topics != "auto":
            return _divided(means, int(self.n_topics), seed)
        drawn = means[some]
        labels = _divided(drawn, max(1, min(MOST, len(drawn) // FEWEST_TEXTS)), seed)
        names, labels = np.unique(labels, return_inverse=True)
        merges = merge_topics(sums_of(landmarks, labels, len(names)), np.bincount(labels).astype(float))
        centres = unit_rows(sums_of(drawn, labels, len(names)))
        averaged = [smoothed(half, landmarks, self.n_neighbours) for half in halves]
        topics = [np.where(half.any(axis=1), (half @ centres.T).argmax(axis=1), -1) for half in averaged]
        k = representation.best_number(topics[0], topics[1], merges)
        return _divided(means, k, seed, sums_of(drawn, merges.groups(k)[labels], k))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


def _divided(means: Rows, k: int, seed: int, starts: Floats | None = None) -> NDArray[np.int64]:
    """Divide unit rows by a mixture with one concentration, from given directions or the best of several starts.

    If there are many rows, the best start is found with some of them.
    """
    if starts is None and len(means) > LANDMARKS:
        some = np.random.default_rng(seed).choice(len(means), LANDMARKS, replace=False)
        labels = _divided(means[np.sort(some)], k, seed)
        starts = sums_of(means[np.sort(some)], labels, k)
    mixture = MovMF(
        k, kappa="shared", init="k-means++" if starts is None else starts, n_init=STARTS, tol=1e-3, random_state=seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a mixture that is still improving is good enough here
        return np.asarray(mixture.fit(means).labels_)
