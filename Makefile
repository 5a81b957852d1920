# `make demo` and `make test` need only Python 3.11+ and make; each installs what it needs into .venv.
SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin
DATA ?= ../shared/data

# Real corpora, if available, through the environment variables of the libraries that read them.
ifneq ($(wildcard $(DATA)/scikit_learn_data),)
export SCIKIT_LEARN_DATA ?= $(abspath $(DATA)/scikit_learn_data)
endif
ifneq ($(wildcard $(DATA)/nltk_data),)
export NLTK_DATA ?= $(abspath $(DATA)/nltk_data)
endif
ifneq ($(wildcard $(DATA)/vectors),)
export PARASPHERE_TEST_VECTORS ?= $(abspath $(DATA)/vectors)
VECTORS ?= $(DATA)/vectors/word2vec-wikipedia-{dim}d.bin.gz
TASK_VECTORS ?= english-128,glove-6b-50d,$(DATA)/vectors/glove.6B.100d.subset.txt.gz
endif
VECTORS ?= glove-6b-50d
TASK_VECTORS ?= english-128,glove-6b-50d
OUT ?= reproduced
ifneq ($(wildcard $(DATA)/tasks),)
export PARASPHERE_TASKS ?= $(abspath $(DATA)/tasks)
endif
ifneq ($(wildcard $(DATA)/text),)
REPRODUCE ?= --text '$(DATA)/text/wikipedia-ordered.txt.xz'
export PARASPHERE_BENCH_TEXT ?= $(abspath $(DATA)/text/wikipedia-ordered.txt.xz)
endif

# There is a test process per core: threads of BLAS and torch in each of them would only wait for those of the others.
# Tests start many processes; unless byte code is kept, each of them compiles the library again.
ALONE := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=

.PHONY: help demo test test-all test-sanitized lint fix fuzz bench reproduce docs docs-serve coverage dist matrix release-check fresh sbom clean
help: ## show this list
	@grep -E '^[a-z-]+:.*## ' Makefile | sed 's/:.*## /\t/' | expand -t 16

demo: .venv/installed-plots ## fit, explain and map the embedded corpus, in seconds
	$(BIN)/parasphere demo

# The modules of extras, whose docstring examples need these.
EXTRAS := src/parasphere/dask.py $(foreach package,explorer service,src/parasphere/$(package))

test: .venv/installed-test ## the library's own tests and docstring examples, in minutes
	$(ALONE) $(BIN)/pytest -n auto --ignore=tests/integration $(foreach package,$(EXTRAS),--ignore=$(package))

test-all: test-sanitized .venv/installed-test-all .venv/installed-reproduction ## all other tests: with other libraries, a browser, a cluster, a service, the site and the experiments
	$(ALONE) $(BIN)/pytest -n auto tests/integration $(EXTRAS)
	$(ALONE) PARASPHERE_CRAFTED=100000 $(BIN)/pytest -n auto --dist load tests/kernels/test_crafted.py
	cd reproduction && $(ALONE) ../$(BIN)/pytest -n auto

# AddressSanitizer and UndefinedBehaviorSanitizer are those of gcc on Linux.
test-sanitized: .venv/installed-test ## the kernels' tests and the fuzzers, with kernels that sanitizers watch
ifeq ($(shell uname -s),Linux)
	PATH="$(abspath $(BIN)):$$PATH" PYTHON="$(abspath $(BIN)/python)" $(ALONE) scripts/sanitized.sh
else
	@echo "The sanitizers' libraries are preloaded as on Linux, and only there."
endif

lint: .venv/installed-lint ## ruff, ruff format --check, mypy --strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

fix: .venv/installed-lint ## fix and format the code with ruff
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

fuzz: .venv/installed-test ## mutated files until stopped, or for FUZZ_SECONDS (FUZZ_SEED, FUZZ_TARGET, FUZZ_CASE)
	$(BIN)/python tests/fuzz/fuzzing.py

