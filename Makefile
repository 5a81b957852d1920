# `make demo` and `make test` need only Python 3.11+ and make; each installs what it needs into .venv.
PYTHON ?= python3
BIN := .venv/bin
DATA ?= ../shared/data

# Real corpora, where they are at hand, through the environment variables of the libraries that read them.
ifneq ($(wildcard $(DATA)/scikit_learn_data),)
export SCIKIT_LEARN_DATA ?= $(abspath $(DATA)/scikit_learn_data)
endif
ifneq ($(wildcard $(DATA)/nltk_data),)
export NLTK_DATA ?= $(abspath $(DATA)/nltk_data)
endif
ifneq ($(wildcard $(DATA)/vectors),)
export PARASPHERE_TEST_VECTORS ?= $(abspath $(DATA)/vectors)
VECTORS ?= $(DATA)/vectors/word2vec-wikipedia-{dim}d.bin.gz
endif
VECTORS ?= glove-6b-50d

.PHONY: help demo test lint fix fuzz bench reproduce clean
help: ## show this list
	@grep -E '^[a-z]+:.*## ' Makefile | sed 's/:.*## /\t/' | expand -t 12

demo: .venv/installed-plots ## the main job on embedded data, in seconds
	$(BIN)/parasphere demo

test: .venv/installed-test ## every test and every docstring example
	$(BIN)/pytest -n auto

lint: .venv/installed-lint ## ruff, ruff format --check, mypy --strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

fix: .venv/installed-lint ## let ruff mend and format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

fuzz: .venv/installed-test ## mutated files until stopped, or for FUZZ_SECONDS (FUZZ_SEED, FUZZ_TARGET, FUZZ_CASE)
	$(BIN)/python tests/fuzz/fuzzing.py

bench: .venv/installed-bench ## speed and memory beside peers; writes benchmarks/results/
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.picture

reproduce: .venv/installed-experiments ## the paper's experiments; writes results/ (needs the corpora, see the error if not)
	$(BIN)/parasphere reproduce --vectors '$(VECTORS)'

clean: ## remove the environment and caches
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis

# One environment; each stamp adds an extra to it. The stamps are remade when pyproject.toml changes.
.venv/bin/python:
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip

.venv/installed-%: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[$*]"
	@touch $@
