# The two commands are `make run` and `make test`; each makes its own environment in .venv first.
BIN := .venv/bin

.PHONY: run demo test lint format bench cases servers clean

run: demo
	@exec $(BIN)/nodeworthy up

demo: .venv/.run
	@$(BIN)/python examples/first_run.py

test: .venv/.dev
	$(BIN)/python -m pytest

lint: .venv/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell

format: .venv/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: .venv/.dev
	$(BIN)/python benchmarks/run.py

cases: .venv/.dev
	@$(BIN)/python -m tests.cases.images.table

servers: .venv/.dev
	$(BIN)/python tests/servers/build.py registries
	$(BIN)/python tests/servers/build.py kubernetes

.venv/.run: pyproject.toml uv.lock scripts/environment.sh
	@sh scripts/environment.sh run

.venv/.dev: pyproject.toml uv.lock scripts/environment.sh
	@sh scripts/environment.sh dev

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
