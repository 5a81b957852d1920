"""Train the word vectors of the main table on any text: gensim's skip-gram, with the settings of that table.

Example, the files ``word2vec-wikipedia-{50,100,300}d.bin.gz`` of the results, given text of English Wikipedia with one
paragraph per line (theirs had 134 million words):

    python reproduction/scripts/word_vectors.py text.txt.xz --dim 50 --out word2vec-wikipedia-50d.bin.gz
    python reproduction/scripts/word_vectors.py text.txt.xz --dim 100 --out word2vec-wikipedia-100d.bin.gz
    python reproduction/scripts/word_vectors.py text.txt.xz --dim 300 --epochs 2 --out word2vec-wikipedia-300d.bin.gz

Words are runs of letters, lower-cased. Window 5, 5 negatives, subsampling 1e-4, at least 10 occurrences, 3 epochs (2 in
300 dimensions). Numbers are rounded to float16 and written as float32, in word2vec's binary format. The files of the
results keep the most frequent words and all words of the paper's corpora (``--most``, ``--corpora``): 79,878 words.
"""

import argparse
import gzip
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from gensim.models import Word2Vec

from parasphere import Tokenizer
from parasphere.corpus import blocks
from parasphere.errors import CorpusError
from parasphere.storage import replacing
from parasphere.text import count_words, split_texts
from reproduction.datasets import load
from reproduction.progress import progress

WINDOW, NEGATIVE, SAMPLE, MIN_COUNT, EPOCHS = 5, 5, 1e-4, 10, 3
LONGEST = 10_000  # gensim silently drops what comes after so many words of a paragraph


class Paragraphs:
    """The words of each paragraph; the file is read anew by every iteration, with a progress bar."""

    def __init__(self, path: Path) -> None:
        self.path, self.passes = path, 0
        self.paragraphs: int | None = None  # known after the first pass

    def __iter__(self) -> Iterator[list[str]]:
        label = "counting words" if self.passes == 0 else f"epoch {self.passes}"
        self.passes += 1
        done = 0
        with progress(label, self.paragraphs) as advance:
            for block in blocks(self.path):
                for words in split_texts(block.texts, Tokenizer()):
                    for begin in range(0, len(words), LONGEST):
                        yield words[begin : begin + LONGEST]
                done += len(block.texts)
                advance(len(block.texts))
        self.paragraphs = done


def train(path: Path, dim: int, epochs: int, min_count: int, workers: int, seed: int) -> Word2Vec:
    """Return the trained model of gensim; with one worker, the same text and seed give the same vectors."""
    paragraphs = Paragraphs(path)
    model = Word2Vec(
        vector_size=dim, sg=1, window=WINDOW, negative=NEGATIVE, sample=SAMPLE, min_count=min_count, epochs=epochs,
        workers=workers, seed=seed,
    )  # fmt: skip
    model.build_vocab(paragraphs)
    if not len(model.wv):
        raise CorpusError(f"{path}: no word occurs {min_count} times; give more text, or lower --min-count")
    model.train(paragraphs, total_examples=model.corpus_count, epochs=epochs)
    return model


def write(path: Path, words: list[str], matrix: np.ndarray) -> None:
    """Write word2vec's binary format, in gzip, of vectors (n_words, dim) rounded to float16."""
    rows = matrix.astype(np.float16).astype("<f4")
    with replacing(path) as part, part.open("wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file:
        file.write(f"{len(words)} {rows.shape[1]}\n".encode())
        for word, row in zip(words, rows, strict=True):
            file.write(word.encode() + b" " + row.tobytes() + b"\n")


def main() -> None:
    """Train and write word vectors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path, help="one paragraph per line: .txt, also in .gz, .bz2 or .xz")
    parser.add_argument("--out", type=Path, required=True, help="file to write, .bin.gz")
    parser.add_argument("--dim", type=int, default=50, help="dimension (default: 50)")
    parser.add_argument("--epochs", type=int, default=EPOCHS, help=f"passes over the text (default: {EPOCHS})")
    parser.add_argument("--min-count", type=int, default=MIN_COUNT, help=f"of a word (default: {MIN_COUNT})")
    parser.add_argument("--most", type=int, help="keep only so many words, the most frequent (default: all)")
    parser.add_argument("--corpora", default="", help="with --most: keep the words of these corpora too, as in subj,mr")
    parser.add_argument("--workers", type=int, default=1, help="threads; several are not repeatable (default: 1)")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if not given.out.name.endswith(".bin.gz"):
        parser.error(f"--out {given.out}: the name must end in .bin.gz")
    if given.text.name.split(".txt")[-1] not in ("", ".gz", ".bz2", ".xz") or not given.text.is_file():
        parser.error(f"{given.text} is not a file of text: .txt, .txt.gz, .txt.bz2 or .txt.xz")
    try:
        found = train(given.text, given.dim, given.epochs, given.min_count, given.workers, given.seed).wv
    except CorpusError as error:
        parser.error(str(error))
    kept = np.arange(len(found))
    if given.most is not None:
        corpora = [load(name).texts for name in given.corpora.split(",") if name]
        also = {word for texts in corpora for word in count_words(texts)[0]}
        kept = np.array([i for i, word in enumerate(found.index_to_key) if i < given.most or word in also])
    write(given.out, [found.index_to_key[i] for i in kept], found.vectors[kept])
    print(f"{len(kept):,} words of {given.dim} dimensions written to {given.out}")


if __name__ == "__main__":
    main()
