"""What a page searches with: the words of its texts, their counts, and the vectors of words.

The page computes the vectors of its texts itself, from word counts and word vectors of one byte per number. These are
smaller than the vectors of the texts, and searches need the words anyway.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ParasphereError
from ..model.equations import KernelPrior
from ..search import BM25, Index
from ..search.bm25 import K1, B
from ..sphere.vmf import MAX_KAPPA
from ..text import AnyTokenizer, Tokenizer, distinct_words, stems
from ..topics.words import SMOOTHING
from .packing import Arrays, string_arrays, varints

KNOWN = 20_000  # if the texts have fewer words, the most frequent ones of the model are added up to this number
STEP = 0.66  # of the numbers in rows that no text needs, in standard deviations: the best quantiser of seven steps
FINE = 1024  # rows of the most frequent words, which have two bytes per number
HASHED = -3  # this and lower units are hashes of words without a vector, as in src/kernels/words.hpp


def search_parts(index: Index) -> tuple[dict[str, Any], Arrays]:
    """Return the facts and arrays with which a page searches as the index does.

    A form is a word as it occurs in the texts, with digits and including stop words. Each form determines its stem in
    the index and its units in the model, which are rows of vectors, or hashes of words without a vector.
    """
    encoder, bm25 = index.encoder, index.bm25
    assert bm25 is not None
    assert index.texts is not None
    reader, prior = encoder.text_reader, encoder.prior
    words_of = _checked(bm25.tokenizer)
    rules = replace(words_of, stop_words=None)
    words, tokens = distinct_words(index.texts.tolist(), rules)
    vocabulary = reader.lookup.vocabulary
    spelled = words.words
    units, ends = reader.lookup.ids(spelled)
    begins = np.concatenate([[0], ends[:-1]]).astype(np.int64)
    own_row = vocabulary.get_many(spelled)
    single = (ends - begins == 1) & (own_row >= 0)
    single[single] = units[begins[single]] == own_row[single]

    forms, starts, documents, counts = _postings(tokens.ids, tokens.ends, single, spelled)
    n_single = int(single.sum())
    known = own_row[forms[:n_single]].astype(np.int64)
    others = [units[begins[form] : ends[form]].tolist() for form in forms[n_single:].tolist()]
    needed = sorted({unit for some in others for unit in some if unit >= 0} - set(known.tolist()))
    more = _more(known, needed, len(vocabulary))
    rows = np.concatenate([known, more])
    place = {row: at for at, row in enumerate(rows.tolist())}
    first, last = ([spelled[form] for form in some.tolist()] for some in (forms[:n_single], forms[n_single:]))
    all_forms = [*first, *(vocabulary.word(row) for row in more.tolist()), *last]
    weights = np.ones(len(rows)) if reader.weights is None else reader.weights[rows]
    numbers = KernelPrior.of(prior, encoder.dim)
    facts = {
        "dim": encoder.dim, "n": len(index), "language": bm25.language, "weightOfWords": index.fusion.weight,
        "scale": index.fusion.scale, "k1": K1, "b": B, "unknown_weight": reader.unknown_weight, "hashed": HASHED,
        "others": [[place.get(unit, unit) for unit in some] for some in others], "extra": len(more),
        "kappa0": numbers.concentration, "strength": None if np.isinf(numbers.strength) else numbers.strength,
        "cosine": numbers.cosine, "newton": numbers.newton, "longest": numbers.longest, "most_kappa": MAX_KAPPA,
        "smoothing": SMOOTHING,
        "rules": {"lowercase": rules.lowercase, "digits": rules.digits, "english": rules.english,
                  "min_length": rules.min_length},
        "stop_words": sorted(words_of.stop_words),
    }  # fmt: skip
    arrays = {
        "order": numbers.order, "mean": np.asarray(prior.mean_direction, np.float64),
        **string_arrays("words", all_forms),
        "stems": _stems(all_forms, words_of.stop_words, bm25), "weights": weights.astype(np.float32),
        **_rows_of(reader.vectors.matrix[rows], len(known) + len(needed)),
        "sizes": varints(np.diff(starts)), "gaps": varints(_gaps(starts, documents)), "counts": varints(counts - 1),
    }  # fmt: skip
    if encoder.whitening is not None:
        arrays["whitening"] = encoder.whitening.astype(np.float32)
    return facts, arrays


def _more(known: NDArray[np.int64], needed: list[int], n_words: int) -> NDArray[np.int64]:
    """Return further rows of the vocabulary for a page: needed ones, and those of the most frequent words."""
    there = np.zeros(n_words, bool)
    there[known] = there[needed] = True
    frequent = np.flatnonzero(~there)[: max(0, KNOWN - int(there.sum()))]
    return np.concatenate([np.array(needed, np.int64), frequent])


def _rows_of(rows: NDArray[np.float32], n_exact: int) -> Arrays:
    """Return rows as bytes with nearly the same directions.

    The largest number of a row becomes 127, or a little less if that is more exact: quantised rows, as of most words of
    ``english-128``, are then exact and deflate well. The first rows have a second byte per number. Rows from
    ``n_exact`` on, of words that only queries have, are rounded to numbers from -3 to 3.
    """
    unit = rows[:n_exact] / np.abs(rows[:n_exact]).max(axis=1, keepdims=True)
    best, least = np.zeros(unit.shape, np.int8), np.full(n_exact, np.inf, np.float32)
    scales = np.empty((n_exact, 1), np.float32)
    for scale in range(127, 119, -1):
        whole = np.rint(unit * np.float32(scale))
        error = ((unit - whole / np.float32(scale)) ** 2).sum(axis=1)
        better = error < 0.5 * least  # only if it is much better
        best[better], least[better], scales[better] = whole[better], error[better], scale
    rest = np.rint((unit[:FINE] * scales[:FINE] - best[:FINE]) * 256).clip(-128, 127)
    spread = rows[n_exact:].std(axis=1, keepdims=True)
    coarse = np.rint(rows[n_exact:] / (STEP * spread)).clip(-3, 3)
    return {"rows": np.concatenate([best, coarse.astype(np.int8)]), "finer": rest.astype(np.int8)}


def _checked(tokenizer: AnyTokenizer) -> Tokenizer:
    """Return the tokenizer of an index; raise unless a page implements it."""
    if not isinstance(tokenizer, Tokenizer):
        raise ParasphereError(
            f"a page splits texts as a Tokenizer does, and this model uses a {type(tokenizer).__name__}; "
            "fit a model with a Tokenizer"
        )
    return tokenizer


def _postings(
    ids: NDArray[np.int32], ends: NDArray[np.int64], first: NDArray[np.bool_], spelled: list[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the forms of texts, ``first`` ones before others and frequent ones before rare ones, and their postings.

    Returns
    -------
    forms : (n_forms,) int64
        Their rows among the words as they were counted.
    starts : (n_forms + 1,) int64
    documents, counts : (n_postings,) int64
    """
    texts = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
    known = ids >= 0
    keys, counts = np.unique(ids[known].astype(np.int64) * len(ends) + texts[known], return_counts=True)
    form, document = np.divmod(keys, max(len(ends), 1))
    sizes = np.bincount(form, minlength=len(spelled))
    by_name = np.argsort(np.argsort(np.array(spelled, dtype=object), kind="stable"))
    order = np.lexsort((by_name, -sizes, ~first))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    sort = np.argsort(place[form], kind="stable")
    starts = np.concatenate([[0], np.cumsum(sizes[order])])
    return order, starts, document[sort], counts[sort]


def _gaps(starts: NDArray[np.int64], documents: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of documents between each posting and the one before it."""
    before = np.concatenate([[-1], documents[:-1]])
    before[starts[:-1][np.diff(starts) > 0]] = -1
    return np.asarray(documents - before - 1)


def _stems(forms: list[str], stop_words: Any, bm25: BM25) -> NDArray[np.uint32]:
    """Return the code of the stem of each form: 0 for a new one, 1 for none, or 2 + its position among the stems."""
    rows = bm25.words.get_many(stems(forms, bm25.language)).tolist()
    place: dict[int, int] = {}
    found = np.ones(len(forms), np.uint32)
    for form, (word, row) in enumerate(zip(forms, rows, strict=True)):
        if row >= 0 and word not in stop_words:
            found[form] = 2 + place[row] if row in place else 0
            place.setdefault(row, len(place))
    return found
