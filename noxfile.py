"""The tests of ``make test`` on every supported Python that is installed, with the highest and the lowest dependencies.

Run with ``make matrix``. Each session builds a wheel from the sdist in ``dist/``, and runs the tests that are in the
sdist, so that missing files are noticed.
"""

import shutil
from pathlib import Path

import nox

PROJECT = nox.project.load_toml("pyproject.toml")
nox.options.default_venv_backend = "uv"
nox.options.error_on_missing_interpreters = False


@nox.session(python=nox.project.python_versions(PROJECT))
@nox.parametrize("resolution", ["highest", "lowest-direct"])
def tests(session: nox.Session, resolution: str) -> None:
    """Build, install and test; old versions without a wheel for this Python are skipped, not built."""
    (sdist,) = Path("dist").absolute().glob("*.tar.gz")
    folder = Path(session.create_tmp())
    shutil.unpack_archive(sdist, folder, filter="data")
    session.chdir(folder / sdist.name.removesuffix(".tar.gz"))
    session.run("uv", "build", "--quiet", "--wheel", "--python", session.python, str(sdist), "--out-dir", str(folder))
    (wheel,) = folder.glob("*.whl")
    # To uv, the requirements of a wheel are not direct ones, so that those of the project are passed too.
    session.install(
        "--resolution", resolution, "--only-binary", ":all:", str(wheel), "-r", "pyproject.toml", "--extra", "test"
    )
    session.run(
        "pytest", "-q", "-p", "no:cacheprovider", "-n", "auto", "tests", "--ignore=tests/integration", *session.posargs
    )
