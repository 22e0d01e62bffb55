# make help    this list
# make setup   everything that the rest needs, in .venv, .cache and the user's cache; quick when nothing changed
# make demo    two real clusters on this machine lose partitions in ways that hurt, and get them back
# make gameday  a rehearsal: a local fleet breaks, you recover it, and get a score: SEED=7 LEVEL=easy|normal|hard SUMMARY=FILE
# make check   lint, types, unit tests
# make test    check, and the same on real Kafka clusters
# make test-long  what takes too long for every change: all molecule scenarios, a fleet of six clusters, every step at which a run can be killed
# make test-long-clusters  test-long without the simulation, of which on-mutants and simulate-an-hour are jobs of their own in the nightly workflow
# make molecule  all molecule scenarios; make test runs one of them
# make docs    the documentation site, every link in it followed: .cache/docs/html/index.html
# make test-matrix  the scenarios on Kafka 3.9 to 4.4, each the newest patch, ELR on and off; test-matrix-older: on 3.3 to 3.8; both write docs/versions.md
# make release   artifact, checksums and signatures of the commit that is checked out: KEY=release@example.com
# make adoption  what Ansible's own tools say of it on every ansible-core that it supports: CELLS=py3.12-core-2.21 CHECKS="sanity units"
# make quickstart  the quick start of the README, followed to the letter
# make changelog  takes the fragments of changelogs/fragments into the release that galaxy.yml names, and writes CHANGELOG.md
# make model   every state of a small partition: what each rule of decision would destroy there
# make simulate  random histories in a simulated Kafka, thousands in minutes: SEEDS="1 2000"; docs/simulation.md
# make mutants  mistakes that a tool makes of one file, and whether tests and simulation find them: FILE=decision/decide.py
# make branches  how many branches of the product the histories SEEDS="1 400" reach
# make chaos   random histories on real clusters, recovered under faults: SEED=1 RUNS=5
# make chaos-records  the same with lost disks returned: rescue, replay, and every record read again: SEED=1 RUNS=5; a seed that has passed is not run again
# make bench   figures against the stock Kafka tool
# make bench-reassignment  of these the figures of moves and throttles
# make bench-saved  of these the seconds in which 1 GB of records is saved before an election, beside kafka-console-consumer.sh
# make bench-log-dirs  of these the seconds in which the log dir of a lost broker is read, beside kafka-dump-log.sh
# make bench-pipeline  figures of the plan, the history and the report on simulated fleets: LARGEST=30000000 replica rows, ONLY=fleet
# make bench-spark-cluster  seconds of a plan by a Spark of two workers that share no folder, beside an embedded one: ROWS=3000000
# make bench-store  what recover takes on 5,000 partitions with its workdir on an S3 server of this machine, beside one on the disk
# make bench-events  seconds from the death of the last in-sync replicas to the survivor's election, without an operator
# make bench-fleet  what plan and recover cost for each of many clusters: AGAINST=another checkout to compare with
# make clean   removes what setup made in this checkout (not the user's cache of Kafka jars)

PYTHON ?= python3
export KAFKA_VERSION ?= 4.3.1
# Without cached bytecode each start of pytest, a module or a playbook compiles tests and collection again.
unexport PYTHONDONTWRITEBYTECODE
BIN := .venv/bin
MOLECULE = PATH="$(CURDIR)/$(BIN):$$PATH" MOLECULE_EPHEMERAL_DIRECTORY="$(CURDIR)/.cache/molecule" molecule test
# Each part leaves its results in JUnit's form, from which `make test` and `make test-long` make a table of what was skipped.
PYTEST = $(BIN)/pytest --junitxml=.cache/junit/$@.xml
DENO = DENO_DIR=.cache/deno DENO_NO_UPDATE_CHECK=1 $(BIN)/deno
PAGE := plugins/module_utils/report/page
COLLECTION := .cache/collections/ansible_collections/streamops/kafka_recovery
WITNESS := .cache/witness/witness
AXE := .cache/axe/node_modules/axe-core/axe.min.js

