# What a person types. `make` alone says what there is.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
export PYTHONPATH := $(CURDIR)/operator:$(CURDIR)

.DEFAULT_GOAL := help
.PHONY: help demo demo-down test fmt lint unit faults soak e2e e2e-torch matrix generate lock clean cluster-up cluster-down accuracy accuracy-real accuracy-events peers page bench bench-fleet damage detection-figures mutation bench-history bench-ranks

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

fmt: $(INSTALLED) ## Format the code and sort its imports
	@$(BIN)/ruff check --quiet --fix .
	@$(BIN)/ruff format --quiet .

lint: $(INSTALLED) ## ruff (its security rules among them), mypy --strict, the layers, known weaknesses of packages
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo >/dev/null || $(BIN)/lint-imports
	@$(BIN)/python -m tests.supply.audit

unit: $(INSTALLED) ## The tests that need no cluster
	@$(BIN)/python -m pytest -q -n auto -m "not cluster and not matrix and not faults and not torch and not browser"

faults: $(INSTALLED) ## The operator under crashes, clocks, tampering, upgrades and missing rights, with a table (minutes)
	@$(BIN)/python -m pytest -q -n 2 --dist loadgroup tests/faults

e2e-torch: $(INSTALLED) ## Captures of real PyTorch jobs on the CPU, on the cluster too: ways, faults, overhead, with a table (minutes)
	@$(BIN)/python -m tests.prepare
	@$(BIN)/python -m pytest -q -m torch tests/live

matrix: $(INSTALLED) ## Every layout and every ending of a pull request on the real cluster, with a table (ten minutes)
	@$(BIN)/python -m tests.prepare
	@$(BIN)/python -m pytest -q -m matrix tests/matrix

soak: $(INSTALLED) ## Thousands of incidents with churn, the clock as fast as it goes: what is held at the end (ten minutes)
	@$(BIN)/python -m tests.faults.soak

e2e: $(INSTALLED) ## The tests on the real cluster
	@$(BIN)/python -m tests.prepare
	@$(BIN)/python -m pytest -q -m "cluster and not faults and not torch"

generate: $(INSTALLED) ## Write what is derived from other files (the copies of the CRD and of the GPU peaks, pictures, the tour, FACTS.md, reasons.md, the references)
	@cp crds/trainingbaseline.yaml charts/mfu-operator/crds/trainingbaseline.yaml
	@cp operator/mfu_probe/gpu_peaks.tsv operator/mfu_operator/detect/gpu_peaks.tsv
	@$(BIN)/python -m tests.docs.picture
	@$(BIN)/python -m tests.docs.tour_data
	@$(BIN)/python -m tests.docs.tour
	@$(BIN)/python -m tests.docs.facts_page
	@$(BIN)/python -m tests.docs.reasons_page
	@$(BIN)/python -m tests.docs.reference.crd_page
	@$(BIN)/python -m tests.docs.reference.cli_page

.PHONY: renderers
renderers: $(INSTALLED) ## Compile kustomize and helm for the operator's image (minutes the first time)
	@$(BIN)/python -m tests.cluster.renderers

lock: $(INSTALLED) ## Pin the Python packages again, with hashes
	@$(BIN)/python -m piptools compile -q --generate-hashes --no-annotate --no-header --allow-unsafe --strip-extras --no-emit-index-url --no-emit-find-links --extra operator -o operator/requirements.lock pyproject.toml
	@$(BIN)/python -m piptools compile -q --generate-hashes --no-annotate --no-header --allow-unsafe --strip-extras --no-emit-index-url --no-emit-find-links --extra operator --extra png --extra dev -o tests/requirements.lock pyproject.toml
	@$(BIN)/python -m piptools compile -q --generate-hashes --no-annotate --no-header --allow-unsafe --strip-extras --no-emit-index-url --no-emit-find-links -o tests/supply/release.lock tests/supply/release.in

cluster-up: $(INSTALLED) ## A real cluster alone
	@$(BIN)/python -m tests.cluster up

cluster-down: $(INSTALLED) ## Take the cluster down
	@$(BIN)/python -m tests.cluster down

accuracy: $(INSTALLED) ## The diagnosis' confusion matrix on synthetic traces with known causes
	@$(BIN)/python -m tests.accuracy

accuracy-real: $(INSTALLED) ## Verdicts on real traces: as recorded, changed, recorded badly (minutes)
	@$(BIN)/python -m tests.accuracy.real

