import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from sklearn.pipeline import FeatureUnion
from test_protocol import planted, vectors
from typer.testing import CliRunner

from parasphere import JointVectors, SphericalParagraphModel, Tokenizer, WordVectors
from parasphere.errors import ParasphereError, VectorsError
from reproduction import keeping
from reproduction.baselines import TfIdf
from reproduction.cli.experiments import _typed, add_experiment_commands
from reproduction.datasets import Dataset
from reproduction.experiments import ENCODERS, Encoder, protocol, run, run_all
from reproduction.experiments import source as source_module
from reproduction.experiments.encoders import find_vectors
from reproduction.experiments.everything import TIMES
from reproduction.experiments.identity import classes_of, identity
from reproduction.experiments.report import join_results, read_results, write_report
from reproduction.experiments.source import code_version

FOUR = ("spm", "spm-paper", "cbow", "bow")


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Note the encoder and the number of test documents of every fold that is computed."""
    done: list[tuple[str, int]] = []
    evaluate = run.evaluate

    def spy(build: Any, dataset: Dataset, fold: Any, options: Any, **how: Any) -> Any:
        done.append((type(build()).__name__, len(fold.test)))
        return evaluate(build, dataset, fold, options, **how)

    monkeypatch.setattr(run, "evaluate", spy)
    return done


def of(folder: Path, names: Any = ("spm", "bow"), corpora: Any = None, **options: Any) -> dict[str, Any]:
    corpora = corpora or [planted(split=True)]
    return run_all(names, corpora, None, vectors(), **{"jobs": 1, "cache_folder": folder, **options})


def timeless(results: dict[str, Any]) -> list[dict[str, Any]]:
    return [{name: value for name, value in one.items() if name not in TIMES} for one in results["runs"]]


def test_results_are_json_and_complete(tmp_path: Path) -> None:
    results = of(tmp_path, FOUR, [planted(split=True), replace(planted(15), name="folded")])
    assert json.loads(json.dumps(results)) == results
    assert [one["encoder"] for one in results["runs"]] == [*FOUR] * 2
    promised = (
        "encoder title dataset dim vectors classifier transductive accuracy macro_f1 folds n_train n_test correct "
        "label_names confusion fit_seconds transform_seconds texts_per_second dimensions C certain seed"
    ).split()
    for one in results["runs"]:
        assert set(promised) <= set(one)
        assert (one["folds"] is None) == (one["dataset"] == "planted")
        assert (one["certain"] is not None) == (one["encoder"] == "spm")
        assert (one["vectors"] is None) == (one["encoder"] == "bow")
        assert len(one["correct"]) == one["n_test"]
    assert set(results["made"]) == {"command", "commit", "date", "machine", "versions", "seed", "code", "vectors"}
    assert results["made"]["vectors"] == {"6": "vectors"}


def test_what_was_computed_is_not_computed_again(tmp_path: Path, computed: list[Any]) -> None:
    first = of(tmp_path)
    assert len(computed) == 2
    assert of(tmp_path)["runs"] == first["runs"]
    assert len(computed) == 2
    arrays, _ = keeping.recall(next(iter(tmp_path.iterdir())))
    assert set(arrays) == {"test", "predicted"}


def test_whatever_changes_the_result_changes_the_key(tmp_path: Path, computed: list[Any]) -> None:
    corpus = planted(split=True)
    of(tmp_path, ["spm"])
    assert corpus.train is not None
    others: list[dict[str, Any]] = [
        {"classifier": "libsvm-rbf"},
        {"transductive": True},
        {"seed": 1},
        {"corpora": [replace(corpus, texts=["wa", *corpus.texts[1:]])]},
        {"corpora": [replace(corpus, labels=np.roll(corpus.labels, 1))]},
        {"corpora": [replace(corpus, train=~corpus.train)]},
        {"names": ["spm-paper"]},
    ]
    for count, options in enumerate(others, 2):
        of(tmp_path, **{"names": ["spm"], **options})
        assert len(computed) == count, options
    run_all(["spm"], [corpus], None, vectors().subset(vectors().words[::-1]), jobs=1, cache_folder=tmp_path)
    assert len(computed) == len(others) + 2
    of(tmp_path, ["spm"])
    assert len(computed) == len(others) + 2


def test_a_damaged_entry_is_computed_anew(tmp_path: Path, computed: list[Any]) -> None:
    first = of(tmp_path, ["bow"])
    next(tmp_path.iterdir()).write_text("{")
    assert timeless(of(tmp_path, ["bow"])) == timeless(first)
    assert len(computed) == 2


def test_an_interrupted_run_goes_on(tmp_path: Path, computed: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    evaluate = run.evaluate

    def interrupted(*arguments: Any, **how: Any) -> Any:
        if len(computed) == 8:  # in the second fold of the last run, after 1 + 1 + 5 + 1
            raise KeyboardInterrupt
        return evaluate(*arguments, **how)

    corpora = [planted(split=True), replace(planted(15), name="folded")]
    with monkeypatch.context() as patch:
        patch.setattr(run, "evaluate", interrupted)
        with pytest.raises(KeyboardInterrupt):
            of(tmp_path, ("spm", "bow"), corpora)
    assert len(list(tmp_path.iterdir())) == 3  # both on the split, and the first on the folds
    computed.clear()
    resumed = of(tmp_path, ("spm", "bow"), corpora)
    assert computed == [("BagOfWords", 3)] * 5
    assert timeless(resumed) == timeless(of(tmp_path / "elsewhere", ("spm", "bow"), corpora))


def test_results_do_not_depend_on_the_number_of_processes(tmp_path: Path) -> None:
    corpora = [replace(planted(15), name="folded")]
    one, two = (of(tmp_path / str(jobs), ("spm", "cbow"), corpora, jobs=jobs) for jobs in (1, 2))
    assert timeless(one) == timeless(two)


def test_a_rival_is_one_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def shared(found: WordVectors | None, _dim: int, seed: int) -> SphericalParagraphModel:
        return SphericalParagraphModel(found, tokenizer=Tokenizer(), prior_strength=float("inf"), random_state=seed)

    before = of(tmp_path, ["spm"])
    monkeypatch.setitem(ENCODERS, "shared", Encoder("shared", "SPM, one kappa", shared))
    found = of(tmp_path, ["spm", "shared"])
    assert found["runs"][0] == before["runs"][0]
    assert (found["runs"][1]["title"], found["runs"][1]["dimensions"]) == ("SPM, one kappa", 6)


def test_encoders_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, computed: list[Any]) -> None:
    """A dense and a sparse part make a sparse whole, and what any part depends on, the result does."""

    def union(sublinear: bool, weight: float) -> Encoder:
        def build(found: WordVectors | None, _dim: int, seed: int) -> FeatureUnion:
            model = SphericalParagraphModel(found, tokenizer=Tokenizer(), random_state=seed)
            return FeatureUnion(
                [("spm", model), ("tfidf", TfIdf((1, 2), sublinear, tokenizer=Tokenizer()))],
                transformer_weights={"spm": weight, "tfidf": weight},
            )

        return Encoder("union", "side by side", build)

    corpus = planted(split=True)
    for count, entry in enumerate([union(True, 0.5), union(False, 0.5), union(True, 0.7)], 1):
        monkeypatch.setitem(ENCODERS, "union", entry)
        for _ in range(2):
            (found,) = of(tmp_path, ["union"], [corpus])["runs"]
            assert len(computed) == count
    assert corpus.train is not None
    fitted = entry.build(vectors(), 6, 0).fit([corpus.texts[i] for i in np.flatnonzero(corpus.train)])
    rows = fitted.transform(corpus.texts)
    assert rows.format == "csr"
    assert found["dimensions"] == rows.shape[1] > 6
    assert found["C"][0] in protocol.LINEAR_C
    assert found["accuracy"] > 0.8
    kinds = classes_of(fitted)
    assert {SphericalParagraphModel, TfIdf, FeatureUnion} <= set(kinds)
    assert code_version(*kinds) != code_version(FeatureUnion)


def test_vectors_that_are_only_named_are_identified_by_their_content(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    identities = []
    for number in (0.5, 0.25):
        path.write_text(f"cat 1 {number}\ndog 0 1\n")
        for make in (SphericalParagraphModel, lambda start: JointVectors(start=start)):
            identities += [identity(make(path)), identity(make(str(path)))]
    assert [identities[place] == identities[place + 1] for place in range(0, 8, 2)] == [True] * 4
    assert len({repr(one) for one in identities}) == 4


def test_the_best_row_is_two_unit_vectors_side_by_side() -> None:
    union = ENCODERS["union"].build(None, 50, 3)
    joint, tfidf = (part for _, part in union.transformer_list)
    assert (joint.vectors.dim, joint.vectors.random_state, joint.random_state) == (300, 3, 3)
    assert repr(tfidf) == repr(ENCODERS["tfidf-best"].build(None, 50, 0))
    assert sum(weight**2 for weight in union.transformer_weights.values()) == pytest.approx(1)


def test_every_parameter_of_every_part_is_in_the_key() -> None:
    corpus, options = planted(split=True), protocol.Options()

    def key(**changed: Any) -> str:
        build = ENCODERS["union"].build
        entry = Encoder("union", "union", lambda given, dim, seed: build(given, dim, seed).set_params(**changed))
        return run.Run(entry, corpus, 6, vectors(), options).key

    reversed_words = vectors().subset(vectors().words[::-1])
    changes: list[dict[str, Any]] = [
        {},
        {"spm__vectors__epochs": 7},
        {"spm__vectors__start": None},
        {"spm__vectors__start": reversed_words},
        {"spm__vectors__start": vectors().with_weights(np.arange(1.0, 1 + len(vectors())))},
        {"spm__tokenizer": Tokenizer(digits=True)},
        {"spm__weighted": False},
        {"tfidf__ngram_range": (1, 1)},
        {"transformer_weights": {"spm": 0.5, "tfidf": 0.5}},
    ]
    keys = [key(**changed) for changed in changes]
    assert len(set(keys)) == len(keys)
    assert keys == [key(**changed) for changed in changes]
    with pytest.raises(ParasphereError, match="cannot be identified"):
        key(spm__tokenizer=str.split)


def test_a_pretrained_encoder_reads_a_corpus_once_whatever_its_split() -> None:
    corpus = planted(split=True)
    folded = replace(corpus, name="other", train=None, labels=corpus.labels[::-1].copy())
    other = replace(corpus, texts=[*corpus.texts[:-1], "another"])
    runs = [run.Run(ENCODERS["cbow"], one, 6, vectors(), protocol.Options()) for one in (corpus, folded, other)]
    assert runs[0].vectors_key == runs[1].vectors_key != runs[2].vectors_key
    assert len({one.key for one in runs}) == 3


def test_the_first_dimension_everywhere_and_all_for_figure_2() -> None:
    assert run._dims(ENCODERS["spm"], [50, 100, 300], everywhere=False) == [50]
    assert run._dims(ENCODERS["spm"], [50, 100, 300], everywhere=True) == [50, 100, 300]
    assert run._dims(ENCODERS["bow"], [50, 100, 300], everywhere=True) == [50]


def test_vectors_by_name_by_path_and_by_pattern(tmp_path: Path) -> None:
    for dim in (2, 3):
        WordVectors.from_arrays(["a", "b"], np.eye(2, dim)).write(tmp_path / f"mine-{dim}d.txt")
    pattern = str(tmp_path / "mine-{dim}d.txt")
    assert {dim: found.dim for dim, found in find_vectors(pattern, [3, 2]).items()} == {3: 3, 2: 2}
    assert list(find_vectors(tmp_path / "mine-3d.txt")) == [3]
    assert list(find_vectors(tmp_path / "mine-3d.txt", [2, 3])) == [3]
    with pytest.raises(VectorsError, match=r"mine-3d\.txt has 3 dimensions; 50, 100 were asked for"):
        find_vectors(tmp_path / "mine-3d.txt", [50, 100])
    (tmp_path / "mine-4d.txt").write_bytes((tmp_path / "mine-3d.txt").read_bytes())
    with pytest.raises(VectorsError, match="has 3 dimensions, not the 4 in its name"):
        find_vectors(pattern, [4])
    with pytest.raises(VectorsError, match=r"mine-5d\.txt"):
        find_vectors(pattern, [5])


def test_the_version_of_the_code_is_that_of_what_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def modules(*parts: Any) -> set[str]:
        names: list[str] = []
        read = source_module._read
        with monkeypatch.context() as patch:
            patch.setattr(source_module, "_read", lambda name: names.append(name) or read(name))
            source_module._hashed.cache_clear()
            assert len(code_version(*parts)) == 16
        return {name for name in names if read(name)[0]}

    used = modules(SphericalParagraphModel)
    assert {f"parasphere.{name}" for name in ("model.em", "model.equations", "sphere.bessel", "text.scanning")} <= used
    assert not {name for name in used if "baselines" in name or "cli" in name or "experiments" in name}
    assert "reproduction.experiments.report" not in modules(run.protocol)
    source_module._hashed.cache_clear()


def test_faults_are_told(tmp_path: Path) -> None:
    with pytest.raises(ParasphereError, match="no encoder is called 'magic'; there are: spm, spm-paper, "):
        of(tmp_path, ["magic"])
    with pytest.raises(ParasphereError, match="no corpus is called 'magic'; there are: docstrings, "):
        of(tmp_path, ["bow"], ["magic"])


def test_word_vectors_are_loaded_only_for_those_who_need_them(tmp_path: Path) -> None:
    found = run_all(["bow"], [planted(15)], [7], "no such vectors", jobs=1, cache_folder=tmp_path)
    assert (found["made"]["vectors"], [one["dim"] for one in found["runs"]]) == ({}, [7])


@pytest.fixture
def app() -> typer.Typer:
    app = typer.Typer(pretty_exceptions_enable=False)
    app.callback()(lambda: None)
    add_experiment_commands(app)
    return app


def test_the_command_reproduces_the_best_row(app: typer.Typer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARASPHERE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(run, "load", lambda name: replace(planted(split=True), name=name))
    vectors().write(tmp_path / "v.txt")
    command = ["run", "--encoders", "union,tfidf-best", "--datasets", "20news-same", "--vectors",
               tmp_path / "v.txt", "--jobs", 1, "--out", tmp_path / "results", "--json"]  # fmt: skip
    done = CliRunner().invoke(app, [str(part) for part in command])
    assert done.exit_code == 0, done.output
    union, tfidf = json.loads(done.output)
    assert [union["encoder"], tfidf["encoder"]] == ["union", "tfidf-best"]
    assert union["dimensions"] == 300 + tfidf["dimensions"]
    assert union["accuracy"] > 0.8
    readme = (tmp_path / "results" / "README.md").read_text(encoding="utf-8")
    table = readme.partition("## SPM and tf-idf together, compared with tf-idf and MiniLM")[2]
    assert f"| same | {100 * union['accuracy']:.1f} (" in table


def test_the_command_on_a_corpus_of_ones_own(app: typer.Typer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARASPHERE_CACHE", str(tmp_path / "cache"))
    corpus, folder = planted(18), tmp_path / "results"
    rows = [f"{text},{corpus.label_names[label]}" for text, label in zip(corpus.texts, corpus.labels, strict=True)]
    (tmp_path / "mine.csv").write_text("\n".join(["body,topic", *rows]))
    vectors().write(tmp_path / "v.txt")
    command = ["run", "--corpus", tmp_path / "mine.csv", "--text-column", "body", "--label-column", "topic",
               "--encoders", "spm,bow", "--vectors", tmp_path / "v.txt", "--jobs", 1, "--out", folder]  # fmt: skip
    done = CliRunner().invoke(app, [str(part) for part in command])
    assert done.exit_code == 0, done.output
    assert "mine" in done.output
    assert "SPM" in done.output
    assert (folder / "results.json").exists()
    told = json.loads(CliRunner().invoke(app, [*map(str, command), "--json"]).output)
    assert [one["encoder"] for one in told] == ["spm", "bow"]
    assert told[0]["n_test"] == 18


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--classifier", "tree"], "no classifier is called 'tree'"),
        (["--dims", "many"], "as in 50,100,300"),
        (["--encoders", ","], "names nothing"),
    ],
)
def test_the_command_tells_faults(app: typer.Typer, options: list[str], said: str) -> None:
    failed = CliRunner().invoke(app, ["run", *options]).exception
    assert isinstance(failed, ParasphereError)
    assert said in str(failed)


def test_reports_are_joined(tmp_path: Path) -> None:
    app = typer.Typer()
    add_experiment_commands(app)
    first, second = of(tmp_path / "cache", ["spm", "bow"]), of(tmp_path / "cache", ["bow", "cbow"])
    first["made"]["command"], second["made"]["command"] = "one", "two"
    for name, results in (("a", first), ("b", second)):
        write_report(results, tmp_path / name)
    folders = [str(tmp_path / name) for name in ("a", "b")]
    assert CliRunner().invoke(app, ["join", *folders, "-o", str(tmp_path / "both")]).exit_code == 0
    both = read_results(tmp_path / "both")
    assert [one["encoder"] for one in both["runs"]] == ["spm", "bow", "cbow"]
    assert both["made"]["commands"] == ["one", "two"]
    assert both["runs"][2]["accuracy"] == second["runs"][1]["accuracy"]
    second["made"]["seed"] = 1
    with pytest.raises(ParasphereError, match="different seeds"):
        join_results([first, second])
    missing = CliRunner().invoke(app, ["join", str(tmp_path / "nowhere")])
    assert "holds neither results.json nor tasks.json" in str(missing.exception)


def test_where_a_report_goes_is_no_part_of_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    words = "reproduce run --encoders spm,bow -o some/where --dims 50 --out=there".split()
    monkeypatch.setattr("sys.argv", words)
    assert _typed() == "reproduce run --encoders spm,bow --dims 50"
