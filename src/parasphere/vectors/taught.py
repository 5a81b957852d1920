"""Word vectors taught by a sentence encoder."""

from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from ..corpus import blocks
from ..parameters import (
    CALLABLE,
    NONE,
    PATH,
    RANDOM_STATE,
    VERBOSE,
    Constraints,
    check_parameters,
    having,
    instance_of,
    number,
)
from ..storage import Checkpoint, Saved, path_of
from ..text import AnyTokenizer, Tokenizer
from .encoding import Encoding, given_vectors, plain_texts
from .learning_texts import known_words, most_frequent, read_texts, seed_of
from .teaching import Teaching, check_dim, course_for, torch_on
from .wordvectors import WordVectors

CHECKPOINT = "teaching-checkpoint"


class TaughtVectors(Saved, BaseEstimator):
    """Word vectors and word weights, taught by a sentence encoder on any texts (extra ``torch``).

    Vectors and weights are learned so that a linear map of the weighted sum of the word vectors of a text points in the
    direction of the teacher's vector of the text. The result is a static model: texts are encoded by looking up their
    words. Like :class:`JointVectors` it is a learner: ``SphericalParagraphModel(TaughtVectors(teacher))`` learns the
    vectors inside ``fit``.

    Parameters
    ----------
    teacher : encoder, callable, array or path
        - An object with ``encode(texts)``, such as a model of sentence-transformers, or a callable: either takes a
          list of strings and returns one row of numbers per text.
        - Vectors that were computed before: an array (n_texts, n_features), or the path of a ``.npy`` file with one,
          with one row per text passed to ``fit``. Words then start from the vectors of their texts.

        Rows may have any length; only their directions matter. A teacher that is not a path is not saved with the
        estimator.
    dim : int, default=128
        Dimension of the word vectors, at most that of the teacher's vectors.
    tokenizer : Tokenizer or callable, default=None
        Splits texts into words. None is the tokenizer of the model that the learner is part of, and otherwise
        ``Tokenizer(digits=True)``: lower-cased runs of Unicode letters and digits, including stop words (which get
        small weights).
    min_count : int, default=2
        Words with fewer occurrences are not learned.
    max_words : int, default=None
        The number of most frequent words that are learned; None is all.
    steps : int, default=None
        Number of steps, each on one batch of texts. None is 50 passes over the texts, within 200 to 3,000 steps.
    batch : int, default=None
        Number of texts per step, which are compared with each other. None is 4,096, or 1,024 on the CPU, and at most a
        quarter of the texts.
    rate : float, default=0.002
        Largest length of the steps, at most 1; the length rises over the first steps and then decreases linearly to
        zero.
    random_state : int, RandomState or None, default=0
        Seed of sampling; the same integer gives the same result on the same device.
    device : str, default=None
        A torch device such as "cuda"; None is the CPU. The teacher runs on its own device.
    checkpoint : path, default=None
        A folder that keeps the teacher's vectors as they are computed, and the state at every twentieth of the steps:
        interrupted learning resumes from it with the same result. It is removed at the end.
    verbose : bool, default=False
        Show progress bars.

    Attributes
    ----------
    vectors_ : WordVectors
        Unit rows; ``vectors_.weights`` are the weights of the words, with mean 1 over the texts.
    tokenizer_ : Tokenizer or callable
        The tokenizer that was used.
    losses_, held_out_losses_ : (n_reports,) float64
        Mean loss at every twentieth of the steps, on the texts that are learned from and on the 5 % that are held out.
        The loss grows with the number of texts that are compared, so the two cannot be compared with each other.

    Examples
    --------
    >>> texts = ["cats purr, cats meow", "dogs bark, dogs growl", "cats and dogs"] * 20
    >>> def teacher(texts):
    ...     return np.array([[text.count("cats"), text.count("dogs"), 1] for text in texts])
    >>> learner = TaughtVectors(teacher, dim=2).fit(texts)  # doctest: +SKIP
    >>> learner.vectors_  # doctest: +SKIP
    WordVectors('taught by teacher', 7 words, 2 dimensions)
    """

    _parameters: ClassVar[Constraints] = {
        "teacher": having("encode") | CALLABLE | instance_of(np.ndarray) | PATH,
        "dim": number(int, 2),
        "tokenizer": CALLABLE | NONE,
        "min_count": number(int, 1),
        "max_words": number(int, 2) | NONE,
        "steps": number(int, 1) | NONE,
        "batch": number(int, 2) | NONE,
        "rate": number(float, 0, 1, "right"),
        "random_state": RANDOM_STATE,
        "device": instance_of(str) | NONE,
        "checkpoint": PATH | NONE,
        "verbose": VERBOSE,
    }
    _left_out: ClassVar = ("teacher",)

    vectors_: WordVectors
    losses_: NDArray[np.float64]
    held_out_losses_: NDArray[np.float64]

    def __init__(
        self,
        teacher: Any = None,
        dim: int = 128,
        *,
        tokenizer: AnyTokenizer | None = None,
        min_count: int = 2,
        max_words: int | None = None,
        steps: int | None = None,
        batch: int | None = None,
        rate: float = 2e-3,
        random_state: Any = 0,
        device: str | None = None,
        checkpoint: str | Path | None = None,
        verbose: bool = False,
    ) -> None:
        self.teacher = teacher
        self.dim = dim
        self.tokenizer = tokenizer
        self.min_count = min_count
        self.max_words = max_words
        self.steps = steps
        self.batch = batch
        self.rate = rate
        self.random_state = random_state
        self.device = device
        self.checkpoint = checkpoint
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn word vectors from texts and the teacher's vectors of them.

        Parameters
        ----------
        X : iterable, table or Path
            Anything that :func:`parasphere.corpus.blocks` accepts; lists of tokens are joined by spaces for the
            teacher. Texts and the teacher's vectors, as float16, are held in memory.
        y : None
            Ignored.
        """
        check_parameters(self)
        device, verbose = self.device or "cpu", bool(self.verbose)
        torch_on(device)  # raises if torch or the device is missing, before the teacher runs
        self.tokenizer_ = Tokenizer(digits=True) if self.tokenizer is None else self.tokenizer
        held = list(blocks(X))
        texts = read_texts(held, self.tokenizer_, self.min_count)
        texts = known_words(texts if self.max_words is None else most_frequent(texts, self.max_words))
        folder = None if self.checkpoint is None else path_of(self.checkpoint)
        encoding, words = None, None
        if isinstance(self.teacher, np.ndarray | str | Path):
            taught, name = given_vectors(self.teacher, len(texts.ends) - 1)
        else:
            encoding = Encoding(self.teacher, folder, verbose)
            words, name = encoding.of(texts.words, "words"), encoding.name
            check_dim(self.dim, words)
            taught = encoding.of(plain_texts(held), "texts")
        course = course_for(len(taught), device, self.steps, self.batch, self.rate, seed_of(self.random_state))
        teaching = Teaching(texts, taught, words, self.dim, course, device)
        checkpoint = None if folder is None else Checkpoint(folder / "learning", CHECKPOINT, teaching.key)
        teaching.run(checkpoint, verbose=verbose)
        self.vectors_ = teaching.vectors(f"taught by {name}")
        self.losses_, self.held_out_losses_ = np.array(teaching.losses).T.copy()
        if checkpoint is not None:
            checkpoint.remove()
            if encoding is not None:
                encoding.remove()
            with suppress(OSError):  # the folder holds something else
                checkpoint.folder.parent.rmdir()
        return self

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted copy with the same teacher, which may be too large to be copied deeply."""
        parameters = self.get_params(deep=False)
        teacher = parameters.pop("teacher")
        return type(self)(teacher, **{name: clone(value, safe=False) for name, value in parameters.items()})
