# The three commands a newcomer needs: make run, make test, make bench.

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
# Many processes are started, each of which would compile everything again.
unexport PYTHONDONTWRITEBYTECODE
.PHONY: help setup setup-dev setup-bench run test bench eval eval-mutations chaos soak lint format lock clean

VENV := .venv
BIN := $(VENV)/bin

# A stamp is named after what was installed and where, not after a date: a checkout that touches the
# files without changing them costs nothing, and a moved clone is set up again.
id = $(shell { pwd; cat requirements.lock pyproject.toml $(1); } | cksum | tr ' ' '-')
SETUP := $(VENV)/.setup-$(call id)
DEV := $(VENV)/.dev-$(call id,requirements-dev.lock)
BENCH := $(VENV)/.bench-$(call id,requirements-dev.lock requirements-bench.lock)

# Tests spend most of their time waiting: several processes per core are faster, too many make tests late.
PROCESSES ?= 6

help: ## Show the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(SETUP) ## Create .venv and install Corral from the lock
	@$(BIN)/python -m compileall -q src || true

setup-dev: $(DEV)
	@:

setup-bench: $(BENCH)
	@:

$(SETUP):
	@scripts/setup $(VENV) requirements.lock
	@rm -f $(VENV)/.setup-*; touch $@

# What is there already is not asked for again.
$(DEV):
	@scripts/setup $(VENV) $(if $(wildcard $(SETUP)),,requirements.lock) requirements-dev.lock
	@rm -f $(VENV)/.setup-* $(VENV)/.dev-*; touch $(SETUP) $@

$(BENCH): $(DEV)
	@scripts/setup $(VENV) requirements-bench.lock
	@rm -f $(VENV)/.bench-*; touch $@

run: setup ## Start Corral with a local demo site and open jobs
	@exec $(BIN)/corral demo

# The linters by the name of `make`, not by its variable: with that a recipe is run even by `make -n`.
test: ## Everything that must hold: linters, types, layers, tests
	@scripts/together "make setup-dev" scripts/services
	@scripts/test $(BIN)/pytest $(PROCESSES) "make lint"

bench: setup-bench ## Compare with the peers, side by side; prints ratios
	@scripts/services postgres redis chromium nginx docs
	@$(BIN)/python -m bench --save

eval: setup-dev ## Precision and recall of bare field names on recorded pages, with the misses
	@$(BIN)/python -m eval

eval-mutations: setup-dev ## Verdicts on broken and good data of 30 templates, with the misses
	@$(BIN)/python -m eval.mutations

chaos: setup-dev ## All tests, in their long versions
	@scripts/services
	@CORRAL_CHAOS=long $(BIN)/pytest -q

soak: setup-dev ## Hours of faults, watching for leaks
	@scripts/services
	@CORRAL_CHAOS=soak $(BIN)/pytest tests/chaos -q

lint: setup-dev ## ruff, mypy and the import contracts
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet . || { echo "the files above need formatting: make format"; exit 1; }
	@$(BIN)/mypy --no-error-summary
	@scripts/quietly $(BIN)/lint-imports

format: setup-dev ## Fix what can be fixed by a program
	@$(BIN)/ruff check --fix --quiet . || true
	@$(BIN)/ruff format --quiet .

UV ?= uv
COMPILE := $(UV) pip compile --quiet --generate-hashes --no-emit-index-url --no-emit-find-links --no-header \
	--python-version 3.11
lock: ## Compile requirements*.in into the locks (needs uv; UPGRADE=--upgrade for newer versions)
	@$(COMPILE) $(UPGRADE) requirements.in -o requirements.lock >/dev/null
	@$(COMPILE) $(UPGRADE) requirements-dev.in -o requirements-dev.lock >/dev/null
	@$(COMPILE) $(UPGRADE) requirements-bench.in -o requirements-bench.lock >/dev/null

clean: ## Remove .venv and caches; keeps var/
	@rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find src tests bench eval scripts -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
