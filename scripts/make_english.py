"""Teach English word vectors: a sentence transformer teaches one row per word on sentences and paragraphs.

Run with ``python scripts/make_english.py --texts wikipedia.txt.xz reviews.txt.xz --teacher FOLDER --cache FOLDER
--out english.npz`` on a machine with a GPU. The texts hold one paragraph per line; the teacher is a folder of
sentence-transformers. With ``--glove FILE`` a second teacher, the mean of GloVe vectors weighted by smooth inverse
frequency, shares the first one's place: the cosine that is taught is the weighted mean of both. Encoding takes most of
the time; ``--cache`` keeps it, and each ``--variant NAME:GLOVE_WEIGHT[:SEED]`` is taught from it and written beside
``--out`` as ``OUT-NAME.npz``.

The file holds ``u`` (n_words, dim) int8 and ``scale`` (n_words,) float32, whose product are the rows; ``weights``
(n_words,) float32, the lengths of the rows, with mean 1 over the texts; ``words``, joined by line feeds, as bytes of
UTF-8; ``counts`` (n_words,) int64; and ``provenance``, JSON as bytes of UTF-8.
"""

import argparse
import hashlib
import json
import lzma
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from parasphere import Tokenizer, WordVectors
from parasphere.vectors.learning_texts import Texts, known_words, most_frequent, read_texts
from parasphere.vectors.teaching import Course, Teaching, unit

SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[A-Z\"'(0-9])")
SHORTEST = 12  # characters that a sentence must exceed
PARAGRAPH = 120  # words of a paragraph that are read
PIECES = 160  # word pieces that the teacher reads of a text
AHEAD = 8  # batches that are tokenised ahead of the one that the teacher reads
RARITY = 1e-4  # of smooth inverse frequency
BEGAN = time.monotonic()


class Variant(NamedTuple):
    """One model to teach."""

    name: str
    glove_weight: float
    seed: int


def say(*what: object) -> None:
    """Print something after the seconds since the start."""
    print(f"{time.monotonic() - BEGAN:7.1f}", *what, flush=True)


def tell(label: str, step: int, learned: float, held_out: float) -> None:
    """Print the losses at a step."""
    say(f"{label}: step {step:,}, loss {learned:.4f}, held out {held_out:.4f}")


def texts_of(line: str) -> Iterator[str]:
    """Yield the sentences of a paragraph and, if there are several, the first words of the whole."""
    line = line.replace("<br />", " ").strip()
    sentences = SENTENCE_END.split(line)
    yield from (sentence for sentence in sentences if len(sentence) > SHORTEST)
    if len(sentences) > 1:
        yield " ".join(line.split()[:PARAGRAPH])


def read(files: list[Path], n_lines: int | None) -> list[str]:
    """Return the texts of all files, in their order."""
    found: list[str] = []
    for file in files:
        with lzma.open(file, "rt", encoding="utf-8") as lines:
            for line in islice(lines, n_lines):
                found.extend(texts_of(line))
        say(f"{file.name}: {len(found):,} texts so far")
    return found


