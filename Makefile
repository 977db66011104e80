# `make demo` plans a real quarter, `make test` checks everything, `make accuracy` holds the
# predictions against published measurements, `make fuzz` draws FUZZ questions for each property.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

FUZZ ?= 500

.PHONY: demo test fuzz bench accuracy clean

demo: $(STAMP)
	$(BIN)/planner plan scenarios/quarterly.yaml

test: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/planner rules test
	$(BIN)/pytest -n 2

fuzz: $(STAMP)
	PLANNER_FUZZ=$(FUZZ) $(BIN)/pytest -n 2 tests/properties

bench: $(STAMP)
	$(BIN)/python -m benchmarks

accuracy: $(STAMP)
	$(BIN)/python -m benchmarks.accuracy --publish docs

$(STAMP): pyproject.toml
	$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or newer is needed")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis out
