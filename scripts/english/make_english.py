"""Distil sentence transformers into English word vectors, one row per word, on sentences and paragraphs.

Run with ``python scripts/english/make_english.py --texts wikipedia.txt.xz everyday.txt.xz --teacher FOLDER --cache
FOLDER --out english.npz`` on a machine with a GPU. The texts have one paragraph per line; a teacher is a folder of
sentence-transformers. ``--teacher`` may be repeated, and ``--glove FILE`` adds a teacher, the mean of GloVe vectors
weighted by smooth inverse frequency. The target is the weighted mean of the cosines of all teachers, whose vectors are
centred over the texts. Encoding takes most of the time; ``--cache`` keeps the encoded texts, from which each
``--variant NAME:SHARE,SHARE...[:DIM[:SEED[:STEPS]]]``, with one share per teacher, is trained and written beside
``--out`` as ``OUT-NAME.npz``.

The file has ``u`` (n_words, dim) int8 and ``scale`` (n_words,) float32, whose product are the rows; ``weights``
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
from teaching import Course, Teaching, known_words, most_frequent

from parasphere import Tokenizer, WordVectors
from parasphere.sphere.rows import unit_rows
from parasphere.vectors.learning_texts import Texts, read_texts

SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[A-Z\"'(0-9])")
SHORTEST = 12  # a sentence must have more characters
PARAGRAPH = 120  # most words that are read of a paragraph
PIECES = 160  # most word pieces that the teacher reads of a text
AHEAD = 8  # batches that are tokenised ahead of the teacher
RARITY = 1e-4  # of smooth inverse frequency
BEGAN = time.monotonic()


class Variant(NamedTuple):
    """One set of vectors to train."""

    name: str
    shares: tuple[float, ...]
    dim: int
    seed: int
    steps: int


def say(*what: object) -> None:
    """Print the seconds since the start, and a message."""
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


def read(file: Path, n_lines: int | None) -> list[str]:
    """Return the texts of a file, in their order."""
    with lzma.open(file, "rt", encoding="utf-8") as lines:
        found = [text for line in islice(lines, n_lines) for text in texts_of(line)]
    say(f"{file.name}: {len(found):,} texts")
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
    teacher: Path, device: str, batch: int, parts: list[list[str]], cache: Path | None
) -> list[NDArray[np.float16]]:
    """Return the teacher's vectors of lists of texts, from the cache if they are there."""
    weights, model, found = weights_of(teacher), None, []
    for texts in parts:
        digest = hashlib.blake2b("\n".join([weights, *texts]).encode(), digest_size=16).hexdigest()
        path = None if cache is None else cache / f"{digest}.npy"
        if path is not None and path.exists():
            say(f"{teacher.name}: {len(texts):,} encoded texts from the cache")
            found.append(np.load(path))
            continue
        model = model or Teacher(teacher, device, batch)
        found.append(model.encode(texts))
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_suffix(".part")
            with part.open("wb") as file:
                np.save(file, found[-1])
            part.rename(path)  # so that a file of this name is complete
    return found


