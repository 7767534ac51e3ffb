# make demo   fill a picture with holes and show what came of it
# make test   style, types, doctests and tests
# make quick  the tests without the slow ones
# make test-browser  the report in a browser; installs Debian's chromium where it is missing
# make fuzz   damaged and forged files of every format, for BUDGET=600 seconds
# make bench  speed and memory, as ratios within one run
# make experiments  every table and figure of the paper; takes hours, and goes on where it stopped
# make docs   the documentation, with all its code run, in docs/_build/html
PYTHON ?= python3
BIN := .venv/bin
# A process of tests for each core; threads of BLAS would wait busily for one another.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

.PHONY: demo test quick test-browser fuzz bench experiments docs clean
.DELETE_ON_ERROR:

demo: .venv/installed-demo
	$(BIN)/tensorfill demo

test: .venv/installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(ONE_THREAD) $(BIN)/pytest -n auto --dist worksteal

quick: .venv/installed-dev
	$(ONE_THREAD) $(BIN)/pytest -n auto --dist worksteal -m "not slow"

test-browser: .venv/installed-dev,browser
	(command -v chromium && command -v chromedriver) > /dev/null || \
		(apt-get update && apt-get install -y chromium chromium-driver)
	TENSORFILL_BROWSER=1 $(BIN)/pytest tests/browser

BUDGET ?= 600
fuzz: .venv/installed-dev
	$(ONE_THREAD) $(BIN)/python -m tests.fuzz.run --budget $(BUDGET)

bench: .venv/installed-dev,bench
	$(BIN)/python benchmarks/run.py

experiments: .venv/installed-dev
	$(BIN)/tensorfill experiment all

docs: .venv/installed-docs
	rm -rf docs/_build docs/gallery docs/reference
	$(BIN)/sphinx-build -W --keep-going -q docs docs/_build/html
	@echo "The pages are in docs/_build/html; open docs/_build/html/index.html"

.venv/installed-%: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable ".[$*]"
	touch $@

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -type d -exec rm -rf {} +
