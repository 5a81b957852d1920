"""The words by which topics are described, and tf-idf weights of texts in these words."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import normalize

from ..errors import CorpusError, ParasphereError
from ..storage import storable
from ..text import AnyTokenizer, Vocabulary, count_matrix, count_words

Floats = NDArray[np.float64]


@storable(idf="f8[words]")
@dataclass(frozen=True, eq=False)
class WordWeights:
    """Words and their inverse document frequencies.

    Attributes
    ----------
    vocabulary : Vocabulary
        Most frequent words first.
    idf : (n_words,) float64
        ``1 + log((1 + n) / (1 + df))`` for a word that ``df`` of ``n`` texts have.
    tokenizer : Tokenizer or callable
    """

    vocabulary: Vocabulary
    idf: Floats
    tokenizer: AnyTokenizer

    @classmethod
    def fit(cls, texts: Any, tokenizer: AnyTokenizer, max_words: int) -> tuple[Self, sparse.csr_array]:
        """Choose the most frequent words of texts; return them and the weights of the same texts."""
        words, _ = count_words(texts, tokenizer)
        if not words:
            raise CorpusError("none of the texts has a word; at least one text must have one")
        vocabulary = Vocabulary(words[:max_words])
        counts = count_matrix(texts, vocabulary, tokenizer)
        n_texts, n_words = counts.shape
        idf = np.asarray(1 + np.log((1 + n_texts) / (1 + np.bincount(counts.indices, minlength=n_words))))
        weights = cls(vocabulary, idf, tokenizer)
        return weights, weights.weigh(counts)

    def counts(self, texts: Any) -> sparse.csr_array:
        """Return the counts of the words in texts, (n_texts, n_words) int32."""
        return count_matrix(texts, self.vocabulary, self.tokenizer)

    def weigh(self, counts: sparse.csr_array) -> sparse.csr_array:
        """Return ``(1 + log(count)) * idf``, each row of unit length, (n_texts, n_words); rows of zeros remain."""
        weights = counts.astype(np.float64)
        weights.data = (1 + np.log(weights.data)) * self.idf[weights.indices]
        return normalize(weights, copy=False) if weights.shape[0] else weights

    def __len__(self) -> int:
        return len(self.idf)

    def sizes(self) -> dict[str, int]:
        """Return the sizes that the layouts of saved topics may refer to."""
        return {"columns": len(self)}

    def _check_loaded(self) -> None:
        if not (self.idf > 0).all():
            raise ParasphereError("the words of topics need positive weights")
