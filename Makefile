# `make demo` plans a real quarter, `make test` checks everything, `make accuracy` holds the
# predictions against published measurements, `make fuzz` draws FUZZ questions for each property,
# `make mutations` breaks places that matter and asks whether tests notice, `make golden` writes anew
# what is generated, docs/examples (`make examples`) with it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

FUZZ ?= 500
DRAWN := tests/inputs tests/rules/test_expression.py tests/exchange/test_portfolio.py tests/packing \
	tests/sizing/test_tuning_memory.py tests/sizing/test_properties.py tests/plan/test_place.py \
	tests/cli/test_saved.py
EXAMPLE := docs/examples/quickstart
# What stands here is run, not another checkout that a shell names; what is compiled is kept, for
# the processes that tests start.
unexport PYTHONPATH PYTHONDONTWRITEBYTECODE

.PHONY: demo test types pytest golden fuzz mutations bench accuracy examples clean

demo: $(STAMP)
	$(BIN)/planner plan scenarios/quarterly.yaml

test: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/planner rules test
	$(MAKE) --jobs 2 --no-print-directory types pytest

types: $(STAMP)
	$(BIN)/lint-imports --no-cache
	$(BIN)/mypy

pytest: $(STAMP)
	$(BIN)/python -W 'ignore:Unable to activate pytest' -m slipcover -m pytest -n 2 --dist worksteal
	$(BIN)/python -m tests.branches .coverage.json

golden: $(STAMP)
	$(BIN)/pytest --update-golden

fuzz: $(STAMP)
	PLANNER_FUZZ=$(FUZZ) $(BIN)/pytest -n 2 tests/properties $(DRAWN)

mutations: $(STAMP)
	$(BIN)/python -u -m tests.mutations $(ONLY)

bench: $(STAMP)
	$(BIN)/python -m benchmarks

accuracy: $(STAMP)
	$(BIN)/python -m benchmarks.accuracy --publish docs --neighbours catalog/neighbours.yaml

examples: $(STAMP)
	rm -rf $(EXAMPLE)
	$(BIN)/planner plan scenarios/quickstart.yaml --out $(EXAMPLE)
	$(BIN)/planner alternatives scenarios/quickstart.yaml --jobs 1 --out $(EXAMPLE)
	$(BIN)/planner sensitivity scenarios/quickstart.yaml --jobs 1 --out $(EXAMPLE)
	$(BIN)/planner report $(EXAMPLE)/plan.json --out $(EXAMPLE)
	$(BIN)/planner export watsonx $(EXAMPLE)/plan.json --out $(EXAMPLE)/watsonx
	$(BIN)/planner export kueue $(EXAMPLE)/plan.json --out $(EXAMPLE)
	$(BIN)/planner export kubernetes $(EXAMPLE)/plan.json --out $(EXAMPLE)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or newer is needed")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage.json out
