"""A fitted model on disk: what is written, and what must fit when it is read again."""

import math
from collections.abc import Callable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import storage
from ..compiled.layout import check_layouts
from ..errors import ParasphereError, StoreError
from ..features.bags import Bags
from ..features.facets import Facets
from ..features.own import Own
from ..sphere import vmf
from ..storage.kept import WRONG_FACTS, check_types, source_of, tokenizer_facts, tokenizer_from, vectors_from
from ..vectors.wordvectors import WordVectors
from .em import Online

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
    storage.save(folder, KIND, arrays, meta)


def load_model(make: Callable[..., Any], folder: str | Path, vectors: Any, tokenizer: Any, verify: bool) -> Any:
    """Read a model; see ``SphericalParagraphModel.load``."""
    arrays, meta = storage.load(folder, KIND, verify=verify)
    try:
        return _loaded(make, folder, arrays, meta, vectors, tokenizer)
    except StoreError:  # other vectors, or a tokenizer that is missing: it says so itself
        raise
    except ParasphereError as error:
        raise StoreError(f"{folder} lacks what a model needs ({error}): it is damaged.") from error
    except WRONG_FACTS as error:
        raise StoreError(f"{folder} lacks what a model needs ({error!r}): it is damaged.") from error


def _loaded(
    make: Callable[..., Any], folder: str | Path, arrays: storage.Arrays, meta: dict[str, Any],
    vectors: Any, tokenizer: Any,
) -> Any:  # fmt: skip
    check_layouts(arrays, {"numbers": "f8[3]", "mean_direction": "f8[width]", "evidence": "f8[n]"})
    parameters, numbers = dict(meta["parameters"]), arrays["numbers"].tolist()
    _insist(set(parameters) <= {*_PLAIN, "random_state"}, f"it has the parameters {sorted(parameters)}")
    check_types(getattr(make, "__init__"), parameters)  # noqa: B009
    if meta.get("own") is not None:  # models that were saved before words had anything of their own lack it
        parameters["own"] = Own(**meta["own"])
    found = _vectors(meta, arrays, vectors, folder)
    tokenizer = tokenizer_from(meta["tokenizer"], tokenizer, folder)
    model = make(found, tokenizer=tokenizer, prior_strength=numbers[2], **parameters)
    model._check_parameters()
    model.mean_direction_ = np.array(arrays["mean_direction"])
    model.concentration_, model.word_cosine_ = numbers[0], numbers[1]
    _check_prior(model)
    model.evidence_ = np.array(arrays["evidence"])
    model.n_iter_, model.converged_ = meta["n_iter"], meta["converged"]
    check_types({"n_iter": int, "converged": bool}, {name: meta[name] for name in ("n_iter", "converged")})
    width = model.n_features_in_ = model._n_features_out = len(model.mean_direction_)
    model.vectors_ = found
    model.facets_ = Facets.from_arrays(arrays) if "facets.centres" in arrays else None
    if found is not None:
        _insist(model._width(found) == width, f"its mean direction has {width} numbers and texts {model._width(found)}")
        if model.facets_ is not None:
            sizes = {"facets": int(model.facets), "words": len(found), "dim": found.dim}
            check_layouts(arrays, {"facets.centres": "f4[facets,dim]", "facets.starts": "i8[words+1]"}, sizes)
    if vectors is None and (found is None or not meta["vectors"]["embedded"]):
        check_types({"source": str | None}, {"source": meta["source"]})
        model.vectors = meta["source"]  # a copy saved again refers to the same vectors again
    if meta["online"] is not None:
        model._online = _online(meta["online"], arrays, width)
    return model


def _check_prior(model: Any) -> None:
    """Insist on numbers that a prior can have."""
    length = float(np.linalg.norm(model.mean_direction_))
    _insist(abs(length - 1) <= 1e-6, f"its mean direction has length {length}")
    _insist(0 <= model.concentration_ <= vmf.MAX_KAPPA, f"its concentration is {model.concentration_}")
    _insist(0 <= model.word_cosine_ <= 1, f"its mean cosine is {model.word_cosine_}")


def _online(facts: Any, arrays: storage.Arrays, width: int) -> Online:
    """Return the state of online learning."""
    check_layouts(arrays, {"online_mean": "f8[width]"}, {"width": width})
    seen, agreement, pairs = facts
    names = ("seen", "agreement", "pairs")
    check_types(dict(zip(names, (int, float, float), strict=True)), dict(zip(names, facts, strict=True)))
    mean = np.array(arrays["online_mean"])
    _insist(seen >= 0 and math.isfinite(agreement + pairs), f"online learning is at {facts}")
    _insist(float(np.linalg.norm(mean)) <= 1 + 1e-6, "its online mean is longer than 1")
    held = None
    if seen == 0 or "held.sums" in arrays:  # nothing learned for good: then all documents are held
        held = Bags(**{field.name: np.array(arrays[f"held.{field.name}"]) for field in fields(Bags)})
        held.check_numbers()
        _insist(held.dim == width and len(held) > 0, f"the {len(held)} documents it holds do not fit")
        _insist(bool((held.lengths > 0).all()), "it holds documents without words")
    return Online(seen, mean, float(agreement), float(pairs), held)


def _insist(sound: bool, fault: str) -> None:
    if not sound:
        raise ParasphereError(fault)


def _vectors(meta: dict[str, Any], arrays: storage.Arrays, given: Any, folder: str | Path) -> WordVectors | None:
    facts = meta["vectors"]
    if facts is None:
        return None
    check_types({"name": str, "fingerprint": str, "embedded": bool}, facts)
    if given is None and facts["embedded"]:
        return WordVectors.from_stored(arrays, folder, name=facts["name"], fingerprint=facts["fingerprint"])
    return vectors_from(given if given is not None else meta["source"], facts, folder)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