accuracy-events: $(INSTALLED) ## Verdicts on a machine that was modelled apart, as tests/accuracy/events.md (15 minutes)
	@$(BIN)/python -m tests.accuracy.events

peers: $(INSTALLED) ## What other tools say of the same public traces, as tests/accuracy/peers.md (TRACELENS: a checkout of AMD's)
	@$(PYTHON) -m venv .venv-peers
	@.venv-peers/bin/pip install -q --no-deps torch-tb-profiler==0.4.3 HolisticTraceAnalysis==0.5.0
	@.venv-peers/bin/pip install -q -r tests/accuracy/peers/requirements.txt
	@$(BIN)/python -m tests.accuracy.peers .venv-peers/bin/python $(TRACELENS) && rm -rf .venv-peers

page: $(INSTALLED) ## Look at the page of `analyze -o html` in Debian's Chromium (root, a minute)
	@$(BIN)/python -m pytest -q -m browser tests/browser

damage: $(INSTALLED) ## Every trace in tests/data damaged 50 times in every way (about an hour)
	@$(BIN)/python -m tests.damage

MINUTES ?= 30
.PHONY: fuzz
fuzz: $(INSTALLED) ## Send to every parser of what strangers send, for half an hour or MINUTES
	@$(BIN)/python -m tests.fuzz --minutes $(MINUTES)

SEED ?= 0
MUTANTS ?= 300
mutation: $(INSTALLED) ## Small changes of the decision core, drawn by SEED: would a test notice? (about an hour)
	@$(BIN)/python -m tests.mutation --seed $(SEED) --mutants $(MUTANTS)

bench: $(INSTALLED) ## Trace analysis, timed beside its peers
	@$(BIN)/python -m tests.bench.analyze

bench-fleet: $(INSTALLED) ## Ten thousand baselines on a real API server and a real Prometheus: cost, speed, restart
	@$(BIN)/python -m tests.bench.fleet

bench-history: $(INSTALLED) ## One investigation of 5,000 commits and a window of 300 over a slow network: time and memory
	@$(BIN)/python -m tests.bench.history

bench-ranks: $(INSTALLED) ## One coordinator against 64 simulated ranks: time and memory
	@$(BIN)/python -m tests.bench.ranks

.venv-otava/.installed: $(INSTALLED) tests/detection/otava.lock
	@$(PYTHON) -m venv .venv-otava
	@.venv-otava/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r tests/detection/otava.lock
	@touch $@

detection-figures: $(INSTALLED) .venv-otava/.installed ## The detection rule's figures by simulation, beside its peers
	@$(BIN)/python -m tests.detection

.venv-release/.installed: $(INSTALLED) tests/supply/release.lock
	@$(PYTHON) -m venv .venv-release
	@.venv-release/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r tests/supply/release.lock
	@touch $@

.PHONY: release advisories vulnerabilities images
release: $(INSTALLED) .venv-release/.installed ## All that a release consists of but the images, into dist/ (for REGISTRY, RELEASE_URL and RUNBOOKS_URL; COSIGN_KEY signs)
	@$(BIN)/python -m tests.supply.release .venv-release/bin

advisories: $(INSTALLED) ## Write the known weaknesses of packages anew, FROM a clone of the PyPA's advisory database
	@$(BIN)/python -m tests.supply.audit $(FROM)

vulnerabilities: $(INSTALLED) ## Known weaknesses of the Go programs in the image, by govulncheck and Go's database or a copy (DB=file:///...)
	@$(BIN)/python -m tests.supply.go_audit $(DB)

PLATFORM ?= linux/amd64
images: $(INSTALLED) ## Build both images on a BASE that is given by its digest (debian@sha256:...), for PLATFORM (linux/amd64, linux/arm64)
	@case "$(BASE)" in *@sha256:*) ;; *) echo "BASE=debian@sha256:... : an image that people install stands on a base that nobody can move"; exit 1;; esac
	@GOOS=linux GOARCH=$(notdir $(PLATFORM)) $(BIN)/python -m tests.cluster.renderers
	@mkdir -p build/images
	@for target in operator profiler; do \
	  docker build -f operator/Dockerfile --platform $(PLATFORM) --build-arg BASE=$(BASE) --target $$target -t mfu-$$target . \
	  && docker save -o build/images/mfu-$$target-$(notdir $(PLATFORM)).tar mfu-$$target || exit 1; done

clean: ## Remove what the tests and tools leave in this folder
	@rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
