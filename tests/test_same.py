"""The bits of what the library computes are those of the record (see same.py)."""

import same


def test_results_are_those_of_the_record() -> None:
    assert same.differences(same.sums()) == []


def test_a_changed_bit_is_seen() -> None:
    found = {name: dict(results) for name, results in same.json.loads(same.RECORD.read_text())["sums"].items()}
    assert same.differences(found) == []
    found["files"]["lines.txt"] = same.digest([])
    assert same.differences(found) == ["files: lines.txt"]
