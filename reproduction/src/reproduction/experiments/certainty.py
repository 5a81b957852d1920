"""Certainty: whether the texts about which the model knows most are those that a classifier gets right.

The test texts are ranked by a measure of certainty that does not see their labels. The *risk* at a coverage of 20 % is
the error of the classifier among the 20 % most certain texts. A measure that knows nothing has the same risk at any
coverage; the lower the area under the curve (AURC), the better a measure tells which texts to trust.

Texts differ in more than how much they say: the short reports of earnings in Reuters are the easiest of all. So each
text is also ranked after all but a random number of its words were removed, which lowers what it says and nothing else.

R. El-Yaniv, Y. Wiener (2010), On the foundations of noise-free selective classification, JMLR 11:1605-1641.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits

from parasphere import SphericalParagraphModel
from parasphere.errors import ParasphereError
from parasphere.model import Posterior, Prior
from parasphere.sphere import vmf
from parasphere.sphere.rows import unit_rows
from parasphere.vectors import WordVectors

from ..datasets import Dataset
from .encoders import WORDS
from .protocol import Fold, Options, choose, folds, scaled

Floats = NDArray[np.float64]
MEASURES = {
    "margin": "margin of the classifier",
    "typicality": "typicality",
    "information": "information",
    "words": "number of words",
    "offset": "length of the offset",
    "concentration": "concentration",
    "chance": "chance",
}
REFERENCE = "words"  # what the other measures have to be better than
DRAWS = 500  # of the bootstrap
LEVELS = (2.5, 97.5)  # per cent: ends of a 95 % interval
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)  # words of which the information is measured
SHOWN = 1000  # texts of each size, at most
FEWEST = 30  # texts of a size, if their mean is to be shown
ROWS = 1024  # texts compared with a corpus at a time
# Chosen by cross-validation within training texts: 5 to 20, and 3 or 10.
KERNEL, HALF = 10.0, 3.0


class Ranking(NamedTuple):
    """Test texts with what is known of them: (n,) whether the prediction was wrong, and (n,) per measure."""

    wrong: NDArray[np.bool_]
    certainty: dict[str, Floats]


class Area(NamedTuple):
    """Area under a risk-coverage curve, with 95 % intervals of it and of its difference from the reference's."""

    value: float
    low: float
    high: float
    difference: tuple[float, float]


class Growth(NamedTuple):
    """Information of texts of a given number of words, in nats.

    Attributes
    ----------
    words : list of int
    texts, texts_std : list of float or None
        Mean and standard deviation over the texts of the corpus, cut to so many words; None if too few are that long.
    drawn : list of float
        Mean over words that were drawn from the whole corpus.
    expected : list of float
        See :func:`expected_information`.
    """

    words: list[int]
    texts: list[float | None]
    texts_std: list[float | None]
    drawn: list[float]
    expected: list[float]


