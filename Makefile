# Two commands on a fresh machine: `make demo` and `make test`. Everything they need is installed here.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Installed from the lock; rewritten whenever the lock or the project's metadata change.
STAMP := $(VENV)/.installed

.PHONY: demo test soak oracle bench check fast lock clean format update-fixtures

$(STAMP): requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $$(grep -Eo '^uv==[^ ]+' requirements.lock)
	$(BIN)/uv pip install --system-certs --quiet --python $(BIN)/python -r requirements.lock
	$(BIN)/uv pip install --system-certs --quiet --python $(BIN)/python --no-deps --editable .
	touch $@

demo: $(STAMP)  ## the example shop: load, refresh, change, refresh, compare
	$(BIN)/python examples/shop/demo.py

check: $(STAMP)  ## what must hold before anything is committed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

fast: $(STAMP)  ## the tests without Spark
	$(BIN)/pytest -q tests/unit

# One pytest process, hence one Spark, per group; each is small enough to read when it fails. The longest
# come first, and two run at a time: a Spark that serves tests keeps about one core busy.
GROUPS := functional/stream_table functional/engine functional/adapter faults functional/stream_table_suites thrift \
  functional/embedded integration corpus functional/test_readme.py functional/test_demo.py wheel unit functional/test_skips.py
TESTS := $(addprefix tests/,$(GROUPS))
JOBS := 2

test: $(STAMP)  ## the suite, all groups even where one fails; with TRICKLE_TURN=all also what has its turn at other commits
	@$(MAKE) --no-print-directory --keep-going --jobs=$(JOBS) $(TESTS)

.PHONY: $(TESTS)
$(TESTS): $(STAMP)
	@log=$$(mktemp); start=$$(date +%s); status=0; $(BIN)/pytest -q --durations=8 $@ >$$log 2>&1 || status=$$?; \
	echo "== $@ ($$(($$(date +%s) - start)) s)"; cat $$log; rm $$log; exit $$status

soak: $(STAMP)  ## crashes, kills, random changes, histories and racing readers, many more than `make test` has time for
	TRICKLE_KILLS=200 TRICKLE_SOAK_STEPS=25 TRICKLE_READER_STEPS=100 TRICKLE_EVERY_STATEMENT=1 TRICKLE_TURN=all \
	  $(BIN)/pytest -q -s tests/faults
	TRICKLE_HISTORIES=20 TRICKLE_HISTORY_COMMITS=30 TRICKLE_ORACLE_STEPS=12 TRICKLE_CHAIN_ROUNDS=20 \
	  $(BIN)/pytest -q -s $(addprefix tests/functional/engine/test_,capture.py oracle.py chain.py)

oracle: $(STAMP)  ## every query of the corpus, TPC-H's among them, against its stream table through six rounds of changes
	TRICKLE_ORACLE_ROUNDS=6 TRICKLE_ORACLE_ONE_IN=1 $(BIN)/pytest -q -s tests/corpus

# Names of scenarios in SCENARIOS, all of them without; NOTE is kept with the figures.
bench: $(STAMP)  ## measures what refreshes cost, beside full ones; writes benchmarks/results
	$(BIN)/python -m benchmarks.run --note "$(NOTE)" $(SCENARIOS)

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

update-fixtures: $(STAMP)  ## writes down what the code does now: read the difference before you commit it
	$(BIN)/python tests/unit/core/tree_cases.py
	$(BIN)/python tests/source_events.py
	$(BIN)/python tests/sql_support.py
	$(BIN)/python tests/statement_counts.py

lock: $(STAMP)  ## resolve the newest allowed versions for every supported Python into the lock
	$(BIN)/uv pip compile --quiet --universal --python-version 3.10 --no-header --no-emit-index-url \
	  --no-emit-find-links --extra embedded --extra thrift --extra dev --generate-hashes \
	  pyproject.toml requirements.in -o requirements.lock

clean:
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache examples/shop/.trickle examples/shop/target
