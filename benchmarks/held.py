"""Joint learning that starts from good sentence vectors: how much it keeps, by ``start_strength``.

Run with ``python -m benchmarks held``; it takes a quarter of an hour and needs the sentence pairs of the STS benchmark
(PARASPHERE_TASKS), a text (PARASPHERE_BENCH_TEXT) and the table of WordLlama (``pip install --no-deps wordllama``).
Vectors are learned with ``JointVectors(start_strength=..., weigh=False)`` from the sentences of the training part, or
from those of 30,000 paragraphs of Wikipedia; then SPM is fitted to the sentences of the training part. The measure is
Spearman's correlation. The report has it on the test part for one strength only: the best on the training and
development parts when learning from the sentences. The JSON file has all.
"""

from benchmarks.measure import table

import re
from typing import Any

import numpy as np
from scipy.stats import spearmanr
from sklearn.base import clone

from benchmarks.search import paragraphs
from parasphere import JointVectors, SphericalParagraphModel, Tokenizer, WordVectors
from reproduction.datasets import SentencePairs, sentence_pairs
from parasphere.places import ENGLISH, WORDLLAMA
from parasphere.text import count_words

PARTS = ("train", "dev", "test")
WORDS = Tokenizer(digits=True)
HERE, ELSEWHERE = "the sentences", "Wikipedia"
STRENGTHS = (0.0, 1e3, 1e4, 1e5, 1e6)
SEEDS = range(3)
PARAGRAPHS = 30_000
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")


def run() -> dict[str, Any]:
    """Return the correlations on each part, of given vectors and of those learned from each text with each strength."""
    parts = {part: sentence_pairs(part) for part in PARTS}
    sentences = parts["train"].first + parts["train"].second
    texts = {HERE: sentences, ELSEWHERE: _sentences()}
    words = count_words([text for part in parts.values() for text in part.first + part.second], WORDS)[0]
    words += count_words(texts[ELSEWHERE], WORDS)[0]
    composed = WordVectors.load(WORDLLAMA, words=words)
    given = {
        ENGLISH: (WordVectors.load(ENGLISH), SphericalParagraphModel(adapt=False)),
        WORDLLAMA: (composed, SphericalParagraphModel(adapt=False, tokenizer=WORDS, whiten=False)),
    }
    rows: dict[str, Any] = {}
    for name, (vectors, model) in given.items():
        rows[name] = {"given": _correlations(model, vectors, parts)}
        for text, learned_from in texts.items():
            for strength in STRENGTHS:
                found = []
                for seed in SEEDS:
                    learner = JointVectors(
                        start=vectors, start_strength=strength, weigh=False, random_state=seed, n_jobs=-1
                    )
                    found.append(_correlations(model, learner.fit(learned_from).vectors_, parts))
                rows[name][f"{text}, {strength:.0f}"] = found
                print(name, text, strength, np.round(100 * np.mean(found, axis=0)[:2], 2), flush=True)
    return {"rows": rows, "sentences": len(sentences), "of Wikipedia": len(texts[ELSEWHERE])}


def _sentences() -> list[str]:
    return [sentence for text in paragraphs(PARAGRAPHS) for sentence in SENTENCE.split(text) if len(sentence) > 20]


def _correlations(model: SphericalParagraphModel, vectors: WordVectors, parts: dict[str, SentencePairs]) -> list[float]:
    """Fit SPM to the sentences of the training part, and return the rank correlation on each part."""
    fitted = clone(model).set_params(vectors=vectors).fit(parts["train"].first + parts["train"].second)
    found = []
    for part in parts.values():
        one, other = fitted.transform(part.first), fitted.transform(part.second)
        found.append(float(spearmanr((one * other).sum(axis=1), part.scores).statistic))
    return found


def report(result: dict[str, Any]) -> str:
    """Return a table per vectors, and the score of the best strength on the test part."""
    found = []
    for name, rows in result["rows"].items():
        lines = [["without learning", *(f"{100 * value:.2f}" for value in 2 * rows["given"][:2])]]
        for strength in STRENGTHS:
            means = [np.mean(rows[f"{text}, {strength:.0f}"], axis=0)[:2] for text in (HERE, ELSEWHERE)]
            lines.append([f"{strength:,.0f}", *(f"{100 * value:.2f}" for value in np.concatenate(means))])
        columns = ["`start_strength`", f"{HERE}: training", "development", f"{ELSEWHERE}: training", "development"]
        best = max(STRENGTHS, key=lambda strength: np.mean([seed[:2] for seed in rows[f"{HERE}, {strength:.0f}"]]))
        tested = [100 * seed[2] for seed in rows[f"{HERE}, {best:.0f}"]]
        found.append(
            f"{name}:\n\n{table(columns, lines)}\n\n"
            f"The best strength when learning from {HERE} is {best:,.0f}; its score on the test part is "
            f"{np.mean(tested):.2f} (by seed {', '.join(f'{value:.2f}' for value in tested)}), without learning "
            f"{100 * rows['given'][2]:.2f}."
        )
    return (
        "SPM with vectors learned jointly, starting from given ones, `weigh=False`: Spearman x 100 on the STS "
        f"benchmark, means of {len(SEEDS)} seeds. Learned from {HERE} of the training part "
        f"({result['sentences']:,}), or from {result['of Wikipedia']:,} of {ELSEWHERE}.\n\n" + "\n\n".join(found)
    )