SEED ?= 1
RUNS ?= 5
SEEDS ?= 1 2000
CELLS ?=
CHECKS ?=
LEVEL ?= normal
LARGEST ?= 3000000
ROWS ?= 3000000
ONLY ?= plan fleet history cluster
# Parts of check and test at a time: one more than cores, because a part on a cluster waits for a quarter of its time. What a part prints is shown when it ends.
# After one that fails no other begins, and make fails.
JOBS ?= 3
SIDE_BY_SIDE = +@$(MAKE) --no-print-directory --jobs=$(JOBS) $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)
# One after the other, and after the last one, or the first that fails, those of the second argument and the table of what was skipped. The table changes the
# exit code only if nothing failed.
WITH_TABLE = +@for part in $(1); do $(MAKE) --no-print-directory $$part || { failed=$$?; break; }; done; \
	for part in $(2); do $(MAKE) --no-print-directory $$part || failed=$${failed:-$$?}; done; \
	$(BIN)/python -m skipped .cache/junit || failed=$${failed:-$$?}; exit $${failed:-0}

.DEFAULT_GOAL := help

.PHONY: help setup demo gameday check lint unit-spark unit-plain test test-long test-long-clusters molecule clusters on-long on-mutants on-branches on-properties on-east on-west on-others on-chaos on-molecule on-model on-simulation on-history test-matrix test-matrix-older adoption quickstart release changelog model simulate simulate-an-hour mutants branches chaos chaos-records bench bench-reassignment bench-saved bench-log-dirs bench-pipeline bench-spark-cluster bench-store bench-events bench-fleet docs on-docs clean

# The comment at the top of this file.
help:
	@sed -n '/^#/!q; s/^# //p' Makefile

setup: .venv/.ready $(COLLECTION) $(if $(shell command -v go),$(WITNESS)) $(if $(shell command -v npm),$(AXE))
	@$(BIN)/python -m rig jars --version $(KAFKA_VERSION)

.venv/.ready: requirements.txt requirements-dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: name one with make PYTHON=...")'
	@command -v java >/dev/null || { echo "Java 17 or newer is needed: install a JRE (Debian: apt-get install openjdk-17-jre-headless)"; exit 1; }
	@echo "Setting up .venv (about 1 GB unpacked, mostly Spark) ..."
	@$(PYTHON) -m venv .venv
	@$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@$(BIN)/python -c 'import pathlib, sysconfig; pathlib.Path(sysconfig.get_path("purelib"), "streamops_checkout.pth").write_text("$(CURDIR)/.cache/collections\n$(CURDIR)/tests\n")'
	@touch $@

$(COLLECTION):
	@mkdir -p $(@D)
	@ln -sfn ../../../.. $@

