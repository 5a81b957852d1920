"""Encoders that were trained beforehand on other text, and are not trained again."""

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from parasphere import storage
from parasphere.errors import StoreError
from parasphere.parameters import NONE, PATH, Constraints, instance_of
from parasphere.vectors import WordVectors

from .base import SHARED, TextEncoder
from .fastsent import FastSent
from .skipthought import SkipThought

ENCODERS: dict[str, Any] = {encoder.kind(): encoder for encoder in (FastSent, SkipThought)}


@dataclass(eq=False, repr=False)
class Pretrained(TextEncoder):
    """An encoder that ``reproduce train-encoder`` wrote; ``fit`` loads it and learns nothing.

    Parameters
    ----------
    folder : path
        The folder of the encoder.
    fingerprint : str, default=None
        Which encoder the folder must hold, by :func:`fingerprint_of`. With it, equal parameters mean equal vectors.
    device : str, default=None
        Where to compute, if the encoder can do so elsewhere than on the CPU.
    vectors : path or WordVectors, default=None
        Where the word vectors are now that the encoder refers to, if not where they were.

    Attributes
    ----------
    encoder_ : FastSent or SkipThought
        The encoder.
    fingerprint_ : str
        The fingerprint of the encoder.

    Examples
    --------
    >>> import tempfile
    >>> story = ["The sun rose.", "Birds sang.", "The sun set.", "Birds slept."] * 3
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     FastSent(4, min_count=1, random_state=0).fit(story).save(folder)
    ...     Pretrained.of(folder).fit(["texts of an experiment"]).transform(["birds"]).shape
    (1, 4)
    """

    folder: str | Path
    fingerprint: str | None = None
    device: str | None = None
    vectors: Any = None

    _parameters: ClassVar[Constraints] = SHARED | {
        "folder": PATH, "fingerprint": instance_of(str) | NONE, "device": instance_of(str) | NONE,
        "vectors": PATH | instance_of(WordVectors) | NONE,
    }  # fmt: skip

    encoder_: FastSent | SkipThought = field(init=False)
    fingerprint_: str = field(init=False)

    @classmethod
    def of(cls, folder: str | Path, **given: Any) -> Self:
        """Return the encoder of a folder, with the fingerprint of what the folder holds now."""
        return cls(folder, fingerprint_of(folder), **given)

    def fit(self, X: Any = None, y: Any = None) -> Self:  # noqa: ARG002
        """Load the encoder; ``X`` and ``y`` are ignored."""
        self._begin_fit()
        self.fingerprint_ = fingerprint_of(self.folder)
        if self.fingerprint not in (None, self.fingerprint_):
            raise StoreError(
                f"{self.folder} holds the encoder {self.fingerprint_[:12]}…, not {str(self.fingerprint)[:12]}…: it was "
                "replaced. Name the folder that holds that one, or leave the fingerprint out."
            )
        self.encoder_ = load_encoder(self.folder, vectors=self.vectors, device=self.device)
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Return the vectors, (n_docs, dim)."""
        check_is_fitted(self)
        return self.encoder_.transform(X)

    @property
    def _n_features_out(self) -> int:
        return self.encoder_._n_features_out


def fingerprint_of(folder: str | Path) -> str:
    """Return a hash of all that the vectors of an encoder depend on: what was learned, and with which parameters."""
    manifest = _manifest(folder)
    arrays, meta = storage.load(folder, manifest["kind"])
    learned = {name: fact for name, fact in meta["learned"].items() if name != "seconds_"}
    facts = [manifest["kind"], storage.Tensors(arrays).digest(), learned]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def load_encoder(folder: str | Path, *, vectors: Any = None, device: str | None = None) -> Any:
    """Load the encoder that a folder holds, of whichever class.

    Parameters
    ----------
    folder : path
    vectors : path or WordVectors, default=None
        As in :meth:`parasphere.storage.Saved.load`.
    device : str, default=None
        Where to compute, for an encoder that has the choice; None is the CPU.
    """
    encoder = ENCODERS[_manifest(folder)["kind"]]
    place = {} if device is None or encoder is not SkipThought else {"device": device}
    return encoder.load(folder, vectors=vectors, **place)


def _manifest(folder: str | Path) -> dict[str, Any]:
    path = Path(folder).expanduser()
    if not any(storage.is_saved(path, kind) for kind in ENCODERS):
        raise StoreError(f"{folder} holds no encoder; 'reproduce train-encoder' writes one")
    return storage.read_manifest(path)
