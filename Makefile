# Everything sets itself up: a virtual environment in .venv, Python packages
# from PyPI, compilers and emulators from Debian where root or sudo allows.

PYTHON ?= python3
VENV   := .venv
RUN    := $(VENV)/bin/python
STAMP  := $(VENV)/.femtorque

.PHONY: all setup demo test bench soak lint clean
all: test

setup: $(STAMP)

$(STAMP): pyproject.toml .ci/system-packages
	@.ci/system-packages $(PYTHON)
	@test -x $(RUN) || $(PYTHON) -m venv $(VENV)
	@echo "installing Python packages into $(VENV)"
	@$(RUN) -m pip install --quiet --disable-pip-version-check --editable '.[hil,test]'
	@touch $@

demo: setup
	@$(RUN) -m hil.demo

test: setup
	@$(RUN) -m pytest -n 2 --dist loadgroup -m "not bench and not soak"

bench: setup
	@$(RUN) -m pytest -s -m bench

soak: setup
	@$(RUN) -m pytest -s -m soak

lint: setup
	@$(RUN) -m ruff check .

clean:
	rm -rf build
