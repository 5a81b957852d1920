"""Paragraph vectors (PV): a vector of each text, learned so that it foretells the text's words."""

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..corpus import blocks
from ..errors import CorpusError, MissingExtraError, ParasphereError
from ..features.inputs import held_texts
from ..progress import progress
from ..text import AnyTokenizer, Vocabulary, count_words, split_texts
from ..vectors import WordVectors
from .base import TextEncoder, loaded

Mode = Literal["dbow", "dm"]
Floats = NDArray[np.float32]
# Chosen by cross-validation within the training parts of 20 Newsgroups (similar) and of Subj.
DEFAULTS: dict[Mode, dict[str, Any]] = {
    "dbow": {"epochs": 10, "alpha": 0.1, "infer_alpha": 0.05},
    "dm": {"epochs": 5, "alpha": 0.025, "infer_alpha": 0.1},
}
END_ALPHA = 0.0001  # where the learning rate ends, as in word2vec
MAX_ALPHA = 1.0  # of learning; beyond, the weights grow without bound
MAX_WEIGHT = 1e3
_LONGEST = 10_000  # gensim passes over what a piece of text has beyond so many words


class ParagraphVectors(TextEncoder):
    """Texts as the paragraph vectors of Le and Mikolov (2014), by gensim's Doc2Vec (the extra ``gensim``).

    Parameters
    ----------
    mode : "dbow" or "dm"
        PV-DBOW, in which a text's vector foretells each of its words; or PV-DM, in which its mean with the vectors of
        the words around does so.
    dim : int
        Dimension of the vectors, if no word vectors are given; otherwise it is theirs.
    vectors : str, path, WordVectors or None
        Word vectors to begin with, or what :meth:`WordVectors.load` takes. A word that they lack begins as all words do
        without them.
    epochs : int, optional
        Passes over the training texts; by default 10 in PV-DBOW, 5 in PV-DM, which is slower.
    alpha : float, optional
        Learning rate at the first pass, from where it falls towards 0.0001; by default 0.1 in PV-DBOW, 0.025 in PV-DM.
    infer_epochs : int
        Passes over each text whose vector is wanted.
    infer_alpha : float, optional
        Learning rate at the first of these; by default 0.05 in PV-DBOW, 0.1 in PV-DM.
    negative : int
        Noise words for each word.
    window : int
        Words around on each side (PV-DM only).
    min_count : int
        How often a word must occur in the training texts to be known.
    tokenizer : Tokenizer or callable, optional
        What counts as a word; by default runs of Unicode letters, lower-cased, without English stop words.
    random_state : int, RandomState or None

    Attributes
    ----------
    vocabulary_ : Vocabulary
        The words that are known, most frequent first.
    counts_ : (n_words,) int64
        How often each occurs in the training texts.
    output_weights_ : (n_words, dim) float32
        What a vector is multiplied with to foretell each word.
    input_weights_ : (n_words, dim) float32 or None
        The words' own vectors in PV-DM; PV-DBOW has none.
    seed_ : int
        From which all noise is drawn.

    Notes
    -----
    Texts are whatever :func:`parasphere.corpus.blocks` takes. The vector of any text, trained on or not, is inferred
    anew with the weights held: it starts at zero and makes `infer_epochs` passes over the text, with the same stream of
    noise for each text. It depends on nothing but the text, and a classifier sees training and test texts alike. A text
    without known words stays at zero.

    Word vectors that are given become the output weights, and in PV-DM the input weights too. In PV-DBOW there is no
    other place for them: gensim's input weights take no part in it unless words are trained beside texts, which is
    many times slower and was no better.

    Examples
    --------
    >>> texts = ["north sea wind", "sea wind north", "gold coin bank", "bank coin gold"] * 10
    >>> pv = ParagraphVectors(dim=5, alpha=0.5, epochs=20).fit(texts)
    >>> sea, wind, bank, nothing = pv.transform(["sea north", "wind sea", "gold bank", "unheard"])
    >>> bool(sea @ wind > 3 * abs(sea @ bank))
    True
    >>> nothing
    array([0., 0., 0., 0., 0.], dtype=float32)
    """

    vocabulary_: Vocabulary
    counts_: NDArray[np.int64]
    output_weights_: Floats
    input_weights_: Floats | None
    seed_: int
    _layouts: ClassVar = {
        "counts_": "i8[words]", "output_weights_": "f4[words,columns]", "input_weights_": "f4[words,columns]?",
    }  # fmt: skip
    _positive: ClassVar = ("counts_",)

    def __init__(
        self, mode: Mode = "dbow", dim: int = 50, vectors: Any = None, *, epochs: int | None = None,
        alpha: float | None = None, infer_epochs: int = 10, infer_alpha: float | None = None, negative: int = 5,
        window: int = 2, min_count: int = 1, tokenizer: AnyTokenizer | None = None, random_state: Any = 0,
    ) -> None:  # fmt: skip
        self.mode = mode
        self.dim = dim
        self.vectors = vectors
        self.epochs = epochs
        self.alpha = alpha
        self.infer_epochs = infer_epochs
        self.infer_alpha = infer_alpha
        self.negative = negative
        self.window = window
        self.min_count = min_count
        self.tokenizer = tokenizer
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn the weights; labels are not looked at."""
        self._check_parameters()
        _gensim()
        held = held_texts(X)
        words, counts = count_words(held, self._words())
        frequent = int((counts >= self.min_count).sum())
        if not frequent:
            raise CorpusError(
                f"no word occurs {self.min_count} times in these texts; lower min_count or give more text"
            )
        self.vocabulary_, self.counts_ = Vocabulary(words[:frequent]), counts[:frequent]
        self.seed_ = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        vectors = None if self.vectors is None else loaded(self.vectors)
        model = self._new_model(self.dim if vectors is None else vectors.dim)
        if vectors is not None:
            _begin_with(vectors, self.vocabulary_, model)
        self._learn(model, list(self._lists(held)))
        self.output_weights_ = model.syn1neg
        self.input_weights_ = model.wv.vectors if self.mode == "dm" else None
        self._model = model
        return self

    def transform(self, X: Any) -> Floats:
        """Return the inferred vectors, (n_docs, dim)."""
        check_is_fitted(self, "output_weights_")
        self._check_parameters()
        model = self._rebuilt()
        go_over = _pass_over(model)
        alphas = np.linspace(self._chosen("infer_alpha"), END_ALPHA, self.infer_epochs)
        found = []
        with progress("inferring paragraph vectors", unit="texts") as advance:
            for words in self._lists(X):
                vector = np.zeros((1, model.vector_size), np.float32)
                model.random.seed(self.seed_)  # the same noise for every text, in whatever company it comes
                for alpha in alphas:
                    go_over(words, vector, 0, alpha, False)
                found.append(vector)
                advance(1)
        return np.concatenate(found) if found else np.empty((0, model.vector_size), np.float32)

    @property
    def _n_features_out(self) -> int:
        return int(self.output_weights_.shape[1])

    def _learn(self, model: Any, texts: list[list[str]]) -> None:
        """Train the weights in place, as ``Doc2Vec.train`` does but in this thread, so that a seed is enough."""
        vectors = first_vectors(len(texts), model.vector_size, self.seed_)
        go_over = _pass_over(model)
        epochs, start = self._chosen("epochs"), self._chosen("alpha")
        with progress("learning paragraph vectors", epochs * len(texts), unit="texts") as advance:
            for epoch in range(epochs):
                alpha = start - (start - END_ALPHA) * epoch / epochs
                for row, words in enumerate(texts):
                    go_over(words, vectors, row, alpha, True)
                    advance(1)

    def _chosen(self, name: str) -> Any:
        """Return a parameter, or what it is by default in this mode."""
        given = getattr(self, name)
        return DEFAULTS[self.mode][name] if given is None else given

    def _lists(self, X: Any) -> Iterator[list[str]]:
        for block in blocks(X):
            lists = block.texts if block.tokenised else split_texts(block.texts, self._words())
            yield from lists.to_pylist()

    def _new_model(self, dim: int) -> Any:
        """Return a Doc2Vec of the known words, its weights as gensim begins."""
        model = _gensim().Doc2Vec(
            vector_size=dim, dm=int(self.mode == "dm"), window=self.window, negative=self.negative, hs=0, sample=0,
            min_count=1, sorted_vocab=0, seed=self.seed_, workers=1,
        )  # fmt: skip
        model.build_vocab_from_freq(dict(zip(self.vocabulary_.words, self.counts_.tolist(), strict=True)))
        return model

    def _rebuilt(self) -> Any:
        """Return the Doc2Vec, made anew from the arrays if this estimator was loaded."""
        if not hasattr(self, "_model"):
            self._model = self._new_model(self._n_features_out)
            self._model.syn1neg = self.output_weights_
            if self.input_weights_ is not None:
                self._model.wv.vectors = self.input_weights_
        return self._model

    def _check_parameters(self) -> None:
        if self.mode not in get_args(Mode):
            raise ValueError(f"mode must be 'dbow' or 'dm', not {self.mode!r}")
        least = dict.fromkeys(("dim", "infer_epochs", "negative", "window", "min_count"), 1)
        by_mode = {"epochs": 1, "alpha": END_ALPHA, "infer_alpha": END_ALPHA}
        for name, bound in (least | by_mode).items():
            value = self._chosen(name) if name in by_mode else getattr(self, name)
            if not value >= bound:
                raise ValueError(f"{name} must be at least {bound}, not {value!r}")
            if name.endswith("alpha") and not value <= MAX_ALPHA:
                raise ValueError(f"{name} must be at most {MAX_ALPHA}, not {value!r}")

    def _check_learned(self) -> None:
        """Look at the weights too: gensim's compiled loops read beyond their tables where a product overflows."""
        super()._check_learned()
        for weights in (self.output_weights_, self.input_weights_):
            if weights is not None and not (abs(weights) <= MAX_WEIGHT).all():
                raise ParasphereError(f"the weights must lie within {MAX_WEIGHT:g}")


