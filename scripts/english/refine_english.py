"""Refine distilled English word vectors: add missing words, and learn from human scores of pairs of sentences.

Run with ``python scripts/english/refine_english.py taught.npz --teacher FOLDER --wordnet WORDNET/dict --texts
wikipedia.txt.xz --cache FOLDER --out english.npz``. ``taught.npz`` is a file of make_english.py, with the same teacher;
in the texts words are counted. The human scores are those of the training part of the STS benchmark in
PARASPHERE_TASKS. It takes minutes on a CPU, most of them to encode single words, which ``--cache`` keeps.

Instead of ``taught.npz``, a folder english-128 from before this step can be given; today's english-128 was made from
that of commit 9813a09 (docs/training.md has the commands).

1. **Missing words.** Encyclopaedias seldom have words such as "riveting" or "cliches". A ridge regression learns from
   the distilled words to predict vector and weight from the teacher's and GloVe's vector of the word alone. It predicts
   those of the most frequent words of GloVe, and of WordNet's words among all of GloVe's.
2. **GloVe.** Each row is joined with GloVe's, with the share ``--share``, and projected on the main axes.
3. **Light words.** Weights below 1 are raised to the power ``--power``, which brings them nearer to 1. Teachers encode
   topics and give function words little weight, though these carry style.
4. **Human scores.** Rows and weights of the words in the pairs are changed so that the cosines of offsets, which
   ``SphericalParagraphModel.compare`` returns, correlate with the scores. A penalty on each change keeps words of few
   pairs near their start. ``--no-pairs`` leaves this step out.

The output has the format of scripts/english/make_english.py.
"""

import argparse
import json
import lzma
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from make_english import encoded, say, weights_of
from numpy.typing import NDArray
from reproduction.datasets import SentencePairs, sentence_pairs
from sklearn.linear_model import Ridge

from parasphere import SphericalParagraphModel, Tokenizer, WordVectors
from parasphere.model.bags import FLOOR
from parasphere.places import GLOVE
from parasphere.sphere import vmf
from parasphere.sphere.rows import unit_rows
from parasphere.vectors.learning_texts import read_texts

FREQUENT = 100_000  # number of GloVe's most frequent words that are added
COMMON = 10_000  # most frequent words, which are unlike the missing ones and not learned from
EXAMPLES = 20_000  # words that the regression learns from
ALPHA = 3.0  # of the regression
STEPS, RATE_OF_WEIGHTS, RATE_OF_ROWS = 80, 2e-2, 2e-3
PENALTY_OF_WEIGHTS, PENALTY_OF_ROWS = 3e-3, 2e-3  # times the sum of squares, beside a correlation
OMITTED = 0.1  # share of the words left out of each step
MEASURED = 20  # steps between computations of the metric


class Taught(NamedTuple):
    """Words with unit rows (n_words, dim) and weights (n_words,)."""

    words: list[str]
    rows: NDArray[np.float32]
    weights: NDArray[np.float64]


def read(path: Path) -> tuple[Taught, dict[str, Any]]:
    """Return the words with a vector and the provenance of a file of make_english.py, or of a folder."""
    if path.is_dir():
        return read_embedded(path)
    with np.load(path) as given:
        words = bytes(given["words"].item()).decode().split("\n")
        rows, weights = given["u"] * given["scale"][:, None], given["weights"].astype(np.float64)
        provenance = json.loads(bytes(given["provenance"].item()))
    known = np.flatnonzero(weights)
    return Taught([words[place] for place in known], unit_rows(rows[known], np.float32), weights[known]), provenance


