"""Static tables of word pieces: folders of model2vec and of sentence-transformers' StaticEmbedding, and WordLlama's.

These libraries represent a text by the mean of the rows of its pieces. Here a word is the sum of the rows of its
pieces, with the length of the sum as its weight, and a text is the weighted sum of its words: it has the same direction
as in the library that the table was made for, if both divide it into the same words. See docs/ecosystem.md.
"""

import json
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import StoreError, VectorsError, import_extra
from ..places import WORDLLAMA
from ..sphere.rows import unit_rows
from ..storage import map_tensors
from ..text import PIECE, Tokenizer, Vocabulary
from .english import load_english
from .stored import StoredVectors

TOKENIZER, TENSORS, CONFIG = "tokenizer.json", "model.safetensors", "config.json"
NESTED = "0_StaticEmbedding"  # the folder of the table in a model of sentence-transformers
WORDS = Tokenizer(digits=True)  # finds words; resolve() uses the same tokenizer for weighted vectors
_FREQUENT = 10_000  # words that the scale of a table is computed from
_CHUNK = 16_384  # texts that are divided into pieces at a time
_MARKS = ("##", "\u2581", "\u0120")  # of WordPiece, SentencePiece and byte-level BPE: whether a piece begins a word
V = TypeVar("V", bound=StoredVectors)


