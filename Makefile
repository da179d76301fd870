# Everything sets itself up: a virtual environment in .venv, Python packages
# from PyPI, compilers and emulators from Debian where root or sudo allows.

PYTHON ?= python3
VENV   := .venv
RUN    := $(VENV)/bin/python
# bytecode is made of what is imported, when it first is: of all that is installed it takes as long as installing it
PIP    := $(RUN) -m pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt --editable

.PHONY: all demo test assure ros prove vendor bench soak wheel lint site hashes clean
all: test

# what running takes, or that and what testing takes at once
$(VENV)/.demo: pyproject.toml constraints.txt .ci/system-packages
	@.ci/system-packages $(PYTHON) demo
	@test -x $(RUN) || $(PYTHON) -m venv $(VENV)
	@echo "installing Python packages into $(VENV)"
	@$(PIP) '.[all]'
	@touch $@

$(VENV)/.test: pyproject.toml constraints.txt .ci/system-packages
	@.ci/system-packages $(PYTHON) test
	@test -x $(RUN) || $(PYTHON) -m venv $(VENV)
	@echo "installing Python packages, those of the tests too, into $(VENV)"
	@$(PIP) '.[test]'
	@touch $(VENV)/.demo $@

demo: $(VENV)/.demo
	@mkdir -p build && cd build && ../$(RUN) -m femtorque demo --sweep --force

# three workers on two processors: one always waits for a board's clock or a compiler; none compiles Python that another
# one or a program before it has compiled
SUITE = PYTHONDONTWRITEBYTECODE= $(RUN) -m pytest -n 3 --dist loadfile --no-loadscope-reorder

# every behaviour
test: $(VENV)/.test
	@$(SUITE) -m "not assure and not bench and not soak"

# all else that must hold before a merge: assurance/README.md
assure: $(VENV)/.test
	@$(SUITE) -m "assure and not bench and not soak"

# a node over ROS 2 Kilted's own rclpy, where a Python 3.12 is there: its wheels are fetched when they are first needed
ros: $(VENV)/.test
	@$(RUN) -m pytest -rs assurance/bench/test_ros.py -k "kilted and not in_time"

# theorems about the firmware's own sources; the prover is fetched when it is first needed
prove: $(VENV)/.test
	@$(RUN) -m assurance.proofs.prove $(PROVE)
	@$(RUN) docs/proofs_page.py

# ST's own drivers on the virtual chips: VENDOR=<folder with their sources>, which are not part of this tree
vendor: $(VENV)/.test
	@$(RUN) -m assurance.vendor.run $(VENDOR)
	@$(RUN) docs/vendor_page.py

bench: $(VENV)/.test
	@$(RUN) -m pytest -s -m bench

# every campaign ends after ten minutes or the piece that it is in, and goes on from there the next time
soak: export FEMTORQUE_SOAK_S ?= 600
soak: $(VENV)/.test
	@$(RUN) -m pytest -s -m soak

# with the images of some examples, for those who have no compiler for the chip
wheel: $(VENV)/.demo
	@$(RUN) -m femtorque.codegen.toolchain.prebuilt
	@$(RUN) -m pip wheel --quiet --no-deps --wheel-dir build/wheel .

lint: $(VENV)/.test
	@$(RUN) -m ruff check .
	@$(RUN) -m isort --check --quiet codegen host hil femtorque tests assurance docs examples integrations
	@$(RUN) -m mypy
	@$(VENV)/bin/lint-imports
	@$(RUN) -m mkdocs build --strict --quiet

# the site with runs to look at
site: $(VENV)/.test
	@$(RUN) docs/gallery.py
	@FEMTORQUE_PICTURES=build/gallery $(RUN) -m tests.docs.pictures run_page
	@$(RUN) -m mkdocs build --strict --quiet

# the hashes of the packages in constraints.txt, for all platforms
hashes: $(VENV)/.test
	@$(RUN) -m pip install --quiet uv
	@$(RUN) -m uv pip compile --quiet pyproject.toml --all-extras --python-version 3.11 --universal \
		--constraint constraints.txt --generate-hashes --no-header --no-annotate --output-file constraints-hashes.txt

clean:
	rm -rf build
