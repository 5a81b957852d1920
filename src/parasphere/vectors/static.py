"""Static models of other libraries: tables of word pieces that are read, and tables of words that are written.

The tables are folders of model2vec and of sentence-transformers' StaticEmbedding, and WordLlama's. These libraries
represent a text by the mean of the rows of its pieces. Here a word is the sum of the rows of its pieces, with the
length of the sum as its weight, and a text is the weighted sum of its words: it has the same direction as in the
library that the table was made for, if both divide it into the same words. See docs/ecosystem.md.

A folder that is written has the format of model2vec: a table of rows, a tokenizer of whole words in the format of
Hugging Face, and the list of modules that sentence-transformers needs. Both compute a text vector as the mean of the
rows of its words, scaled to unit length. Neither library is needed for reading or writing.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import StoreError, VectorsError, import_extra
from ..places import WORDLLAMA
from ..sphere.rows import unit_rows
from ..storage import Tensors, map_tensors, path_of, replacing, write_file
from ..text import AnyTokenizer, Tokenizer, Vocabulary
from .english import read_english

TOKENIZER, TENSORS, CONFIG = "tokenizer.json", "model.safetensors", "config.json"
NESTED = "0_StaticEmbedding"  # the folder of the table in a model of sentence-transformers
WORDS = Tokenizer(digits=True)  # finds words; resolve() uses the same tokenizer for weighted vectors
_FREQUENT = 10_000  # words that the scale of a table is computed from
_CHUNK = 16_384  # texts that are divided into pieces at a time
UNKNOWN = "[UNK]"  # has a row of zeros; no word is spelled like it
PRIOR = "\ue000"  # the pseudo-word before every text: a private-use character, which is not a letter
_MARKS = ("##", "\u2581", "\u0120")  # of WordPiece, SentencePiece and byte-level BPE: whether a piece begins a word
_MODULES = [
    {"idx": 0, "name": "0", "path": ".", "type": "sentence_transformers.models.StaticEmbedding"},
    {"idx": 1, "name": "1", "path": "1_Normalize", "type": "sentence_transformers.models.Normalize"},
]


class Composed(NamedTuple):
    """Words or pieces, their unit rows, (n, dim), the lengths of the rows before, their weights, and a name."""

    vocabulary: Vocabulary
    matrix: NDArray[np.float32]
    norms: NDArray[np.float64]
    weights: NDArray[np.float64]
    name: str


@dataclass(frozen=True)
class StaticTable:
    """A static table: one row per piece of a tokenizer.

    Attributes
    ----------
    rows : (n_pieces, dim) float32
        The rows, times their weights; a row of zeros for a piece that is ignored.
    tokenizer : tokenizers.Tokenizer
        Divides texts into pieces; it neither pads nor truncates.
    name : str
        A name for messages.
    """

    rows: NDArray[np.float32]
    tokenizer: Any
    name: str

    @classmethod
    def read(cls, source: str | Path) -> "StaticTable":
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
        return int(self.rows.shape[1])

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
        lengths = np.linalg.norm(self.sums(read_english().vocabulary.words[:_FREQUENT])[0], axis=1)
        return float(np.average(lengths, weights=1 / np.arange(2, len(lengths) + 2))) or 1.0

    def sums(self, texts: list[str]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the sum of the rows of the pieces of each text, (n, dim), and its number of pieces, (n,)."""
        from scipy import sparse

        sums, lengths = [np.empty((0, self.dim))], [np.empty(0, np.int64)]
        wide = self.rows.astype(np.float64)
        for begin in range(0, len(texts), _CHUNK):
            some = texts[begin : begin + _CHUNK]
            ids = [one.ids for one in self.tokenizer.encode_batch(some, add_special_tokens=False)]
            sizes = np.array([len(one) for one in ids], np.int64)
            flat = np.concatenate([np.zeros(0, np.int64), *(np.array(one, np.int64) for one in ids)])
            shape = len(some), len(self.rows)
            counts = sparse.csr_array((np.ones(len(flat)), flat, np.concatenate([[0], np.cumsum(sizes)])), shape=shape)
            sums.append(np.asarray(counts @ wide))
            lengths.append(sizes)
        return np.concatenate(sums), np.concatenate(lengths)

    def of_words(self, words: Iterable[str] | None = None) -> Composed:
        """Compose words: each is the sum of its pieces, with the length of the sum over the scale as its weight.

        Parameters
        ----------
        words : iterable of str, default=None
            The words; repeated ones are composed once. None are those among the pieces, and those of ``english-128``.
        """
        if isinstance(words, str):
            raise VectorsError(f"words must be an iterable of words, not the one str {words!r:.60}.")
        some = [*self.words, *read_english().vocabulary.words] if words is None else words
        vocabulary = Vocabulary(dict.fromkeys(some))
        if not len(vocabulary):
            raise VectorsError(f"{self.name} needs at least one word to compose, not none.")
        return self._weighted(vocabulary, self.sums(vocabulary.words)[0], f"{self.name}, words composed of pieces")

    def of_pieces(self) -> Composed:
        """Return one row per piece, for a reader with this tokenizer: exact for every text, but slower."""
        spelled = sorted(self.tokenizer.get_vocab().items(), key=lambda item: item[1])
        rows = self.rows[[row for _, row in spelled]].astype(np.float64)
        return self._weighted(Vocabulary(piece for piece, _ in spelled), rows, f"{self.name}, pieces")

    def _weighted(self, vocabulary: Vocabulary, rows: NDArray[np.float64], name: str) -> Composed:
        """Scale rows of any length to unit length; a row of zeros gets the weight 0 and an arbitrary direction."""
        lengths = np.linalg.norm(rows, axis=1)
        matrix = unit_rows(rows, np.float32)
        matrix[lengths == 0, 0] = 1.0
        return Composed(vocabulary, matrix, lengths, lengths / self.scale, name)


