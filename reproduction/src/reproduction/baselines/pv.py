"""Paragraph vectors (PV): one vector per text, trained to predict the words of the text."""

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from parasphere.corpus import blocks, reread
from parasphere.errors import CorpusError, ParasphereError
from parasphere.parameters import NONE, Constraints, number, one_of
from parasphere.progress import progress
from parasphere.text import AnyTokenizer, Vocabulary, count_words, split_texts
from parasphere.vectors import resolve

from .base import COUNT, SHARED, VECTORS, WordEncoder

Mode = Literal["dbow", "dm"]
Floats = NDArray[np.float32]
# Chosen by cross-validation within the training parts of 20 Newsgroups (similar) and of Subj.
DEFAULTS: dict[Mode, dict[str, Any]] = {
    "dbow": {"epochs": 10, "alpha": 0.1, "infer_alpha": 0.05},
    "dm": {"epochs": 5, "alpha": 0.025, "infer_alpha": 0.1},
}
END_ALPHA = 0.0001  # where the learning rate ends, as in word2vec
MAX_WEIGHT = 1e3
ALPHA = number(float, END_ALPHA, 1.0, "both")  # larger rates let the weights grow without bound
_LONGEST = 10_000  # gensim ignores the words of a text beyond these


@dataclass(eq=False, repr=False)
class ParagraphVectors(WordEncoder):
    """Texts as the paragraph vectors of Le and Mikolov (2014), by gensim's Doc2Vec (the extra ``gensim``).

    Parameters
    ----------
    mode : {"dbow", "dm"}, default="dbow"
        PV-DBOW, in which the vector of a text predicts each of its words; or PV-DM, in which the mean of that vector
        and those of the words around a word predicts it.
    dim : int, default=50
        Dimension of the vectors, if ``vectors`` is None; otherwise the dimension is theirs.
    vectors : str, path, WordVectors, learner or None, default=None
        Initial word vectors, or what :meth:`WordVectors.load` takes; or a learner such as
        :class:`parasphere.JointVectors`, which learns them from the training texts. Words without a vector, and all
        words if this is None, start as in gensim.
    epochs : int, default=None
        Passes over the training texts; None is 10 in PV-DBOW and 5 in PV-DM, which is slower.
    alpha : float, default=None
        Learning rate of the first pass, from 0.0001 to 1; it falls towards 0.0001. None is 0.1 in PV-DBOW and 0.025 in
        PV-DM.
    infer_epochs : int, default=10
        Passes over each text in ``transform``.
    infer_alpha : float, default=None
        Learning rate of the first of these, from 0.0001 to 1; None is 0.05 in PV-DBOW and 0.1 in PV-DM.
    negative : int, default=5
        Noise words per word.
    window : int, default=2
        Words of context on each side (PV-DM only).
    min_count : int, default=1
        Least count of a word in the training texts.
    tokenizer : Tokenizer or callable, default=None
        What counts as a word. None is the learner's tokenizer, if ``vectors`` is one, or runs of Unicode letters,
        lower-cased, without English stop words.
    random_state : int, RandomState or None, default=0
        Seeds the initial vectors and the noise words.
    verbose : bool, default=False
        Show progress.

    Attributes
    ----------
    vocabulary_, tokenizer_ : Vocabulary, and Tokenizer or callable
        The known words, most frequent first, and what texts are split with.
    counts_ : (n_words,) int64
        Count of each word in the training texts.
    output_weights_ : (n_words, dim) float32
        Output vectors of the words.
    input_weights_ : (n_words, dim) float32 or None
        Input vectors of the words in PV-DM; None in PV-DBOW.
    seed_ : int
        Seed of the noise words.
    mode_, infer_epochs_, infer_alpha_, negative_, window_
        The parameters of the fit.

    Notes
    -----
    Texts are whatever :func:`parasphere.corpus.blocks` takes. The vector of every text, including the training texts,
    is inferred with fixed weights: it starts at zero and makes ``infer_epochs`` passes over the text, with the same
    noise words for each text. So it depends on the text alone, and a classifier sees training and test texts alike. A
    text without known words has the zero vector.

    Initial word vectors become the output weights, and in PV-DM the input weights too. PV-DBOW has no other use for
    them: gensim uses input weights there only if words are trained beside texts, which is many times slower and was no
    better.

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

    mode: Mode = "dbow"
    dim: int = 50
    vectors: Any = None
    _: KW_ONLY
    epochs: int | None = None
    alpha: float | None = None
    infer_epochs: int = 10
    infer_alpha: float | None = None
    negative: int = 5
    window: int = 2
    min_count: int = 1
    tokenizer: AnyTokenizer | None = None
    random_state: Any = 0
    verbose: bool = False

    _parameters: ClassVar[Constraints] = SHARED | {
        "mode": one_of("dbow", "dm"), "vectors": VECTORS | NONE, "epochs": COUNT | NONE, "alpha": ALPHA | NONE,
        "infer_epochs": COUNT, "infer_alpha": ALPHA | NONE, "window": COUNT,
    }  # fmt: skip
    _fixed: ClassVar = ("mode", "infer_epochs", "infer_alpha", "negative", "window")

    mode_: Mode = field(init=False)
    infer_epochs_: int = field(init=False)
    infer_alpha_: float = field(init=False)
    negative_: int = field(init=False)
    window_: int = field(init=False)
    vocabulary_: Vocabulary = field(init=False)
    counts_: NDArray[np.int64] = field(init=False)
    output_weights_: Floats = field(init=False)
    input_weights_: Floats | None = field(init=False)
    seed_: int = field(init=False)
    _layouts: ClassVar = {
        "counts_": "i8[words]", "output_weights_": "f4[words,columns]", "input_weights_": "f4[words,columns]?",
    }  # fmt: skip
    _positive: ClassVar = ("counts_",)

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn the weights; ``y`` is ignored."""
        self._begin_fit()
        self.infer_alpha_ = float(self._chosen("infer_alpha"))
        _gensim()
        held = reread(X)
        vectors = None
        if self.vectors is not None:
            vectors, self.tokenizer_ = resolve(self.vectors, self.tokenizer, held, weighted=False)
        words, counts = count_words(held, self.tokenizer_)
        frequent = int((counts >= self.min_count).sum())
        if not frequent:
            few = f"no word occurs {self.min_count} times in these texts"
            raise CorpusError(f"{few}; lower min_count or give more text")
        self.vocabulary_, self.counts_ = Vocabulary(words[:frequent]), counts[:frequent]
        self.seed_ = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        model = self._new_model(self.dim if vectors is None else vectors.dim)
        if vectors is not None:
            rows = vectors.vocabulary.get_many(self.vocabulary_.words)
            known = rows >= 0
            model.syn1neg[known] = model.wv.vectors[known] = vectors.matrix[rows[known]]
        self._learn(model, list(self._lists(held)))
        self.output_weights_ = model.syn1neg
        self.input_weights_ = model.wv.vectors if self.mode_ == "dm" else None
        self._model = model
        return self

    def transform(self, X: Any) -> Floats:
        """Return the inferred vectors, (n_docs, dim)."""
        check_is_fitted(self)
        model = self._model
        go_over = _pass_over(model)
        alphas = np.linspace(self.infer_alpha_, END_ALPHA, self.infer_epochs_)
        vectors = []
        with progress("inferring paragraph vectors", unit="texts", shown=bool(self.verbose)) as advance:
            for words in self._lists(X):
                vector = np.zeros((1, model.vector_size), np.float32)
                model.random.seed(self.seed_)  # the same noise for every text, whatever the others are
                for alpha in alphas:
                    go_over(words, vector, 0, alpha, False)
                vectors.append(vector)
                advance(1)
        return np.concatenate(vectors) if vectors else np.empty((0, model.vector_size), np.float32)

    @property
    def _n_features_out(self) -> int:
        return int(self.output_weights_.shape[1])

    def _learn(self, model: Any, texts: list[list[str]]) -> None:
        """Train the weights in place as ``Doc2Vec.train`` does, but in one thread: the seed alone decides."""
        vectors = first_vectors(len(texts), model.vector_size, self.seed_)
        go_over = _pass_over(model)
        epochs, start = self._chosen("epochs"), self._chosen("alpha")
        total = epochs * len(texts)
        with progress("learning paragraph vectors", total, unit="texts", shown=bool(self.verbose)) as advance:
            for epoch in range(epochs):
                alpha = start - (start - END_ALPHA) * epoch / epochs
                for row, words in enumerate(texts):
                    go_over(words, vectors, row, alpha, True)
                    advance(1)

    def _chosen(self, name: str) -> Any:
        """Return a parameter, or its default in this mode."""
        given = getattr(self, name)
        return DEFAULTS[self.mode][name] if given is None else given

    def _lists(self, X: Any) -> Iterator[list[str]]:
        for block in blocks(X):
            lists = block.texts if block.tokenised else split_texts(block.texts, self.tokenizer_)
            yield from lists

    def _new_model(self, dim: int) -> Any:
        """Return a Doc2Vec of the known words with the initial weights of gensim."""
        model = _gensim().Doc2Vec(
            vector_size=dim, dm=int(self.mode_ == "dm"), window=self.window_, negative=self.negative_, hs=0, sample=0,
            min_count=1, sorted_vocab=0, seed=self.seed_, workers=1,
        )  # fmt: skip
        model.build_vocab_from_freq(dict(zip(self.vocabulary_.words, self.counts_.tolist(), strict=True)))
        return model

    @cached_property
    def _model(self) -> Any:
        """The Doc2Vec that was fitted, rebuilt from the arrays if this estimator was loaded."""
        model = self._new_model(self._n_features_out)
        model.syn1neg = self.output_weights_
        if self.input_weights_ is not None:
            model.wv.vectors = self.input_weights_
        return model

    def _check_learned(self) -> None:
        """Check the size of the weights too: gensim reads beyond its tables where a product overflows."""
        super()._check_learned()
        for weights in (self.output_weights_, self.input_weights_):
            if weights is not None and not (abs(weights) <= MAX_WEIGHT).all():
                raise ParasphereError(f"the weights must lie within {MAX_WEIGHT:g}")


def first_vectors(n_docs: int, dim: int, seed: int) -> Floats:
    """Return the initial vectors of the training texts, (n_docs, dim): uniform about zero, as in word2vec."""
    return (np.random.default_rng(seed).random((n_docs, dim), np.float32) - np.float32(0.5)) / np.float32(dim)


def _pass_over(model: Any) -> Callable[[list[str], Floats, int, float, bool], None]:
    """Return a function that makes one pass over a text: it updates its vector, and the weights if asked to."""
    doc2vec = _gensim()
    step = doc2vec.train_document_dbow if model.sg else doc2vec.train_document_dm
    free = np.ones(1, np.float32)  # no vector is locked
    # Scratch memory that gensim allocates itself is freed before its last use; this one outlives the call.
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
    from gensim.models import doc2vec

    return doc2vec
