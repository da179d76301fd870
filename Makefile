# Everything sets itself up: a virtual environment in .venv, Python packages
# from PyPI, compilers and emulators from Debian where root or sudo allows.

PYTHON ?= python3
VENV   := .venv
RUN    := $(VENV)/bin/python
PIP    := $(RUN) -m pip install --quiet --disable-pip-version-check --editable

.PHONY: all demo test prove bench soak lint clean
all: test

# what running takes, and on top of it what testing takes
$(VENV)/.demo: pyproject.toml .ci/system-packages
	@.ci/system-packages $(PYTHON) demo
	@test -x $(RUN) || $(PYTHON) -m venv $(VENV)
	@echo "installing Python packages into $(VENV)"
	@$(PIP) '.[hil]'
	@touch $@

$(VENV)/.test: $(VENV)/.demo
	@.ci/system-packages $(PYTHON) test
	@echo "installing what the tests need into $(VENV)"
	@$(PIP) '.[hil,test]'
	@touch $@

demo: $(VENV)/.demo
	@$(RUN) -m hil.scenarios.demo

# three workers on two processors: one always waits for a board's clock or a compiler; none compiles Python that another
# one or a program before it has compiled
test: export PYTHONDONTWRITEBYTECODE =
test: $(VENV)/.test
	@$(RUN) -m pytest -n 3 --dist loadfile --no-loadscope-reorder -m "not bench and not soak"

# theorems about the firmware's own sources; the prover is fetched when it is first needed
prove: $(VENV)/.test
	@$(RUN) -m tests.firmware.proofs.prove $(PROVE)
	@$(RUN) docs/proofs_page.py

bench: $(VENV)/.test
	@$(RUN) -m pytest -s -m bench

soak: $(VENV)/.test
	@$(RUN) -m pytest -s -m soak

lint: $(VENV)/.test
	@$(RUN) -m ruff check .
	@$(RUN) -m mypy
	@$(VENV)/bin/lint-imports

clean:
	rm -rf build
