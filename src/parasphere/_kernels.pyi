"""The compiled loops, src/kernels.

They raise a TypeError unless all arguments have the required types, and arrays are contiguous and, if they are written
to, writable; and a ValueError unless sizes and numbers fit.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

_Bools: TypeAlias = NDArray[np.bool_]
_Bytes: TypeAlias = NDArray[np.uint8]
_I4: TypeAlias = NDArray[np.int32]
_I8: TypeAlias = NDArray[np.int64]
_U4: TypeAlias = NDArray[np.uint32]
_U8: TypeAlias = NDArray[np.uint64]
_F4: TypeAlias = NDArray[np.float32]
_F8: TypeAlias = NDArray[np.float64]
_Floats: TypeAlias = NDArray[Any]  # float32 or float64
_Texts: TypeAlias = Any  # a list or tuple of str

# bessel
def apply_formula(formula: str, x: _F8, order: _F8, out: _F8) -> None: ...

# equations
_PriorNumbers: TypeAlias = tuple[float, float, float, bool, _F8, float]

def solve_each(along: _F8, squared: _F8, lengths: _F8, prior: _PriorNumbers, kappa: _F8) -> None: ...
def posteriors(
    sums: _Floats,
    squared: _F8,
    lengths: _F8,
    mean: _F8,
    prior: _PriorNumbers,
    kappa: _F8,
    concentration: _F8,
    directions: _Floats,
) -> None: ...

# layout
def nearest_in_cells(rows: _F4, cells: _I8, order: _I8, ends: _I8, places: _I8) -> None: ...
def attract_and_repel(points: _F8, heads: _I8, tails: _I8, every: _F8, rounds: int, a: float, seed: int) -> None: ...

# learning
_Pieces: TypeAlias = tuple[_I4, _I8, _I8]  # the fields of TextPieces,
_Parameters: TypeAlias = tuple[_F4, _F4, _F4, _F4, _F4, _F8]  # of Parameters,
_Prior: TypeAlias = tuple[_F4, _F4, _F4, float]  # and of WordPrior

def learn(
    pieces: _Pieces,
    some: _I8,
    drawn: _I4,
    log_q: _F4,
    parameters: _Parameters,
    prior: _Prior,
    rate: float,
    weigh: bool,
    threads: int,
) -> tuple[float, int, float, float]: ...
def judge(
    pieces: _Pieces, some: _I8, drawn: _I4, log_q: _F4, parameters: _Parameters, threads: int
) -> tuple[float, int]: ...

# near_duplicates
def find_rare(starts: _I8, values: _F8, threshold: float, rare: _I8, reach: _F4) -> None: ...
def find_pairs(
    starts: _I8, words: _I4, values: _F8, rare: _I8, reach: _F4, postings: tuple[_I8, _I4, _F4], threshold: float,
    first: int, pairs: _I8, cosines: _F8,
) -> tuple[int, int]: ...  # fmt: skip

# pieces
def cut(
    ids: _I4,
    ends: _I8,
    order: _I8,
    keep: _F4,
    context: int,
    targets: int,
    share: float,
    state: _U8,
    words: _I4,
    begins: _I8,
    middles: _I8,
) -> tuple[int, int]: ...
def draw(table: _I4, state: _U8, drawn: _I4) -> None: ...

# ranking
_QueryTerms: TypeAlias = tuple[_I8, _I4, _F8]  # ends, words, weights
_Postings: TypeAlias = tuple[_I8, _I4, NDArray[np.uint16], _F4]  # starts, documents, counts, norms

def add_word_scores(
    terms: _QueryTerms, postings: _Postings, most: float, scale: float, begin: int, cursors: _I8, scores: _F4, end: int
) -> None: ...
def word_scores(terms: _QueryTerms, postings: _Postings, most: float, positions: _I8, scores: _F8) -> None: ...
def keep_best(scores: _F4, size: int, begin: int, best: _F4, positions: _I8) -> None: ...

# rows
def sum_rows(
    ids: _I4,
    ends: _I8,
    matrix: _F4,
    weights: _F8 | None,
    hashed: float,
    sums: _Floats,
    lengths: _F8,
    squared_norms: _F8,
    unknown: _I8,
    squared_weights: _F8,
) -> None: ...
def add_hashed(word: int, weight: float, total: _F8) -> None: ...
def count_ids(ids: _I4, counts: _F8) -> None: ...
def unit_combinations(rows: _Floats, factors: _F8, shift: _F8, otherwise: _F8, out: _Floats) -> None: ...
def map_shifted_rows(
    rows: _Floats, factors: _F8, shift: _F8, matrix: _F8 | None, silent: _Bools, out: _Floats
) -> None: ...
def project(rows: _Floats, direction: _F8, along: _F8) -> None: ...
def weighted_sum(rows: _Floats, weights: _F8, total: _F8) -> None: ...
def outer_products(rows: _Floats, weights: _F8, total: _F8) -> None: ...

# scanning
_Folding: TypeAlias = tuple[_U4, bool, bool, int]

class WordCounts:
    def __init__(self) -> None: ...
    def __len__(self) -> int: ...
    @property
    def n_bytes(self) -> int: ...
    @property
    def longest_search(self) -> int: ...
    def add(self, texts: _Texts, folding: _Folding, ids: _I4, ends: _I8) -> int: ...
    def read(self, data: _Bytes, offsets: _I8, counts: _I8) -> None: ...

def find_beginnings(texts: _Texts, beginnings: _Bytes, found: _Bytes) -> int: ...
def ids_of_texts(texts: _Texts, folding: _Folding, table: WordTable, hashing: bool, ids: _I4, ends: _I8) -> int: ...

# vector_files
def scan_text(text: _Bytes, matrix: _F4, spans: _I8, slots: _I8, good: _Bools) -> None: ...
def scan_binary(codes: _Bytes, raw: _Bytes, spans: _I8) -> tuple[int, int]: ...
def first_not_unit(matrix: _F4) -> int: ...
def normalise(matrix: _F4, norms: _F8) -> None: ...

# words
class WordTable:
    def __init__(self, data: _Bytes, offsets: _I8, ids: _I4 | None = None, repeats: _I8 | None = None) -> None: ...
    def __len__(self) -> int: ...
    @property
    def longest_search(self) -> int: ...

def ids_of_words(words: _Texts, table: WordTable, hashing: bool, ids: _I4) -> None: ...