def read_embedded(folder: Path) -> tuple[Taught, dict[str, Any]]:
    """Return the words of a folder that has all rows as bytes, and its provenance."""
    from safetensors.numpy import load_file

    arrays = load_file(folder / json.loads((folder / "parasphere.json").read_text("utf-8"))["data"])
    if "halves" in arrays:
        raise SystemExit(
            f"{folder} has rows of half bytes, so it is refined already; give the folder or file that it was made from."
        )
    ends = np.cumsum(arrays["lengths"], dtype=np.int64)
    data = arrays["data"].tobytes()
    words = [data[end - length : end].decode() for end, length in zip(ends, arrays["lengths"].tolist(), strict=True)]
    weights, rows = arrays["weights"].astype(np.float32), arrays["rows"]
    scale = (weights / np.linalg.norm(rows.astype(np.float64), axis=1)).astype(np.float32)
    provenance = json.loads((folder / "provenance.json").read_text("utf-8"))
    return Taught(words, unit_rows(rows * scale[:, None], np.float32), weights.astype(np.float64)), provenance


def counted(files: list[Path], words: list[str]) -> NDArray[np.int64]:
    """Return how often words occur in files."""
    found = np.zeros(len(words), np.int64)
    places = {word: place for place, word in enumerate(words)}
    for file in files:
        with lzma.open(file, "rt", encoding="utf-8") as lines:
            texts = read_texts(list(lines), Tokenizer(digits=True), 1)
        for word, count in zip(texts.words, texts.counts, strict=True):
            if word in places:
                found[places[word]] += count
    return found


def missing_words(words: list[str], glove: list[str], wordnet: Path) -> list[str]:
    """Return GloVe's words that are not in ``words``: frequent ones and those of WordNet, most frequent first."""
    known = set(words)
    defined = {
        line.split(" ", 1)[0]
        for file in sorted(wordnet.glob("index.*"))
        if file.suffix in (".noun", ".verb", ".adj", ".adv")
        for line in file.read_text("utf-8").splitlines()
    }
    return [
        word
        for rank, word in enumerate(glove)
        if re.fullmatch("[a-z]+", word) and word not in known and (rank < FREQUENT or word in defined)
    ]


def with_words(taught: Taught, more: list[str], glove: WordVectors, given: argparse.Namespace) -> Taught:
    """Return vectors with those of more words, predicted by a regression."""
    rare = np.arange(COMMON, len(taught.words))
    rare = rare[glove.vocabulary.get_many([taught.words[place] for place in rare]) >= 0]
    rare = np.sort(np.random.default_rng(given.seed).permutation(rare)[:EXAMPLES])
    examples = [taught.words[place] for place in rare]
    (vectors,) = encoded(given.teacher, "cpu", 512, [examples + more], given.cache)
    places = glove.vocabulary.get_many(examples + more)
    features = np.hstack(
        [unit_rows(vectors - vectors[: len(rare)].astype(np.float32).mean(0), np.float32), glove.matrix[places]]
    )
    targets = np.column_stack([taught.rows[rare], np.log(taught.weights[rare])])
    check = np.arange(len(rare)) % 5 == 0
    guessed = Ridge(ALPHA).fit(features[: len(rare)][~check], targets[~check]).predict(features[: len(rare)][check])
    cosines = (unit_rows(guessed[:, :-1], np.float32) * targets[check, :-1]).sum(1)
    say(f"{len(more):,} more words; the mean cosine of words left out of the regression is {cosines.mean():.3f}")
    found = Ridge(ALPHA).fit(features[: len(rare)], targets).predict(features[len(rare) :])
    return Taught(
        taught.words + more,
        np.concatenate([taught.rows, unit_rows(found[:, :-1], np.float32)]),
        np.concatenate([taught.weights, np.exp(found[:, -1])]),
    )