@dataclass(frozen=True)
class Pieces:
    """A static table: one row per piece of a tokenizer.

    Attributes
    ----------
    table : (n_pieces, dim) float32
        The rows, times their weights; a row of zeros for a piece that is ignored.
    tokenizer : tokenizers.Tokenizer
        Divides texts into pieces; it neither pads nor truncates.
    name : str
        A name for messages.
    """

    table: NDArray[np.float32]
    tokenizer: Any
    name: str

    @classmethod
    def read(cls, source: str | Path) -> "Pieces":
        """Read a folder of model2vec or of sentence-transformers with a StaticEmbedding, or "wordllama".

        Parameters
        ----------
        source : str or Path
            The folder, or "wordllama" for the table in the package of that name, which is not imported.
        """
        tensors, tokenizer, config = _paths(source)
        divides = _tokenizer(tokenizer)
        arrays = _tensors(tensors)
        own = "embeddings" in arrays  # model2vec, which drops the unknown piece; sentence-transformers does not
        table = arrays["embeddings"] if own else arrays.get("embedding.weight", next(iter(arrays.values())))
        n_pieces = divides.get_vocab_size()
        mapping, weights = (arrays.get(name) if own else None for name in ("mapping", "weights"))
        try:
            rows = np.asarray(table if mapping is None else table[mapping], np.float32)
            rows = rows if weights is None else (rows * np.asarray(weights)[:, None]).astype(np.float32)
        except (IndexError, ValueError) as error:
            raise VectorsError(f"{tensors}: its mapping or weights do not fit its rows ({error}).") from None
        if rows.ndim != 2 or len(rows) < n_pieces or not rows.shape[1] or not np.isfinite(rows).all():
            raise VectorsError(
                f"{tensors}: the {n_pieces:,} pieces of the tokenizer need one row of finite numbers each, not an "
                f"array of shape {rows.shape}."
            )
        unknown = _unknown(tokenizer, divides) if own and config is not None else None
        if unknown is not None:
            rows = np.array(rows)
            rows[unknown] = 0
        return cls(rows, divides, WORDLLAMA if source == WORDLLAMA else Path(source).resolve().name)

    @property
    def dim(self) -> int:
        """Dimension of the rows."""
        return int(self.table.shape[1])

    @cached_property
    def words(self) -> list[str]:
        """The distinct words in the spellings of the pieces, lower-cased."""
        spelled = sorted(self.tokenizer.get_vocab(), key=self.tokenizer.get_vocab().get)
        plain = [_unmarked(piece) for piece in spelled]
        return list(dict.fromkeys(word for word in WORDS(" ".join(plain)) if word))

    @cached_property
    def scale(self) -> float:
        """The mean length of a word in English text, estimated by Zipf's law: ``english-128`` lists words by frequency.

        Tables may have any scale (such as integers); weights are lengths divided by this, so their mean is about 1.
        """
        lengths = np.linalg.norm(self.sums(load_english(StoredVectors).vocabulary.words[:_FREQUENT])[0], axis=1)
        return float(np.average(lengths, weights=1 / np.arange(2, len(lengths) + 2))) or 1.0

    def sums(self, texts: list[str]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the sum of the rows of the pieces of each text, (n, dim), and its number of pieces, (n,)."""
        from scipy import sparse

        sums, lengths = [np.empty((0, self.dim))], [np.empty(0, np.int64)]
        wide = self.table.astype(np.float64)
        for begin in range(0, len(texts), _CHUNK):
            some = texts[begin : begin + _CHUNK]
            ids = [one.ids for one in self.tokenizer.encode_batch(some, add_special_tokens=False)]
            sizes = np.array([len(one) for one in ids], np.int64)
            flat = np.concatenate([np.zeros(0, np.int64), *(np.array(one, np.int64) for one in ids)])
            shape = len(some), len(self.table)
            counts = sparse.csr_array((np.ones(len(flat)), flat, np.concatenate([[0], np.cumsum(sizes)])), shape=shape)
            sums.append(np.asarray(counts @ wide))
            lengths.append(sizes)
        return np.concatenate(sums), np.concatenate(lengths)

    def of_words(self, cls: type[V], words: list[str]) -> V:
        """Return word vectors that are the sums of their pieces; weights are the lengths of the sums over the scale."""
        sums, _ = self.sums(words)
        return self._weighted(cls, words, sums, f"{self.name}, words composed of pieces")

    def of_words_and_pieces(self, cls: type[V], words: list[str]) -> V:
        """Return the vectors of :meth:`of_words` and those of the pieces, for a reader that divides unknown words."""
        spelled, rows = self._rows()
        counted: NDArray[np.bool_] = np.any(rows != 0, axis=1)
        names = [PIECE + piece for piece, counts in zip(spelled, counted, strict=True) if counts]
        both = np.concatenate([self.sums(words)[0], rows[counted]])
        return self._weighted(cls, [*words, *names], both, f"{self.name}, words composed of pieces")

    def of_pieces(self, cls: type[V]) -> V:
        """Return one vector per piece, for a reader with this tokenizer: exact for every text, but slower."""
        spelled, rows = self._rows()
        return self._weighted(cls, spelled, rows, f"{self.name}, pieces")

    def _rows(self) -> tuple[list[str], NDArray[np.float64]]:
        """Return the spellings of the pieces, and the row of each."""
        spelled = sorted(self.tokenizer.get_vocab().items(), key=lambda item: item[1])
        return [piece for piece, _ in spelled], self.table[[row for _, row in spelled]].astype(np.float64)

    def _weighted(self, cls: type[V], words: list[str], rows: NDArray[np.float64], name: str) -> V:
        """Make word vectors from rows of any length; a row of zeros gets the weight 0 and an arbitrary direction."""
        lengths = np.linalg.norm(rows, axis=1)
        matrix = unit_rows(rows, np.float32)
        matrix[lengths == 0, 0] = 1.0
        return cls(Vocabulary(words), matrix, lengths, weights=lengths / self.scale, name=name)


def is_static_table(folder: Path) -> bool:
    """Return whether a folder holds a table of pieces, rather than saved word vectors."""
    return any((folder / subfolder / TOKENIZER).is_file() for subfolder in (".", NESTED))


def load_composed(cls: type[V], source: str | Path) -> V:
    """Load a table of pieces as word vectors, for the words among its pieces and those of ``english-128``."""
    pieces = Pieces.read(source)
    words = dict.fromkeys([*pieces.words, *load_english(cls).vocabulary.words])
    return pieces.of_words(cls, list(words))


def files_of(source: str | Path) -> list[Path]:
    """Return the files that a table is read from."""
    return [path for path in _paths(source) if path is not None]


def _paths(source: str | Path) -> tuple[Path, Path, Path | None]:
    """Return the files of the rows and the tokenizer, and of model2vec's configuration if there is one."""
    if source == WORDLLAMA:
        spec = find_spec("wordllama")
        if spec is None or not spec.submodule_search_locations:
            raise VectorsError(f"the table of {WORDLLAMA!r} is not installed: pip install --no-deps wordllama")
        package = Path(spec.submodule_search_locations[0])
        tokenizer = package / "tokenizers" / "l2_supercat_tokenizer_config.json"
        return package / "weights" / "l2_supercat_256.safetensors", tokenizer, None
    folder = Path(source)
    parent = folder if (folder / TOKENIZER).is_file() else folder / NESTED
    config = folder / CONFIG
    return parent / TENSORS, parent / TOKENIZER, config if config.is_file() else None


def _tensors(path: Path) -> dict[str, NDArray[Any]]:
    try:
        arrays = map_tensors(path)
    except (OSError, StoreError) as error:
        raise VectorsError(f"{path} cannot be read ({error}); a static model has its rows there.") from None
    if not arrays:
        raise VectorsError(f"{path} holds no array; a static model has its rows there.")
    return arrays


def _tokenizer(path: Path) -> Any:
    tokenizers = import_extra("tokenizers", "static", "Reading a table of word pieces")
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises Exception itself
        raise VectorsError(f"{path} is not a Hugging Face tokenizer ({error}).") from None
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _unknown(path: Path, tokenizer: Any) -> int | None:
    """Return the id of the piece for unknown text, if there is one."""
    model = json.loads(path.read_text("utf-8")).get("model", {})
    if model.get("unk_id") is not None:
        return int(model["unk_id"])
    piece = model.get("unk_token")
    row = None if piece is None else tokenizer.token_to_id(piece)
    return None if row is None else int(row)


def _unmarked(piece: str) -> str:
    for mark in _MARKS:
        piece = piece.removeprefix(mark)
    return piece