class Teacher:
    """A sentence transformer that reads batches of similar length, tokenised in a second thread."""

    def __init__(self, folder: Path, device: str, batch: int) -> None:
        import torch
        from sentence_transformers import SentenceTransformer

        self.torch, self.device, self.batch = torch, device, batch
        self.model = SentenceTransformer(str(folder), device=device, local_files_only=True).eval()
        if device.startswith("cuda"):
            self.model.half()

    def encode(self, texts: list[str]) -> NDArray[np.float16]:
        """Return the unit vector of each text."""
        order = np.argsort([-len(text) for text in texts], kind="stable")
        batches = [order[begin : begin + self.batch] for begin in range(0, len(order), self.batch)]
        vectors: NDArray[np.float16] | None = None
        with ThreadPoolExecutor(1) as pool, self.torch.inference_mode():
            waiting = [pool.submit(self._pieces, texts, rows) for rows in batches[:AHEAD]]
            for place, rows in enumerate(batches):
                pieces = waiting.pop(0).result()
                if place + AHEAD < len(batches):
                    waiting.append(pool.submit(self._pieces, texts, batches[place + AHEAD]))
                found = self.model({name: tensor.to(self.device) for name, tensor in pieces.items()})
                found = self.torch.nn.functional.normalize(found["sentence_embedding"].float(), dim=1).half()
                if vectors is None:
                    vectors = np.empty((len(texts), found.shape[1]), np.float16)
                vectors[rows] = found.cpu().numpy()
                if place % (len(batches) // 20 + 1) == 0:
                    say(f"encoded {min((place + 1) * self.batch, len(texts)):,} of {len(texts):,}")
        assert vectors is not None
        return vectors

    def _pieces(self, texts: list[str], rows: NDArray[np.int64]) -> dict[str, Any]:
        some = [texts[row] for row in rows]
        return dict(self.model.tokenizer(some, padding=True, truncation=True, max_length=PIECES, return_tensors="pt"))


def weights_of(teacher: Path) -> str:
    """Return the SHA-256 of the teacher's weights."""
    digest = hashlib.sha256()
    for file in sorted(teacher.rglob("*.safetensors")) or sorted(teacher.rglob("*.bin")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def encoded(
    teacher: Path, device: str, batch: int, texts: list[str], words: list[str], cache: Path | None
) -> tuple[NDArray[np.float16], NDArray[np.float16]]:
    """Return the teacher's vectors of texts and of words, from the cache if it has those of the same texts."""
    digest = hashlib.blake2b("\n".join([weights_of(teacher), *words, "", *texts]).encode(), digest_size=16).hexdigest()
    kept = None if cache is None else [cache / f"{digest}-{what}.npy" for what in ("texts", "words")]
    if kept is not None and all(path.exists() for path in kept):
        say(f"encoded vectors from {kept[0].parent.name}/{digest}")
        return np.load(kept[0]), np.load(kept[1])
    model = Teacher(teacher, device, batch)
    found = model.encode(texts), model.encode(words)
    if kept is not None:
        kept[0].parent.mkdir(parents=True, exist_ok=True)
        for path, vectors in zip(kept, found, strict=True):
            part = path.with_suffix(".part")
            with part.open("wb") as file:
                np.save(file, vectors)
            part.rename(path)  # a file of this name is whole
    return found


def by_glove(texts: Texts, glove: WordVectors) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return GloVe's unit vectors of texts and of words: weighted means, without what all texts have in common."""
    places = glove.vocabulary.get_many(texts.words)
    rows = np.where(places[:, None] >= 0, glove.matrix[np.maximum(places, 0)], np.float32(0))
    weights = RARITY / (RARITY + texts.counts / texts.counts.sum())
    entries = (np.ones(len(texts.ids), np.float32), texts.ids, texts.ends)
    bags = sparse.csr_array(entries, shape=(len(texts.ends) - 1, len(texts.words)))
    found = []
    for vectors in (unit(bags @ (rows * weights[:, None]).astype(np.float32)), rows):
        known = vectors.any(axis=1)
        vectors[known] -= vectors[known].mean(0)
        found.append(unit(vectors))
    return found[0], found[1]


def joined(first: NDArray[Any], second: NDArray[Any], share: float) -> NDArray[np.float16]:
    """Return unit vectors whose cosines are the mean of those of two teachers, the second with this share."""
    both = np.empty((len(first), first.shape[1] + second.shape[1]), np.float16)
    for begin in range(0, len(both), 65_536):
        part = slice(begin, begin + 65_536)
        pair = np.sqrt(1 - share) * unit(first[part]), np.sqrt(share) * unit(second[part])
        both[part] = unit(np.concatenate(pair, axis=1))
    return both


def write(path: Path, teaching: Teaching, provenance: dict[str, Any]) -> None:
    """Write rows of int8, and what they were made from."""
    rows = teaching.rows
    scale = np.maximum(np.abs(rows).max(axis=1), 1e-30) / 127
    facts = provenance | {"losses": teaching.losses}
    np.savez_compressed(
        path,
        u=np.rint(rows / scale[:, None]).astype(np.int8),
        scale=scale.astype(np.float32),
        weights=np.linalg.norm(rows.astype(np.float64), axis=1).astype(np.float32),
        words=np.array("\n".join(teaching.texts.words).encode()),
        counts=teaching.texts.counts.astype(np.int64),
        provenance=np.array(json.dumps(facts).encode()),
    )


def variant(written: str) -> Variant:
    """Return the variant that is written as ``NAME:GLOVE_WEIGHT[:SEED]``."""
    name, _, numbers = written.partition(":")
    weight, _, seed = numbers.partition(":")
    try:
        found = Variant(name, float(weight), int(seed or 0))
    except ValueError:
        found = Variant("", 0.0, 0)
    if not found.name or not 0 <= found.glove_weight < 1:
        raise argparse.ArgumentTypeError(f"{written!r} is not NAME:GLOVE_WEIGHT[:SEED] with a weight from 0 to below 1")
    return found


def arguments() -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--texts", type=Path, nargs="+", required=True, help="xz files, one paragraph per line")
    parser.add_argument("--lines", type=int, help="read so many lines per file; default: all")
    parser.add_argument("--teacher", type=Path, required=True, help="a folder of sentence-transformers")
    parser.add_argument("--teacher-name", help="what the provenance calls the teacher; default: the folder's name")
    parser.add_argument("--glove", type=Path, help="word vectors, the second teacher")
    parser.add_argument("--glove-weight", type=float, default=0.3, help="its share, from 0 to 1; default: 0.3")
    parser.add_argument("--variant", type=variant, action="append", help="NAME:GLOVE_WEIGHT[:SEED], may be repeated")
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--words", type=int, default=84_000, help="the most frequent words to teach")
    parser.add_argument("--min-count", type=int, default=4)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--batch", type=int, default=4096, help="texts per step")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--encode-batch", type=int, default=1024)
    parser.add_argument("--cache", type=Path, help="a folder that keeps the encoded vectors")
    parser.add_argument("--out", type=Path, required=True, help="the .npz to write")
    given = parser.parse_args()
    weights = [v.glove_weight for v in given.variant] if given.variant else [given.glove_weight]
    if not all(0 <= weight < 1 for weight in weights):
        parser.error("a weight of GloVe must be at least 0 and below 1")
    if given.glove is None and given.variant and any(weights):
        parser.error("a variant with a weight of GloVe needs --glove")
    return given


def main() -> None:
    """Read, encode, teach and write."""
    given = arguments()
    sentences = read(given.texts, given.lines)
    texts = known_words(most_frequent(read_texts(sentences, Tokenizer(), given.min_count), given.words))
    say(f"{len(texts.words):,} words, {len(texts.ids):,} times in {len(sentences):,} texts")
    by_model, words_by_model = encoded(
        given.teacher, given.device, given.encode_batch, sentences, texts.words, given.cache
    )
    say(f"encoded vectors of {by_model.shape[1]} numbers")
    del sentences
    second = None if given.glove is None else by_glove(texts, WordVectors.load(given.glove))
    provenance = {
        "script": "scripts/make_english.py",
        "teacher": given.teacher_name or given.teacher.name,
        "teacher_sha256": weights_of(given.teacher),
        "glove": given.glove and given.glove.name,
        "files": [file.name for file in given.texts],
        "lines": given.lines,
        "texts": len(by_model),
        "tokens": len(texts.ids),
        "words": len(texts.words),
        "dim": given.dim,
        "min_count": given.min_count,
    }
    single = Variant("", given.glove_weight if second else 0.0, given.seed)
    for name, weight, seed in given.variant or [single]:
        taught, words = by_model, words_by_model
        if second is not None and weight:
            taught, words = (joined(*pair, weight) for pair in zip((taught, words), second, strict=True))
        course = Course(steps=given.steps, batch=given.batch, rarity=RARITY, seed=seed)
        teaching = Teaching(texts, taught, words, given.dim, course, given.device)
        label = name or given.out.stem
        say(f"{label}: teaching {given.steps:,} steps, GloVe's weight {weight}, seed {seed}")
        teaching.run(report=partial(tell, label))
        path = given.out.with_name(f"{given.out.stem}-{name}.npz") if name else given.out
        write(path, teaching, provenance | {"glove_weight": weight, "seed": seed, "steps": given.steps})
        say(f"{label}: wrote {path.name}, {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