def with_glove(taught: Taught, glove: WordVectors, counts: NDArray[np.int64], share: float) -> Taught:
    """Return rows joined with GloVe's, in their main axes; GloVe's missing rows are predicted."""
    places = glove.vocabulary.get_many(taught.words)
    known = places >= 0
    seen = (counts + 1) * taught.weights
    others = np.zeros((len(places), glove.dim), np.float32)
    others[known] = glove.matrix[places[known]]
    guess = Ridge(1.0, fit_intercept=False).fit(taught.rows[known], others[known], seen[known] / seen[known].mean())
    others[~known] = guess.predict(taught.rows[~known])
    others = unit_rows(others - np.average(others, axis=0, weights=seen), np.float32)
    both = np.hstack([np.sqrt(1 - share) * taught.rows, np.sqrt(share) * others])
    weighted = both * (np.sqrt(counts + 1) * taught.weights)[:, None]
    _, axes = np.linalg.eigh((weighted.T @ both).astype(np.float64))
    return taught._replace(rows=unit_rows(both @ axes[:, ::-1][:, : taught.rows.shape[1]], np.float32))


def with_heavier(taught: Taught, counts: NDArray[np.int64], power: float) -> Taught:
    """Return vectors whose light words weigh more; weights have mean 1 over the texts before and after."""
    weights = taught.weights * (counts.sum() / (counts @ taught.weights))
    weights = np.where(weights < 1, weights**power, weights)
    return taught._replace(weights=weights * (counts.sum() / (counts @ weights)))


def turned(taught: Taught, seed: int) -> Taught:
    """Return rows after a random rotation, which changes no cosine but makes the sizes of the axes alike.

    Rounding to few levels then loses less, because the levels depend on the largest number of a row.
    """
    dim = taught.rows.shape[1]
    rotation, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(dim, dim)))
    return taught._replace(rows=(taught.rows @ rotation).astype(np.float32))


def with_pairs(taught: Taught, pairs: SentencePairs, seed: int) -> Taught:
    """Return vectors whose cosines of offsets agree better with human scores."""
    import torch
    from torch.nn.functional import embedding_bag, normalize

    torch.manual_seed(seed)
    vectors = WordVectors.from_arrays(taught.words, taught.rows).with_weights(taught.weights)
    texts = pairs.first + pairs.second
    model = SphericalParagraphModel(vectors, adapt=False).fit(texts)
    prior, dim = model.encoder_.prior, vectors.dim
    word = float(np.median(model.posterior(texts).word_concentration))
    common = float(vmf.mean_length(prior.concentration, dim)) * torch.tensor(prior.mean_direction).float()
    bags = [places[places >= 0] for places in map(vectors.vocabulary.get_many, map(Tokenizer(digits=True), texts))]
    used, ids = np.unique(np.concatenate(bags), return_inverse=True)
    ids, counts = torch.tensor(ids), torch.tensor(np.bincount(ids)).float()
    begins = torch.tensor(np.cumsum([0, *map(len, bags)])[:-1])
    rows, weights = torch.tensor(taught.rows[used]), torch.tensor(taught.weights[used]).float()
    scores = torch.tensor(pairs.scores).float()
    moved, scaled = torch.zeros_like(rows, requires_grad=True), torch.zeros_like(weights, requires_grad=True)
    adam = torch.optim.Adam([{"params": [moved], "lr": RATE_OF_ROWS}, {"params": [scaled], "lr": RATE_OF_WEIGHTS}])

    def now() -> tuple[Any, Any]:
        return normalize(rows + moved, dim=1), weights * scaled.exp()

    def metric() -> Any:
        """Return the metric of the offsets (:class:`parasphere.model.Scatter`)."""
        directions, lengths = now()
        sums = embedding_bag(ids, directions * lengths[:, None], begins, mode="sum")
        totals = embedding_bag(ids, lengths[:, None], begins, mode="sum").clamp_min(1e-6)
        within = (directions * (lengths * counts)[:, None]).T @ directions - (sums / totals).T @ sums
        values, axes = torch.linalg.eigh(within * (dim / within.trace()))
        return (axes * ((1 - FLOOR) * values.clamp_min(0) + FLOOR) ** -0.5) @ axes.T

    for step in range(STEPS):
        if step % MEASURED == 0:
            with torch.no_grad():
                whitening = metric()
        directions, lengths = now()
        kept = (torch.rand(len(ids)) > OMITTED).float() / (1 - OMITTED)
        sums = embedding_bag(ids, directions * lengths[:, None], begins, mode="sum", per_sample_weights=kept)
        natural = prior.concentration * torch.tensor(prior.mean_direction).float() + word * sums
        kappa = natural.norm(dim=1, keepdim=True)
        half = (dim - 1) / 2
        mean = natural / (half + (kappa**2 + half**2).sqrt())  # of the posterior, by a bound of the Bessel ratio
        first, second = normalize((mean - common) @ whitening, dim=1).split(len(scores))
        cosines = (first * second).sum(1)
        correlation = torch.corrcoef(torch.stack([cosines, scores]))[0, 1]
        penalty = PENALTY_OF_ROWS * moved.square().sum() + PENALTY_OF_WEIGHTS * scaled.square().sum()
        adam.zero_grad()
        (penalty - correlation).backward()
        adam.step()
        if (step + 1) % MEASURED == 0:
            say(f"step {step + 1}: correlation {correlation.item():.4f}")
    directions, lengths = (value.detach().numpy() for value in now())
    refined = taught._replace(rows=taught.rows.copy(), weights=taught.weights.copy())
    refined.rows[used], refined.weights[used] = directions, lengths
    return refined


