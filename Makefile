# The commands of this repository. A fresh machine needs python3 (3.11 or later) and make.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# uv installs everything else. Pinned and kept beside the checkout, so that no machine's own copy decides.
UV_VERSION := 0.13.9
UV := .tools/bin/uv
HAS_UV := .tools/.uv-$(UV_VERSION)
export UV_PYTHON_DOWNLOADS := never
BIN := .venv/bin

# An environment of its own, and an old generator on purpose: docs/decisions/0011-generated-code.md says why.
GENERATE := $(UV) run -q --isolated --no-project --python python3 --with grpcio-tools==1.76.0 \
	--with mypy-protobuf==5.1.0 --with 'setuptools<81' python tools/generate.py

# Each worker takes what others have not begun; speed is the benchmarks' matter, not the tests'.
ON_ALL_CORES := -n auto --dist worksteal

step = @printf '· %s\n' '$(1)'
hint = || { printf '\n%s\n' '$(1)' >&2; exit 1; }

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' Makefile

.PHONY: setup
setup: .venv/.ready ## Install what the project needs into .venv (the other commands do it by themselves)
	@printf 'ready; next: make demo\n'

$(HAS_UV):
	@printf 'bringing uv %s …\n' $(UV_VERSION)
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		$(call hint,Python 3.11 or later is needed as python3: install it and run make again.)
	@python3 -m venv .tools \
		$(call hint,python3 cannot make a virtual environment: apt-get install python3-venv and run make again.)
	@.tools/bin/python -m pip install -q --disable-pip-version-check uv==$(UV_VERSION) \
		$(call hint,uv could not be installed: is the package index reachable? Run make again.)
	@touch $@

.venv/.ready: pyproject.toml uv.lock $(HAS_UV)
	@$(UV) sync --frozen --all-extras \
		$(call hint,The packages could not be installed: see the message above. Run make setup again.)
	@touch $@

.PHONY: demo
demo: .venv/.ready ## Start a server with a session to look at; on a terminal it keeps serving
	@$(BIN)/transcript demo

.PHONY: test
test: .venv/.ready ## Run the tests (minutes)
	@$(BIN)/pytest $(ON_ALL_CORES) -m 'not thorough'

.PHONY: thorough
thorough: .venv/.ready ## Run every test at its full count: long histories, many crashes (longer)
	@TRANSCRIPT_THOROUGH=1 $(BIN)/pytest $(ON_ALL_CORES)

.PHONY: check
check: .venv/.ready ## Check the contract, the generated code, style, types, layers and docs
	$(call step,contract: lint)
	@$(BIN)/buf lint
	$(call step,contract: format)
	@$(BIN)/buf format -d --exit-code $(call hint,Run: .venv/bin/buf format -w)
	$(call step,contract: nothing released is broken)
	@$(BIN)/buf breaking --against proto/released.binpb \
		$(call hint,A released field or method changed: add a new one instead (CONTRIBUTING.md says how).)
	$(call step,generated code is that of the contract)
	@$(GENERATE) --check $(call hint,Run: make generate)
	$(call step,style)
	@$(BIN)/ruff format --check $(call hint,Run: .venv/bin/ruff format)
	@$(BIN)/ruff check
	$(call step,types)
	@$(BIN)/mypy
	@$(BIN)/mypy tools bench tests/project
	$(call step,layers and docs)
	@$(BIN)/pytest -q tests/project --ignore tests/project/test_examples.py

.PHONY: generate
generate: $(HAS_UV) ## Write the Python code of the contract anew
	@$(GENERATE)

.PHONY: bench
bench: .venv/.ready ## Measure speed against its goals (docs/speed.md)
	@$(BIN)/python -m bench
