"""Print the requirements for building the kernels, one per line; cmake and ninja only if they are missing."""

import shutil
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
print(*project["build-system"]["requires"], "setuptools>=70.1", sep="\n")  # jieba has no wheel, and is built with it
print(*(tool for tool in ("cmake", "ninja") if shutil.which(tool) is None), sep="\n")
