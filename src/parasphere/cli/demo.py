"""``parasphere demo``: the model on texts and vectors that come with the library."""

import shutil
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

from .. import datasets
from ..errors import MissingExtraError
from ..model import Reader
from ..model.estimator import SphericalParagraphModel
from ..topics import SphericalTopics
from ..vectors import ENGLISH, WordVectors, default_tokenizer
from .common import BOLD, show, show_table

QUERY = "Design a low-pass filter for a digital signal"
NEIGHBOUR = "scipy.stats.ttest_ind"
SHORTEST = 20  # fewest words after the first sentence of a docstring
WIDTH = 24  # of the names on the left
TITLE = "The docstrings of numpy, scipy and scikit-learn"


def run(picture: Path) -> None:
    """Fit the model, print what it learned, and draw the map."""
    corpus = datasets.load("docstrings")
    model = SphericalParagraphModel()
    plain = WordVectors.load(ENGLISH)
    start = time.perf_counter()
    posterior = model.fit(corpus.texts).posterior(corpus.texts)
    seconds = time.perf_counter() - start
    assert model.vectors_ is not None

    coverage = plain.coverage(corpus.texts, model.encoder_.text_reader.tokenizer)
    _print("The corpus", f"{len(corpus):,} documents with {len(corpus.label_names)} labels. {corpus.citation}")
    commonest = ", ".join(word for word, _ in coverage.unknown[:6])
    _print("The words", f"{coverage.tokens:,}; {1 - coverage.share:.1%} of them have no vector in "
           f"{plain.name} ({commonest}, ...); the model adds {len(model.vectors_) - len(plain):,}")  # fmt: skip
    _print("Learned", f"in {seconds:.2f} s: {plain.name} adapted to the texts, then {model.n_iter_} EM iterations")
    _print("kappa", f"documents scatter about the corpus direction with kappa0 = {model.concentration_:.0f}; the "
           f"mean cosine of a word with its document is {model.word_cosine_:.2f}")  # fmt: skip
    sure, unsure = int(posterior.concentration.argmax()), int(posterior.concentration.argmin())
    for name, doc in (("Most certain", sure), ("Least certain", unsure)):
        _print(name, f"{corpus.ids[doc]}: kappa' = {posterior.concentration[doc]:,.0f} from "
               f"words of total weight {posterior.length[doc]:,.0f}")  # fmt: skip
    doc = corpus.ids.index(NEIGHBOUR)
    matches = model.similar(corpus.texts[doc], posterior, 6)[1:]
    _print(f"Similar to {NEIGHBOUR.split('.')[-1]}", ", ".join(corpus.ids[match.position] for match in matches))
    show("")
    _print_findings(corpus)
    _print_search(model, corpus)
    topics = SphericalTopics(model).fit(corpus.texts)
    _print_topics(topics)
    try:
        from ..plots import draw_map

        rows, large = topics.vectors(corpus.texts), topics.at(topics.levels_[0]).names()
        draw_map(picture, rows, topics.names(), large=large, title=TITLE)
        show(f"\nThe map of all documents is in {picture}.")
    except MissingExtraError as error:
        show(f"\nNo map: {error}")


def _print_search(model: SphericalParagraphModel, corpus: datasets.Dataset) -> None:
    """Print the matches of a query, and the words that contribute most to the first."""
    matches = model.index(corpus.texts, corpus.ids).search(QUERY, 5)
    show("")
    _print("A search", f"'{QUERY}' finds {', '.join(str(match.id) for match in matches)}")
    match = model.explain_match(QUERY, corpus.texts[matches[0].position])
    for name, words in (("Words of the query", match.words_a), ("Words of the first", match.words_b)):
        parts: dict[str, float] = {}
        for word, part in words:
            parts[word] = parts.get(word, 0.0) + part
        best = sorted(parts.items(), key=lambda item: -item[1])[:5]
        _print(name, ", ".join(f"{word} {part:+.2f}" for word, part in best))


def _print_topics(topics: SphericalTopics) -> None:
    """Print the names of the topics, the largest first."""
    _print("Topics", f"{len(topics.weights_)} of them, found without labels, and named by phrases of their texts:")
    sizes = np.bincount(topics.labels_[topics.labels_ >= 0], minlength=len(topics.weights_))
    for size, name in zip(sizes, topics.names_, strict=True):
        _print("", f"{size:4d}  {name}")


def _print(name: str, text: str) -> None:
    """Print a name and, beside it, lines of text."""
    width = max(20, shutil.get_terminal_size().columns - WIDTH)
    for line in textwrap.wrap(text, width):
        show((f"{name:{WIDTH}}", BOLD), line)
        name = ""


def _print_findings(corpus: datasets.Dataset) -> None:
    """Compare how often the first sentence of a docstring ranks the rest of it first."""
    halves = [
        (name, *text.split("\n\n", 1)) for name, text in zip(corpus.ids, corpus.texts, strict=True) if "\n\n" in text
    ]
    halves = [half for half in halves if half[1].endswith(".") and len(half[2].split()) >= SHORTEST]
    names, queries, texts = (list(column) for column in zip(*halves, strict=True))
    own = np.arange(len(names))
    plain, model = SphericalParagraphModel(adapt=False).fit(texts), SphericalParagraphModel().fit(texts)
    index = model.index(texts, names)
    words, vectors = default_tokenizer(), WordVectors.load(ENGLISH)
    tfidf, reader = TfidfVectorizer(analyzer=words, sublinear_tf=True).fit(texts), Reader(vectors, words)
    best = {
        f"plain average, {vectors.dim} dimensions": _best(reader.read(queries).sums, reader.read(texts).sums),
        f"SPM, {vectors.dim} dimensions, adapt=False": _best(plain.transform(queries), plain.transform(texts)),
        f"SPM, {vectors.dim} dimensions, adapted": _best(model.transform(queries), model.transform(texts)),
        f"tf-idf, {len(tfidf.vocabulary_):,} dimensions": _best(tfidf.transform(queries), tfidf.transform(texts)),
        "SPM and BM25 together, as model.index does": [names.index(one.id) for (one,) in index.search(queries, 1)],
    }
    show(f"How often does the first sentence of a docstring find the rest of it before {len(names) - 1:,} others?")
    show_table([], [(name, f"{np.mean(found == own):.1%}") for name, found in best.items()])


def _best(queries: Any, texts: Any) -> NDArray[np.int64]:
    """Return the position of the text with the largest cosine, for each query."""
    cosines = normalize(queries) @ normalize(texts).T
    return np.asarray(cosines.argmax(axis=1)).ravel()
