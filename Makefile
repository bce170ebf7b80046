# What a person types. `make` alone says what there is.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
export PYTHONPATH := $(CURDIR)/operator:$(CURDIR)

.DEFAULT_GOAL := help
.PHONY: help demo demo-down test lint unit e2e generate lock clean cluster-up cluster-down accuracy bench bench-fleet damage detection-figures

help: ## Say what there is
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(INSTALLED): tests/requirements.lock pyproject.toml
	@test ! -L $(VENV) || { echo "$(VENV) is a link: its packages are another checkout's to install"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or later is needed, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	@$(PYTHON) -m venv $(VENV) 2>/dev/null || { apt-get update -qq && apt-get install -y -qq python3-venv && $(PYTHON) -m venv --clear $(VENV); }
	@echo "  install the Python packages of tests/requirements.lock"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r tests/requirements.lock
	@touch $@

demo: $(INSTALLED) ## The main job on a real cluster, watched: regression, diagnosis, pull request, recovery
	@$(BIN)/python -m tests.demo run

demo-down: $(INSTALLED) ## Remove every trace of the demo (caches stay)
	@$(BIN)/python -m tests.demo down

test: lint ## All tests, the end-to-end ones on the real cluster included
	@$(BIN)/python -m tests.prepare
	@$(BIN)/python -m tests.run

lint: $(INSTALLED) ## ruff, mypy --strict, the layers
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo >/dev/null || $(BIN)/lint-imports

unit: $(INSTALLED) ## The tests that need no cluster
	@$(BIN)/python -m pytest -q -n auto -m "not cluster"

e2e: $(INSTALLED) ## The tests on the real cluster
	@$(BIN)/python -m tests.prepare
	@$(BIN)/python -m pytest -q -m cluster

generate: $(INSTALLED) ## Write what is derived from other files (the copies of the CRD and of the GPU peaks, a picture)
	@cp crds/trainingbaseline.yaml charts/mfu-operator/crds/trainingbaseline.yaml
	@cp operator/mfu_probe/gpu_peaks.tsv operator/mfu_operator/detect/gpu_peaks.tsv
	@$(BIN)/python -m tests.docs.picture

lock: $(INSTALLED) ## Pin the Python packages again, with hashes
	@$(BIN)/python -m piptools compile -q --generate-hashes --no-annotate --no-header --allow-unsafe --strip-extras --no-emit-index-url --no-emit-find-links -o operator/requirements.lock pyproject.toml
	@$(BIN)/python -m piptools compile -q --generate-hashes --no-annotate --no-header --allow-unsafe --strip-extras --no-emit-index-url --no-emit-find-links --extra dev -o tests/requirements.lock pyproject.toml

cluster-up: $(INSTALLED) ## A real cluster alone
	@$(BIN)/python -m tests.cluster up

cluster-down: $(INSTALLED) ## Take the cluster down
	@$(BIN)/python -m tests.cluster down

accuracy: $(INSTALLED) ## The diagnosis' confusion matrix on synthetic traces with known causes
	@$(BIN)/python -m tests.accuracy

damage: $(INSTALLED) ## Every trace in tests/data damaged 50 times in every way (about an hour)
	@$(BIN)/python -m tests.damage

bench: $(INSTALLED) ## Trace analysis, timed beside its peers
	@$(BIN)/python -m tests.bench.analyze

bench-fleet: $(INSTALLED) ## Ten thousand baselines on a real API server and a real Prometheus: cost, speed, restart
	@$(BIN)/python -m tests.bench.fleet

.venv-otava/.installed: $(INSTALLED) tests/detection/otava.lock
	@$(PYTHON) -m venv .venv-otava
	@.venv-otava/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r tests/detection/otava.lock
	@touch $@

detection-figures: $(INSTALLED) .venv-otava/.installed ## The detection rule's figures by simulation, beside its peers
	@$(BIN)/python -m tests.detection

clean: ## Remove what the tests and tools leave in this folder
	@rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
