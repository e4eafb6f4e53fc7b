# The front door: each target is a line or two over CMake and scripts/. `make help` lists them.
DEVICE ?= $(shell scripts/pick_device.sh)
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
ALL_CHAPTERS := $(shell ls chapters | sed -n 's/^\(chapter[0-9]*\)_.*/\1/p')
MUTATED := $(patsubst %,%_steps,$(filter $(ALL_CHAPTERS),$(shell sed -n "s/^\(chapter[0-9]*\) = .*/\1/p" tests/chapters/mutants/cases.toml 2>/dev/null)))
STEPS_TESTS := $(basename $(notdir $(wildcard tests/chapters/chapter*_steps_test.cu)))
EXERCISES := $(shell ls chapters/*/exercises.toml 2>/dev/null | sed -n 's/.*chapter\([0-9]*\)_.*/exercise\1/p')

ifneq ($(if $(DEVICE),$(filter-out gpu emulator,$(DEVICE)),none),)
$(error DEVICE=$(DEVICE): accepted are gpu and emulator)
endif
ifdef CUDA_HOME
export CUDA_HOME
ifeq ($(origin CUDA_HOME)$(shell test -x "$(CUDA_HOME)/bin/nvcc" || echo none),command linenone)
$(error CUDA_HOME=$(CUDA_HOME): there is no bin/nvcc in it)
endif
endif

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help deps deps-torch docs slides test nightly fuzz mutants results emulate headers format clean watch handout grade leaderboard $(ALL_CHAPTERS) $(EXERCISES)

help:
	@echo "make deps                    install what is missing: packages, and nvcc where DEVICE=gpu and there is none"
	@echo "make deps-torch              PyTorch, for chapter 7, into .venv unless it is here (2.2 GB to download)"
	@$(foreach chapter,$(ALL_CHAPTERS),echo "make $(chapter)                build ./$(chapter)/run_all";)
	@$(foreach exercise,$(EXERCISES),echo "make $(exercise)               the chapter's exercises, laid out and checked (RESET=name restores one)";)
	@echo "make watch                   check exercises while you edit them; the same as ./workbook"
	@echo "make handout OUT=dir         a tree for a class: the exercises without their solutions; CHAPTERS=\"1 3\": some"
	@echo "make grade DIR=d OUT=g.csv   check a class's submissions, one folder per student; CHAPTERS=, WEIGHTS=\"swizzle=3\""
	@echo "make leaderboard             the class in order, into OUT=l.html, .txt and .json; with the options of make grade"
	@echo "make docs                    the book, in build/docs/html/index.html"
	@echo "make slides                  slides of each chapter, in build/docs/html/slides/"
	@echo "make test                    build and run every test; where nvcc is there, the GPU build is compiled too"
	@echo "make nightly                 what takes longer, too: sanitizers, mutants, a fresh Debian, clang-tidy, format"
	@echo "make fuzz CASES=1000 SEED=7  random problems for every step of every chapter, beyond those of the tests"
	@echo "make mutants                 wrong kernels by the hundred: does the verification notice? (an hour)"
	@echo "make results                 on a GPU: times, counters, sanitizers, PyTorch, into docs/results/; ONLY=\"1 3\": some"
	@echo "make emulate FILE=k.cu       build and run a CUDA program of your own on the emulator; ARGS=\"...\""
	@echo "make headers                 each chapter's take-away header as one file, in build/headers/"
	@echo "make format                  clang-format every source file"
	@echo "make clean                   remove what the build made"
	@echo "DEVICE=gpu|emulator          what kernels run on; here, left out: $(DEVICE)"
	@echo "CUDA_HOME=/path JOBS=N       which toolkit; how many compilers at once ($(JOBS))"

# With `docs` alone, what the book needs alone; with the tests, too, which build and read it.
DEPS = $(if $(filter-out deps docs,$(MAKECMDGOALS)),$(DEVICE) $(if $(filter test nightly docs,$(MAKECMDGOALS)),docs),$\
  $(if $(filter docs,$(MAKECMDGOALS)),docs,$(DEVICE)))
deps:
	@scripts/deps.sh $(DEPS)

docs:
	@python3 docs/book build

slides:
	@python3 docs/book slides

deps-torch:
	@scripts/deps_torch.sh

$(ALL_CHAPTERS):
	@echo "DEVICE=$(DEVICE)"
	@scripts/build.sh $(DEVICE) --parallel $(JOBS) --target $@

$(EXERCISES):
	@./workbook --device $(DEVICE) chapter $(@:exercise%=%) $(if $(RESET),--reset "$(RESET)")

# What is said on make's command line stands in the environment, where no quote in it does harm.
watch:
	@./workbook --device $(DEVICE) --chapters "$$CHAPTERS"

handout:
	@$(if $(OUT),./workbook --chapters "$$CHAPTERS" handout "$$OUT",echo "error: where to? make handout OUT=dir" >&2; exit 2)

grade leaderboard:
	@$(if $(and $(DIR),$(OUT)),./workbook --chapters "$$CHAPTERS" $@ "$$DIR" "$$OUT" $(if $(SEED),--seed "$$SEED") --weights "$$WEIGHTS",\
	  echo "error: make $@ DIR=submissions OUT=$(if $(filter grade,$@),grades.csv,leaderboard.html)" >&2; exit 2)

test:
	@scripts/test.sh $(DEVICE) --label-exclude nightly

nightly:
	@scripts/nightly.sh $(DEVICE)

fuzz:
	@scripts/build.sh $(DEVICE) --parallel $(JOBS) --target $(STEPS_TESTS) && \
	  scripts/fuzz.sh build/$(DEVICE) $(or $(CASES),1000) $(or $(SEED),7)

mutants:
	@scripts/build.sh emulator --parallel $(JOBS) --target $(MUTATED) && \
	  scripts/mutants.py --output docs/results/mutants.md

emulate:
	@python3 scripts/emulate.py $(if $(DEBUG),--debug) --flags="$(FLAGS)" $(FILE) -- $(ARGS)

results:
	@$(if $(filter-out $(ALL_CHAPTERS:chapter%=%),$(ONLY)),echo "error: ONLY=$(ONLY): accepted are $(ALL_CHAPTERS:chapter%=%)" >&2; exit 2,\
	  $(MAKE) --no-print-directory DEVICE=gpu $(if $(ONLY),$(ONLY:%=chapter%),$(ALL_CHAPTERS)))
	@scripts/record_results.sh $(ONLY)

headers:
	@python3 scripts/amalgamate.py --output build/headers

format:
	@scripts/format.sh

clean:
	rm -rf build $(ALL_CHAPTERS)