def risk_coverage(certainty: ArrayLike, wrong: ArrayLike) -> Floats:
    """Return the error among the 1, 2, ..., n most certain texts, (n,).

    Texts of equal certainty are in random order, and the error is the expected one.

    Parameters
    ----------
    certainty : (n,) array
    wrong : (n,) array of bool

    Examples
    --------
    >>> risk_coverage([3, 2, 1], [False, False, True]).round(2).tolist()
    [0.0, 0.0, 0.33]
    >>> risk_coverage([1, 1, 1, 1], [True, False, False, False]).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    groups, errors = _groups(certainty, wrong)
    return _risk(groups, errors, np.ones(len(errors)))


def area(certainty: ArrayLike, wrong: ArrayLike) -> float:
    """Return the area under the risk-coverage curve: the mean of :func:`risk_coverage`."""
    return float(risk_coverage(certainty, wrong).mean())


def areas(ranking: Ranking, *, draws: int = DRAWS, seed: int = 0) -> dict[str, Area]:
    """Return the area of each measure, with intervals by the bootstrap over test texts.

    All measures are given the same draws, so that their differences vary less than the areas.
    """
    rng = np.random.default_rng(seed)
    n = len(ranking.wrong)
    counts = rng.multinomial(n, np.full(n, 1 / n), size=draws).astype(np.float64)
    drawn = {}
    for name, certainty in ranking.certainty.items():
        groups, errors = _groups(certainty, ranking.wrong)
        drawn[name] = np.array([_risk(groups, errors, count).mean() for count in counts])
    result = {}
    for name, values in drawn.items():
        low, high = np.percentile(values, LEVELS)
        less, more = np.percentile(values - drawn[REFERENCE], LEVELS)
        value = area(ranking.certainty[name], ranking.wrong)
        result[name] = Area(value, float(low), float(high), (float(less), float(more)))
    return result


def rank(dataset: Dataset, vectors: WordVectors, options: Options | None = None, *, cut: bool = False) -> Ranking:
    """Predict the test texts of all folds by the protocol, and measure the certainty of each.

    Parameters
    ----------
    dataset : Dataset
    vectors : WordVectors
    options : Options, default=None
        Of the protocol; its classifier must be linear.
    cut : bool, default=False
        Keep a random number of words of each test text, uniform in its logarithm, and remove the others.
    """
    options = options or Options()
    if options.classifier != "liblinear":
        raise ParasphereError(f"certainty is measured with the classifier 'liblinear', not {options.classifier!r}")
    parts = [_rank(dataset, vectors, fold, options, cut) for fold in folds(dataset, options.seed)]
    certainty = {name: np.concatenate([part.certainty[name] for part in parts]) for name in MEASURES}
    return Ranking(np.concatenate([part.wrong for part in parts]), certainty)


def typicality(offsets: ArrayLike, lengths: ArrayLike, corpus: ArrayLike) -> Floats:
    """Return how much each text is like texts of a corpus, (n,): 0 for an empty text, and rarely less.

    It is the logarithm of a mean of vMF kernels around the offsets ``y`` of the corpus's texts::

        log mean exp(10 l / (l + 3) cos(x, y))

    where the number of words ``l`` tempers the cosine: that of a text of three words counts half.

    Parameters
    ----------
    offsets : (n, dim) array
    lengths : (n,) array
        Number of known words of each.
    corpus : (n_docs, dim) array
        Offsets of the texts of the corpus.

    Examples
    --------
    >>> typicality([[1, 0], [0, 1], [0, 0]], [30, 30, 0], [[1, 0], [2, 0.1], [0, 1]]).round(1).tolist()
    [8.7, 8.0, 0.0]
    """
    one, other, words = (
        unit_rows(np.asarray(offsets, float)),
        unit_rows(np.asarray(corpus, float)),
        np.asarray(lengths, float),
    )
    result = np.empty(len(one))
    for begin in range(0, len(one), ROWS):
        part = slice(begin, begin + ROWS)
        scale = KERNEL * words[part] / (words[part] + HALF)
        result[part] = np.log(np.exp(scale[:, None] * (one[part] @ other.T)).mean(axis=1))
    return result


def expected_information(prior: Prior, n_words: ArrayLike, dim: int) -> Floats:
    r"""Return the information that the model expects of texts of so many words, in nats.

    Notes
    -----
    Words of the mean concentration :math:`\kappa`, whose mean cosine is :math:`\rho`, raise the concentration from
    :math:`\kappa_0` to about :math:`\kappa' = \kappa_0 + n \kappa \rho`. The variance across the direction falls from
    :math:`A(\kappa_0)/\kappa_0` to :math:`A(\kappa')/\kappa'` along each of :math:`K - 1` axes, which is

    .. math:: \frac{K - 1}{2} \log \frac{A(\kappa_0) / \kappa_0}{A(\kappa') / \kappa'}

    nats, as for a normal distribution.
    """
    words = np.asarray(n_words, np.float64)
    kappa = float(vmf.invert(np.array([prior.cosine]), dim)[0])
    start = np.array([max(prior.concentration, 1e-9)])
    ends = start + words * kappa * prior.cosine
    before, after = (np.log(np.asarray(vmf.mean_length(at, dim)) / at) for at in (start, ends))
    return np.asarray((dim - 1) / 2 * (before - after))


def growth(dataset: Dataset, vectors: WordVectors, options: Options | None = None) -> Growth:
    """Measure how the information of a text grows with its words, on the training texts of the first fold."""
    options = options or Options()
    texts = [dataset.texts[i] for i in folds(dataset, options.seed)[0].train]
    model = _model(vectors, options).fit(texts)
    rng = np.random.default_rng(options.seed)
    known = set(vectors.words)
    words = [[word for word in text if word in known] for text in _split(texts)]
    pool = np.array([word for text in words for word in text])

    def measured(some: Sequence[Sequence[str]]) -> Floats:
        return np.asarray(model.posterior([" ".join(text) for text in some]).information)

    long = [[text[:size] for text in words if len(text) >= size][:SHOWN] for size in SIZES]
    found = [measured(some) if len(some) >= FEWEST else None for some in long]
    return Growth(
        words=list(SIZES),
        texts=[None if some is None else float(some.mean()) for some in found],
        texts_std=[None if some is None else float(some.std()) for some in found],
        drawn=[float(measured(list(rng.choice(pool, (SHOWN, size)))).mean()) for size in SIZES],
        expected=expected_information(model.encoder_.prior, SIZES, vectors.dim).tolist(),
    )


def _rank(dataset: Dataset, vectors: WordVectors, fold: Fold, options: Options, cut: bool) -> Ranking:
    seen, unseen = ([dataset.texts[i] for i in places] for places in fold)
    if cut:
        rng = np.random.default_rng(options.seed)
        unseen = [_cut(words, rng) for words in _split(unseen)]
    with threadpool_limits(1):
        model = _model(vectors, options).fit(seen)
        known, asked = model.posterior(seen), model.posterior(unseen)
        rows, others = scaled(known.vectors("offset"), asked.vectors("offset"))
        machine, _ = choose(rows, dataset.labels[fold.train], options)
        certainty = _certainty(asked, known, machine.scores(others))
        wrong = np.asarray(machine.predict(others) != dataset.labels[fold.test])
    return Ranking(wrong, certainty)


def _model(vectors: WordVectors, options: Options) -> SphericalParagraphModel:
    return SphericalParagraphModel(vectors, adapt=False, tokenizer=WORDS, random_state=options.seed)


def _certainty(asked: Posterior, known: Posterior, decisions: Floats) -> dict[str, Floats]:
    """Return each measure of the texts asked about, (n,), given the texts of the corpus and the classifier's values."""
    if decisions.shape[1] == 1:  # of two labels
        decisions = np.concatenate([-decisions, decisions], axis=1)
    best = np.sort(decisions, axis=1)[:, -2:]
    return {
        "margin": np.abs(best[:, 1] - best[:, 0]),
        "typicality": typicality(asked.offset, asked.length, known.offset),
        "information": asked.information,
        "words": asked.length,
        "offset": np.linalg.norm(asked.offset.astype(np.float64), axis=1),
        "concentration": asked.concentration,
        "chance": np.zeros(len(asked)),
    }


def _split(texts: Sequence[str]) -> list[list[str]]:
    return WORDS.split(texts)


def _cut(words: list[str], rng: np.random.Generator) -> str:
    """Return a random number of words, in random order; none of them is more likely to stay than another."""
    kept = int(np.exp(rng.uniform(0, np.log(len(words) + 1))))
    return " ".join(words[i] for i in rng.permutation(len(words))[:kept])


def _groups(certainty: ArrayLike, wrong: ArrayLike) -> tuple[NDArray[np.int64], Floats]:
    """Return the place of each text among the distinct certainties, the highest first, and its error as a number."""
    values, errors = np.asarray(certainty, np.float64), np.asarray(wrong, np.float64)
    if values.ndim != 1 or values.shape != errors.shape or not len(values):
        raise ParasphereError(
            f"certainties and errors must be two arrays (n,) with n >= 1, not of shapes {values.shape} and "
            f"{errors.shape}"
        )
    if np.isnan(values).any():
        raise ParasphereError(f"the certainty of text {int(np.isnan(values).argmax())} (from 0) is not a number")
    return np.unique(-values, return_inverse=True)[1].astype(np.int64), errors


def _risk(groups: NDArray[np.int64], errors: Floats, counts: Floats) -> Floats:
    """Return the risk at each coverage, (n,), of texts that are counted so many times each."""
    ends = np.cumsum(np.bincount(groups, counts))
    total = np.cumsum(np.bincount(groups, counts * errors))
    places = np.arange(1, round(ends[-1]) + 1)
    return np.asarray(np.interp(places, np.r_[0, ends], np.r_[0, total]) / places)