bench: .venv/installed-bench .venv/installed-reproduction ## speed and memory compared with peers; writes benchmarks/results/ and the README's tables
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.readme

reproduce: .venv/installed-reproduction ## all experiments, into OUT=reproduced, resumable; QUICK=1: the main tables
	$(BIN)/reproduce all --vectors '$(VECTORS)' --task-vectors '$(TASK_VECTORS)' --out '$(OUT)' $(if $(QUICK),--quick) $(REPRODUCE)

docs: .venv/installed-docs ## the site, into build/site, without a network; warnings are errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

docs-serve: .venv/installed-docs ## the site, rebuilt while pages are written
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

coverage: .venv/installed-test-all .venv/installed-release ## which lines the tests do not run, into build/coverage
	$(ALONE) $(BIN)/coverage run -m pytest -n auto
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage html --quiet -d build/coverage
	$(BIN)/coverage report

dist: .venv/installed-release ## the wheel and the sdist, into dist/
	rm -rf dist
	$(BIN)/python -m build --quiet --outdir dist

matrix: dist ## the tests on every supported Python that is installed, with old and new dependencies; MATRIX=--quick
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python scripts/matrix.py $(MATRIX)

release-check: dist ## what is in the wheel and the sdist, their metadata, changelog and licences
	$(BIN)/check-wheel-contents dist/*.whl
	$(BIN)/twine check --strict dist/*
	$(BIN)/python scripts/release.py --check

fresh: dist ## the wheel without compiler, network, home directory or a file system that can be written (Linux)
	PATH="$(abspath $(BIN)):$$PATH" scripts/fresh.sh dist/*.whl $(PYTHON)

sbom: .venv/installed-release ## what is vendored and installed, into build/sbom.json
	$(BIN)/python scripts/sbom.py $(BIN)/python build/sbom.json

clean: ## remove the environment and caches
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist

# One environment; each stamp file adds an extra to it, again whenever pyproject.toml or a kernel changes. The kernels are
# built without isolation, so that what has been built is not built again; with a compiler from PyPI where there is none.
# Its warnings, unlike those of a developer's own compiler, are no errors: it may be newer than any that has been tried.
COMPILER := $(shell command -v "$${CXX:-c++}" || command -v g++ || command -v clang++)
ifeq ($(COMPILER),)
export CXX := $(abspath .venv/zig-c++)
endif
INSTALL := $(BIN)/python -m pip install --quiet
EDITABLE := $(INSTALL) --no-build-isolation --config-settings=build-dir=build/editable \
	--config-settings=cmake.define.PARASPHERE_WERROR=$(if $(COMPILER),ON,OFF) --editable
KERNELS := CMakeLists.txt $(wildcard src/kernels/*)

.venv/bin/python:
	$(PYTHON) -m venv .venv
	$(INSTALL) --upgrade pip "setuptools>=70.1"  # which jieba is built with, as it has no wheel

.venv/build-tools: pyproject.toml | .venv/bin/python
	$(INSTALL) --requirement <($(BIN)/python scripts/build_tools.py)
ifeq ($(COMPILER),)
	@echo "No C++ compiler was found: the kernels are built by clang from PyPI (ziglang), which takes some minutes."
	$(INSTALL) ziglang
	@printf '#!/bin/sh\nexec "%s" -m ziglang c++ -O2 "$$@"\n' '$(abspath $(BIN)/python)' > .venv/zig-c++
	@chmod +x .venv/zig-c++
endif
	@touch $@

.venv/installed-reproduction: pyproject.toml reproduction/pyproject.toml $(KERNELS) | .venv/build-tools
	$(EDITABLE) .
	$(INSTALL) --editable reproduction
	@touch $@

.venv/installed-%: pyproject.toml $(KERNELS) | .venv/build-tools
	$(EDITABLE) ".[$*]"
	@touch $@
