# Two commands on a fresh machine with Python 3.11+, make and a C compiler:  make demo,  make test.
# `make test-real` gets, builds and runs the real control plane; binaries are cached outside the checkout.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# What outlives a checkout, where tests/bed/cache.py has its programs.
CACHE := $(or $(GPU_COCKPIT_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/gpu-cockpit)
UV := $(BIN)/uv pip install --quiet --system-certs --python $(BIN)/python

# Suites start hundreds of processes: without its bytecode each would compile the house anew, a second of CPU.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo demo-real test test-real test-all bench screenshots lint collected-unit collected-rest format lock proto \
	schemas docs bed train-env release clean

help:
	@echo "make demo         an embedded cluster and the cockpit on it"
	@echo "make demo-real    the real control plane and the cockpit on it"
	@echo "make test         everything that needs nothing but Python"
	@echo "make test-real    build and run the real control plane, then the suites that need it"
	@echo "make test-all     the suites whole"
	@echo "make bench        ratios against kubectl and the stock client, on the real control plane"
	@echo "make screenshots  draw each screen into screenshots/"
	@echo "make lint         ruff, mypy, spelling, import contracts"
	@echo "make bed          start the real control plane and stay"
	@echo "make train-env    torch and Horovod for jobs that really train (5 GB, once)"
	@echo "make release      build both distributions twice, compare, check in empty environments; into dist/"
	@echo "make lock         resolve the locked dependencies anew"
	@echo "make docs         write the pages made from the program, and the site, into build/site"
	@echo "make schemas      write the schemas of JSON output and the page of settings"

# uv installs what is locked in 2 seconds where pip takes 30; it asks the index that pip is set up for. Where uv
# cannot do it (a mirror that only pip is let into), pip does.
$(STAMP): pyproject.toml exporter/pyproject.toml requirements/installer.lock requirements/dev.lock hatch_build.py $(wildcard cockpit/kube/decode/_gist*.[ch])
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "gpu-cockpit needs Python 3.11 or newer, this is " + sys.version.split()[0] + ": call make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) --require-hashes -r requirements/installer.lock
	index=$${PIP_INDEX_URL:-$$($(BIN)/python -m pip config get global.index-url 2>/dev/null)}; \
	$(UV) $${index:+--default-index "$$index"} --require-hashes -r requirements/dev.lock \
	|| $(PIP) --require-hashes -r requirements/dev.lock
	$(PIP) --no-deps --no-build-isolation -e . -e exporter
	touch $(STAMP)

demo: $(STAMP)
	@$(BIN)/cockpit demo

demo-real: $(STAMP)
	@$(BIN)/python -m tests.bed build
	@$(BIN)/python -m tests.bed exec --nodes 40 -- $(BIN)/cockpit --write

test: $(STAMP)
	$(MAKE) --no-print-directory -j 3 lint collected-unit collected-rest
	$(BIN)/python -m pytest tests/contract tests -m "not real" --server embedded -n auto --maxprocesses 8 --dist worksteal --durations=25

test-real: $(STAMP)
	$(BIN)/python -m tests.real

test-all: test
	$(BIN)/python -m tests.real --whole --table tests/RESULTS.md
	$(BIN)/python -m tests.reliability
	$(BIN)/python -m tests.soak --seed 2
	$(BIN)/python -m tests.triage record --count 60 --generations newer older
	$(BIN)/python -m tests.triage offers --generations newer older
	$(BIN)/python -m tests.triage company --count 200
	$(BIN)/python -m tests.triage nightshift --seeds 20
	$(BIN)/python -m tests.unit.triage.waits
	GPU_COCKPIT_ROWS=1 GPU_COCKPIT_TRACES=100 COCKPIT_INTERLEAVINGS=20000 $(BIN)/python -m pytest -q -n 2 tests/unit/triage/test_idle_in_the_field.py tests/unit/actions/test_interleavings.py tests/unit/telemetry/test_partial_rounds_laws.py tests/unit/exporter/test_a_day.py

bench: $(STAMP)
	$(BIN)/python -m tests.bed build
	$(BIN)/python -m tests.bench
	$(BIN)/python -m tests.bench.exporter
	$(BIN)/python -m tests.bench.demo
	$(BIN)/python -m tests.bench.telemetry
	$(BIN)/python -m tests.bench.rooms
	$(BIN)/python -m tests.bench.waiting
	$(BIN)/python -m tests.bench.clusters
	$(BIN)/python -m tests.bench.changing
	$(BIN)/python -m tests.bench.ends
	$(BIN)/python -m tests.bench.idle

screenshots: $(STAMP)
	$(BIN)/python -m tests.screenshots

bed: $(STAMP)
	$(BIN)/python -m tests.bed up

train-env: $(STAMP)
	@$(BIN)/python -m cockpit.sim.training_env

# Once, in two halves beside the linters: each of the workers would compile all modules, at the same moment.
REST := $(filter-out tests/unit tests/__pycache__,$(patsubst %/,%,$(wildcard tests/*/)))
COLLECT = @$(BIN)/python -m pytest $(1) --collect-only -qq > $(VENV)/.$@ || { cat $(VENV)/.$@; exit 1; }
collected-unit: $(STAMP)
	$(call COLLECT,tests/unit)
collected-rest: $(STAMP)
	$(call COLLECT,$(REST))

# Exit code 2 is no finding: on a busy machine mypy gives up on workers that start late, so it goes on alone.
lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell cockpit widgets exporter jobspecs deploy docs *.md
	$(BIN)/mypy --num-workers auto --cache-dir "$(CACHE)/mypy" || { test $$? -eq 2 && $(BIN)/mypy --num-workers 0 --cache-dir "$(CACHE)/mypy"; }
	$(BIN)/lint-imports --no-cache

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

release: $(STAMP)
	$(BIN)/python -m tests.release $(if $(URL),--url $(URL))

LOCKED = $(BIN)/uv pip compile -q $(1) --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate -o requirements/$(2).lock
lock: $(STAMP)
	$(call LOCKED,pyproject.toml,base)
	$(call LOCKED,pyproject.toml --extra demo --extra dev,dev)
	$(call LOCKED,exporter/pyproject.toml,exporter)
	$(call LOCKED,--group release,release)
	$(BIN)/python -m tests.release.bill_of_materials

schemas: $(STAMP)
	mkdir -p docs/schema
	$(BIN)/python -m cockpit.commands.json_schema docs

docs: $(STAMP) schemas
	$(BIN)/python -m tests.docs
	$(BIN)/mkdocs build --strict --quiet

proto: $(STAMP)
	$(BIN)/python cockpit/kube/proto/generate.py
	$(BIN)/python exporter/cockpit_exporter/proto/generate.py

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
