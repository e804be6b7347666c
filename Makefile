# SPDX-License-Identifier: Apache-2.0
# Everything slow is kept in a cache, under a name that is a hash of the content it was made from (sim/setup/build), so
# it is made again only when that content changes, and clones share it. That is why the targets are names, not files.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:

BUILD := sim/setup/build
ENV := sim/setup/env
PYTEST := $(ENV) python -m pytest$(if $(REPORT), --junitxml=$(REPORT))
# A test uses one CPU mostly, so as many at once as there are; by file, where a file's tests share their results.
AT_ONCE := -n $(shell nproc) --dist worksteal
BY_FILE := -n $(shell nproc) --dist loadfile

# Refuse wrong values before anything is built. bash prints a number of 64 bits as it was given, and no other text.
$(foreach name,SEED SEEDS JOBS OPERATIONS DAYS,\
	$(if $(filter-out $(shell printf %u '$($(name))' 2>/dev/null),$($(name))),\
	$(error $(name)=$($(name)) is no number: give one in decimal digits, 2^64 - 1 at most)))
$(foreach name,SEEDS JOBS OPERATIONS,$(if $(filter 0,$($(name))),$(error $(name)=0 is too few: choose 1 or more)))
$(if $(filter-out vexriscv rocket rocket4,$(CPU)),$(error CPU=$(CPU) is not known: choose vexriscv, rocket or rocket4))
$(if $(filter-out routable part,$(LIMIT)),$(error LIMIT=$(LIMIT) is not known: choose routable or part))

help: ## begin: show this list; the pages in docs have the other targets
	@sed -n 's/^\([a-z0-9.-]*\):.*## \([a-z]*\): \(.*\)/\2;\1;\3/p' $(MAKEFILE_LIST) | sort -s -t';' -k1,1 | \
		awk -F';' '$$1 != group { print group = $$1 } { printf "  make %-15s %s\n", $$2, $$3 }'

setup: ## begin: get all that is needed: Debian packages, Python, sbt, QEMU, kernel source
	@sim/setup/setup

# Whether a target's command, which it sets below, takes what it is given: before anything is built for it.
asked: setup
	@HWSWAP_ASKED=1 >/dev/null $(ENV) $(command)

verilog: setup # the engine as SystemVerilog: build/rtl
	@$(BUILD) rtl

model: verilog # the Verilated engine, its replayer and its PCI device server: build/model
	@$(BUILD) model

model-large: setup # the Verilated engine with 8,192 clusters: build/model-large
	@$(BUILD) rtl-large model-large

model-driver: setup # the Verilated engine with a core and grants: build/model-driver
	@$(BUILD) rtl-driver model-driver

model-grants-only: setup # the Verilated engine of grants alone, without a core: build/model-grants-only
	@$(BUILD) rtl-grants-only model-grants-only

model-wide: setup # the Verilated engine with 32 devices and 64 CPUs: build/model-wide
	@$(BUILD) rtl-wide model-wide

bench-grants: setup # cycles from a change to its grant, by GiB of swap [SIZES="1 4"] [LATENCY=16]
	@$(BUILD) $(foreach gib,$(or $(SIZES),1 4),rtl-grants-of-$(gib))
	@HWSWAP_GIB="$(or $(SIZES),1 4)" $(if $(LATENCY),HWSWAP_LATENCY=$(LATENCY)) \
		$(PYTEST) -s tests/cocotb/change_to_grant.py

kernel: setup # Linux 7.3 with the patches, and with those of the bench alone: build/kernel, build/kernel/unpatched
	@$(BUILD) kernel

kernel-6.12: setup # Linux 6.12 as it is, the swap allocator before swap tables, to compare with: build/kernel-6.12
	@$(BUILD) kernel-6.12

modules: kernel # the driver's modules: build/modules
	@$(BUILD) modules

guest: modules # the guest's initramfs: build/guest
	@$(BUILD) guest

redis: setup # redis-server for the guest's workload redis-bgsave: build/redis
	@$(BUILD) redis

demo: model-driver guest ## begin: boot Linux, swap by its own search and by grants, print both
	@$(ENV) python -m hwswap demo

# Parts of `make test`, and further ones of `make test-full`: for changes of RTL, patches or driver.
parts := lint 'test-hw SHORT=1' test-harness test-python test-cocotb test-trace 'test-system SHORT=1'
full_parts := test-failed-seeds test-hw test-masters 'coverage SHORT=1' 'formal SHORT=1' 'mutate SHORT=1' \
	test-soc test-harts test-system fault-reports test-report test-commands

