import re
import unicodedata
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from parasphere.text import Lookup, Tokenizer, Vocabulary, WordCounter, count_matrix, count_words, split_texts
from parasphere.text.stopwords import ENGLISH
from parasphere.text.tokens import composed
from parasphere.text.word_table import MAX_WORD_BYTES

anything = st.text(st.characters(exclude_categories=["Cs"]))
# Mostly words, so that runs of letters of every length around eight bytes occur.
wordy = st.text(st.sampled_from("aaabcXYZ  .'9éßİΣσκ\u0301\u093f漢字😀\0\n"), max_size=80)


def reference(text: str, lowercase: bool = True, digits: bool = False) -> list[str]:
    """Split a text as the documentation says, one character at a time."""
    text = unicodedata.normalize("NFC", text)
    if lowercase:
        text = "".join(letter.lower()[0] for letter in text)
    words, word = [], ""
    for character in [*text, " "]:
        kind = unicodedata.category(character)
        if kind[0] == "L" or (digits and kind == "Nd") or (kind[0] == "M" and word):
            word += character
        elif word:
            words.append(word)
            word = ""
    return words


@given(anything | wordy, st.booleans(), st.booleans())
@example("a" * 2000, True, False)
@example("abcdefgh", True, False)
@example("abcdefghé", True, True)
def test_words_are_runs_of_letters_lower_cased_letter_by_letter(text: str, lowercase: bool, digits: bool) -> None:
    expected = [w for w in reference(text, lowercase, digits) if len(w.encode()) <= MAX_WORD_BYTES]
    assert Tokenizer(lowercase=lowercase, digits=digits)(text) == expected


@settings(max_examples=50)
@given(st.lists(wordy, max_size=12))
def test_a_column_is_split_text_by_text(texts: list[str]) -> None:
    assert Tokenizer().split(texts) == [reference(text) for text in texts]


@settings(max_examples=50)
@given(st.lists(wordy, min_size=1), st.data())
def test_ids_do_not_depend_on_where_the_column_is_cut(texts: list[str], data: st.DataObject) -> None:
    vocabulary = Vocabulary(sorted({word for text in texts for word in reference(text)})[::2])
    lookup = Lookup(vocabulary)
    whole = lookup.ids(texts)
    cut = data.draw(st.integers(0, len(texts)))
    first, second = lookup.ids((texts)[:cut]), lookup.ids((texts)[cut:])
    assert np.array_equal(whole.ids, np.concatenate([first.ids, second.ids]))
    expected = [vocabulary.get(word) for text in texts for word in reference(text)]
    assert whole.ids.tolist() == expected


def test_agreement_with_a_regular_expression() -> None:
    text = "The Quick brown FOX, jumped over 13 lazy dogs' tails. Ἐν ἀρχῇ ἦν ὁ λόγος. Größe; naïve_words"
    assert Tokenizer()(text) == re.findall(r"[^\W\d_]+", text.lower())


def test_combining_marks_stay_with_their_word() -> None:
    assert Tokenizer()("qe\u0329 हिन्दी") == ["qe\u0329", "हिन्दी"]
    assert Tokenizer()("\u0301 \u0301abc") == ["abc"]


def test_composed_and_decomposed_letters_are_the_same_words() -> None:
    """Every character that Unicode can write in several ways, by Python's own tables."""
    every = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    ways = {one: {one, *(unicodedata.normalize(form, one) for form in ("NFC", "NFD"))} for one in every}
    texts = [[f"a{way}b" for way in sorted(same)] for same in ways.values() if len(same) > 1]
    assert len(texts) > 13_000
    together = Tokenizer().split([text for same in texts for text in same])
    at = 0
    for same in texts:
        words = together[at : at + len(same)]
        assert words.count(words[0]) == len(words), same
        at += len(same)


def test_a_text_is_composed_whatever_stands_beside_it() -> None:
    texts = ["a “quote”", "cafe\u0301", "ア\u3099", "д", "", "\u1112\u1161\u11ab e\u0301"]
    together = composed(texts)
    assert together == [unicodedata.normalize("NFC", text) for text in texts]
    assert composed(texts[1:3]) == together[1:3]
    for before in range(40):
        for after in range(12):
            text = "x" * before + "e\u0301" + "y" * after
            assert composed([text])[0] == unicodedata.normalize("NFC", text)
    plain = ["nothing to do", "naïve “quotes” – and д"]
    assert composed(plain) is plain


def test_options() -> None:
    text = "The B2B café: I saw 1984"
    assert Tokenizer(lowercase=False)(text) == ["The", "B", "B", "café", "I", "saw"]
    assert Tokenizer(digits=True)(text) == ["the", "b2b", "café", "i", "saw", "1984"]
    assert Tokenizer(min_length=3)(text) == ["the", "café", "saw"]
    assert Tokenizer(min_length=4)("naïf naïve") == ["naïf", "naïve"]  # characters, not bytes
    assert Tokenizer(english=True)(text) == ["the", "b", "b", "caf", "i", "saw"]
    assert Tokenizer(english=True, digits=True)("b2b ٣") == ["b2b"]


def test_stop_words_go_through_the_tokenizer_themselves() -> None:
    tokenizer = Tokenizer(stop_words=["Don't", "THE"])
    assert tokenizer("I don't see the t") == ["i", "see"]
    assert Tokenizer(stop_words="english")("this is the end") == ["end"]


