"""The layout of the source: which package may import which, without circles."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import parasphere

ROOT = Path(parasphere.__file__).parent
# Each may import those before it. The modules beside the packages come first.
ORDER = """
    errors parameters printable places progress tables layouts storage sphere corpus text vectors model search topics
    datasets plots page dask service cli
""".split()
LOOSE = {
    "__init__.py",
    "__main__.py",
    "dask.py",
    "errors.py",
    "layouts.py",
    "parameters.py",
    "places.py",
    "printable.py",
    "progress.py",
    "service.py",
    "storage.py",
    "tables.py",
}


def package_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """Return the packages (or loose modules) of the library that a file imports, anywhere in it."""
    depth = len(path.relative_to(ROOT).parts)  # of dots that lead to the library itself
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            names = [alias.name for alias in node.names]
            whole = (node.module or "").split(".")
            if node.level == depth:
                found.update([whole[0]] if node.module else names)
            elif not node.level and whole[0] == "parasphere":
                found.update(whole[1:2] or names)
        elif isinstance(node, ast.Import):
            found.update(alias.name.split(".")[1] for alias in node.names if alias.name.startswith("parasphere."))
    return found & set(ORDER)


def arrows() -> dict[str, set[str]]:
    """Return what each package imports of the others."""
    found: dict[str, set[str]] = {name: set() for name in ORDER}
    for path in ROOT.rglob("*.py"):
        if path.parent != ROOT or path.name not in ("__init__.py", "__main__.py"):
            found[package_of(path)] |= imported(path) - {package_of(path)}
    return found


def test_nothing_imports_what_is_built_on_it() -> None:
    """The one arrow up is ``model.index(texts)``, which every quickstart uses."""
    upward = {
        f"{package} -> {other}"
        for package, others in arrows().items()
        for other in others
        if ORDER.index(other) > ORDER.index(package)
    }
    assert upward == {"model -> search"}
    assert {"storage", "errors"} <= arrows()["text"]  # the arrows are seen at all


def test_packages_are_those_of_the_order() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert packages | {name.removesuffix(".py") for name in LOOSE} == {*ORDER, "__init__", "__main__"}
    assert {path.name for path in ROOT.glob("*.py")} == LOOSE


def imported_files(path: Path) -> set[Path]:
    """Return the files of the library that a file imports, anywhere in it, but for the library's own face."""
    found: set[Path] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            folder = (
                path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
                if node.module
                else (path.parents[node.level - 1])
            )
            for name in [alias.name for alias in node.names]:
                choices = [folder / f"{name}.py", folder / name / "__init__.py", folder.with_suffix(".py"),
                           folder / "__init__.py"]  # fmt: skip
                found.update([choice for choice in choices if choice.exists()][:1])
    return found - {path, ROOT / "__init__.py"}


def test_no_file_imports_itself_by_way_of_others() -> None:
    files = {path: imported_files(path) for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py"}
    assert ROOT / "errors.py" in files[ROOT / "text" / "vocabulary.py"]  # the arrows are seen at all
    list(TopologicalSorter(files).static_order())  # raises a CycleError that names the files


PUBLIC = {"_kernels", "_asdict", "_fields", "_make", "_replace"}  # the compiled module, and names that namedtuple gives


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in PUBLIC


def defined_names(trees: list[ast.Module]) -> set[str]:
    """Return all names that the files of a package define or set, attributes included."""
    found: set[str] = set()
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
    return found


def test_no_package_uses_a_private_name_of_another() -> None:
    """Private names are imported and accessed within the package that defines them."""
    trees: dict[str, dict[Path, ast.Module]] = {}
    for path in ROOT.rglob("*.py"):
        trees.setdefault(package_of(path), {})[path] = ast.parse(path.read_text())
    own = {package: defined_names(list(files.values())) for package, files in trees.items()}
    everything = set().union(*own.values())
    foreign: set[str] = set()
    for package, files in trees.items():
        for path, tree in files.items():
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom) and node.level:
                    folder = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
                    names = [part for part in (node.module or "").split(".") if part]
                    names += [alias.name for alias in node.names]
                    if folder != ROOT and ROOT / package not in (folder, *folder.parents):
                        foreign.update(f"{path}: import of {name}" for name in names if is_private(name))
                elif (
                    isinstance(node, ast.Attribute) and is_private(node.attr) and node.attr in everything - own[package]
                ):
                    foreign.add(f"{path}:{node.lineno}: {node.attr}")
    assert foreign == set()
    assert "_encoder" in own["model"]  # private names are seen at all
