# The commands of a working copy. They need Python 3.11 - 3.13, make and git; everything else goes into .venv.

SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
SOURCES := shared/src control/src ingress/src tests bench

# What lint leaves out of flake8-async: ASYNC114 wants every startable function listed by name; ASYNC124
# wants a handler to be sync where it happens not to wait; ASYNC127 wants another HTTP client; ASYNC128
# does not see a task_status that is handed on; ASYNC9 wants a checkpoint on every path, which is a rule
# for libraries of primitives.
ASYNC_RULES_OFF := ASYNC114,ASYNC124,ASYNC127,ASYNC128,ASYNC9

# Two makes may start at once in one copy: the first builds under a lock, the second then finds it built.
UNDER_LOCK := $(if $(shell command -v flock),flock .venv.lock)

.PHONY: environment
environment:  ## build .venv (every other target does so by itself)
	@$(UNDER_LOCK) $(MAKE) --silent $(VENV)/.project

.PHONY: demo
demo: environment  ## a whole system on this machine, a sample project, and what became of each run
	$(BIN)/python -m tenure.dev.demo

.PHONY: up
up: environment  ## start PostgreSQL, control and ingress in the background; .tenure/env tells a shell where
	$(BIN)/python -m tenure dev --background

.PHONY: down
down: environment  ## stop what `make up` started; the data stays
	$(BIN)/python -m tenure dev --stop

.PHONY: test
test: environment  ## run the test suite; make test ARGS="tests/http -x" narrows it
	$(BIN)/python -m pytest $(ARGS)

.PHONY: check
check: lint types layers  ## everything: lint, types, layers, and the tests that wait for real minutes too
	$(BIN)/python -m pytest -m "slow or not slow" $(ARGS)

.PHONY: bench
bench: environment  ## measure what is promised about speed: ratios with references of the same run
	$(BIN)/python -m bench $(ARGS)

.PHONY: bench-quick
bench-quick: environment  ## the same, smaller, in under a minute
	$(BIN)/python -m bench --quick $(ARGS)

.PHONY: lint
lint: environment  ## rules and format of Python and YAML
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	find $(SOURCES) -name '*.py' -exec $(BIN)/flake8-async --disable $(ASYNC_RULES_OFF) {} +
	$(BIN)/yamllint --strict .

.PHONY: types
types: environment  ## mypy strict, then basedpyright as a second opinion
	$(BIN)/mypy
	$(BIN)/basedpyright

.PHONY: layers
layers: environment  ## what may import what
	$(BIN)/lint-imports --no-logo

.PHONY: schema
schema: environment  ## write schema.sql anew from the migrations
	$(BIN)/python -m tests.migration.dump

.PHONY: lock
lock:  ## write the hashed requirement files anew with uv; make lock ARGS=--upgrade takes newer versions
	$(COMPILE) --extra dev pyproject.toml --output-file requirements-dev.txt
	$(COMPILE_SUBSET) --extra control --extra ingress --extra worker --extra cli pyproject.toml --output-file requirements.txt
	$(COMPILE_SUBSET) --extra control pyproject.toml --output-file deploy/requirements/control.txt
	$(COMPILE_SUBSET) --extra ingress pyproject.toml --output-file deploy/requirements/ingress.txt
	echo hatchling | $(COMPILE_SUBSET) - --output-file deploy/requirements/build.txt

.PHONY: help
help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*##  *\(.*\)/\1	\2/p' Makefile | expand -t 14

# --- how .venv is built ---

UV ?= $(shell command -v uv)
COMPILE = $(or $(UV),uv) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header $(ARGS)
COMPILE_SUBSET = $(COMPILE) --constraint requirements-dev.txt

# A name on PATH proves nothing (a version switcher's stub, a Python without its venv module), so each is run.
SUITABLE := import ssl, sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))
FIRST_SUITABLE = for python in python3.13 python3.12 python3.11 python3 python; do \
	if $$python -c '$(SUITABLE)' 2>/dev/null; then echo $$python; break; fi; done
PYTHON ?= $(or $(shell $(FIRST_SUITABLE)),$(error No Python 3.11, 3.12 or 3.13 with its venv module was found. \
	Install one (on Debian: python3 and python3-venv) or say make PYTHON=/path/to/python))

ifeq ($(UV),)
CREATE = $(PYTHON) -m venv --clear $(VENV)
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check
else
CREATE = $(UV) venv --quiet --clear --seed --python $(PYTHON) $(VENV)
INSTALL = $(UV) pip install --quiet --python $(BIN)/python
endif

$(BIN)/python:
	@$(PYTHON) -c '$(SUITABLE)' || { echo '$(PYTHON) is no Python 3.11, 3.12 or 3.13 with its venv module.' >&2; exit 1; }
	@echo 'Building $(VENV): about a minute, once.'
	$(CREATE)

# Hash mode refuses editable installs, hence a second command for the project itself.
$(VENV)/.dependencies: requirements-dev.txt | $(BIN)/python
	$(INSTALL) --require-hashes --requirement requirements-dev.txt
	@touch $@

$(VENV)/.project: pyproject.toml $(VENV)/.dependencies
	$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@
