# One virtual environment for all of it; PYTHON picks the interpreter (3.11 or newer).
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
JOBS ?= auto
MARKS ?= not soak and not acceptance and not processes
# Files of tests; all of them if it is empty.
TESTS ?=
# The tests start hundreds of processes, and none should compile the package again.
unexport PYTHONDONTWRITEBYTECODE

# The interpreters that scenarioctl.pyz runs on.
PYTHONS ?= $(PYTHON)

.PHONY: dist deb demo test acceptance check soak live bench bench-live bench-postgres generate clean

demo: $(VENV)/.installed
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh tools/demo.sh

# What is live is replayed here, see CONTRIBUTING.md.
test: $(VENV)/.developed
	$(BIN)/python -m pytest -p tests.second_run -n $(JOBS) --dist loadfile --no-loadscope-reorder -m "$(MARKS)" $(TESTS)

# Processes and servers that are started and killed; then a browser, other people's clients (npm), fuzzed requests and
# load: about five minutes more.
acceptance: $(VENV)/.developed
	$(BIN)/python -m pytest -p tests.second_run -n $(JOBS) --dist loadfile --no-loadscope-reorder -m "processes and not acceptance and not soak"
	tests/clients/run $(BIN)/python -m pytest -p tests.second_run -n $(JOBS) --dist loadfile -m "acceptance and not soak"

check: $(VENV)/.developed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	tools/page/check
	$(BIN)/python tools/generate.py --check
	$(BIN)/python tools/bundle_runtimes.py --check --from tests/data/metadata

# The long sizes: every call of every runtime, 100 000 scenarios, many kills, four times the examples. By hand.
soak: $(VENV)/.developed
	$(BIN)/python -m pytest -o faulthandler_timeout=0 -m "soak or (hypothesis and not acceptance)" --hypothesis-profile soak

# Against real runtimes: the environment names the endpoints, see CONTRIBUTING.md.
live: $(VENV)/.developed
	$(BIN)/python -m pytest -o faulthandler_timeout=0 -m live -v -s tests/live

# In an environment of its own, installed as a user would install it.
bench: $(VENV)/.developed
	test -x $(VENV)-bench/bin/python || $(PYTHON) -m venv $(VENV)-bench
	$(VENV)-bench/bin/python -m pip install --quiet --disable-pip-version-check --force-reinstall .
	$(VENV)-bench/bin/python -m benchmarks.run

# A store on PostgreSQL beside procrastinate, aiohttp with psycopg, and SQLite; needs a server's programs
# (Debian: postgresql). Pass PARTS="cold creations" to run some of it.
bench-postgres: $(VENV)/.developed
	test -x $(VENV)-bench/bin/python || $(PYTHON) -m venv $(VENV)-bench
	$(VENV)-bench/bin/python -m pip install --quiet --disable-pip-version-check --force-reinstall ".[postgres]" pytest
	$(VENV)-bench/bin/python -m benchmarks.postgres $(PARTS)

# Connected commands; the environment names the endpoints, see CONTRIBUTING.md.
bench-live: bench
	$(VENV)-bench/bin/python -m benchmarks.live

# Wheel, source distribution, scenarioctl.pyz and SBOM of the last commit; PYTHONS names the interpreters for the third.
dist:
	PYTHONS="$(PYTHONS)" packaging/build dist

# A package for Debian 12, built and tried in clean chroots; needs root, mmdebstrap and lintian.
deb:
	packaging/build-deb dist
	packaging/try-deb dist/scenarioctl_*.deb

generate: $(VENV)/.developed
	$(BIN)/python tools/generate.py

$(VENV)/.installed: setup.cfg
	$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("scenarioctl needs Python 3.11 or newer; name one with: make PYTHON=python3.12 …")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.developed: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev,postgres]"
	@touch $@

clean:
	rm -rf $(VENV) $(VENV)-bench build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
