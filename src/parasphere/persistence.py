"""A fitted model on disk: what is written, and what must fit when it is read again."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import store
from .em import Online
from .errors import ParasphereError, StoreError
from .facets import Facets
from .kept import source_of, tokenizer_facts, tokenizer_from, vectors_from
from .own import Own
from .vectors import WordVectors

KIND = "spherical-paragraph-model"
_PLAIN = ("weighted", "facets", "damped", "kappa_method", "init", "max_iter", "tol", "n_jobs", "device")


def save_model(model: Any, folder: str | Path, embed_vectors: bool | None) -> None:
    """Write a fitted model; see ``SphericalParagraphModel.save``."""
    vectors = getattr(model, "vectors_", None)
    if vectors is None and model.vectors is not None:  # fitted to bags: these are what texts will be read with
        vectors = model._load_vectors()
    source = source_of(model.vectors)
    embed = source is None if embed_vectors is None else embed_vectors
    seed = model.random_state if isinstance(model.random_state, int | np.integer) else None
    arrays: dict[str, NDArray[Any]] = {
        "mean_direction": model.mean_direction_,
        "numbers": np.array([model.concentration_, model.word_cosine_, float(model.prior_strength)]),
        "evidence": model.evidence_,
    }
    meta: dict[str, Any] = {
        "parameters": {name: _plain(getattr(model, name)) for name in _PLAIN} | {"random_state": _plain(seed)},
        "own": None if model.own is None else asdict(model.own),
        "tokenizer": tokenizer_facts(model._tokenizer()),
        "n_iter": int(model.n_iter_),
        "converged": bool(model.converged_),
        "source": source,
        "vectors": None,
        "online": None,
    }
    if vectors is not None:
        meta["vectors"] = {
            "name": vectors.name, "fingerprint": vectors.fingerprint, "embedded": embed,
        }  # fmt: skip
        if embed:
            arrays |= vectors.arrays()
    if model.facets > 1 and model.facets_ is None and vectors is not None:
        model._find_facets(vectors)
    if model.facets_ is not None:
        arrays |= model.facets_.arrays()
    if hasattr(model, "_online"):
        meta["online"] = [model._online.seen, model._online.agreement, model._online.pairs]
        arrays["online_mean"] = model._online.mean
        if model._online.held is not None:
            arrays |= {f"held.{name}": array for name, array in vars(model._online.held).items()}
    store.save(folder, KIND, arrays, meta)


def load_model(make: Callable[..., Any], folder: str | Path, vectors: Any, tokenizer: Any) -> Any:
    """Read a model; see ``SphericalParagraphModel.load``."""
    arrays, meta = store.load(folder, KIND)
    try:
        parameters, numbers = dict(meta["parameters"]), arrays["numbers"].tolist()
        if meta.get("own") is not None:  # models that were saved before words had anything of their own lack it
            parameters["own"] = Own(**meta["own"])
        found = _vectors(meta, arrays, vectors, folder)
        tokenizer = tokenizer_from(meta["tokenizer"], tokenizer, folder)
        model = make(found, tokenizer=tokenizer, prior_strength=numbers[2], **parameters)
        model.mean_direction_ = np.array(arrays["mean_direction"])
        model.concentration_, model.word_cosine_ = numbers[0], numbers[1]
        model.evidence_ = np.array(arrays["evidence"])
        model.n_iter_, model.converged_ = meta["n_iter"], meta["converged"]
        model.n_features_in_ = model._n_features_out = len(model.mean_direction_)
        model.vectors_ = found
        model.facets_ = Facets.from_arrays(arrays) if "facets.centres" in arrays else None
        if vectors is None and (found is None or not meta["vectors"]["embedded"]):
            model.vectors = meta["source"]  # a copy saved again refers to the same vectors again
        if meta["online"] is not None:
            seen, agreement, pairs = meta["online"]
            model._online = Online(seen, np.array(arrays["online_mean"]), agreement, pairs)
    except ParasphereError:  # other vectors, or a tokenizer that is missing: it says so itself
        raise
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise StoreError(f"{folder} lacks what a model needs ({error!r}): it is damaged.") from error
    return model


def _vectors(meta: dict[str, Any], arrays: store.Arrays, given: Any, folder: str | Path) -> WordVectors | None:
    facts = meta["vectors"]
    if facts is None:
        return None
    if given is None and facts["embedded"]:
        return WordVectors.from_stored(arrays, folder, name=facts["name"], fingerprint=facts["fingerprint"])
    return vectors_from(given if given is not None else meta["source"], facts, folder)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
