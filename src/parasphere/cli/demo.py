"""``parasphere demo``: the model on texts and vectors that come with the library."""

import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.svm import LinearSVC

from .. import datasets
from ..baselines import MeanOfVectors
from ..errors import MissingExtraError
from ..features import Bags
from ..model import Posterior, SphericalParagraphModel
from ..text import Vocabulary, count_matrix, count_words
from ..topics import SphericalTopics
from ..vectors import default_tokenizer

QUERY = "Design a low-pass filter for a digital signal"
NEIGHBOUR = "scipy.stats.ttest_ind"
TITLE = "Docstrings of numpy, scipy and scikit-learn: colours are their areas, names the topics that were found"


def show(out: Console, picture: Path) -> None:
    """Fit the model, print what it learned, and draw the map."""
    corpus = datasets.load("docstrings")
    model = SphericalParagraphModel()
    _learn(model, corpus.texts[:100])  # loads the vectors, and compiles in the first run
    start = time.perf_counter()
    bags, posterior = _learn(model, corpus.texts)
    seconds = time.perf_counter() - start
    assert model.vectors_ is not None

    coverage = model.vectors_.coverage(corpus.texts)
    _print(out, "The corpus", f"{len(corpus):,} documents with {len(corpus.label_names)} labels. {corpus.citation}")
    commonest = ", ".join(word for word, _ in coverage.unknown[:6])
    _print(out, "The words", f"{coverage.tokens:,}; {1 - coverage.share:.1%} of them have no vector in "
           f"{model.vectors_.name} ({commonest}, ...)")  # fmt: skip
    _print(out, "Learned", f"in {seconds:.2f} s and {model.n_iter_} EM iterations, text to vectors: "
           f"{sum(map(len, corpus.texts)) / 1e6 / seconds:.2g} MB/s")  # fmt: skip
    _print(out, "kappa", f"documents scatter about the corpus direction with kappa0 = {model.concentration_:.0f}; the "
           f"mean cosine of a word with its document is {model.word_cosine_:.2f}")  # fmt: skip
    sure, unsure = int(posterior.concentration.argmax()), int(posterior.concentration.argmin())
    for name, doc in (("Most certain", sure), ("Least certain", unsure)):
        _print(out, name, f"{corpus.ids[doc]}: kappa' = {posterior.concentration[doc]:,.0f} from "
               f"words with a weight of {posterior.length[doc]:,.0f}")  # fmt: skip
    doc = corpus.ids.index(NEIGHBOUR)
    matches = model.similar(corpus.texts[doc], posterior, 6)[1:]
    _print(out, f"Similar to {NEIGHBOUR.split('.')[-1]}", ", ".join(corpus.ids[match.position] for match in matches))
    out.print()
    out.print(_accuracies(model, bags, corpus))
    _remember(out, model, corpus)
    topics = SphericalTopics(model).fit(corpus.texts)
    _print_topics(out, topics)
    try:
        from ..plots import draw_map

        labels = [corpus.label_names[label] for label in corpus.labels]
        draw_map(picture, topics.vectors(corpus.texts), posterior.mean_length, labels, topics=topics.names(),
                        title=TITLE, ids=corpus.ids, texts=corpus.texts)  # fmt: skip
        out.print(f"\nThe map of all documents is in {picture}.", soft_wrap=True)
    except MissingExtraError as error:
        out.print(f"\nNo map: {error}", soft_wrap=True)


def _remember(out: Console, model: SphericalParagraphModel, corpus: datasets.Dataset) -> None:
    """Print what a query finds, and the words by which it finds the first."""
    matches = model.index(corpus.texts, corpus.ids).search(QUERY, 5)
    out.print()
    _print(out, "A search", f"'{QUERY}' finds {', '.join(match.id for match in matches)}")
    found = corpus.texts[corpus.ids.index(matches[0].id)]
    match = model.explain_match(QUERY, found)
    for name, words in (("Its words", match.words_a), ("Words that match", match.words_b)):
        parts: dict[str, float] = {}
        for word, part in words:
            parts[word] = parts.get(word, 0.0) + part
        best = sorted(parts.items(), key=lambda item: -item[1])[:5]
        _print(out, name, ", ".join(f"{word} {part:+.2f}" for word, part in best))


def _print_topics(out: Console, topics: SphericalTopics) -> None:
    """Print the topics in their own words, the largest first."""
    _print(out, "Topics", f"{len(topics.weights_)} of them, found without labels, in their own words:")
    sizes = np.bincount(topics.labels_[topics.labels_ >= 0], minlength=len(topics.weights_))
    for size, words in zip(sizes, topics.topic_words(6), strict=True):
        _print(out, "", f"{size:4d}  {', '.join(words)}")


def _learn(model: SphericalParagraphModel, texts: list[str]) -> tuple[Bags, Posterior]:
    """Read the texts, fit the model, and return the bags and posteriors."""
    bags = model.read(texts)
    return bags, model.fit(bags).posterior(bags)


def _print(out: Console, name: str, text: str) -> None:
    table = Table.grid(padding=(0, 2))
    table.add_column(width=20, style="bold")
    table.add_row(name, text)
    out.print(table)


def _accuracies(model: SphericalParagraphModel, bags: Bags, corpus: datasets.Dataset) -> Table:
    """Compare vectors by a linear SVM in the same five folds."""
    table = Table("", "dimensions", "accuracy", title="Which area is a docstring from? (linear SVM, 5 folds)")
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    means = MeanOfVectors(model.vectors_).fit_transform(corpus.texts)
    words, _ = count_words(corpus.texts, default_tokenizer())
    counts = count_matrix(corpus.texts, Vocabulary(words[:5000]), default_tokenizer())
    # Encoders are fitted to the training folds only; means and counts have nothing to fit.
    rows: list[tuple[str, Any, Any]] = [
        ("SPM", bags, SphericalParagraphModel(model.vectors_)),
        ("plain average", means, Normalizer()),
        ("bag of words, tf-idf", counts, TfidfTransformer()),
    ]
    for name, data, encoder in rows:
        pipeline = make_pipeline(encoder, LinearSVC(C=10.0, random_state=0))
        scores = cross_val_score(pipeline, data, corpus.labels, cv=folds)
        width = bags.dim if name != rows[2][0] else counts.shape[1]
        table.add_row(name, f"{width:,}", f"{scores.mean():.1%}")
    return table