def is_static_table(folder: Path) -> bool:
    """Return whether a folder holds a table of pieces, rather than saved word vectors."""
    return any((folder / subfolder / TOKENIZER).is_file() for subfolder in (".", NESTED))


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


def write_static(
    folder: str | Path,
    words: list[str],
    rows: NDArray[np.floating[Any]],
    tokenizer: AnyTokenizer,
    prior: NDArray[np.floating[Any]] | None = None,
) -> None:
    """Write words and rows, of any length, to a folder that model2vec and sentence-transformers load.

    Parameters
    ----------
    folder : path
        Created if necessary. Files of the same names are replaced, others are not changed.
    words : list of str
        One word per row. Words that the tokenizer never returns (such as stop words) are left out.
    rows : (n_words, dim) array
        The rows, times their weights.
    tokenizer : Tokenizer
        Splits texts into words.
    prior : (dim,) array, default=None
        A row that is added to every text that is not empty.
    """
    tokenizer = writable(tokenizer)
    kept = [i for i, word in enumerate(words) if _is_word(word, tokenizer)]
    spelled = [UNKNOWN, *([] if prior is None else [PRIOR]), *(words[i] for i in kept)]
    first = np.zeros((1, rows.shape[1])) if prior is None else np.stack([np.zeros(len(prior)), prior])
    table = np.concatenate([first, rows[kept]]).astype(np.float32)
    folder = path_of(folder)
    with replacing(folder / TENSORS) as part:
        Tensors({"embeddings": table}).write(part, "wb")
    vocabulary = {word: row for row, word in enumerate(spelled)}
    facts: dict[str, Any] = {
        TOKENIZER: _tokenizer_json(vocabulary, tokenizer, prior is not None),
        CONFIG: {"model_type": "model2vec", "normalize": True, "embedding_dtype": "float32", "max_length": None},
        "modules.json": _MODULES,
    }
    for name, content in facts.items():
        write_file(folder / name, json.dumps(content, ensure_ascii=False).encode())


def writable(tokenizer: AnyTokenizer) -> Tokenizer:
    """Return a tokenizer that can be written as a tokenizer.json; raise for others."""
    if not isinstance(tokenizer, Tokenizer):
        raise VectorsError(
            f"a static model can be written with a Tokenizer of this library only, not {type(tokenizer).__name__}; "
            "other tokenizers cannot be written as a tokenizer.json."
        )
    return tokenizer


def _is_word(word: str, tokenizer: Tokenizer) -> bool:
    if any(character.isspace() for character in word):
        return False
    return len(word) >= tokenizer.min_length and word not in tokenizer.stop_words


def _tokenizer_json(vocabulary: dict[str, int], tokenizer: Tokenizer, prior: bool) -> dict[str, Any]:
    """Return the tokenizer.json of a tokenizer that splits texts as :class:`parasphere.Tokenizer` does."""
    steps: list[dict[str, Any]] = []
    if tokenizer.lowercase:
        steps.append({"type": "Lowercase"})
    if prior:
        steps.append({"type": "Prepend", "prepend": f"{PRIOR} "})
    pattern = f"{PRIOR}|{_pattern(tokenizer)}" if prior else _pattern(tokenizer)
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
        "normalizer": {"type": "Sequence", "normalizers": steps} if steps else None,
        "pre_tokenizer": {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Removed", "invert": True},
        "post_processor": None, "decoder": None,
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": UNKNOWN},
    }  # fmt: skip


def _pattern(tokenizer: Tokenizer) -> str:
    """Return the regular expression of a word: a letter (or digit), then letters and the marks that continue them."""
    if tokenizer.english:
        return "[a-zA-Z0-9]+" if tokenizer.digits else "[a-zA-Z]+"
    letters = r"\p{L}\p{Nd}" if tokenizer.digits else r"\p{L}"
    return rf"[{letters}][{letters}\p{{M}}]*"
