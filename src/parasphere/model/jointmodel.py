"""The Spherical Paragraph Model whose word vectors are learned from the same texts."""

from pathlib import Path
from typing import Any, Literal, Self

from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..features.bags import Bagger, Bags
from ..features.inputs import held_texts, is_numeric
from ..features.own import Own
from ..text.tokens import AnyTokenizer, Tokenizer
from ..vectors.joint import Settings, learn_vectors
from ..vectors.wordvectors import GLOVE, WordVectors
from .equations import Method
from .estimator import SphericalParagraphModel
from .persistence import save_model


class JointSphericalModel(SphericalParagraphModel):
    """SPM with word vectors that are first learned from the training texts, without labels.

    ``fit`` learns the vectors and a weight for each word (:func:`parasphere.vectors.joint.learn_vectors`), and then the model,
    in which each word counts as often as its weight says; everything after that is SPM's.

    Parameters
    ----------
    vectors : str, path, WordVectors or None
        Where words begin; None to begin at random, for want of any vectors.
    dim : int, optional
        Dimension of the learned vectors; by default that of ``vectors``, or 100.
    tokenizer : Tokenizer or callable, optional
        What counts as a word; by default runs of Unicode letters, lower-cased. Stop words stay: that they tell little
        is learned.
    epochs, rate, min_count
        Passes over the texts, first step length, and the least count of a word that is learned.
    ngrams : int or "auto"
        Take frequent phrases of up to so many words for units of their own, 1 for none. "auto" decides between none and
        phrases of two words by how well held-out texts are predicted.
    weigh : bool
        Learn a weight for each word; if not, all count alike.
    patience : int, optional
        Stop when held-out texts were not predicted better for so many epochs.
    facets, own, damped, prior_strength, kappa_method, max_iter, tol, n_jobs
        As in :class:`SphericalParagraphModel`.
    random_state : int
        The same number gives the same bits.
    device : str, optional
        Where vectors are learned and EM runs: None for the CPU, compiled, or a torch device such as "cuda"; see
        :func:`parasphere.vectors.joint.learn_vectors`.

    Attributes
    ----------
    vectors_ : WordVectors
        As learned; their ``norms`` are the words' concentrations, 1 in the mean.
    losses_, held_out_losses_ : (n_epochs,) arrays
        The loss of a word that was held out of a text, in the texts learned from and in those that were not; see
        :class:`parasphere.vectors.joint.Learned`.
    word_concentration_ : float
        kappa, as the vectors were learned with.
    ngrams_ : int
        How many words a phrase has at the most; 1 if there are none.
    mean_direction_, concentration_, word_cosine_, evidence_, n_iter_, converged_
        As in :class:`SphericalParagraphModel`.

    Notes
    -----
    A saved model is a :class:`SphericalParagraphModel` with its vectors, and that is what ``load`` returns.

    Examples
    --------
    >>> texts = ["cats purr and cats meow", "dogs bark and dogs growl"] * 50
    >>> model = JointSphericalModel(None, dim=8, epochs=20, ngrams=1).fit(texts)
    >>> model.compare("a cat may meow", "purr") > model.compare("a cat may meow", "growl")
    True
    """

    weighted = True
    init = "data"
    vectors_: WordVectors

    def __init__(
        self,
        vectors: Any = GLOVE,
        *,
        dim: int | None = None,
        tokenizer: AnyTokenizer | None = None,
        epochs: int = 40,
        rate: float = 0.2,
        min_count: int = 2,
        ngrams: int | Literal["auto"] = "auto",
        weigh: bool = True,
        patience: int | None = None,
        facets: int = 1,
        own: Own | None = None,
        damped: bool = False,
        prior_strength: float = 10.0,
        kappa_method: Method = "newton",
        max_iter: int = 500,
        tol: float = 1e-6,
        random_state: int = 0,
        n_jobs: int | None = None,
        device: str | None = None,
    ) -> None:
        self.vectors = vectors
        self.dim = dim
        self.tokenizer = tokenizer
        self.epochs = epochs
        self.rate = rate
        self.min_count = min_count
        self.ngrams = ngrams
        self.weigh = weigh
        self.patience = patience
        self.facets = facets
        self.own = own
        self.damped = damped
        self.prior_strength = prior_strength
        self.kappa_method = kappa_method
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device

    def fit(self, X: Any, y: Any = None, *, checkpoint: str | Path | None = None) -> Self:  # noqa: ARG002
        """Learn word vectors, then the model.

        Parameters
        ----------
        X : texts, token lists, columns or a Path
        y : ignored
        checkpoint : path, optional
            A folder in which the learning of vectors is kept; a fit that was killed goes on from it and ends with the
            very same result.
        """
        if isinstance(X, Bags) or is_numeric(X):
            raise ValueError("word vectors are learned from texts; bags or numbers have none")
        self._check_parameters()
        held = held_texts(X)
        settings = Settings(
            epochs=self.epochs,
            rate=self.rate,
            min_count=self.min_count,
            ngrams=self.ngrams,
            weigh=self.weigh,
            patience=self.patience,
            seed=self.random_state,
        )
        start = None if self.vectors is None else self._load_vectors()
        found = learn_vectors(
            held,
            start,
            self.dim,
            tokenizer=self._tokenizer(),
            settings=settings,
            device=self.device,
            checkpoint=checkpoint,
        )
        self.vectors_, self.word_concentration_ = found.vectors, found.concentration
        self.losses_, self.held_out_losses_ = found.losses, found.held_out_losses
        self.ngrams_ = found.ngrams
        self._find_facets(self.vectors_)
        self.n_features_in_ = self._width(self.vectors_)
        return self._fit(self._bags(held))

    @classmethod
    def paper(cls, *_arguments: Any, **_options: Any) -> Self:
        """There is none: the paper does not learn vectors."""
        raise TypeError("the paper learns no word vectors; SphericalParagraphModel.paper is the paper to the letter")

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Go on from :meth:`fit` with one more block of documents; the vectors stay as they are."""
        check_is_fitted(self, "vectors_")
        return super().partial_fit(X, y)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> NDArray[Any]:
        """Fit, and return the directions of the same documents."""
        held = held_texts(X)
        return self.fit(held, y, **fit_params).transform(held)

    def save(self, folder: str | Path, *, embed_vectors: bool | None = None) -> None:
        """Write the fitted model with its vectors; see :meth:`SphericalParagraphModel.save`."""
        if embed_vectors is False:
            raise ValueError("vectors that were learned have no other place: they are saved with the model")
        check_is_fitted(self, "mean_direction_")
        save_model(self, folder, True)

    @classmethod
    def load(
        cls, folder: str | Path, *, vectors: Any = None, tokenizer: AnyTokenizer | None = None, verify: bool = True
    ) -> SphericalParagraphModel:
        """Read what :meth:`save` wrote, as a :class:`SphericalParagraphModel`."""
        return SphericalParagraphModel.load(folder, vectors=vectors, tokenizer=tokenizer, verify=verify)

    def _bagger(self, *, reset: bool = False) -> Bagger:  # noqa: ARG002
        """Return what reads texts with the vectors as learned."""
        check_is_fitted(self, "vectors_")
        return super()._bagger()

    def _given_vectors(self) -> None:
        """Return none: texts are read with the vectors as learned, whatever these began with."""

    def _tokenizer(self) -> AnyTokenizer:
        return Tokenizer() if self.tokenizer is None else self.tokenizer

    def __getstate__(self) -> dict[str, Any]:
        """Keep the vectors in a pickle, wherever they began."""
        state = super().__getstate__()
        return state | ({"vectors_": self.vectors_} if hasattr(self, "vectors_") else {})
