# make demo   fill a picture with holes and show what came of it
# make test   style, types, doctests and tests
# make bench  speed and memory, as ratios within one run
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test bench clean
.DELETE_ON_ERROR:

demo: .venv/installed-demo
	$(BIN)/tensorfill demo

test: .venv/installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest

bench: .venv/installed-dev
	$(BIN)/python benchmarks/run.py

.venv/installed-%: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable ".[$*]"
	touch $@

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -type d -exec rm -rf {} +
