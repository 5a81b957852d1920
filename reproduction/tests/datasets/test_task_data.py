"""The data of tasks that measure similarity: what is read, and what is said if it cannot be."""

import gzip
import json
from pathlib import Path

import pytest

from parasphere.errors import CorpusError
from reproduction.datasets import collection, sentence_pairs, task_folder, texts_to_cluster


def write(path: Path, text: str, *, packed: bool = False) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if packed:
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("packed", [False, True])
def test_sentence_pairs(tmp_path: Path, packed: bool) -> None:
    text = 'sentence1,sentence2,score\n"A man, a plan.","Ein ""Plan""",4.5\nA cat.,A dog.,0\n'
    write(tmp_path / "sts" / "stsb-en-dev.csv", text, packed=packed)
    pairs = sentence_pairs("dev", tmp_path)
    assert (pairs.name, len(pairs)) == ("stsb-dev", 2)
    assert pairs.first == ["A man, a plan.", "A cat."]
    assert pairs.second == ['Ein "Plan"', "A dog."]
    assert pairs.scores.tolist() == [4.5, 0.0]


def test_collections_in_the_layout_of_beir(tmp_path: Path) -> None:
    home = tmp_path / "retrieval" / "tiny"
    documents = [{"_id": "d1", "title": "Wings", "text": "of birds"}, {"_id": "d2", "title": "", "text": "Stones"}]
    write(home / "corpus.jsonl", "".join(json.dumps(one) + "\n" for one in documents))
    queries = [{"_id": "q1", "text": "flight"}, {"_id": "q2", "text": "nobody judged this"}]
    write(home / "queries.jsonl", "".join(json.dumps(one) + "\n" for one in queries))
    write(home / "qrels.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t3\nq1\td2\t0\n")
    found = collection("tiny", tmp_path)
    assert found.texts == ["Wings of birds", "Stones"]
    assert (found.query_ids, found.queries) == (["q1"], ["flight"])
    assert found.judgements == {"q1": {"d1": 3, "d2": 0}}


def test_texts_to_cluster_keep_their_tabs_and_quotes(tmp_path: Path) -> None:
    write(tmp_path / "clustering" / "titles.tsv", 'label\ttext\n10\tan "odd\ttitle\n2\tplain\n10\tlast"\n')
    found = texts_to_cluster("titles", tmp_path)
    assert found.texts == ['an "odd\ttitle', "plain", 'last"']
    assert [found.label_names[label] for label in found.labels] == ["10", "2", "10"]


def test_the_folder_is_given_or_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PARASPHERE_TASKS", raising=False)
    with pytest.raises(CorpusError, match=r"--task-data FOLDER\) or that PARASPHERE_TASKS names: sts/stsb-en-test.csv"):
        task_folder()
    monkeypatch.setenv("PARASPHERE_TASKS", str(tmp_path))
    assert task_folder() == tmp_path
    with pytest.raises(CorpusError, match="absent is not a folder"):
        task_folder(tmp_path / "absent")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"stsb-en-test\.csv is missing \(and stsb-en-test\.csv\.gz too\)"):
        sentence_pairs("test", tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sentence1,score\na,1\n", r"dev\.csv has no column 'sentence2'; its columns are sentence1, score"),
        ("", "its columns are none"),
        ("sentence1,sentence2,score\na,b\n", "line 2: 2 values for 3 columns"),
        ("sentence1,sentence2,score\na,b,3\nc,d,much\n", "line 3: the score 'much' is not a number"),
    ],
)
def test_faulty_tables(tmp_path: Path, text: str, message: str) -> None:
    write(tmp_path / "sts" / "stsb-en-dev.csv", text)
    with pytest.raises(CorpusError, match=message):
        sentence_pairs("dev", tmp_path)


@pytest.mark.parametrize(
    ("queries", "qrels", "message"),
    [
        ("{", "", r"queries\.jsonl, line 1: not JSON"),
        ('{"_id": "q1"}\n', "", 'an object with "_id" and "text" is needed'),
        ('{"_id": "q1", "text": "t"}\n', "q9\td1\t1\n", "line 2: no query has the id 'q9'"),
    ],
)
def test_faulty_collections(tmp_path: Path, queries: str, qrels: str, message: str) -> None:
    home = tmp_path / "retrieval" / "tiny"
    write(home / "corpus.jsonl", '{"_id": "d1", "text": "t"}\n')
    write(home / "queries.jsonl", queries)
    write(home / "qrels.tsv", "query-id\tcorpus-id\tscore\n" + qrels)
    with pytest.raises(CorpusError, match=message):
        collection("tiny", tmp_path)
