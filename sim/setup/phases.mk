# SPDX-License-Identifier: Apache-2.0
# The phases of `make test` and `make test-full`, and what each needs: one that fails keeps only those back that need it
# (make --keep-going), and they run side by side where there are cores for it. Called by the Makefile, with MAKEFLAGS as
# they are needed.
#
# The dearest phases name their inputs: they are not run again while those are the same (sim/setup/phase).

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

PHASE := sim/setup/phase
# Of a phase whose inputs are named the command is one of them, and a word that is a file's name counts as that file. So
# the Makefile is no word by itself, or each change of it would run all phases again; what a target does is an input.
RUN := $(MAKE) --file=Makefile --no-print-directory
recipe = "$$($(RUN) --dry-run $(1) | sed 's|$(CURDIR)|.|g' | sha256sum | cut -c1-16)"
# A test uses one CPU mostly, so as many at once as there are; by file, where a file's tests share what they make.
at_once = -n $$(nproc) --dist worksteal
files_at_once = -n $$(nproc) --dist loadfile
# What build/NAME points to: its name has a hash of all that it was made from.
link = "$$(basename "$$(readlink build/$(1))")"

# pytest in a phase, with its own report, and what every test depends on.
tests = sim/setup/env python -m pytest --junitxml=build/reports/$@.xml
not_fresh = -m 'not fresh'
of_tests = tests/conftest.py tests/run_seed.py sim/hwswap/project/retries.py pyproject.toml hw/generated/python \
	$(call link,python) "$${HWSWAP_SEED:-}"

phases := lint verilog test-hw model test-harness model-scale model-wide model-driver model-grants-only guest \
	unpatched tuned failed-seeds fresh test-cocotb test-trace test-system pytest
# Run besides after a change of the engine or of its tests: from nothing they take longer than CI has.
full_phases := test-hw-all test-masters coverage coverage-dram formal mutate soc-model litex-example capacity \
	test-soc test-harts test-system-rest test-report
.PHONY: all full $(phases) $(full_phases) model-coverage model-scale-coverage model-mutants proof-rtl rtl-grants \
	soc-model-rocket4 programs

all: $(phases)

full: $(phases) $(full_phases)

lint verilog model model-scale model-wide model-driver model-grants-only guest soc-model litex-example \
capacity:
	@$(PHASE) $@ -- $(RUN) $@

model: verilog

unpatched tuned:
	@$(PHASE) $@ -- $(RUN) kernel-$@

test-hw test-hw-all:
	@$(PHASE) $@ $(call recipe,test-hw $(short)) hw/src hw/build.sbt hw/test.sbt hw/project sim/setup/sbt \
		sim/setup/jvm $(call link,python) "$$(java -version 2>&1 | head -n 1)" -- $(RUN) test-hw $(short)
test-hw: short = SHORT=1

test-harness: model
	@$(PHASE) $@ $(call recipe,$@) sim/verilator hw/generated/hwswap_map.h $(call link,model) -- $(RUN) $@

model-coverage: verilog
	@$(PHASE) $@ -- sim/setup/build model-coverage

coverage: model-coverage
	@$(PHASE) $@ $(call recipe,$@ SHORT=1) sim/hwswap hw/generated/python tests/cocotb tests/run_seed.py \
		tests/coverage tests/data $(call link,python) $(call link,rtl) $(call link,model-coverage) -- $(RUN) $@ SHORT=1

model-scale-coverage: verilog model-scale
	@$(PHASE) $@ -- sim/setup/build $@

coverage-dram: model-scale-coverage
	@$(PHASE) $@ $(call recipe,$@ SHORT=1) sim/hwswap hw/generated/python $(call link,python) $(call link,rtl) \
		$(call link,rtl-scale) $(call link,model-scale-coverage) -- $(RUN) $@ SHORT=1

proof-rtl rtl-grants:
	@$(PHASE) $@ -- sim/setup/build $@

formal: proof-rtl
	@$(PHASE) $@ -- $(RUN) $@ SHORT=1

model-mutants:
	@$(PHASE) $@ -- sim/setup/build rtl-mutants mutants model-mutants

mutate: model-mutants
	@$(PHASE) $@ $(call recipe,$@ SHORT=1) $(addprefix sim/hwswap/,cli project model traces stimulus verify) \
		hw/generated/python $(call link,python) $(call link,mutants) $(call link,model-mutants) -- $(RUN) $@ SHORT=1

