# make demo   fill a picture with holes and show what came of it
# make test   style, types, doctests and tests, without the slow ones
# make test-all  the slow tests too
# make test-slow  the slow tests alone: what make test leaves out
# make test-lowest  a share of the tests with the lowest versions of all packages that pyproject.toml allows
# make test-browser  the report in a browser; installs Debian's chromium where it is missing
# make fuzz   damaged and forged files of every format, for BUDGET=600 seconds
# make mutants  mistakes that are put into a copy of the package, one by one; the tests named for each must fail
# make bench  speed and memory, as ratios within one run
# make bench-dask  NORT on local clusters of Dask processes, beside one process
# make experiments  every table and figure of the paper; takes hours, and goes on where it stopped
# make docs   the documentation, with all its code run, in docs/_build/html
PYTHON ?= python3
BIN := .venv/bin
# A process of tests for each core; threads of BLAS would wait busily for one another.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
# Python keeps what it compiled even if the environment forbids it: otherwise each process rewrites all tests anew.
FOR_TESTS := $(ONE_THREAD) PYTHONDONTWRITEBYTECODE=
# All tests of a file run in one process, which makes the fits that they share once.
SIDE_BY_SIDE := -n auto --dist loadfile

.PHONY: demo test test-all test-slow test-lowest test-browser fuzz mutants bench bench-dask experiments docs clean
.DELETE_ON_ERROR:

demo: .venv/installed-demo
	$(BIN)/tensorfill demo

test: .venv/installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(FOR_TESTS) $(BIN)/pytest $(SIDE_BY_SIDE) -m "not slow"

test-slow: .venv/installed-dev
	$(FOR_TESTS) $(BIN)/pytest $(SIDE_BY_SIDE) -m slow

test-all: test test-slow

# What meets other packages: files, tables, arrays of other libraries, scikit-learn, compiled loops. Old versions warn of
# their own future, which is past; and their compiled code must not replace that of .venv.
test-lowest: .venv-lowest/installed
	$(FOR_TESTS) NUMBA_CACHE_DIR=.venv-lowest/numba .venv-lowest/bin/pytest $(SIDE_BY_SIDE) -m "not slow" \
		-W ignore::DeprecationWarning -W ignore::FutureWarning \
		tests/adapters tests/algebra/test_entry_products.py tests/algebra/test_sparse_unfoldings.py tests/io \
		tests/cli/test_files.py tests/cli/test_outputs.py tests/sklearn/test_completer.py tests/test_xarray.py

test-browser: .venv/installed-dev,browser
	(command -v chromium && command -v chromedriver) > /dev/null || \
		(apt-get update && apt-get install -y chromium chromium-driver)
	TENSORFILL_BROWSER=1 $(BIN)/pytest tests/browser

BUDGET ?= 600
fuzz: .venv/installed-dev
	$(ONE_THREAD) $(BIN)/python -m tests.fuzz.run --budget $(BUDGET)

# Only those with a word in their name or file: make mutants NAMES="momentum holdout"
mutants: .venv/installed-dev
	$(ONE_THREAD) $(BIN)/python -m tests.mutants $(NAMES)

bench: .venv/installed-dev,bench
	$(BIN)/python benchmarks/run.py

bench-dask: .venv/installed-dev
	$(ONE_THREAD) $(BIN)/python benchmarks/on_dask.py
	$(BIN)/python benchmarks/dask_model.py

experiments: .venv/installed-dev
	$(BIN)/python -m experiments all

docs: .venv/installed-docs
	rm -rf docs/_build docs/gallery docs/reference
	$(BIN)/sphinx-build -W --keep-going -q docs docs/_build/html
	@echo "The pages are in docs/_build/html; open docs/_build/html/index.html"

.venv/installed-%: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable ".[$*]"
	touch $@

.venv-lowest/installed: pyproject.toml
	test -x .venv-lowest/bin/python || $(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet uv
	.venv-lowest/bin/uv pip install --quiet --python .venv-lowest/bin/python --only-binary :all: \
		--resolution lowest-direct --requirements pyproject.toml --extra dev
	.venv-lowest/bin/python -m pip install --quiet --no-deps --editable .
	touch $@

clean:
	rm -rf .venv .venv-lowest .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -type d -exec rm -rf {} +
