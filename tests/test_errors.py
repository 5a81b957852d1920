"""Warnings point at the user's code."""

import warnings
from pathlib import Path

import pytest

from parasphere.errors import ScriptWarning, warn_user
from parasphere.model.reader import tokenizer_for

CHINESE = ["我喜欢吃苹果，他也喜欢。"]


def test_warnings_name_the_line_outside_the_library() -> None:
    with pytest.warns(ScriptWarning) as caught:
        tokenizer_for(CHINESE)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="direct") as caught:
        warn_user("direct", UserWarning)
    line = Path(__file__).read_text("utf-8").splitlines()[caught[0].lineno - 1]
    assert (caught[0].filename, line.strip()) == (__file__, 'warn_user("direct", UserWarning)')


def test_warnings_that_are_ignored_in_the_users_module_are_not_shown() -> None:
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", module=__name__)
        tokenizer_for(CHINESE)
    assert shown == []
