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

from .base import SHARED, TextEncoder
from .fastsent import FastSent
from .skipthought import SkipThought

ENCODERS: dict[str, Any] = {encoder.__name__: encoder for encoder in (FastSent, SkipThought)}


@dataclass(eq=False, repr=False)
class Pretrained(TextEncoder):
    """An encoder that ``reproduce train-encoder`` wrote; ``fit`` loads it and learns nothing.

    Parameters
    ----------
    path : path
        The file of the encoder.
    fingerprint : str, default=None
        Which encoder the file must hold, by :func:`fingerprint_of`. With it, equal parameters mean equal vectors.
    device : str, default=None
        Where to compute, if the encoder can do so elsewhere than on the CPU.

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
    ...     path = Path(folder, "fastsent.safetensors")
    ...     FastSent(4, min_count=1, random_state=0).fit(story).save(path)
    ...     Pretrained.of(path).fit(["texts of an experiment"]).transform(["birds"]).shape
    (1, 4)
    """

    path: str | Path
    fingerprint: str | None = None
    device: str | None = None

    _parameters: ClassVar[Constraints] = SHARED | {
        "path": PATH, "fingerprint": instance_of(str) | NONE, "device": instance_of(str) | NONE,
    }  # fmt: skip

    encoder_: FastSent | SkipThought = field(init=False)
    fingerprint_: str = field(init=False)

    @classmethod
    def of(cls, path: str | Path, **given: Any) -> Self:
        """Return the encoder of a file, with the fingerprint of what the file holds now."""
        return cls(path, fingerprint_of(path), **given)

    def fit(self, X: Any = None, y: Any = None) -> Self:  # noqa: ARG002
        """Load the encoder; ``X`` and ``y`` are ignored."""
        self._begin_fit()
        self.fingerprint_ = fingerprint_of(self.path)
        if self.fingerprint not in (None, self.fingerprint_):
            raise StoreError(
                f"{self.path} holds the encoder {self.fingerprint_[:12]}…, not {str(self.fingerprint)[:12]}…: it was "
                "replaced. Name the file that holds that one, or leave the fingerprint out."
            )
        self.encoder_ = load_encoder(self.path, device=self.device)
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Return the vectors, (n_docs, dim)."""
        check_is_fitted(self)
        return self.encoder_.transform(X)

    @property
    def _n_features_out(self) -> int:
        return self.encoder_._n_features_out


def fingerprint_of(path: str | Path) -> str:
    """Return a hash of all that the vectors of an encoder depend on: what was learned, and with which parameters."""
    arrays, info = storage.read(_checked(path))
    first, *others = info.facts["objects"]
    learned = {name: fact for name, fact in first["learned"].items() if name != "seconds_"}
    digest = hashlib.sha256(json.dumps([info.kind, learned, others], sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).view(np.uint8).data)
    return digest.hexdigest()


def load_encoder(path: str | Path, *, device: str | None = None) -> Any:
    """Load the encoder that a file holds, of whichever class.

    Parameters
    ----------
    path : path
    device : str, default=None
        Where to compute, for an encoder that has the choice; None is the CPU.
    """
    encoder = ENCODERS[storage.read(_checked(path))[1].kind]
    return encoder.load(path, device=device or "cpu") if encoder is SkipThought else encoder.load(path)


def _checked(path: str | Path) -> str | Path:
    """Return the path of an encoder; raise if it holds none."""
    if not any(storage.is_saved(path, kind) for kind in ENCODERS):
        raise StoreError(f"{path} holds no encoder; 'reproduce train-encoder' writes one")
    return path