test: setup ## check: checks in their short forms, all of them each time [FROM=part]
	@rm -f build/reports/*
	@sim/setup/parts $(if $(FROM),--from $(FROM)) $(parts)

test-full: setup ## check: the same, and all Chisel tests, coverage, proofs, mutants, SoC, all guests [FROM=part]
	@rm -f build/reports/*
	@sim/setup/parts $(if $(FROM),--from $(FROM)) $(parts) $(full_parts)

# On a Debian 13 made for it, with clone and cache in the home of a user; as root. Once per release at least.
test-layout: setup # set-up and proofs as on a new machine
	@sim/setup/fresh-root 'make setup && make formal SHORT=1'

test-hw: setup # Chisel unit tests; SHORT=1: of the bus alone
	@sim/setup/sbt $(if $(SHORT),'testOnly hwswap.bus.*',test)
	@mkdir -p build/reports; cp hw/target/test-reports/*.xml build/reports/

test-harness: model # C++ unit tests of the harness
	@$(MAKE) --no-print-directory -C sim/verilator test OUT=$(CURDIR)/build/harness

test-python: model model-wide model-driver guest # all tests in Python that boot no guest
	@$(BUILD) proof-rtl
	@$(PYTEST) $(BY_FILE) $(addprefix --ignore=tests/,cocotb rtl soc system test_failed_seeds.py)

test-cocotb: verilog # the whole engine, and that of grants, through their ports
	@$(BUILD) rtl-grants rtl-driver-small
	@$(PYTEST) $(AT_ONCE) --ignore=tests/cocotb/test_masters.py tests/cocotb

test-masters: verilog # each DMA master at windows, bus errors, stops and RESET
	@$(BUILD) rtl-driver-small rtl-grants-only-small
	@$(PYTEST) $(AT_ONCE) tests/cocotb/test_masters.py

test-trace: model model-wide # recorded traces and random streams on the engine
	@$(PYTEST) $(AT_ONCE) tests/rtl

test-system fuzz: model-wide model-large
test-system: model-driver model-grants-only
system_short := $(addprefix tests/system/test_,channel.py dma_windows.py engine_lost.py fresh_recording.py \
	fuzz_guest.py grants_back_off.py large_search.py limits.py modes.py reports.py rest.py witness_guest.py)

test-system: model guest # boots Linux, swaps, loses the engine, verifies; SHORT=1: some guests
	@$(BUILD) redis memhog stress-ng
	@$(PYTEST) $(if $(SHORT),$(system_short),tests/system)

fault-reports: model-driver guest # public fault reports, made again on three kernels
	@$(ENV) python -m hwswap check reports

# Such a test may be of any folder.
test-failed-seeds: verilog model model-wide model-driver model-grants-only
test-failed-seeds: guest # tests with the seeds with which they once failed
	@$(BUILD) rtl-grants rtl-driver-small rtl-grants-only-small
	@$(PYTEST) tests/test_failed_seeds.py

test-commands: model model-driver model-grants-only guest # commands of README and pages as written, but those of hours
	@$(BUILD) memhog rtl-soc soc-model-rocket fpga kernel-riscv modules-riscv initramfs-riscv
	@$(PYTEST) -v tests/pages/commands.py

# Half an hour and more, so not part of `make test`.
test-debug: model-driver # on kernels with lockdep, KASAN, UBSAN, DEBUG_VM, kmemleak; with KCSAN: build/test-debug
	@$(BUILD) kernel-debug modules-debug guest-debug kernel-races modules-races guest-races
	@$(foreach checks,debug races,HWSWAP_KERNEL=$(CURDIR)/build/kernel-$(checks)/bzImage \
		HWSWAP_INITRAMFS=$(CURDIR)/build/guest-$(checks)/initramfs.cpio.gz \
		$(PYTEST) tests/system/kernel_$(checks).py --junitxml=build/test-debug/$(checks).xml;)

test-patches: guest model-driver # each patch of the series alone builds, boots, swaps; then test-matrix
	@$(ENV) python -m hwswap.cli.steps patches
	@$(MAKE) --no-print-directory test-matrix

test-matrix: setup # the patches compile, or cannot be chosen, in many configurations and on other architectures
	@sim/setup/apt-packages cross
	@$(ENV) python -m hwswap.cli.steps matrix

test-harts: setup # the bench on several harts, in its short form, on a simulated SoC with four
	@$(BUILD) rtl-soc4 soc-model-rocket4
	@$(PYTEST) tests/soc/harts.py

test-soc: soc-model litex-example # the engine in a SoC: DRAM model, simulated SoC with a VexRiscv, one clock and two
	@$(BUILD) soc-model-vexriscv-own
	@$(PYTEST) $(BY_FILE) tests/soc

# SEED=first SEEDS=1 CASE=name repeats a failure; with WAVES=1, waves are in build/regress and build/cocotb.
regress: model ## check: test-cocotb and traces with SEEDS=n fresh seeds [SEED=first] [CASE=name] [WAVES=1]
	@$(if $(WAVES),$(BUILD) model-wave,true)
	@first=$(or $(SEED),$$(shuf -i 1-1000000000 -n 1)); failed=0; \
	for at in $$(seq $(or $(SEEDS),1)); do \
		HWSWAP_SEED=$$((first + at - 1)) WAVES=$(WAVES) $(PYTEST) $(AT_ONCE) $(if $(CASE),-k '$(CASE)') \
			tests/rtl/test_replay.py tests/rtl/test_play.py tests/cocotb/test_engine.py || failed=1; \
	done; exit $$failed

coverage: verilog # lines, toggles and functional bins the simulations reach: build/coverage [SHORT=1]
	@$(BUILD) model-coverage
	@$(ENV) python -m hwswap.cli.steps coverage $(if $(SHORT),--short)

# The seed is a fresh one, and printed, unless SEED= says which.
witness: guest # unpatched kernel, patched one, golden model: slots of 100,000 folios [SEED=n]
	@$(ENV) python -m hwswap witness $(if $(SEED),--seed $(SEED))

fuzz: model guest # random operations: kernels = model = RTL [OPERATIONS=n] [SEED=n]
	@$(ENV) python -m hwswap fuzz $(if $(SEED),--seed $(SEED)) $(if $(OPERATIONS),--operations $(OPERATIONS))

# PART=calls, fall-backs or walk: one of three.
bench-offload: command = python -m hwswap bench offload $(if $(SHORT),--short) $(if $(PART),--part $(PART))
bench-offload: asked guest model-driver ## measure: grants: calls, fall-backs [SHORT=1] [PART=calls]
	@$(ENV) $(command)

bench-loads: command = python -m hwswap bench loads $(if $(SHORT),--short) $(LOADS)
bench-loads: asked guest model-grants-only ## measure: swap benchmarks [SHORT=1] [LOADS=..]
	@$(BUILD) $(if $(SHORT),,redis memhog stress-ng)
	@$(ENV) $(command)

bench-engine: model # cycles of the engine on recorded traces, beside the targets
	@$(ENV) python -m hwswap bench engine

# ONLY="swapoff offsets cache": these alone; "devices fallbacks" need guests, and are made when they are named.
experiments: setup $(if $(filter devices fallbacks,$(ONLY)),guest kernel-6.12)
experiments: # published tables on swap allocation, made again in kind: build/results [ONLY=cache] [SHORT=1]
	@$(ENV) python -m hwswap experiments $(ONLY) $(if $(SHORT),--short)

report: setup # a page of all figures on record, or of RESULTS=build/results beside them: build/report
	@$(ENV) python -m hwswap report $(RESULTS)

compare: setup # figures of two folders, with tolerances [A=results] [B=build/results]
	@$(ENV) python -m hwswap compare $(A) $(B)

# SCHEDULER=tcp://host:8786 or SLURM=jobs in the place of this machine (docs/guest.md).
sweep: $(FILE) model model-wide # a grid of measurements: build/sweep; [FILE=sim/sweeps/example.toml] [JOBS=2]
	@$(ENV) python -m hwswap sweep $(or $(FILE),sim/sweeps/example.toml) $(if $(JOBS),--jobs $(JOBS)) \
		$(if $(SCHEDULER),--scheduler $(SCHEDULER)) $(if $(SLURM),--slurm $(SLURM))

test-report: setup # the report in a real browser
	@sim/setup/apt-packages browser
	@$(PYTEST) tests/results/browser.py

test-setup: setup # the set-up's own behaviour: missing Java, space, network
	@$(PYTEST) tests/setup

formal: command = python -m hwswap.cli.steps formal $(PROOF) $(if $(SHORT),--short)
formal: asked # proofs of parts of the engine (docs/verification.md); [SHORT=1] [PROOF=name]
	@$(BUILD) proof-rtl
	@$(ENV) $(command)

# An interrupted run goes on where it stopped.
mutate: setup # how many of 420 mutants the checks find (docs/verification.md); [SHORT=1] [SEED=1]
	@MUTANTS_SEED=$(SEED) $(BUILD) rtl-mutants mutants model-mutants
	@$(ENV) python -m hwswap.cli.steps mutate $(if $(SHORT),--short)

lint: setup ## check: formatting, static checks, licences, generated files up to date
	@sim/setup/lint

format: setup # put every source in its format
	@sim/setup/lint --fix

docs: setup # tables of registers and results into their pages; all pages as a site, links checked: build/site
	@$(ENV) python hw/map/generate.py --page
	@$(ENV) python -m hwswap report --docs
	@$(ENV) python -m mkdocs build --strict --quiet
	@echo "build/site/index.html"

lock: setup # bring requirements.txt up to date with requirements.in
	@sim/setup/python-lock

# The bitstream's SoC; SEEDS=n tries n placements and keeps the fastest. PROFILE= and SOC_CLUSTERS= and so on choose
# another engine than the board's (constraints/profiles.toml), LIMIT=part allows an FPGA as full as there is room.
bitstream flash: export BOARD := $(or $(BOARD),ecpix5)
bitstream flash: export CPU := $(or $(CPU),vexriscv)
bitstream_steps := rtl-board fpga part-board part-cpu netlist bitstream

bitstream: setup ## boards: BOARD=ecpix5|orangecrab|ulx3s CPU=vexriscv|rocket [SEEDS=n] [PROFILE=grants-only]
	@$(ENV) python -m hwswap.cli.steps board $(BOARD) $(CPU)
	@$(BUILD) $(bitstream_steps)
	@$(ENV) python -m hwswap.cli.steps timing build/bitstream-$(BOARD)-$(CPU)

bitstreams: setup # those of all boards, one after the other, SEEDS=2 each, and a table of them
	@$(ENV) python -m hwswap.cli.steps bitstreams --seeds $(or $(SEEDS),2) --limit $(or $(LIMIT),routable)

flash: bitstream ## boards: that bitstream, made if it is not there, into the board (DRY_RUN=1 prints the command)
	@$(ENV) python -m hwswap soc flash --board $(BOARD) --cpu $(CPU) $(if $(DRY_RUN),--dry-run)

# PROFILE=, here and for engine-size: another engine than the simulated SoC's (constraints/profiles.toml).
fmax: command = python -m hwswap.cli.steps fmax --engine build/part-engine --seeds $(or $(SEEDS),5) \
	$(if $(GRADES),--grades $(GRADES)) --output build/fmax
fmax: asked # Fmax and size of the engine alone on an ECP5-85F, over seeds [SEEDS=5] [GRADES=6,8,8_5G]
	@$(BUILD) rtl-soc fpga part-engine
	@$(ENV) $(command)

engine-size: setup # LUTs and block RAMs of the engine alone, mapped for area, not placed [PROFILE=wide]
	@$(BUILD) rtl-soc fpga part-area
	@$(ENV) python -m hwswap.cli.steps size --engine build/part-area --output build/engine-size

# Of the simulated SoC: ENGINE_RATIO=r gives the engine a clock of its own, r times the CPU's.
soc-model soc-sim: export CPU := $(or $(CPU),vexriscv)
soc_model = soc-model-$(CPU)$(if $(ENGINE_RATIO),-own)$(if $(WAVES),-wave)

soc-model: setup # the simulated SoC, CPU=vexriscv|rocket: build/soc-model-CPU
	@$(BUILD) rtl-soc $(soc_model)

# Others install it by `pip install ./litex/hwswap_litex`, or the wheel.
litex_core_steps := rtl-soc-full rtl-soc-grants-only litex-core

litex-core: setup # the LiteX core with its Verilog in two profiles: build/litex-core, and as a wheel build/wheels
	@$(BUILD) $(litex_core_steps)
	@$(ENV) python -m pip --disable-pip-version-check wheel --quiet --no-deps --wheel-dir build/wheels \
		./litex/hwswap_litex

litex-example: setup # that core in an environment of its own, and its example SoC: build/litex-example
	@$(BUILD) $(litex_core_steps) litex-example

soc-sim: command = python -m hwswap.cli.steps sim build/$(soc_model) \
	$(or $(IMAGE),build/firmware-$(CPU)/selftest.bin) $(if $(WAVES),--wave build/soc-sim-$(CPU).fst) \
	$(if $(DRAM_LATENCY),--dram-latency $(DRAM_LATENCY)) $(if $(ENGINE_RATIO),--engine-ratio $(ENGINE_RATIO))
soc-sim: $(IMAGE) asked soc-model
soc-sim: # run IMAGE=file (the self-test if none) there; [WAVES=1] [DRAM_LATENCY=n] [ENGINE_RATIO=r]
	@$(if $(IMAGE),,$(MAKE) --no-print-directory -s -C litex/firmware OUT=$(CURDIR)/build/firmware-$(CPU) \
		SOC=$(CURDIR)/build/$(soc_model) CPU=$(CPU))
	@$(ENV) $(command)

bench-soc: bench_cpu = $(or $(CPU),vexriscv)
bench-soc: command = python -m hwswap soc bench --cpu $(bench_cpu) \
	$(if $(DRAM_LATENCY),--dram-latency $(DRAM_LATENCY)) $(if $(ENGINE_RATIO),--engine-ratio $(ENGINE_RATIO)) \
	$(if $(JOBS),--jobs $(JOBS))
bench-soc: asked ## measure: stock : tuned : register : ring : grants, cycles [CPU=] [DRAM_LATENCY=n] [ENGINE_RATIO=r]
	@$(BUILD) $(if $(filter rocket4,$(bench_cpu)),rtl-soc4,rtl-soc) soc-model-$(bench_cpu)$(if $(ENGINE_RATIO),-own)
	@$(ENV) $(command)

bench-harts: # the same on 1, 2 and 4 Rocket harts with the kernel's locks: cycles, their growth [JOBS=2]
	@$(MAKE) --no-print-directory bench-soc CPU=rocket4

soc-linux: command = python -m hwswap soc linux $(if $(MODES),--modes $(MODES))
soc-linux: asked ## measure: Linux on the simulated SoC with a Rocket CPU swaps in every mode, measured [MODES=off,hint]
	@$(BUILD) rtl-soc soc-model-rocket fpga kernel-riscv modules-riscv initramfs-riscv
	@$(ENV) $(command)

soc-linux-smp: all_harts := 1,2,3,4
soc-linux-smp: command = python -m hwswap soc linux --harts $(or $(HARTS),$(all_harts)) $(if $(MODES),--modes $(MODES))
soc-linux-smp: asked ## measure: the same on several harts: calls beside each other [HARTS=] [MODES=]
	@$(BUILD) rtl-soc4 soc-model-rocket4 fpga kernel-riscv-smp modules-riscv-smp \
		initramfs-riscv-smp
	@$(ENV) $(command)

linux-card: setup ## boards: what BOARD=ecpix5|orangecrab with a Rocket CPU boots Linux from: build/linux-BOARD
	@$(ENV) python -m hwswap.cli.steps board $(or $(BOARD),ecpix5) rocket
	@BOARD=$(or $(BOARD),ecpix5) CPU=rocket $(BUILD) $(bitstream_steps)
	@$(BUILD) kernel-riscv modules-riscv initramfs-riscv
	@folder=build/bitstream-$(or $(BOARD),ecpix5)-rocket; $(ENV) python -m hwswap soc card \
		--soc $$folder/soc.json --engine $$folder/engine.json --output build/linux-$(or $(BOARD),ecpix5)
	@litex/linux/card-image build/linux-$(or $(BOARD),ecpix5) build/linux-$(or $(BOARD),ecpix5)/card.img

prune: # remove entries that were not used for DAYS=30 from the cache
	@sim/setup/prune $(or $(DAYS),30)

clean: ## begin: remove what was built here: build/ and hw/target
	rm -rf build hw/target hw/project/target hw/project/project

distclean: clean # clean, and remove the cache that all clones share
	@. sim/setup/lib.sh; echo "removing $$HWSWAP_CACHE ($$(du -sh "$$HWSWAP_CACHE" 2>/dev/null | cut -f1))"; \
	rm -rf "$$HWSWAP_CACHE"

# Every target is a name.
.PHONY: $(shell sed -n 's/^\([a-z0-9.-]*\):.*/\1/p' $(firstword $(MAKEFILE_LIST)))
