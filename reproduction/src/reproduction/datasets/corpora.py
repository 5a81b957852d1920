"""The corpora of the paper, read by scikit-learn and NLTK."""

from collections import Counter
from functools import cache
from importlib import import_module
from typing import Any
from zipfile import ZipFile

import numpy as np

from parasphere.datasets import Dataset
from parasphere.errors import CorpusError

# The paper's three subsets of 20 Newsgroups, after Banerjee and Basu (2007).
SUBSETS = {
    "different": ["alt.atheism", "rec.sport.baseball", "sci.space"],
    "similar": ["rec.sport.baseball", "talk.politics.guns", "talk.politics.misc"],
    "same": ["comp.graphics", "comp.os.ms-windows.misc", "comp.windows.x"],
}
LARGEST = 10  # categories of Reuters that the paper keeps


def newsgroups(subset: str | None, headers: bool = False) -> Dataset:
    """Return 20 Newsgroups, or one of the paper's subsets: split by date, without headers or with them."""
    parts = _newsgroups(headers)
    everything = list(parts[0].target_names)
    groups = everything if subset is None else SUBSETS[subset]
    wanted = np.array([everything.index(group) for group in groups])
    kept = [np.flatnonzero(np.isin(part.target, wanted)) for part in parts]
    chosen = [(part, int(i)) for part, places in zip(parts, kept, strict=True) for i in places]
    return Dataset(
        name="-".join(["20news", *([subset] if subset else []), *(["headers"] if headers else [])]),
        texts=[part.data[i] for part, i in chosen],
        labels=np.array([groups.index(everything[part.target[i]]) for part, i in chosen]),
        label_names=groups,
        ids=["/".join(str(part.filenames[i]).replace("\\", "/").split("/")[-2:]) for part, i in chosen],
        licence="free for research; the authors of the messages hold their rights",
        citation="K. Lang (1995). NewsWeeder: learning to filter netnews. By-date version of J. Rennie.",
        train=np.repeat([True, False], [len(places) for places in kept]),
    )


@cache
def _newsgroups(headers: bool) -> list[Any]:
    """Read the training and the test part, once: scikit-learn takes seconds to unpack its cache."""
    from sklearn.datasets import fetch_20newsgroups

    how = {"remove": () if headers else ("headers",), "shuffle": False, "download_if_missing": False}
    try:
        return [fetch_20newsgroups(subset=part, **how) for part in ("train", "test")]
    except OSError:
        raise CorpusError(
            "20 Newsgroups (14 MB; free for research) is not in scikit-learn's cache. Fetch it once with:  "
            "python -c 'import sklearn.datasets as d; d.fetch_20newsgroups(subset=\"all\")'  "
            "or name the cache that has it in SCIKIT_LEARN_DATA."
        ) from None


def reuters() -> Dataset:
    """Return Reuters-21578 (ApteMod): documents of one category, of the ten largest such categories."""
    corpus = _nltk("reuters", "Reuters-21578, ApteMod", "6 MB; research use only")
    # Two lines of the index repeat a label, so that categories are compared as sets.
    categories = {name: set(corpus.categories(name)) for name in corpus.fileids()}
    single = {name: next(iter(labels)) for name, labels in categories.items() if len(labels) == 1}
    largest = [category for category, _ in Counter(single.values()).most_common(LARGEST)]
    kept = [name for name, category in single.items() if category in largest]
    label_names = sorted(largest)
    return Dataset(
        name="reuters-10",
        texts=_raw(corpus, kept),
        labels=np.array([label_names.index(single[name]) for name in kept]),
        label_names=label_names,
        ids=kept,
        licence="research use only",
        citation="D. D. Lewis (1997). Reuters-21578 text categorization test collection; ApteMod split.",
        train=np.array([name.startswith("training/") for name in kept]),
    )


def subjectivity() -> Dataset:
    """Return Subj: sentences of plot summaries (objective) and of reviews (subjective)."""
    corpus = _nltk("subjectivity", "Subj", "0.5 MB; CC BY 4.0")
    citation = "B. Pang and L. Lee (2004). A sentimental education. ACL."
    files = {"objective": "plot.tok.gt9.5000", "subjective": "quote.tok.gt9.5000"}
    return _sentences("subj", corpus, files, "CC BY 4.0", citation)


def movie_reviews() -> Dataset:
    """Return MR: sentences of reviews, negative or positive."""
    corpus = _nltk("sentence_polarity", "MR, sentence polarity", "0.5 MB; free for research")
    citation = "B. Pang and L. Lee (2005). Seeing stars. ACL."
    files = {"negative": "rt-polarity.neg", "positive": "rt-polarity.pos"}
    return _sentences("mr", corpus, files, "free for research", citation)


def _sentences(name: str, corpus: Any, files: dict[str, str], licence: str, citation: str) -> Dataset:
    """Read one file of sentences per label."""
    lines = {label: corpus.raw(file).rstrip("\n").split("\n") for label, file in files.items()}
    return Dataset(
        name=name,
        texts=[line for part in lines.values() for line in part],
        labels=np.repeat(np.arange(len(lines)), [len(part) for part in lines.values()]),
        label_names=list(lines),
        ids=[f"{files[label]}:{number}" for label, part in lines.items() for number in range(1, len(part) + 1)],
        licence=licence,
        citation=citation,
    )


def _raw(corpus: Any, names: list[str]) -> list[str]:
    """Return files of an NLTK corpus; those of an archive by opening it once, where NLTK opens it for every file."""
    root = corpus.root
    if not hasattr(root, "zipfile"):
        return [corpus.raw(name) for name in names]
    with ZipFile(root.zipfile.filename) as archive:
        return [archive.read(root.entry + name).decode(corpus.encoding(name)) for name in names]


def _nltk(name: str, title: str, facts: str) -> Any:
    corpus = getattr(import_module("nltk.corpus"), name)
    try:
        corpus.fileids()
    except LookupError:
        raise CorpusError(
            f"{title} ({facts}) is not among NLTK's data. Fetch it once with:  python -m nltk.downloader {name}  "
            "or name the folder that has it in NLTK_DATA."
        ) from None
    return corpus