def write(path: Path, taught: Taught, counts: NDArray[np.int64], provenance: dict[str, Any]) -> None:
    """Write a file as scripts/english/make_english.py does."""
    largest = np.abs(taught.rows).max(axis=1) / 127
    np.savez_compressed(
        path,
        u=np.rint(taught.rows / largest[:, None]).astype(np.int8),
        scale=(taught.weights * largest).astype(np.float32),
        weights=taught.weights.astype(np.float32),
        words=np.array("\n".join(taught.words).encode()),
        counts=counts,
        provenance=np.array(json.dumps(provenance).encode()),
    )


def arguments() -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("taught", type=Path, help="a file of scripts/english/make_english.py, or a folder english-128")
    parser.add_argument("--teacher", type=Path, required=True, help="a folder of sentence-transformers")
    parser.add_argument("--wordnet", type=Path, required=True, help="the folder dict of WordNet")
    parser.add_argument("--texts", type=Path, nargs="+", required=True, help="xz files to count words in")
    parser.add_argument(
        "--share", type=float, default=0.1, help="share of GloVe's 50-d vectors in the rows; default: 0.1"
    )
    parser.add_argument(
        "--power", type=float, default=0.4, help="power to which weights below 1 are raised; default: 0.4"
    )
    parser.add_argument("--no-pairs", action="store_true", help="do not learn from human scores")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cache", type=Path, help="a folder for the encoded words")
    parser.add_argument("--out", type=Path, required=True, help="the .npz to write")
    return parser.parse_args()


def main() -> None:
    """Read, refine and write."""
    given = arguments()
    taught, provenance = read(given.taught)
    glove = WordVectors.load(GLOVE)
    taught = with_words(taught, missing_words(taught.words, glove.words, given.wordnet), glove, given)
    counts = counted(given.texts, taught.words)
    if given.share:
        taught = with_glove(taught, glove, counts, given.share)
    taught = with_heavier(taught, counts, given.power)
    pairs = sentence_pairs("train")
    if not given.no_pairs:
        taught = with_pairs(taught, pairs, given.seed)
    taught = turned(taught, given.seed)
    refined = {
        "script": "scripts/english/refine_english.py",
        "teacher_sha256": weights_of(given.teacher),
        "glove": GLOVE,
        "share": given.share,
        "power": given.power,
        "pairs": None if given.no_pairs else pairs.name,
        "seed": given.seed,
    }
    write(given.out, taught, counts, provenance | {"words": len(taught.words), "refined": refined})
    say(f"wrote {given.out.name}: {len(taught.words):,} words")


if __name__ == "__main__":
    main()
