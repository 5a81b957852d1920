"""Packing of the data of a page without a server: the map, the data of searches, and the texts.

The page computes the vectors of its texts itself, from word counts and word vectors of one byte per number. These are
smaller than the vectors of the texts, and searches need the words anyway.
"""

import json
import zlib
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ParasphereError
from ..model.equations import KernelPrior
from ..search import Index
from ..search.bm25 import BM25, K1, B
from ..text import AnyTokenizer, Strings, Tokenizer, distinct_words, stems

KNOWN = 20_000  # if the texts have fewer words, the most frequent ones of the model are added up to this number
STEP = 0.66  # of the numbers in rows that no text needs, in standard deviations: the best quantiser of seven steps
FINE = 1024  # rows of the most frequent words, which have two bytes per number
PLAIN = 0x80  # added to codes that a script element cannot contain; readers drop it
NO_UNIT = -2  # of a form that is no word to the model, such as a number

Arrays = dict[str, NDArray[Any]]


def packed(facts: dict[str, Any], arrays: Arrays, *, strategy: int = zlib.Z_FILTERED) -> str:
    """Return facts and arrays as text that a ``script`` element can contain: deflated, seven bits per character.

    ``strategy`` is one of zlib's; the default is for numbers.
    """
    places, parts, at = {}, [], 0
    for name, array in arrays.items():
        little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        places[name] = [little.dtype.str[1:], at, little.size]
        parts.append(little.tobytes() + bytes(-little.nbytes % 8))  # arrays of 8 bytes begin at multiples of 8
        at += len(parts[-1])
    head = json.dumps({"facts": facts, "arrays": places}, allow_nan=False).encode()
    head += b" " * (-len(head) % 8)
    deflate = zlib.compressobj(8, zlib.DEFLATED, zlib.MAX_WBITS, zlib.DEF_MEM_LEVEL, strategy)
    whole = b"".join([len(head).to_bytes(8, "little"), head, *parts])
    return seven_bits(deflate.compress(whole) + deflate.flush())


def seven_bits(data: bytes) -> str:
    r"""Return bytes as text of seven bits per character; NUL, carriage return and "<" are moved up by 128.

    Base64 would be a seventh longer.

    Examples
    --------
    >>> seven_bits(b"\x00\x01") == "\x80\x80 "
    True
    """
    padded = np.frombuffer(data + bytes(-len(data) % 7), np.uint8).reshape(-1, 7)
    wide = np.zeros((len(padded), 8), np.uint8)
    wide[:, 1:] = padded
    numbers = wide.view(">u8").astype(np.uint64)  # (n, 1), of 56 bits
    codes = ((numbers >> np.arange(49, -1, -7, dtype=np.uint64)) & np.uint64(127)).astype("<u2").ravel()
    codes = codes[: -(-8 * len(data) // 7)]
    codes[np.isin(codes, [0, ord("\r"), ord("<")])] += PLAIN
    return codes.tobytes().decode("utf-16-le")


def string_arrays(name: str, strings: Strings) -> Arrays:
    """Return strings as two arrays: their bytes, and how many each has."""
    begin, end = int(strings.offsets[0]), int(strings.offsets[-1])
    sizes = np.diff(strings.offsets).astype(np.uint32)
    return {name: np.asarray(strings.data[begin:end], np.uint8), f"{name}_sizes": sizes}


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
    several, others = [], []
    for form in forms[n_single:].tolist():
        own = units[begins[form] : ends[form]].tolist()
        if len(own) > 1 or (own and own[0] >= 0):
            several.append(own)
            own = [len(several)]  # its position, counted from 1
        others.append(own[0] if own else NO_UNIT)
    needed = sorted({unit for some in several for unit in some if unit >= 0} - set(known.tolist()))
    more = _more(known, needed, len(vocabulary))
    rows = np.concatenate([known, more])
    place = {row: at for at, row in enumerate(rows.tolist())}
    first, last = ([spelled[form] for form in some.tolist()] for some in (forms[:n_single], forms[n_single:]))
    all_forms = [*first, *(vocabulary.word(row) for row in more.tolist()), *last]
    weights = np.ones(len(rows)) if reader.weights is None else reader.weights[rows]
    numbers = KernelPrior.of(prior, encoder.dim)
    lists = [[place.get(unit, unit) for unit in some] for some in several]
    facts = {
        "dim": encoder.dim, "n": len(index), "language": bm25.language, "weightOfWords": index.fusion.weight,
        "scale": index.fusion.scale, "k1": K1, "b": B, "unknown_weight": reader.unknown_weight, "several": lists,
        "kappa0": numbers.concentration, "strength": None if np.isinf(numbers.strength) else numbers.strength,
        "cosine": numbers.cosine, "newton": numbers.newton, "longest": numbers.longest, "extra": len(more),
        "rules": {"lowercase": rules.lowercase, "digits": rules.digits, "english": rules.english,
                  "min_length": rules.min_length},
        "stop_words": sorted(words_of.stop_words),
    }  # fmt: skip
    arrays = {
        "order": numbers.order, "mean": np.asarray(prior.mean_direction, np.float64),
        **string_arrays("words", Strings.of(all_forms)), "others": np.array(others, np.int32),
        "stems": _stems(all_forms, words_of.stop_words, bm25), "weights": weights.astype(np.float32),
        **_rows_of(reader.vectors.matrix[rows], len(known) + len(needed)),
        "sizes": varints(np.diff(starts)), "gaps": varints(_gaps(starts, documents)), "counts": varints(counts - 1),
    }  # fmt: skip
    if encoder.whitening is not None:
        arrays["whitening"] = encoder.whitening.astype(np.float32)
    return facts, arrays


def varints(numbers: NDArray[Any]) -> NDArray[np.uint8]:
    """Return numbers of 0 or more in seven bits per byte, the lowest first; the last byte of a number is below 128.

    Examples
    --------
    >>> varints(np.array([5, 300])).tolist()
    [5, 172, 2]
    """
    wide = np.asarray(numbers, np.uint64)
    sizes = np.ones(len(wide), np.int64)
    for k in range(1, 5):
        sizes += wide >> np.uint64(7 * k) > 0
    ends = np.cumsum(sizes)
    out = np.zeros(int(ends[-1]) if len(ends) else 0, np.uint8)
    for k in range(5):
        has = sizes > k
        low = (wide[has] >> np.uint64(7 * k)) & np.uint64(127)
        out[ends[has] - sizes[has] + k] = low + np.where(sizes[has] > k + 1, 128, 0).astype(np.uint64)
    return out


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
            "fit a model with a Tokenizer, or use 'parasphere explore'"
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
