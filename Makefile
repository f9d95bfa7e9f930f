# The two commands a newcomer needs are `make demo` and `make test`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# `make test` runs the suite in parallel, with one process more than there are cores, for many tests wait;
# JOBS=0 runs it in this process.
JOBS   ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

.DEFAULT_GOAL := help
.PHONY: help demo agentdojo agentdojo-full test long lint types imports suite coverage bench claims schemas docs clean

help:
	@echo 'make demo   start the reference servers, evaluate every demo case, print the table, stop everything'
	@echo 'make agentdojo, make agentdojo-full'
	@echo '            play the benchmark AgentDojo at L3, its tasks and a sample of its pairs or all 949 of them,'
	@echo '            and print what came of every run beside what is expected'
	@echo 'make test   lint, types, import rules and the test suite'
	@echo 'make long   the tests that take half a minute or more each; CI runs them too'
	@echo 'make coverage'
	@echo '            the suite once more, with the branches that it does not reach'
	@echo 'make claims make the corpus of claim receipts, verify it, print its tables beside the published ones'
	@echo 'make bench  measure the hot paths and print the figures'
	@echo 'make schemas, make docs'
	@echo '            write anew what is made from code: JSON Schemas, the tables of docs/conformance.md'
	@echo '            and docs/claim-receipts.md'
	@echo 'make clean  remove .venv and everything that the other targets made'

# A stamp per extra: the install runs again only when pyproject.toml has changed.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo 'agentbeat-kit needs Python 3.11 or newer; choose one with: make PYTHON=python3.12 …' >&2; exit 2; }
	@$(PYTHON) -m venv $(VENV)

$(VENV)/demo.stamp: pyproject.toml | $(BIN)/python
	@echo 'Installing agentbeat-kit into $(VENV) …'
	@$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[all]'
	@touch $@

$(VENV)/test.stamp: pyproject.toml | $(BIN)/python
	@echo 'Installing agentbeat-kit and its test tools into $(VENV) …'
	@$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@ $(VENV)/demo.stamp

demo: $(VENV)/demo.stamp
	@$(BIN)/agentbeat demo

agentdojo: $(VENV)/demo.stamp
	@$(BIN)/agentbeat agentdojo

agentdojo-full: $(VENV)/demo.stamp
	@$(BIN)/agentbeat agentdojo --full

test: lint types imports suite

# What `make test` leaves out, because each of it takes half a minute or more: whole matrices and whole suites.
long: $(VENV)/test.stamp
	$(BIN)/pytest -n $(JOBS) --dist worksteal -m long

lint: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/test.stamp
	$(BIN)/mypy

imports: $(VENV)/test.stamp
	$(BIN)/lint-imports --no-cache

suite: $(VENV)/test.stamp
	$(BIN)/pytest -n $(JOBS) --dist worksteal -m "not long"

coverage: $(VENV)/test.stamp
	$(BIN)/pytest -n $(JOBS) --dist worksteal --cov --cov-report=term:skip-covered

claims: $(VENV)/demo.stamp
	@$(BIN)/agentbeat claims reproduce

bench: $(VENV)/test.stamp
	$(BIN)/python -m benchmarks

schemas: $(VENV)/test.stamp
	$(BIN)/python -m agentbeat_protocol.schemas
	$(BIN)/python -m agentbeat_conformance.reports.json_report
	$(BIN)/python -m agentbeat_receipts.schemas
	$(BIN)/python -m agentbeat_core.schemas

docs: $(VENV)/test.stamp
	$(BIN)/python -m agentbeat_conformance.reports.guide docs/conformance.md
	$(BIN)/agentbeat conformance self-test --write-docs docs/conformance.md
	$(BIN)/python -m agentbeat_receipts.tampering docs/claim-receipts.md

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage build dist