def by_transformer(
    teacher: Path, given: argparse.Namespace, files: list[list[str]], words: list[str]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return a teacher's unit vectors of texts and of words."""
    *texts, of_words = encoded(teacher, given.device, given.encode_batch, [*files, words], given.cache)
    return apart(np.concatenate(texts)), apart(of_words)


def apart(vectors: NDArray[Any]) -> NDArray[np.float32]:
    """Return unit vectors minus their mean, of unit length again; vectors of zeros stay zero."""
    vectors = unit_rows(vectors, np.float32)
    known = vectors.any(axis=1)
    vectors[known] -= vectors[known].mean(0)
    return unit_rows(vectors, np.float32)


def by_glove(texts: Texts, glove: WordVectors) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return GloVe's unit vectors of texts (weighted means) and of words."""
    places = glove.vocabulary.get_many(texts.words)
    rows = np.where(places[:, None] >= 0, glove.matrix[np.maximum(places, 0)], np.float32(0))
    weights = RARITY / (RARITY + texts.counts / texts.counts.sum())
    entries = (np.ones(len(texts.ids), np.float32), texts.ids, texts.ends)
    bags = sparse.csr_array(entries, shape=(len(texts.ends) - 1, len(texts.words)))
    return apart(bags @ (rows * weights[:, None]).astype(np.float32)), apart(rows)


def joined(vectors: list[NDArray[Any]], shares: tuple[float, ...]) -> NDArray[np.float16]:
    """Return unit vectors whose cosines are the mean of those of several teachers, with these shares."""
    chosen = [(one, np.sqrt(share)) for one, share in zip(vectors, shares, strict=True) if share]
    both = np.empty((len(vectors[0]), sum(one.shape[1] for one, _ in chosen)), np.float16)
    for begin in range(0, len(both), 65_536):
        part = slice(begin, begin + 65_536)
        both[part] = unit_rows(np.concatenate([root * one[part] for one, root in chosen], axis=1), np.float32)
    return both


def write(path: Path, teaching: Teaching, provenance: dict[str, Any]) -> None:
    """Write the rows as int8, and their provenance."""
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
    """Return the variant of a string ``NAME:SHARE,SHARE...[:DIM[:SEED[:STEPS]]]``."""
    name, shares, dim, seed, steps = [*written.split(":"), "", "", "", ""][:5]
    try:
        given = tuple(float(share) for share in shares.split(","))
        found = Variant(name, given, int(dim or 128), int(seed or 0), int(steps or 3000))
    except ValueError:
        found = Variant("", (), 0, 0, 0)
    if not found.name or min(found.shares) < 0 or not sum(found.shares):
        raise argparse.ArgumentTypeError(
            f"{written!r} is not NAME:SHARE,SHARE...[:DIM[:SEED[:STEPS]]] with shares of 0 or more"
        )
    return found


def arguments() -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--texts", type=Path, nargs="+", required=True, help="xz files, one paragraph per line")
    parser.add_argument("--lines", type=int, help="number of lines to read per file; default: all")
    parser.add_argument(
        "--teacher", type=Path, action="append", required=True, help="a folder of sentence-transformers"
    )
    parser.add_argument(
        "--teacher-name", action="append", help="its name in the provenance; default: the folder's name"
    )
    parser.add_argument("--glove", type=Path, help="word vectors, as the last teacher")
    parser.add_argument("--variant", type=variant, action="append", required=True, help="may be repeated")
    parser.add_argument("--words", type=int, default=84_000, help="number of words to train, the most frequent ones")
    parser.add_argument("--min-count", type=int, default=4)
    parser.add_argument("--digits", action="store_true", help="treat numbers as words")
    parser.add_argument("--batch", type=int, default=4096, help="texts per step")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--encode-batch", type=int, default=1024)
    parser.add_argument("--cache", type=Path, help="a folder for the encoded vectors")
    parser.add_argument("--out", type=Path, required=True, help="the .npz to write; the name of the variant is added")
    given = parser.parse_args()
    if given.teacher_name and len(given.teacher_name) != len(given.teacher):
        parser.error("--teacher-name must be given for each --teacher, or for none")
    n_teachers = len(given.teacher) + (given.glove is not None)
    for one in given.variant:
        if len(one.shares) != n_teachers:
            parser.error(f"the variant {one.name} has {len(one.shares)} shares, but there are {n_teachers} teachers")
    return given


def main() -> None:
    """Read, encode, teach and write."""
    given = arguments()
    files = [read(file, given.lines) for file in given.texts]
    sentences = [text for file in files for text in file]
    tokenizer = Tokenizer(digits=given.digits)
    texts = known_words(most_frequent(read_texts(sentences, tokenizer, given.min_count), given.words))
    say(f"{len(texts.words):,} words, {len(texts.ids):,} times in {len(sentences):,} texts")
    teachers = [by_transformer(teacher, given, files, texts.words) for teacher in given.teacher]
    if given.glove is not None:
        teachers.append(by_glove(texts, WordVectors.load(given.glove)))
    provenance = {
        "script": "scripts/english/make_english.py",
        "teachers": given.teacher_name or [teacher.name for teacher in given.teacher],
        "teachers_sha256": [weights_of(teacher) for teacher in given.teacher],
        "glove": given.glove and given.glove.name,
        "files": [file.name for file in given.texts],
        "lines": given.lines,
        "texts": len(sentences),
        "tokens": len(texts.ids),
        "words": len(texts.words),
        "min_count": given.min_count,
        "digits": given.digits,
    }
    del files, sentences
    for name, shares, dim, seed, steps in given.variant:
        taught, words = (joined(list(vectors), shares) for vectors in zip(*teachers, strict=True))
        course = Course(steps=steps, batch=given.batch, rarity=RARITY, seed=seed)
        teaching = Teaching(texts, taught, words, dim, course, given.device)
        say(f"{name}: teaching {steps:,} steps, shares {shares}, {dim} dimensions, seed {seed}")
        teaching.run(partial(tell, name))
        path = given.out.with_name(f"{given.out.stem}-{name}.npz")
        write(path, teaching, provenance | {"shares": shares, "dim": dim, "seed": seed, "steps": steps})
        say(f"{name}: wrote {path.name}, {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
