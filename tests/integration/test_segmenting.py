"""Words of scripts without spaces, by the libraries for them and without these."""

import gettext
import warnings
from pathlib import Path
from typing import Any

import pytest

from parasphere import JointVectors, SegmentingTokenizer, SphericalParagraphModel, Tokenizer
from parasphere.errors import CoverageWarning, ScriptWarning
from parasphere.text import count_words, share_without_spaces

PAIRS = SegmentingTokenizer(chinese="pairs", japanese="pairs", thai="pairs")
CHINESE = ["显示文件系统的磁盘空间使用情况", "复制文件和目录", "更改文件的所有者和组", "显示当前日期和时间"] * 6


def test_words_are_found_by_the_library_for_the_language() -> None:
    for library in ("jieba", "fugashi", "pythainlp"):
        pytest.importorskip(library, reason="the extra `segmenting`")
    tokenizer = SegmentingTokenizer()
    assert tokenizer("我喜欢 London, 2 也喜欢北京。") == ["我", "喜欢", "london", "2", "也", "喜欢", "北京"]
    assert tokenizer("東京に住んでいます")[:2] == ["東京", "に"]
    assert tokenizer("東京")[0] == "東京"  # of Chinese characters alone
    assert tokenizer("ฉันรักภาษาไทย") == ["ฉัน", "รัก", "ภาษาไทย"]


def test_pairs_of_characters_need_no_library() -> None:
    assert PAIRS("我喜欢你") == ["我喜", "喜欢", "欢你"]
    assert PAIRS("我 I 你们") == ["我", "i", "你们"]
    assert PAIRS("ที่นี่") == ["ที่นี่"]  # marks belong to their letters
    assert PAIRS("ខ្ញុំ") == SegmentingTokenizer()("ខ្ញុំ")
    assert PAIRS("plain words") == ["plain", "words"]
    assert len(PAIRS("文" * 5000)) == 4999  # longer than any word may be


def test_a_column_is_split_like_its_texts() -> None:
    texts = [*CHINESE, "", "Ordinary words, 3 of them", "ひらがな and カタカナ"]
    assert PAIRS.split_column(texts) == [PAIRS(text) for text in texts]
    assert count_words(texts, PAIRS)[0][0] == "文件"


def test_stop_words_and_case_are_those_of_the_tokenizer_for_words() -> None:
    tokenizer = SegmentingTokenizer(Tokenizer(stop_words=["喜欢"], lowercase=False), chinese="pairs")
    assert tokenizer("我喜欢Tokyo") == ["我喜", "Tokyo"]


@pytest.mark.parametrize("wrong", [{"chinese": "mecab"}, {"thai": "icu"}])
def test_unknown_libraries_are_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"must be '\w+', 'pairs' or None, not"):
        SegmentingTokenizer(**wrong)
    with pytest.raises(TypeError, match="words must be a Tokenizer"):
        SegmentingTokenizer(str.split)  # type: ignore[arg-type]


def test_the_share_of_letters() -> None:
    assert share_without_spaces([]) == 0.0
    assert share_without_spaces(["한국어 мир"]) == 0.0
    assert share_without_spaces(["ไทย", "北京東京かな"]) == 1.0


def test_a_model_chooses_by_the_script_and_keeps_the_choice(tmp_path: Path) -> None:
    (tmp_path / "zh.txt").write_text("\n".join(CHINESE))
    for source in (CHINESE, iter(CHINESE), tmp_path / "zh.txt"):
        model = SphericalParagraphModel(JointVectors(4, start=None, epochs=2, min_count=1), tol=0.1)
        with pytest.warns(ScriptWarning, match="without spaces between words.*SegmentingTokenizer") as caught:
            model.fit(source)
        assert (len(caught), caught[0].filename) == (1, __file__)
        assert isinstance(model.encoder_.reader.tokenizer, SegmentingTokenizer)
    model.save(tmp_path / "model")
    loaded = SphericalParagraphModel.load(tmp_path / "model")
    assert loaded.encoder_.reader.tokenizer == model.encoder_.reader.tokenizer
    assert (loaded.transform(CHINESE) == model.transform(CHINESE)).all()


def test_a_tokenizer_that_is_given_is_kept() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CoverageWarning)
        learner = JointVectors(4, start=None, epochs=2, min_count=1, tokenizer=list)
        assert SphericalParagraphModel(learner, tol=0.1).fit(CHINESE).encoder_.reader.tokenizer is list
        learner = JointVectors(4, start=None, epochs=2, min_count=1)
        assert SphericalParagraphModel(learner, tokenizer=list, tol=0.1).fit(CHINESE).encoder_.reader.tokenizer is list


def test_texts_with_spaces_are_read_as_ever() -> None:
    model = SphericalParagraphModel(tol=0.1)
    texts = ["a text with words", "another text, 北京", "words and words"]
    assert isinstance(model.fit(iter(texts)).encoder_.reader.tokenizer, Tokenizer)
    assert (model.fit_transform(texts) == model.fit(texts).transform(texts)).all()


def messages(language: str) -> list[str]:
    """Return the messages of programs that are installed here in a language (gettext's catalogues)."""
    found: set[str] = set()
    for path in sorted(Path("/usr/share/locale", language, "LC_MESSAGES").glob("*.mo")):
        if not path.name.startswith("iso_"):  # names alone
            with path.open("rb") as file:
                found.update(map(str, gettext.GNUTranslations(file)._catalog.values()))  # type: ignore[attr-defined]
    return sorted(text for text in found if 15 <= len(text) <= 200 and share_without_spaces([text]) > 0.7)[:300]


@pytest.mark.parametrize("language", ["zh_CN", "ja", "th"])
def test_messages_are_found_by_half_of_their_words(language: str) -> None:
    texts = messages(language)
    if len(texts) < 20:
        pytest.skip(f"programs here have {len(texts)} messages in {language}")
    model = SphericalParagraphModel(JointVectors(20, start=None, epochs=5, min_count=1), tol=1e-2)
    with pytest.warns(ScriptWarning):
        index = model.fit(texts).index(texts)
    words = [model.encoder_.reader.tokenizer(text) for text in texts]
    asked = [i for i, found in enumerate(words) if len(set(found)) >= 6][:60]
    found = index.search([" ".join(words[i][::2]) for i in asked], 3)
    hits = [any(match.position == i for match in matches) for i, matches in zip(asked, found, strict=True)]
    assert sum(hits) > 0.8 * len(hits) > 5