# Packages of sim/hwswap: tests/setup/test_phases.py compares them with what the tests import.
packages = sim/hwswap/__init__.py $(addprefix sim/hwswap/,$(1))
test-cocotb_packages := compare model stimulus traces
test-trace_packages := bench cli compare guest kernel model project rtl stimulus traces
test-system_packages := bench cli compare guest kernel loads model project rtl stimulus traces
# Guests of all other tests take longer than CI has: `make test-full` alone.
system_short := $(addprefix tests/system/test_,another_engine.py big_endian.py channel.py dma_windows.py \
	engine_lost.py grants_back_off.py limits.py modes.py)

# What tests may want that is built.
built := model model-scale model-wide model-driver model-grants-only guest unpatched tuned proof-rtl rtl-grants

# What once failed, each time and before all phases that draw a seed; it may be of any folder. They do not need it, so
# that they run where it fails; side by side with others it begins when all is built.
failed-seeds: $(built)
	@$(PHASE) $@ -- $(tests) tests/test_failed_seeds.py

# Short random tests of each of the next three phases, each time, as those are not run again while their inputs are the
# same; they leave these out. One after the other: guests want theirs in time.
fresh: verilog rtl-grants model model-wide model-scale guest unpatched tuned
	@$(PHASE) $@ -- $(tests) -m fresh --durations=0 --durations-min=5 tests/system tests/cocotb tests/rtl

test-cocotb: verilog rtl-grants model-grants-only model-driver
	@$(PHASE) $@ $(of_tests) tests/cocotb tests/data $(call packages,$($@_packages)) \
		$(call link,rtl) $(call link,rtl-grants) $(call link,rtl-grants-only) $(call link,rtl-driver) -- \
		$(tests) $(not_fresh) $(at_once) --ignore=tests/cocotb/test_masters.py tests/cocotb

# Each master of the engine at windows, errors, stops and RESET.
test-masters: verilog model-grants-only model-driver
	@$(PHASE) $@ $(of_tests) tests/cocotb $(call packages,$(test-cocotb_packages)) $(call link,rtl) \
		$(call link,rtl-grants-only) $(call link,rtl-driver) -- $(tests) $(at_once) tests/cocotb/test_masters.py

test-trace: model model-wide model-scale
	@$(PHASE) $@ $(of_tests) tests/rtl tests/scale tests/data $(call packages,$($@_packages)) \
		$(call link,model) $(call link,model-wide) $(call link,model-scale) -- $(tests) $(not_fresh) $(at_once) \
		tests/rtl tests/scale

# Programs of others, from packages, that guests run.
programs:
	@$(PHASE) $@ -- sim/setup/build redis memhog stress-ng

test-system test-system-rest: programs model model-driver model-grants-only model-wide model-scale guest unpatched tuned
	@$(PHASE) $@ $(of_tests) tests/system tests/reports tests/model $(call packages,$(test-system_packages)) \
		sim/guest $(call link,qemu) $(call link,model) $(call link,model-driver) $(call link,model-grants-only) \
		$(call link,model-wide) $(call link,model-scale) $(call link,kernel) $(call link,modules) $(call link,guest) \
		$(call link,kernel-unpatched) $(call link,kernel-tuned) $(call link,redis) $(call link,memhog) \
		$(call link,stress-ng) -- $(tests) $(not_fresh) \
		$(if $(filter %-rest,$@),$(addprefix --ignore=,$(system_short)) tests/system,$(system_short))

# Four harts in simulation, which are slow to build and to run.
soc-model-rocket4: verilog
	@$(PHASE) $@ -- sim/setup/build rtl-soc4 $@

test-harts: soc-model-rocket4
	@$(PHASE) $@ $(of_tests) tests/harts litex/firmware litex/hwswap_soc/bench litex/hwswap_soc/simulation/run.py \
		$(call link,soc-model-rocket4) "$$(riscv64-unknown-elf-gcc --version)" -- $(tests) tests/harts

# All others, each time, after all that they want built.
pytest: $(built)
	@$(PHASE) $@ -- $(tests) $(files_at_once) \
		$(addprefix --ignore=tests/,cocotb rtl scale system soc harts test_failed_seeds.py)

# Capacity is there for the engines of the boards.
test-soc: soc-model litex-example capacity
	@$(PHASE) $@ -- $(tests) $(files_at_once) tests/soc

test-report:
	@$(PHASE) $@ -- $(RUN) $@