def first_vectors(n_docs: int, dim: int, seed: int) -> Floats:
    """Return where the training texts' vectors begin, (n_docs, dim): near zero, uniform, as in word2vec."""
    return (np.random.default_rng(seed).random((n_docs, dim), np.float32) - np.float32(0.5)) / np.float32(dim)


def _begin_with(vectors: WordVectors, vocabulary: Vocabulary, model: Any) -> None:
    """Put the given vectors in place of the weights of the words that they have."""
    rows = vectors.vocabulary.get_many(vocabulary.words)
    known = rows >= 0
    model.syn1neg[known] = model.wv.vectors[known] = vectors.matrix[rows[known]]


def _pass_over(model: Any) -> Callable[[list[str], Floats, int, float, bool], None]:
    """Return a function that goes over a text once: it moves its vector, and the weights if they are to learn."""
    doc2vec = _gensim()
    step = doc2vec.train_document_dbow if model.sg else doc2vec.train_document_dm
    free = np.ones(1, np.float32)  # no vector is locked
    # gensim lets go of scratch memory that it makes itself, and then writes to it: ours outlives the call.
    scratch = {"work": np.zeros(model.layer1_size, np.float32)}
    if not model.sg:
        scratch["neu1"] = np.zeros(model.layer1_size, np.float32)

    def go(words: list[str], vectors: Floats, row: int, alpha: float, learn: bool) -> None:
        for begin in range(0, len(words), _LONGEST):
            piece = words[begin : begin + _LONGEST]
            step(
                model, piece, [row], alpha, learn_words=learn, learn_hidden=learn,
                doctag_vectors=vectors, doctags_lockf=free, **scratch,
            )  # fmt: skip

    return go


def _gensim() -> Any:
    try:
        from gensim.models import doc2vec
    except ImportError:
        raise MissingExtraError("gensim", "gensim", "ParagraphVectors") from None
    return doc2vec
