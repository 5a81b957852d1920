"""Tables of words and texts to ids, beside dictionaries and one character at a time."""

import pickle
import threading
import unicodedata
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parasphere import _kernels
from parasphere.text import Tokenizer

PARTS = [
    "a", "Z", "7", "0", " ", "-", "\'", "é", "É", "ß", "ﬁ", "İ", "ı", "Σ", "北", "京", "\u0301", "’",
    "\U0001f600", "\U00010400",
    "word", "LONGERWORD", "x" * 8, "y" * 9, "Q" * 16, "p" * 17, "w" * 63, "v" * 64, "u" * 65, "\x00", "\x7f", "١٢",
    "_", "@", "[", "`", "{", "/", ":", "क्षि", "ไทย", "k" * 1020, "é" * 510,
]  # fmt: skip
texts = st.lists(st.lists(st.sampled_from(PARTS), max_size=40).map("".join), max_size=12)
TOKENIZERS = [
    Tokenizer(), Tokenizer(digits=True), Tokenizer(lowercase=False, min_length=3), Tokenizer(english=True, digits=True),
]  # fmt: skip


def _buffers(words: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    return np.frombuffer(b"".join(words), np.uint8), np.cumsum([0, *map(len, words)])


def _words(text: str, tokenizer: Tokenizer) -> list[str]:
    """Return the words of a text, one character at a time."""
    fold, found, word = tokenizer.folding.fold, [], ""
    for character in text + " ":
        code = int(fold[ord(character)]) if ord(character) < len(fold) else 0
        if code >= 2**31:
            code = code - 2**31 if word else 0
        if code:
            word += chr(code)
        elif word:
            found.append(word)
            word = ""
    return [word for word in found if len(word) >= tokenizer.min_length]


def _ids(given: list[str], tokenizer: Tokenizer, table: Any, hashing: bool = False) -> list[list[int]]:
    ids, ends = np.empty(sum(map(len, given)) + 1, np.int32), np.empty(len(given), np.int64)
    count = _kernels.ids_of_texts(given, tokenizer.folding, table, hashing, ids, ends)
    assert count == (ends[-1] if len(ends) else 0)
    return [part.tolist() for part in np.split(ids[:count], ends[:-1])] if given else []


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
@given(texts=texts)
def test_texts_are_read_as_one_character_at_a_time(tokenizer: Tokenizer, texts: list[str]) -> None:
    words = [_words(text, tokenizer) for text in texts]
    known = sorted({word for text in words for word in text})[::2]
    rows = {word: row for row, word in enumerate(known) if len(word.encode()) <= 1024}
    table = _kernels.WordTable(*_buffers([word.encode() for word in known]))
    assert _ids(texts, tokenizer, table) == [[rows.get(word, -1) for word in text] for text in words]
    hashed = _ids(texts, tokenizer, table, hashing=True)
    for text, found in zip(words, hashed, strict=True):
        for word, one in zip(text, found, strict=True):
            assert one == rows[word] if word in rows else one <= -3 or len(word.encode()) > 1024

    counts = _kernels.WordCounts()
    for part in (texts[:3], texts[3:]):
        ids, ends = np.empty(sum(map(len, part)) + 1, np.int32), np.empty(len(part), np.int64)
        counts.add(part, tokenizer.folding, ids, ends)
    data, offsets = np.empty(counts.n_bytes, np.uint8), np.empty(len(counts) + 1, np.int64)
    numbers = np.empty(len(counts), np.int64)
    counts.read(data, offsets, numbers)
    due: dict[str, int] = {}
    for word in (word for text in words for word in text if len(word.encode()) <= 1024):
        due[word] = due.get(word, 0) + 1
    assert [bytes(data[begin:end]).decode() for begin, end in pairwise(offsets)] == [*due]
    assert numbers.tolist() == list(due.values())


def test_words_of_any_place_and_length() -> None:
    table = _kernels.WordTable(*_buffers([b"x" * n for n in range(1, 1026)]))
    for gap in range(130):
        text = " " * gap + " ".join("X" * n for n in range(1, 90))
        assert _ids([text, "", text[:-1]], Tokenizer(), table)[0] == list(range(89))
    assert _ids(["x" * 1024 + " " + "x" * 1025], Tokenizer(), table) == [[1023, -1]]


words = st.lists(st.text(min_size=1, max_size=20) | st.text("ab\0é", min_size=1, max_size=2), max_size=60)


@given(words, words)
def test_tables_are_dictionaries(entered: list[str], asked: list[str]) -> None:
    first: dict[str, int] = {}
    repeats = [first.setdefault(word, place) for place, word in enumerate(entered)]
    found = np.empty(len(entered), np.int64)
    packed = _buffers([word.encode() for word in entered])
    table = _kernels.WordTable(*packed, None, found)
    assert found.tolist() == [-1 if one == place else one for place, one in enumerate(repeats)]
    assert len(table) == len(first)
    named = _kernels.WordTable(*packed, np.arange(len(entered), dtype=np.int32) - 5)
    asked = [*asked, *entered, ""]
    for one, names in (
        (table, first),
        (pickle.loads(pickle.dumps(table)), first),
        (named, {w: r - 5 for w, r in first.items()}),
    ):
        ids = np.empty(len(asked), np.int32)
        _kernels.ids_of_words(asked, one, False, ids)
        assert ids.tolist() == [names.get(word, -1) for word in asked]


def test_a_hash_of_an_unknown_word_stays_what_it_is() -> None:
    table, ids = _kernels.WordTable(*_buffers([b"a"])), np.empty(3, np.int32)
    _kernels.ids_of_words(["a", "zyxomatic", "ß"], table, True, ids)
    assert ids.tolist() == [0, -446759013, -148545714]


def test_an_empty_word_has_no_place_in_a_table() -> None:
    with pytest.raises(ValueError, match="words must not be empty, but word 1 is"):
        _kernels.WordTable(*_buffers([b"a", b""]))
    with pytest.raises(ValueError, match="offsets must rise from 0 to at most 3, but 9 follows 1"):
        _kernels.WordTable(np.zeros(3, np.uint8), np.array([0, 1, 9]))


def test_one_counter_is_not_for_two_threads() -> None:
    text = " ".join(f"{n:x}" for n in range(400_000))
    counts, outcomes = _kernels.WordCounts(), []

    def count() -> None:
        try:
            ids = np.empty(len(text), np.int32)
            counts.add([text], Tokenizer(digits=True).folding, ids, np.empty(1, np.int64))
            outcomes.append("counted")
        except ValueError as error:
            outcomes.append(str(error))

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(outcomes) <= {
        "counted",
        "words are being counted by another thread; every thread needs a counter of its own",
    }
    assert "counted" in outcomes
    assert len(counts) == 400_000


def test_texts_that_may_not_be_composed_are_found() -> None:
    beginnings = np.zeros(65536, np.uint8)
    beginnings[0xCC * 256 : 0xCD * 256] = 1
    beginnings[0xE3 * 256 + 0x82] = 0x99
    given = ["plain", "e\u0301", "é", "か\u3099", "か\u309b", "e" * 30 + "\u0300", ""]
    found = np.empty(len(given), np.uint8)
    assert _kernels.find_beginnings(given, beginnings, found) == 3
    assert found.tolist() == [0, 1, 0, 1, 0, 1, 0]
    assert [unicodedata.normalize("NFC", text) != text for text in given] == found.astype(bool).tolist()
