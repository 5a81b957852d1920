"""Manual pages and messages in Chinese, Japanese and Thai, found by questions in these languages.

``translated.json`` names the programs and owners of its texts, translated-licence.txt is their licence (BSD-3-Clause).
"""

import json
from pathlib import Path

import pytest

from parasphere import (
    Index,
    JointVectors,
    SegmentingTokenizer,
    SphericalParagraphModel,
    Tokenizer,
)
from parasphere.errors import ScriptWarning

TRANSLATED = json.loads((Path(__file__).parent / "translated.json").read_text("utf-8"))
PAIRS = SegmentingTokenizer(chinese="pairs", japanese="pairs", thai="pairs")
# Each question, and what it asks for: a manual page, or the English original of a message.
QUESTIONS = {
    "zh": {
        "更改密码": "passwd(1)",  # change a password
        "删除用户账户": "userdel(8)",  # delete the account of a user
        "创建一个新用户": "useradd(8)",  # create a new user
        "创建新组": "groupadd(8)",  # create a new group
        "密码过期": "expiry(1)",  # passwords expire
        "登录失败的记录": "faillog(8)",  # records of failed logins
        "用户的登录 shell": "chsh(1)",  # the login shell of a user
    },
    "ja": {
        "パスワードを変更する": "passwd(1)",
        "ユーザを削除する": "userdel(8)",
        "新しいグループを作成する": "groupadd(8)",
        "ログインシェルを変更": "chsh(1)",
        "ログイン失敗の回数": "faillog(8)",  # the number of failed logins
        "氏名と電話番号": "chfn(1)",  # full name and telephone number
        "グループファイルの検査": "grpck(8)",  # check the file of groups
    },
    "th": {
        "ลืมรหัสผ่าน": "Forgotten your password or username?",
        "อีเมลที่ถูกต้อง": "Enter a valid email address.",
        "เกิดข้อผิดพลาดฐานข้อมูล": "Database error",
        "ชื่อผู้ใช้ซ้ำ": "A user with that username already exists.",
        "แก้ไขข้อมูลซ้ำ": "Please correct the duplicate data for %(field)s.",
        "หมายเลขไอพี": "Enter a valid IPv4 address.",
        "ยืนยันรหัสผ่านใหม่": "New password confirmation",
    },
}


def index_of(language: str, tokenizer: Tokenizer | SegmentingTokenizer | None) -> Index:
    texts = TRANSLATED[language]["texts"]
    learner = JointVectors(20, start=None, epochs=5, min_count=1)
    model = SphericalParagraphModel(learner, tokenizer=tokenizer, tol=1e-2).fit(list(texts.values()))
    return model.index(list(texts.values()), list(texts))


def missed(index: Index, language: str) -> list[str]:
    """Return the questions whose answer is not among the first three."""
    found = index.search(list(QUESTIONS[language]), 3)
    asked = QUESTIONS[language].items()
    return [text for (text, page), matches in zip(asked, found, strict=True) if page not in {one.id for one in matches}]


@pytest.mark.parametrize("language", QUESTIONS)
def test_questions_find_their_pages(language: str) -> None:
    for library in ("jieba", "fugashi", "pythainlp"):
        pytest.importorskip(library, reason="the extra `segmenting`")
    with pytest.warns(ScriptWarning):
        index = index_of(language, None)
    assert missed(index, language) == []


@pytest.mark.parametrize("language", QUESTIONS)
def test_most_questions_find_their_pages_without_any_library(language: str) -> None:
    assert len(missed(index_of(language, PAIRS), language)) <= 2


def test_without_words_nothing_is_found() -> None:
    index = index_of("zh", Tokenizer(digits=True))  # takes a sentence for one word
    assert index.search("更改密码") == []