def test_the_papers_preset() -> None:
    assert Tokenizer.paper()("The naïve reader DOESN'T count 100 sheep") == ["na", "reader", "count", "sheep"]


def test_the_english_list_is_made_of_single_words() -> None:
    assert all(Tokenizer()(word) == [word] for word in ENGLISH)
    assert 150 < len(ENGLISH) < 300


@pytest.mark.parametrize("bad", [{"min_length": 0}, {"stop_words": "klingon"}])
def test_bad_options(bad: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="must be"):
        Tokenizer(**bad)  # type: ignore[arg-type]


def test_stop_words_are_neither_known_nor_unknown() -> None:
    lookup = Lookup(Vocabulary(["the", "cat"]), Tokenizer(stop_words=["the", "of"]))
    assert lookup.ids(["the cat of mars"]).ids.tolist() == [1, -1]


def test_token_lists_are_looked_up_as_they_are() -> None:
    lists = [["The", "cat"], [], ["new york"]]
    lookup = Lookup(Vocabulary(["cat", "The", "new york"]), Tokenizer(stop_words=["the"]))
    assert lookup.ids(lists).ids.tolist() == [1, 0, 2]
    assert lookup.ids(lists[1:]).ends.tolist() == [0, 1]


def test_any_callable_is_a_tokenizer() -> None:
    lookup = Lookup(Vocabulary(["a-b", "c"]), str.split)
    assert lookup.ids(["a-b c", "", "d"]).ids.tolist() == [0, 1, -1]
    assert lookup.ids(["a-b c", "", "d"]).ends.tolist() == [2, 2, 3]


def test_a_hugging_face_tokenizer() -> None:
    tokenizers = pytest.importorskip("tokenizers")
    pieces = tokenizers.Tokenizer(tokenizers.models.WordPiece({"[UNK]": 0, "sea": 1, "##side": 2}, unk_token="[UNK]"))
    pieces.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    lookup = Lookup(Vocabulary(["##side", "sea"]), pieces)
    assert lookup.ids(["seaside sea"]).ids.tolist() == [1, 0, 1]


def test_a_tokenizer_that_returns_no_strings_is_told_so() -> None:
    with pytest.raises(TypeError, match="must return strings"):
        split_texts((["a"]), lambda _: [1, 2])
    with pytest.raises(TypeError, match="not int"):
        split_texts((["a"]), 3)


def test_odd_texts() -> None:
    texts = ["", "\0a\0b\0", "😀 hi 😀", "ab" * 30_000_00, " ", "é" * (MAX_WORD_BYTES // 2), "é" * MAX_WORD_BYTES]
    ids, ends = Lookup(Vocabulary(["a", "b", "hi", "é" * (MAX_WORD_BYTES // 2)])).ids(texts)
    assert ids.tolist() == [0, 1, 2, -1, 3, -1]
    assert ends.tolist() == [0, 2, 3, 4, 4, 5, 6]


def test_a_text_of_fifty_megabytes() -> None:
    text = "some words of one long text " * (50_000_000 // 28)
    ids, _ = Lookup(Vocabulary(["words", "text"])).ids([text])
    assert len(ids) == 6 * (50_000_000 // 28)
    assert np.bincount(ids + 1).tolist() == [4 * (50_000_000 // 28), 50_000_000 // 28, 50_000_000 // 28]


def test_a_column_without_texts() -> None:
    for texts in ([], ()):
        ids, ends = Lookup(Vocabulary(["a"])).ids(texts)
        assert len(ids) == len(ends) == 0


@settings(max_examples=50)
@given(st.lists(wordy))
def test_counting_words(texts: list[str]) -> None:
    expected = Counter(word for text in texts for word in reference(text))
    words, counts = count_words(texts)
    assert dict(zip(words, counts.tolist(), strict=True)) == expected
    assert words == sorted(expected, key=lambda word: (-expected[word], word))


def test_counting_goes_on_when_the_table_is_full(rng: np.random.Generator) -> None:
    alphabet = list("abcdefghijklmnopqrstuvwxyz")
    words = ["".join(rng.choice(alphabet, rng.integers(1, 20))) for _ in range(30_000)]
    counter = WordCounter()
    counter.add([" ".join(words[:20_000])])
    ids = counter.add(words[20_000:]).ids
    assert [counter.vocabulary().word(i) for i in ids[:100]] == words[20_000:20_100]
    found, counts = counter.words_and_counts()
    assert dict(zip(found, counts.tolist(), strict=True)) == Counter(words)


def test_counting_token_lists_and_by_a_callable() -> None:
    assert count_words([["b", "a"], ["b"]])[0] == ["b", "a"]
    words, counts = count_words(["b-a b-a", "c"], str.split)
    assert (words, counts.tolist()) == (["b-a", "c"], [2, 1])


def test_the_count_matrix_is_scikit_learns() -> None:
    texts = ["to be or not to be", "", "that is the question: be", "BE"]
    vectorizer = CountVectorizer(token_pattern=r"[^\W\d_]+")
    expected = vectorizer.fit_transform(texts)
    ours = count_matrix(texts, Vocabulary(vectorizer.get_feature_names_out()))
    assert np.array_equal(ours.toarray(), expected.toarray())
    assert ours.has_sorted_indices
    assert ours.indptr.dtype == ours.indices.dtype == np.int32  # liblinear takes no wider ones
    assert count_matrix([], Vocabulary(["a"])).shape == (0, 1)
