"""Encoders that were trained beforehand, on other text: an experiment applies them and must not train them again."""

import hashlib
import json
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .. import storage
from ..errors import StoreError
from .base import TextEncoder
from .fastsent import FastSent
from .skipthought import SkipThought

ENCODERS: dict[str, Any] = {encoder._kind(): encoder for encoder in (FastSent, SkipThought)}


class Pretrained(TextEncoder):
    """An encoder that ``parasphere train-encoder`` wrote; ``fit`` learns nothing.

    Parameters
    ----------
    folder : path
    fingerprint : str, optional
        Which weights the folder must hold, by :func:`fingerprint_of`. With it, equal parameters mean equal vectors.
    device : str, optional
        Where to compute, for encoders that can do so elsewhere than on the CPU.
    vectors : optional
        Word vectors in place of those that the folder refers to, if they have moved.

    Attributes
    ----------
    fingerprint_ : str
        Of the weights that were found.

    Notes
    -----
    Texts and vectors are those of the encoder in the folder.

    Examples
    --------
    >>> import tempfile
    >>> story = ["The sun rose.", "Birds sang.", "The sun set.", "Birds slept."] * 3
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     FastSent(4, min_count=1, random_state=0).fit(story).save(folder)
    ...     Pretrained.of(folder).fit(["texts of an experiment"]).transform(["birds"]).shape
    (1, 4)
    """

    fingerprint_: str

    def __init__(
        self, folder: str | Path, fingerprint: str | None = None, device: str | None = None, vectors: Any = None
    ) -> None:
        self.folder = folder
        self.fingerprint = fingerprint
        self.device = device
        self.vectors = vectors

    @classmethod
    def of(cls, folder: str | Path, **given: Any) -> Self:
        """Return the encoder in a folder, bound to the weights that the folder holds now."""
        return cls(folder, fingerprint_of(folder), **given)

    def fit(self, X: Any = None, y: Any = None) -> Self:  # noqa: ARG002
        """Load the encoder; the texts are not looked at."""
        self._encoder: Any = None
        self.fingerprint_ = self._checked(self.fingerprint)
        self._loaded()
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Return the vectors, (n_docs, dim)."""
        check_is_fitted(self, "fingerprint_")
        vectors: NDArray[np.float32] = self._loaded().transform(X)
        return vectors

    @property
    def _n_features_out(self) -> int:
        return int(self._loaded()._n_features_out)

    def _checked(self, wanted: str | None) -> str:
        found = fingerprint_of(self.folder)
        if wanted is not None and wanted != found:
            raise StoreError(
                f"{self.folder} holds the weights {found[:12]}…, not {wanted[:12]}…: it was written anew. "
                "Name the folder that holds those, or leave the fingerprint out."
            )
        return found

    def _loaded(self) -> Any:
        if getattr(self, "_encoder", None) is None:
            self._checked(self.fingerprint_)
            encoder = load_encoder(self.folder, vectors=self.vectors)
            if self.device is not None and "device" in encoder.get_params():
                encoder.set_params(device=self.device)
            self._encoder = encoder
        return self._encoder


def fingerprint_of(folder: str | Path) -> str:
    """Return a hash of all that an encoder's vectors depend on: its weights and its parameters."""
    manifest = _manifest(folder)
    facts = [manifest["kind"], manifest["sha256"], manifest["meta"]["parameters"]]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def load_encoder(folder: str | Path, *, vectors: Any = None) -> Any:
    """Load the encoder that a folder holds, whichever it is; ``vectors`` as in :meth:`parasphere.storage.Saved.load`."""
    return ENCODERS[_manifest(folder)["kind"]].load(folder, vectors=vectors)


def _manifest(folder: str | Path) -> dict[str, Any]:
    path = Path(folder).expanduser()
    if not any(storage.is_saved(path, kind) for kind in ENCODERS):
        raise StoreError(f"{folder} holds no encoder; 'parasphere train-encoder' writes one")
    return storage.read_manifest(path)