# Tests that need this program are skipped without it, so a Go that cannot build it (too old, no proxy) stops nothing.
$(WITNESS): $(wildcard tests/witness/go/*)
	@cd tests/witness/go && go vet . && go build -o ../../../$@ . || echo "The witness in Go was not built: the tests that need it are skipped."

# Judges the report page in tests. Nothing of it is in the collection. The script has the time of its release: without touch make would fetch it each time.
$(AXE): $(wildcard tests/unit/axe/*)
	@mkdir -p .cache/axe && cp tests/unit/axe/*.json .cache/axe
	@npm ci --prefix .cache/axe --ignore-scripts --no-audit --no-fund --silent && touch $@ || echo "axe-core was not fetched: tests that judge the report page will fail."

demo: setup
	@$(BIN)/python -m demo

# Without SEED= it is another night each time. SUMMARY= names a file for the summary.
gameday: setup
	@$(BIN)/python -m gameday --level $(LEVEL) $(if $(filter-out file,$(origin SEED)),--seed $(SEED)) $(if $(SUMMARY),--summary $(SUMMARY))

check: setup
	@rm -rf .cache/junit
	$(SIDE_BY_SIDE) unit-plain unit-spark lint

lint:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy $(COLLECTION)/plugins $(COLLECTION)/extensions/eda/plugins/event_source tests
	$(BIN)/lint-imports --config .importlinter
	$(BIN)/djlint --quiet --lint --profile jinja $(PAGE)/*.j2
	$(DENO) lint --quiet --no-config $(PAGE)
	$(DENO) fmt --quiet --no-config --check --line-width 160 $(PAGE)/*.css $(PAGE)/*.js docs/_static/*.css
	$(BIN)/yamllint .
	$(BIN)/ansible-lint --offline

unit-spark:
	$(PYTEST) tests/unit -m "spark and not slow and not long"

unit-plain:
	$(PYTEST) tests/unit -m "not spark and not slow and not long"

test: setup
	$(call WITH_TABLE,check clusters)

# The longest parts first.
clusters:
	$(SIDE_BY_SIDE) on-west on-east on-others on-history on-molecule on-model on-simulation on-chaos on-docs

on-east:
	$(PYTEST) tests/integration -m "east and not long"

on-west:
	$(PYTEST) tests/integration -m "west and not east and not long"

on-others:
	$(PYTEST) tests/integration -m "not east and not west and not long"

on-chaos:
	$(PYTEST) tests/chaos -m "not long"

on-history:
	$(PYTEST) tests/unit -m "slow and not long"

on-molecule:
	rm -rf .cache/molecule
	$(MOLECULE) -s default

# A shared state: the default scenario starts and ends the clusters of them all.
molecule: setup
	rm -rf .cache/molecule
	$(MOLECULE) --all

test-long: setup
	@rm -rf .cache/junit
	$(call WITH_TABLE,molecule on-long on-properties on-mutants,on-branches simulate-an-hour)

test-long-clusters: setup
	@rm -rf .cache/junit
	$(call WITH_TABLE,molecule on-long on-properties)

on-long:
	$(PYTEST) tests/integration tests/chaos tests/model tests/unit -m long

# Each mistake of tests/simulation/mutants.toml, with as many histories as it takes until one finds it.
on-mutants:
	$(PYTEST) tests/simulation -m long

# The share of the product's branches that histories reach must stay.
on-branches: setup
	$(BIN)/python -m simulation.branches 1 400

# Properties with the number of examples that Hypothesis takes by itself.
on-properties:
	$(PYTEST) tests/unit -m "not spark and not slow and not long" --hypothesis-profile=thorough

on-model:
	$(PYTEST) tests/model -m "not long"

on-simulation:
	$(PYTEST) tests/simulation -m "not long"

on-docs:
	$(PYTEST) tests/docsite

test-matrix: setup
	$(BIN)/pytest tests/matrix -v

test-matrix-older:
	$(MAKE) test-matrix RELEASES=older

adoption: setup
	@$(BIN)/python -m adoption --cells $(CELLS) --checks $(CHECKS)

quickstart: setup
	$(BIN)/pytest tests/integration/test_quick_start.py

# By the environment: a quote in the key would end a word of the shell.
release: export KEY ?=
release: setup
	@$(BIN)/python -m release --key="$$KEY"

changelog: setup
	@$(BIN)/antsibull-changelog lint
	@PATH="$(CURDIR)/$(BIN):$$PATH" antsibull-changelog release --update-existing --refresh-plugins --reload-plugins
	@rm -f changelogs/.plugin-cache.yaml

model: setup
	@$(BIN)/python -m model

docs: setup
	@$(BIN)/python -m docsite

# Each day other seeds.
simulate-an-hour: setup
	@$(BIN)/python -m simulation $(shell date +%y%m%d)00000 --minutes 60

simulate: setup
	@$(BIN)/python -m simulation $(SEEDS)

mutants: setup
	@$(BIN)/python -m simulation.mechanical_mutants $(FILE)

branches: setup
	@$(BIN)/python -m simulation.branches $(SEEDS)

chaos: setup
	@$(BIN)/python -m chaos --seed $(SEED) --runs $(RUNS)

chaos-records: setup
	@$(BIN)/python -m chaos.records --seed $(SEED) --runs $(RUNS)

bench: setup
	@$(BIN)/python -m bench
	@$(BIN)/python -m bench.reassignment
	@$(BIN)/python -m bench.saved
	@$(BIN)/python -m bench.log_dirs

bench-reassignment: setup
	@$(BIN)/python -m bench.reassignment

bench-saved: setup
	@$(BIN)/python -m bench.saved

bench-log-dirs: setup
	@$(BIN)/python -m bench.log_dirs

bench-pipeline: setup
	@$(BIN)/python -m bench.pipeline --largest $(LARGEST) --only $(ONLY)

bench-spark-cluster: setup
	@$(BIN)/python -m bench.spark_cluster --rows $(ROWS)

bench-store: setup
	@$(BIN)/python -m bench.store

bench-events: setup
	@$(BIN)/python -m bench.events

bench-fleet: setup
	@$(BIN)/python -m bench.fleet $(if $(AGAINST),--against $(AGAINST))

clean:
	rm -rf .venv .cache .ansible .pytest_cache .mypy_cache .ruff_cache .hypothesis
