# Two commands are enough: `make demo` to see it work, `make test` to prove it. Both set everything up in .venv first.
PYTHON ?= python3
BIN := .venv/bin
CORE := .venv/.core
READY := .venv/.ready

.PHONY: setup demo mario test check bench docs clean

setup: $(READY)

# What training needs. torch first and by its pin: without it pip may pull a build of several gigabytes
$(CORE): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "installing into .venv (a minute the first time) ..."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "$$(grep '^torch==' constraints.txt)"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

# What tests and the other targets need beside it
$(READY): $(CORE)
	@echo "installing what tests need into .venv (a few minutes the first time) ..."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev,mario,dashboard]"
	@touch $@

demo: $(CORE)
	$(BIN)/holdfast demo

mario: setup
	$(BIN)/holdfast doctor mario
	$(BIN)/holdfast train mario-1-1 --run.name mario-1-1
	$(BIN)/holdfast play mario-1-1 --stage 1-1 --video mario-1-1.mp4

test: check
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: setup
	$(BIN)/holdfast bench world
	$(BIN)/holdfast bench train

docs: setup
	$(BIN)/python -m holdfast.views.docs docs

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache
