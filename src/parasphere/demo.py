"""What ``parasphere demo`` shows: the whole road of a text, on what is embedded."""

import time

import numpy as np
from rich.console import Console

from . import datasets
from .bags import Bags
from .tokens import Tokenizer
from .vectors import WordVectors


def show(out: Console) -> None:
    """Read the embedded texts with the embedded vectors, and print what there is to see."""
    corpus = datasets.load("docstrings")
    vectors = WordVectors.load()
    tokenizer = Tokenizer(stop_words="english")
    out.print(f"[bold]{len(corpus):,} texts[/]: {corpus.citation}")
    out.print(f"[bold]{len(vectors):,} words[/]: {vectors.name}, {vectors.dim} dimensions")
    for word in ("matrix", "probability"):
        out.print(f"  near [bold]{word}[/]: {', '.join(near for near, _ in vectors.nearest(word, 6))}")

    start = time.perf_counter()
    bags = Bags.from_texts(corpus.texts, vectors, tokenizer=tokenizer)
    seconds = time.perf_counter() - start
    known = int(bags.lengths.sum())
    share = known / (known + int(bags.unknown.sum()))
    out.print(f"[bold]{known:,} words read[/] in {seconds:.2f} s; {share:.1%} have a vector")

    # The resultant length: how much a text's words agree on one direction.
    agreement = np.sqrt(bags.squared_norms) / np.maximum(bags.lengths, 1)
    long = np.flatnonzero(bags.lengths >= 50)
    for which, doc in (("most", long[agreement[long].argmax()]), ("least", long[agreement[long].argmin()])):
        out.print(f"  words that agree {which}: {corpus.ids[doc]} (resultant length {agreement[doc]:.2f})")

    directions = bags.sums / np.sqrt(np.maximum(bags.squared_norms, 1e-12))[:, None]
    doc = corpus.ids.index("scipy.signal.firwin")
    nearest = np.argsort(-(directions @ directions[doc]))[1:6]
    out.print(f"  texts near {corpus.ids[doc]}: {', '.join(corpus.ids[i] for i in nearest)}")
