# `make` alone lists what there is.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
PYTHON_IN_VENV := $(VENV)/bin/python
READY := $(VENV)/.ready

.PHONY: help setup demo test check format generate bench lock clean

help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY)  ## Make or refresh .venv (the other targets do it by themselves)

# Appears as the last step of the script, so a run that was cut short is done again.
$(READY): pyproject.toml constraints.txt scripts/setup.sh
	@sh scripts/setup.sh

demo: $(READY)  ## Show what Amber does
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" sh scripts/demo.sh

test: $(READY)  ## Run the tests (ARGS="-k undo" for some of them)
	@sh scripts/servers.sh
	@$(PYTHON_IN_VENV) -m pytest -n auto --dist worksteal $(ARGS)

check: $(READY)  ## Check format, lint, types, layers and the generated code
	$(PYTHON_IN_VENV) -m ruff format --check
	$(PYTHON_IN_VENV) -m ruff check
	$(PYTHON_IN_VENV) -m mypy
	$(VENV)/bin/lint-imports
	$(PYTHON_IN_VENV) -m scripts.generate_aio --check

format: $(READY)  ## Format the code and mend what ruff can mend
	$(PYTHON_IN_VENV) -m ruff format
	$(PYTHON_IN_VENV) -m ruff check --fix

generate: $(READY)  ## Write the async face (src/amber/aio.py) from the sync classes
	$(PYTHON_IN_VENV) -m scripts.generate_aio

bench: $(READY)  ## Run the benchmarks
	@$(PYTHON_IN_VENV) -m benchmarks $(ARGS)

lock:  ## Rewrite constraints.txt with the newest versions that fit
	@sh scripts/lock.sh

clean:  ## Remove what the other targets made, .venv included
	rm -rf $(VENV) .lock-venv build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
