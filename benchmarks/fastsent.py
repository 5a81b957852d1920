"""Learning from ordered text: FastSent beside gensim's word2vec on the same tokens, one thread each.

Run with ``python -m benchmarks.fastsent``. The text is the training part of 20 Newsgroups if scikit-learn's cache has
it, otherwise the embedded docstrings. Sentences are split once, before the clock starts, and both learn 100 dimensions
from the same words, those that occur at least five times.
"""

from benchmarks.measure import best, table

from typing import Any

import numpy as np
from gensim.models import Word2Vec

from benchmarks.model import corpus
from parasphere import Tokenizer
from reproduction.baselines.fastsent import FastSent
from reproduction.baselines.sentences import OrderedText
from parasphere.text import Vocabulary

DIM, MIN_COUNT, NEGATIVE, SAMPLE = 100, 5, 5, 1e-3
BAR = 0.5  # of word2vec's words per second


def run() -> dict[str, Any]:
    name, texts = corpus()
    text = OrderedText.read([line for document in texts for line in (" ".join(document.split()), "")])
    words, counts = text.count_words(Tokenizer())
    n_words = int((counts >= MIN_COUNT).sum())
    vocabulary = Vocabulary(words[:n_words])
    sentences = text.ids(vocabulary, Tokenizer()).known()
    lists = [
        [words[i] for i in sentences.ids[begin:end]]
        for begin, end in zip(sentences.begins, sentences.ends, strict=True)
    ]

    def ours(**given: Any) -> None:
        model = FastSent(DIM, min_count=MIN_COUNT, sample=SAMPLE, negative=NEGATIVE, epochs=1, random_state=0, **given)
        model._learn(sentences, counts[:n_words])

    def theirs(skip_gram: int) -> Any:
        model = Word2Vec(
            vector_size=DIM, min_count=1, sample=SAMPLE, negative=NEGATIVE, window=5, sg=skip_gram, workers=1, seed=0
        )
        model.build_vocab(lists)
        return lambda: model.train(lists, total_examples=len(lists), epochs=1)

    ours()  # compiled before the clock starts
    seconds = {
        "parasphere FastSent": best(ours, 3),
        "parasphere FastSent, own words too": best(lambda: ours(autoencode=True), 3),
        "gensim word2vec, skip-gram": best(theirs(1), 3),
        "gensim word2vec, CBOW": best(theirs(0), 3),
    }
    return {
        "corpus": name, "sentences": len(sentences), "words": len(sentences.ids),
        "mean_length": float(np.diff(sentences.ends, prepend=0).mean()), "vocabulary": n_words, "seconds": seconds,
    }  # fmt: skip


def report(result: dict[str, Any]) -> str:
    """Return the result as Markdown."""
    fastest = result["seconds"]["parasphere FastSent"]
    rows = [
        [name, f"{value:.2f}", f"{result['words'] / value:,.0f}", f"{value / fastest:.2f}"]
        for name, value in result["seconds"].items()
    ]
    return "\n\n".join([
        f"{result['corpus']}: {result['sentences']:,} sentences of {result['mean_length']:.1f} words, "
        f"{result['vocabulary']:,} different ones. One pass, {DIM} dimensions, {NEGATIVE} noise words, one thread; "
        f"bar: FastSent learns at least {BAR} times as many words per second as word2vec.",
        table(["", "s", "words per second", "time over FastSent's"], rows),
    ])  # fmt: skip


if __name__ == "__main__":
    print(report(run()))
