"""A fitted model among other libraries: their names for its methods, and folders that they load."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ParasphereError, import_extra
from ..sphere import vmf
from ..vectors import writable, write_static
from .equations import Prior
from .posterior import Space, check_space, mapped, unit_rows
from .reader import Reader
from .scatter import Scatter

Floats = NDArray[np.float64]


class Ecosystem:
    """The methods that users of sentence-transformers and model2vec expect."""

    prior_: Prior
    reader_: Reader | None
    scatter_: Scatter | None
    space_: Space

    def encode(self, sentences: Any, **_options: Any) -> NDArray[Any]:
        """Return the vectors of texts, (n_texts, dim), or of one text, (dim,); the same as :meth:`transform`.

        Parameters
        ----------
        sentences : str, or anything that ``transform`` takes
        **_options
            Options of sentence-transformers, such as ``batch_size`` and ``show_progress_bar``, are ignored: vectors
            are numpy arrays of unit length in any case.

        Examples
        --------
        >>> from parasphere import SphericalParagraphModel, WordVectors
        >>> compass = WordVectors.from_arrays(["north", "east", "west"], [[0, 1], [1, 0], [-1, 0]])
        >>> model = SphericalParagraphModel(compass, tol=1e-3).fit(["north", "north east", "north west"])
        >>> model.encode("north east").shape, model.encode(["north", "east"], batch_size=32).shape
        ((2,), (2, 2))
        """
        if isinstance(sentences, str):
            one: NDArray[Any] = self.transform([sentences])[0]  # type: ignore[attr-defined]
            return one
        several: NDArray[Any] = self.transform(sentences)  # type: ignore[attr-defined]
        return several

    def similarity(self, first: ArrayLike, second: ArrayLike) -> NDArray[np.float64]:
        """Return the cosines of vectors, (n, dim) and (m, dim) -> (n, m); 0 for a vector of zeros.

        Texts are compared by :meth:`compare`.

        Examples
        --------
        >>> from parasphere import SphericalParagraphModel
        >>> SphericalParagraphModel().similarity([[3, 0], [0, 0]], [[1, 0], [0, 1]])
        array([[1., 0.],
               [0., 0.]])
        """
        a, b = (np.atleast_2d(np.asarray(rows)) for rows in (first, second))
        if a.dtype.kind not in "fiu" or b.dtype.kind not in "fiu" or a.shape[-1] != b.shape[-1]:
            raise ParasphereError(
                f"similarity compares rows of numbers of the same dimension, as encode returns them, not {a.dtype} "
                f"{a.shape} and {b.dtype} {b.shape}; compare(a, b) takes texts."
            )
        return np.asarray(unit_rows(a.astype(np.float64)) @ unit_rows(b.astype(np.float64)).T)

    def write_static(self, folder: str | Path, *, space: Space | None = None) -> None:
        """Write the model to a folder that model2vec, sentence-transformers and this library load.

        There a text is a sum of rows divided by its length, so that the vectors are those of :meth:`transform` only
        where these are such sums: for the directions of a model with ``prior_strength=inf``. The directions of other
        models are those with the word concentration of the corpus in place of that of each text, and offsets are those
        of long texts. Words without a vector count for nothing there, even if ``vectors_.unknown_weight`` is not 0.
        ``SphericalParagraphModel.load(folder)`` gives the model itself.
        docs/ecosystem.md has the differences.

        Parameters
        ----------
        folder : path
        space : {"offset", "direction"}, default=None
            The vectors that other libraries will compute; None is the ``space`` of the fit.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        space = self.space_ if space is None else space
        check_space(space)
        if self.reader_ is None:
            raise ParasphereError("a model that was fitted to numbers has no words to write; fit it to texts.")
        tokenizer = writable(self.reader_.tokenizer)  # all checks come before anything is written
        self.save(folder)  # type: ignore[attr-defined]
        vectors, weights = self.reader_.vectors, self.reader_.weights
        rows, prior = _linear(vectors.matrix.astype(np.float64), self.prior_, space, self.scatter_)
        rows *= 1.0 if weights is None else weights[:, None]
        write_static(folder, vectors.words, rows, tokenizer, prior)


def _linear(rows: Floats, prior: Prior, space: Space, scatter: Scatter | None) -> tuple[Floats, Floats | None]:
    """Return rows, and one to be added to every text, whose sums point where the texts' vectors do, nearly.

    With one word concentration for all texts, ``eta = kappa0 mu0 + kappa s`` is such a sum. The offset of a text of
    ``l`` words is ``a kappa s - (A(kappa0) - a kappa0) mu0`` times the metric, with ``a = A(|eta|) / |eta|``. For long
    texts, ``|eta|`` is about ``kappa l rho`` and ``A(|eta|)`` about 1, so that it points where ``s - l rho A(kappa0)
    mu0`` does: the sum of words less their mean along mu0.
    """
    direction, dim = np.asarray(prior.mean_direction), rows.shape[1]
    if space == "direction":
        kappa = float(vmf.invert(np.array([prior.cosine]), dim, prior.method)[0])
        return rows * kappa, prior.concentration * direction
    common = prior.cosine * float(vmf.mean_length(prior.concentration, dim)) * direction
    return mapped(rows - common, None if scatter is None else scatter.whitening), None


def langchain_embeddings(model: Any) -> Any:
    """Return a fitted model as an ``Embeddings`` of LangChain.

    Parameters
    ----------
    model : SphericalParagraphModel
        A fitted model, or any other object with ``encode``.
    """
    base = import_extra("langchain_core.embeddings", "langchain", "langchain_embeddings").Embeddings

    class ModelEmbeddings(base):  # type: ignore[misc,valid-type]
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [list(map(float, row)) for row in model.encode(texts)] if texts else []

        def embed_query(self, text: str) -> list[float]:
            return list(map(float, model.encode(text)))

    return ModelEmbeddings()
