# Makefile: builds hangar into build/. `make run`, `make test`, `make demo`, `make hang` start from a bare machine.
#
#   make                                          all binaries
#   make V=1                                      show every command
#   make NCCL=0, make MPI=0                       without that backend
#   make hangar_run                               what watches programs and reads what they left; without MPI, NCCL, CUDA
#   make CUDA_HOME=/opt/cuda NCCL_HOME=/opt/nccl  look for CUDA and NCCL there first
#   make unit e2e                                 parts of `make test`, without set-up
#   make test-installed                           tests that install Slurm, Prometheus ..., as root, and remove them
#   make unit SANITIZE=address,undefined          in build-asan/
#   make fuzz                                     libFuzzer programs, in build-fuzz/
#   make PCH=1                                    a build from nothing, once: without ccache, faster
#   make BUILD=build-clang CC=clang WERROR=1      another compiler, warnings are errors

ifeq ($(origin CC),default)
CC := gcc
endif
OPT ?= -O2 -g
NCCL ?= auto
SANITIZE ?=
STATIC ?=
comma := ,
BUILD ?= $(if $(SANITIZE),build-asan,build)

# ---- what is built ---------------------------------------------------------------------------
# Small programs whose main stands beside the code they show: source files; NAME.c and NAME_main.c
# become build/NAME.
PROGRAMS := faults/detect/find/hang_diagnose.c faults/verify/hang_verify.c faults/verify/hang_reduce.c faults/watch/preload/hangar_run.c common/host/nccl_check/nccl_log_main.c common/predict/command/topo_predict.c \
	common/host/reconcile/reconcile_main.c common/host/machine/health_main.c

# The rooms by house, in the order of their layers: a file includes from its own room and from those before, of the
# houses that its own may use (ci/check_layers).
HOUSES := lib harness predict host inject detect verify watch bench
lib := $(addprefix common/lib/,base settings process net profiler)
harness := $(addprefix common/harness/,options check backend backend/mpi backend/nccl backend/null report measure schedule)
predict := $(addprefix common/predict/,pairs topo model live command)
host := $(addprefix common/host/,nccl_log nccl_check machine reconcile)
inject := faults/inject
detect := $(addprefix faults/detect/,record run compare evidence answer finding states find)
verify := faults/verify
watch := $(addprefix faults/watch/,pace probe decide watch diagnoser preload library)
bench := bench/preflight bench/recover
LIB_DIRS := $(foreach h,$(HOUSES),$($(h)))
LIB_SRC := $(filter-out $(PROGRAMS) faults/watch/library/% bench/recover/% common/harness/backend/mpi/%,$(wildcard $(LIB_DIRS:%=%/*.c)))
CU_SRC := $(wildcard common/*/*/*.cu common/*/*/*/*.cu)
PERF_SRC := $(wildcard bench/*_perf.c)
# The names in bench/collectives.h, each with a file.
REGISTERED := $(shell sed -n 's/^\trow(\(.*\)).*/\1/p' bench/collectives.h)
MAIN_SRC := $(filter-out bench/perf_entry.c bench/preflight_main.c,$(wildcard bench/*.c))
# The rooms whose unit tests are built and run. Sanitizers go over the rooms that read what strangers wrote, and what those
# share: records, evidence, dumps, logs, links, topologies, options. ROOMS='*' SANITIZE=... goes over all.
UNTRUSTED := base settings net options topo nccl_log nccl_check reconcile record run compare evidence find verify answer probe diagnoser preload decide watch
ROOMS ?= $(if $(SANITIZE),$(UNTRUSTED),*)
UNIT_SRC := $(wildcard $(ROOMS:%=ci/tests/%/test_*.c))
MPI_UNIT_SRC := $(wildcard $(ROOMS:%=ci/tests/%/mpi_test_*.c))
TOOL_SRC := $(wildcard ci/tests/tools/tool_*.c)

# ---- MPI -------------------------------------------------------------------------------------
# Flags are asked for, so that CC may be any compiler, once, and by what needs them alone: MPI's half, which programs open at run
# time, and tests. Empty where MPI is not installed.
MPI_CFLAGS = $(eval MPI_CFLAGS := $$(shell mpicc --showme:compile 2>/dev/null || pkg-config --cflags ompi-c 2>/dev/null))$(MPI_CFLAGS)
MPI_LIBS = $(eval MPI_LIBS := $$(shell mpicc --showme:link 2>/dev/null || pkg-config --libs ompi-c 2>/dev/null))$(MPI_LIBS)
ifeq ($(MPI),0)
MPI_CFLAGS :=
MPI_LIBS :=
endif

# ---- CUDA and NCCL ---------------------------------------------------------------------------
MACHINE := $(shell uname -m)
CUDA_TARGET := $(if $(filter aarch64,$(MACHINE)),sbsa-linux,$(MACHINE)-linux)
have = $(firstword $(wildcard $(1)))
PIP_NCCL = $(shell python3 -c 'import nvidia.nccl as n; print(list(n.__path__)[0])' 2>/dev/null)

ifneq ($(NCCL),0)
NVCC ?= $(or $(call have,$(CUDA_HOME:%=%/bin/nvcc)),$(shell command -v nvcc), \
	$(call have,/usr/local/cuda/bin/nvcc))
CUDA_DIR := $(patsubst %/bin/nvcc,%,$(shell command -v $(firstword $(NVCC) none)))
CUDA_INC := $(patsubst %/cuda_runtime.h,%,$(call have,$(addsuffix /cuda_runtime.h, \
	$(addprefix $(CUDA_DIR)/,include targets/$(CUDA_TARGET)/include))))
CUDA_RT := $(call have,$(addsuffix /libcudart_static.a, \
	$(addprefix $(CUDA_DIR)/,lib64 lib targets/$(CUDA_TARGET)/lib lib/$(MACHINE)-linux-gnu)))
# The first of these folders that holds the header; pip is asked only when the others do not.
nccl_in = $(patsubst %/include/nccl.h,%,$(call have,$(addsuffix /include/nccl.h,$(1))))
SYSTEM_ROOTS ?= /usr /usr/local
NCCL_DIR := $(or $(call nccl_in,$(NCCL_HOME)),$(call nccl_in,$(CUDA_DIR) $(SYSTEM_ROOTS)), \
	$(call nccl_in,$(PIP_NCCL)))
# NCCL is loaded at run time (base/nccl_library.h): here its headers count. The folder of its library is one of those
# that are searched; packages and the system's own have none.
NCCL_BUILT := $(filter-out /usr/lib/$(MACHINE)-linux-gnu /usr/lib /usr/lib64,$(patsubst %/libnccl.so.2,%,$(call have, \
	$(foreach d,lib lib64 lib/$(MACHINE)-linux-gnu,$(NCCL_DIR)/$(d)/libnccl.so.2))))
endif

ifneq ($(and $(CUDA_INC),$(CUDA_RT),$(NCCL_DIR)),)
# Folders the compiler searches anyway must not be named again: libstdc++ depends on their order.
system_dirs := $(sort $(filter-out /usr/include /usr/local/include,$(CUDA_INC) $(NCCL_DIR)/include))
CUDA_CFLAGS := -DHAVE_NCCL $(addprefix -isystem ,$(system_dirs))
# NCCL finds the profiler plugin among the program's own symbols.
CUDA_LIBS := $(CUDA_RT) -lrt $(if $(STATIC),-Wl$(comma)-Bstatic -lstdc++ -Wl$(comma)-Bdynamic,-lstdc++) \
	-Wl,--dynamic-list=common/harness/backend/nccl/exported.txt
CU_OBJ := $(CU_SRC:%.cu=$(BUILD)/obj/%.cu.o)
PROGRAMS += bench/recover/recover_perf.c
else
ifneq ($(NCCL),0)
no_nccl := CUDA or NCCL not found (CUDA_HOME, NCCL_HOME): building the mpi backend only
endif
LIB_SRC := $(filter-out common/harness/backend/nccl/%.c,$(LIB_SRC))
endif
# A folder that was named and holds nothing is said, not passed over.
unlike = $(if $(and $($(1)),$(filter-out $($(1)),$(2))),$(1)=$($(1)) holds none: using $(2))
ifneq ($(CUDA_LIBS),)
not_there := $(call unlike,CUDA_HOME,$(CUDA_DIR)) $(call unlike,NCCL_HOME,$(NCCL_DIR))
endif

# Code for each generation from Turing to Blackwell that this nvcc knows; other GPUs run their generation's, or compile the
# PTX of compute_80 when it is first loaded. Fewer build faster: make GPUS=80.
GPUS ?= 75 80 90 100 120
GPUS_KNOWN := $(if $(CUDA_LIBS),$(filter $(GPUS),$(patsubst compute_%,%,$(shell $(NVCC) --list-gpu-arch 2>/dev/null))))
NVCC_GENCODE ?= $(foreach g,$(GPUS_KNOWN),-gencode arch=compute_$(g),code=$(if $(filter 80,$(g)),[sm_80$(comma)compute_80],sm_$(g)))
NVCCFLAGS ?= -O3 -std=c++17 --threads 2 $(NVCC_GENCODE)

# ---- flags -----------------------------------------------------------------------------------
WARNINGS := -Wall -Wextra -Wno-unused-parameter -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla \
	-Wwrite-strings -Wpointer-arith $(if $(WERROR),-Werror)
SANITIZE_FLAGS := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all \
	-fno-omit-frame-pointer)
# Headers are included by room: "base/error.h"; the C library's, by base/c.h, in all. Tests alone see the whole tree.
INCLUDES := -Icommon/lib -Icommon/harness -Icommon/predict -Icommon/host -Ifaults -Ifaults/detect -Ifaults/watch -Ibench -include base/c.h
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE $(OPT) $(WARNINGS) $(INCLUDES) \
	$(CUDA_CFLAGS) -pthread $(SANITIZE_FLAGS) $(CFLAGS)
# PCH=1: base/c.h is compiled once, which takes a quarter off what a file costs; ccache keeps nothing of it. A file with other flags
# than these reads the header.
ifdef PCH
INCLUDES := -I$(BUILD)/obj/pch $(INCLUDES)
PCH_FILE := $(BUILD)/obj/pch/base/c.h.gch
PCH_CFLAGS := $(subst -include base/c.h,,$(ALL_CFLAGS)) -w
endif
ALL_LDFLAGS = -pthread $(SANITIZE_FLAGS) $(LDFLAGS)
# The small programs read what others left: neither MPI nor NCCL nor CUDA.
# STATIC=1: with all that a machine may lack inside, for packages.
READER_LIBS = $(if $(STATIC),-Wl$(comma)-Bstatic $(INSIDE) -Wl$(comma)-Bdynamic,-ljansson -lexpat -lpcre2-8 -ldw -lelf) -lm -ldl -lpthread
INSIDE := $(if $(STATIC),$(filter-out -lm -ldl -pthread -lpthread,$(shell pkg-config --static --libs jansson expat libpcre2-8 libdw libelf)))
LIBS = $(CUDA_LIBS) $(READER_LIBS)

# How fast test data are made and compared decides how long a checked run takes; how fast pairs add
# up stands for the MPI library's own loops.
$(BUILD)/obj/common/harness/check/%.o $(BUILD)/obj/pic/common/harness/check/%.o $(BUILD)/obj/common/predict/pairs/%.o: OPT := $(patsubst -O2,-O3,$(OPT))

obj = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
LIB := $(BUILD)/obj/libhangar.a
# The table of faults is made of faults.txt.
FAULT_TABLE := $(BUILD)/obj/faults/inject/table
LIB_OBJ := $(call obj,$(LIB_SRC)) $(CU_OBJ) $(FAULT_TABLE).o
# The part of the library that needs no MPI, and the programs that are linked with nothing else of it.
READER := $(BUILD)/obj/libreader.a
READER_OBJ := $(call obj,$(filter-out common/harness/% faults/inject/% common/predict/live/% common/predict/pairs/probe.c \
	common/host/machine/gather.c common/host/reconcile/reconcile.c,$(LIB_SRC)))
READER_SRC := $(filter %/hangar_run.c %/hang_diagnose.c %/hang_verify.c %/hang_reduce.c %/nccl_log_main.c %/topo_predict.c,$(PROGRAMS))
MAIN_OBJ := $(call obj,$(MAIN_SRC))
# What tests need of bench/: an archive, of which they take what they name.
BENCH := $(BUILD)/obj/libbench.a
PERF := $(PERF_SRC:bench/%.c=$(BUILD)/%)
PREFLIGHT := $(BUILD)/preflight
program_name = $(patsubst %_main,%,$(notdir $(basename $(1))))
READER_BIN := $(addprefix $(BUILD)/,$(call program_name,$(READER_SRC)))
PROGRAM_BIN := $(addprefix $(BUILD)/,$(call program_name,$(PROGRAMS)))
FUZZ := $(patsubst ci/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard ci/fuzz/fuzz_*.c))
UNIT := $(addprefix $(BUILD)/tests/,$(notdir $(basename $(UNIT_SRC) $(MPI_UNIT_SRC))))
TOOL := $(addprefix $(BUILD)/tests/,$(notdir $(basename $(TOOL_SRC))))
# What unit tests and tools share.
RIG_SRC := $(filter-out $(UNIT_SRC) $(MPI_UNIT_SRC) $(TOOL_SRC),$(sort $(wildcard ci/tests/rig/*.c $(ROOMS:%=ci/tests/%/*.c))))
RIG := $(BUILD)/obj/librig.a
# *_perf programs that note when a fault fired: tool_fired by their names.
FIRED := $(PERF_SRC:bench/%.c=$(BUILD)/tests/fired/%)
# What hangar is compared with must link nothing of it.
BARE := $(BUILD)/tests/bare_mpi_loop
# Test doubles of libcuda, libnccl and sched_yield(), and a program that is linked with the first two.
DOUBLE := $(BUILD)/tests/double
DEMO := $(DOUBLE)/libnccl.so.2 $(DOUBLE)/libcuda.so.1

ifeq ($(V),1)
say = @:
Q :=
else
say = @printf '  %-5s %s\n'
Q := @
endif

# ---- targets ---------------------------------------------------------------------------------
.PHONY: all tests hangar_run compile run test test-installed demo hang hang-fsdp install uninstall dist deb rpm bundle wheel unit e2e fuzz fuzzers install-deps format check-style record-alone rooms layers clean FORCE
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:

# Data that programs look for beside themselves.
DATA := $(patsubst common/predict/topo/%,$(BUILD)/%,$(wildcard common/predict/topo/*.json common/predict/topo/specs/*.json))

all: $(PERF) $(PREFLIGHT) $(PROGRAM_BIN) $(BUILD)/libhangar.so mpi-half $(DEMO) $(DATA) $(BUILD)/built.txt stale-data
tests: $(UNIT) $(TOOL) $(FIRED) mpi-tests $(addprefix $(DOUBLE)/,subject subject-static schedule libyield.so libnext4.so libnext5.so libnext6.so)

# A library and programs that copy to any machine; neither MPI nor NCCL nor CUDA is asked for.
hangar_run: $(READER_BIN) $(BUILD)/libhangar.so $(DATA) $(BUILD)/built.txt

# The two commands for a machine that may have nothing yet. Flags are asked for when a Makefile is
# read, so what was just installed is seen by a second make only; it takes all cores unless told
# (the +: make sees no $(MAKE) inside of a variable, and would give it one core).
SUBMAKE = $(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))
run: install-deps
	+$(Q)$(SUBMAKE) all
	$(Q)BUILD=$(BUILD) ci/sweep

test: install-deps
	+$(Q)$(SUBMAKE) all tests
	$(Q)BUILD=$(BUILD) ci/tests/runner

# For a throw-away machine: as root, packages and daemons.
test-installed: install-deps
	+$(Q)$(SUBMAKE) all tests
	$(Q)BUILD=$(BUILD) ci/tests/runner installed

# Four bugs of a job without a GPU, named: in half a minute, with neither MPI nor CUDA.
demo: install-deps
	+$(Q)$(SUBMAKE) hangar_run $(DEMO)
	$(Q)BUILD=$(BUILD) faults/demo/demo

# One hang on the machine at hand, named.
hang: install-deps
	+$(Q)$(SUBMAKE) all
	$(Q)BUILD=$(BUILD) ci/hang

# On a GPU host with PyTorch: a rank of an FSDP2 training of a Llama-shaped model drops out; a page says what happened.
hang-fsdp: install-deps
	+$(Q)$(SUBMAKE) all
	$(Q)BUILD=$(BUILD) AT=20 STEPS=30 ci/programs/capstone results/runs/hang-fsdp drop && \
		echo "# page: results/runs/hang-fsdp/drop/page.md"

# PREFIX (/usr/local) and DESTDIR: bin/hangar, and all that it needs in libexec/hangar.
install: all
	$(Q)PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' BUILD=$(BUILD) ci/packaging/install

uninstall:
	$(Q)PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' ci/packaging/install --remove

# Packages for other machines, in build-package/packages: sources, .deb, .rpm, a folder to unpack anywhere, a wheel.
dist:
	$(Q)ci/packaging/package dist

deb rpm bundle wheel:
	+$(Q)$(SUBMAKE) all BUILD=build-package STATIC=1 NCCL_BUILT=
	$(Q)ci/packaging/package $@

unit: $(UNIT) $(BUILD)/hang_diagnose $(DOUBLE)/libnccl.so.2
	$(Q)BUILD=$(BUILD) ROOMS='$(ROOMS)' ci/tests/runner unit mpi

e2e: all $(TOOL) $(FIRED)
	$(Q)BUILD=$(BUILD) ci/tests/runner e2e

# libFuzzer programs over the readers, with sanitizers: build-fuzz/fuzz/fuzz_NAME [OPTION...] CORPUS.
fuzz:
	+$(Q)$(SUBMAKE) fuzzers BUILD=build-fuzz CC=clang NCCL=0 \
		SANITIZE=address,undefined,fuzzer-no-link

fuzzers: $(FUZZ)

install-deps:
	$(Q)ci/setup

C_FILES = $(wildcard $(foreach d,bench $(LIB_DIRS) ci/tests/* ci/fuzz ci/research/versus,$(d)/*.[ch])) \
	$(CU_SRC)
format:
	$(Q)clang-format -i $(C_FILES)

# Layout, line and function lengths, words, layers. Other versions of clang-format than Debian 12's may differ.
check-style: record-alone
	$(Q)clang-format --dry-run -Werror $(C_FILES)
	$(Q)ci/check_style $(C_FILES)
	$(Q)ci/check_style --words $(C_FILES) $(filter-out results/%,$(shell git ls-files '*README.md'))
	$(Q)ci/check_layers

# The flight recorder, and all that it needs, is a library over libc: what a preloaded one may link.
RECORD_ALONE := $(wildcard faults/detect/record/*.c) common/lib/process/watch.c common/lib/process/python.c \
	$(addprefix common/lib/base/,call_value.c clock.c dtype.c error.c outcome.c rank_list.c)
record-alone:
	@mkdir -p $(BUILD)/obj
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE $(OPT) $(WARNINGS) $(INCLUDES) -fPIC -shared -nodefaultlibs \
		-Wl,--no-undefined -o $(BUILD)/obj/record-alone.so $(RECORD_ALONE) -lc

# What any NCCL program is preloaded with: the recorder, and nothing else of hangar.
PRELOAD_SRC := $(wildcard faults/watch/library/*.c) faults/watch/preload/fault_spec.c $(RECORD_ALONE) common/lib/net/link.c \
	common/lib/base/parse.c common/lib/base/keys.c common/lib/base/proc_stat.c common/lib/base/file.c common/lib/process/slowdown.c common/lib/profiler/nccl_profiler.c common/lib/profiler/next_profiler.c
PRELOAD_OBJ := $(PRELOAD_SRC:%.c=$(BUILD)/obj/pic/%.o) $(BUILD)/obj/pic/wrappers.o
PRELOAD_CC = $(CC) -std=gnu11 -D_GNU_SOURCE $(OPT) $(WARNINGS) $(INCLUDES) -fPIC -fvisibility=hidden \
	-pthread $(MPI_INCLUDES) -MMD -MP -c -o $@ $<
$(BUILD)/obj/pic/%.o: %.c $(FLAGS)
	$(say) CC "$< (preload)"
	@mkdir -p $(@D)
	$(Q)$(PRELOAD_CC)
$(BUILD)/obj/pic/wrappers.o: $(BUILD)/obj/pic/wrappers.c
	$(Q)$(PRELOAD_CC)
$(BUILD)/obj/pic/wrappers.c: faults/watch/library/wrappers.awk faults/watch/library/nccl.txt
	@mkdir -p $(@D)
	$(Q)awk -f $^ >$@

$(FAULT_TABLE).c: faults/inject/fault_table.awk faults/inject/faults.txt $(wildcard faults/inject/*.c)
	@mkdir -p $(@D)
	$(Q)awk -f $< RS= faults/inject/faults.txt RS='\n' $(filter %.c,$^) >$@
$(FAULT_TABLE).o: $(FAULT_TABLE).c $(FLAGS)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/libhangar.so: $(PRELOAD_OBJ)
	$(say) LINK $@
	$(Q)$(CC) -shared -Wl,--no-undefined -Wl,-z,nodelete -o $@ $^ -lc -ldl -lpthread -Wl,--as-needed -lm

# MPI's half, which programs open at run time: the job over MPI and the mpi backend, and what these need of the library.
MPI_HALF := $(BUILD)/libhangar_mpi.so
MPI_FLAGS := $(BUILD)/obj/mpi-flags
MPI_OBJ := $(patsubst %.c,$(BUILD)/obj/pic/%.o,$(wildcard common/harness/backend/mpi/*.c))
MPI_PARTS := $(patsubst %.c,$(BUILD)/obj/pic/%.o,$(wildcard common/harness/check/check_[cpv]*.c) \
	$(addprefix common/lib/base/,call_value.c clock.c dtype.c error.c file.c outcome.c parse.c rank_list.c) common/lib/process/cgroup.c)
$(MPI_OBJ): MPI_INCLUDES = $(MPI_CFLAGS:-I%=-isystem %)
$(MPI_OBJ): $(MPI_FLAGS)
$(MPI_FLAGS): FORCE
	@mkdir -p $(@D)
	@echo '$(MPI_CFLAGS) $(MPI_LIBS)' | cmp -s - $@ || echo '$(MPI_CFLAGS) $(MPI_LIBS)' >$@
$(MPI_HALF): $(MPI_OBJ) $(MPI_PARTS)
	$(say) LINK $@
	$(Q)$(CC) -shared -Wl,--no-undefined -o $@ $^ $(MPI_LIBS) -lm -ldl -lpthread

# Whether MPI is here is asked where these are made, and not when the Makefile is read.
with_mpi = +$(Q)$(if $(MPI_LIBS),$(MAKE) --no-print-directory $(1),echo 'Open MPI not found (mpicc): $(2)')
mpi-half: $(MPI_PARTS)
	$(call with_mpi,$(MPI_HALF),building without the mpi backend)
mpi-tests:
	$(call with_mpi,$(BARE),building without its tests)

DOUBLE_CC = $(CC) -std=gnu11 -D_GNU_SOURCE $(OPT) $(WARNINGS) -include common/lib/base/c.h -fPIC -pthread
$(DOUBLE)/libcuda.so.1 $(DOUBLE)/libcudart.so.13 $(DOUBLE)/libnccl.so.2 $(DOUBLE)/subject $(DOUBLE)/schedule: ci/tests/preload/double/double.h
$(DOUBLE)/libcuda.so.1: ci/tests/preload/double/cuda.c $(FLAGS)
	@mkdir -p $(@D)
	$(Q)$(DOUBLE_CC) -shared -Wl,-soname,libcuda.so.1 -o $@ $<
$(DOUBLE)/libcudart.so.13: ci/tests/preload/double/cudart.c $(DOUBLE)/libcuda.so.1
	$(Q)$(DOUBLE_CC) -shared -Wl,-soname,libcudart.so.13 -Wl,-rpath,'$$ORIGIN' -o $@ $< $(DOUBLE)/libcuda.so.1
$(DOUBLE)/libnccl.so.2: ci/tests/preload/double/nccl.c $(DOUBLE)/libcuda.so.1
	$(Q)$(DOUBLE_CC) -shared -Wl,-soname,libnccl.so.2 -Wl,-rpath,'$$ORIGIN' -o $@ $< $(DOUBLE)/libcuda.so.1
$(DOUBLE)/subject $(DOUBLE)/schedule: $(DOUBLE)/%: ci/tests/preload/double/%.c $(DOUBLE)/libnccl.so.2 $(DOUBLE)/libcudart.so.13
	$(say) LINK $@
	$(Q)$(DOUBLE_CC) -Wl,-rpath,'$$ORIGIN' -o $@ $< $(DOUBLE)/libnccl.so.2 $(DOUBLE)/libcudart.so.13 $(DOUBLE)/libcuda.so.1

$(DOUBLE)/libnext%.so: ci/tests/preload/double/next.c ci/tests/preload/double/double.h $(FLAGS)
	$(say) LINK $@
	@mkdir -p $(@D)
	$(Q)$(DOUBLE_CC) -shared -DVERSION=$* -o $@ $<
$(DOUBLE)/libyield.so: ci/tests/preload/double/yield.c $(FLAGS)
	$(say) LINK $@
	@mkdir -p $(@D)
	$(Q)$(DOUBLE_CC) -shared -o $@ $<

# The preloaded library's code in a program, under a sanitizer: events in orders that NCCL does not have.
$(BUILD)/hostile-%: ci/tests/preload/double/hostile.c $(PRELOAD_SRC) $(BUILD)/obj/pic/wrappers.c $(BUILD)/hangar_run
	$(say) LINK $@
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -O1 -g $(WARNINGS) $(INCLUDES) -fsanitize=$* -fno-omit-frame-pointer -Wno-tsan -Ddlsym=own_dlsym -D_exit=own_exit -pthread -o $@ \
		$(filter %.c,$^) -ldl -lm
hostile: $(BUILD)/hostile-address
	HANGAR_OPTIONS="--out $(BUILD)/obj/hostile" $< $(or $(EVENTS),20000)

# Its NCCL is a part of it.
$(DOUBLE)/subject-static: ci/tests/preload/double/subject.c ci/tests/preload/double/nccl.c $(DOUBLE)/libcudart.so.13
	$(say) LINK $@
	$(Q)$(DOUBLE_CC) -Wl,-rpath,'$$ORIGIN' -o $@ $^ $(DOUBLE)/libcuda.so.1

# Houses and rooms with their files and lines.
rooms:
	@ci/check_layers --sizes

# A line a house, with its rooms in their order, for ci/check_layers.
layers:
	@$(foreach h,$(HOUSES),echo $(h) $($(h));)

# What --version says of the build.
$(BUILD)/built.txt: FORCE
	@mkdir -p $(@D)
	@ci/packaging/built '$(CC)' $(if $(CUDA_LIBS),$(CUDA_INC) $(NCCL_DIR)/include) | cmp -s - $@ || \
		ci/packaging/built '$(CC)' $(if $(CUDA_LIBS),$(CUDA_INC) $(NCCL_DIR)/include) >$@

# Evidence and rows of runs that were started in a build folder (results/) stay.
clean:
	$(Q)for dir in $(wildcard build build-*); do \
		find "$$dir" -mindepth 1 -maxdepth 1 ! -name results -exec rm -rf {} +; \
		rmdir "$$dir" 2>/dev/null || :; \
	done

# ---- rules -----------------------------------------------------------------------------------
# A stamp holds text and is touched only when the text changes: what was made with other flags is
# made again.
define stamp # file, text
$(1): FORCE
	@mkdir -p $$(@D)
	@printf '%s\n' '$(subst ','\'',$(2))' | cmp -s - $$@ || printf '%s\n' '$(subst ','\'',$(2))' >$$@
endef
FLAGS := $(BUILD)/obj/flags
LIST := $(BUILD)/obj/lib.list
$(eval $(call stamp,$(FLAGS),$(shell $(CC) --version 2>/dev/null | head -n 1) $(CC) $(ALL_CFLAGS) \
	$(ALL_LDFLAGS) $(LIBS) $(NCCL_BUILT) $(if $(CUDA_LIBS),$(NVCC) $(NVCCFLAGS))))
$(eval $(call stamp,$(LIST),$(LIB_OBJ)))

# Asked for before anything is compiled, once.
$(FLAGS): | libraries-found
.PHONY: libraries-found parts-found mpi-half mpi-tests
libraries-found:
	@for header in jansson.h expat.h pcre2.h elfutils/libdwfl.h; do \
		echo "#include <$$header>" | $(CC) $(CFLAGS) -DPCRE2_CODE_UNIT_WIDTH=8 -E -x c - >/dev/null 2>&1 || { \
			echo "$$header not found: install libjansson-dev libexpat1-dev libpcre2-dev libdw-dev (Debian, Ubuntu;" \
				"jansson-devel expat-devel pcre2-devel elfutils-devel elsewhere)" >&2; exit 1; }; \
	done

# Before what has no reader alone.
$(filter-out $(READER_OBJ),$(LIB_OBJ)): | parts-found
parts-found:
	@$(if $(no_nccl),echo '$(no_nccl)',:)
	@$(if $(strip $(not_there)),echo '$(strip $(not_there))',:)

$(PCH_FILE): common/lib/base/c.h $(FLAGS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(PCH_CFLAGS) -x c-header -o $@ $<

$(BUILD)/obj/%.o: %.c $(FLAGS) $(PCH_FILE)
	$(say) CC $<
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(MPI_INCLUDES) -MMD -MP -c -o $@ $<

# A rule without a row in rule.h is declared by nothing.
$(BUILD)/obj/faults/detect/find/%.o $(BUILD)/obj/faults/detect/states/%.o: WARNINGS += -Werror=missing-prototypes
$(BUILD)/obj/common/lib/base/nccl_library.o: CFLAGS += -DNCCL_BUILT='"$(NCCL_BUILT)"'
$(BUILD)/obj/common/lib/settings/settings.o: common/lib/settings/settings.txt
$(BUILD)/obj/common/lib/base/arguments.o: common/lib/base/arguments.txt
$(BUILD)/obj/common/host/nccl_log/rows.o: common/host/nccl_log/nccl_lines.txt
$(BUILD)/obj/common/host/nccl_log/nccl_cause.o: common/host/nccl_log/nccl_causes.txt
$(BUILD)/obj/common/host/reconcile/causes.o: common/host/reconcile/causes.txt
$(BUILD)/obj/common/host/machine/health.o: common/host/machine/health_rules.txt
$(BUILD)/obj/faults/detect/evidence/evidence_torch.o: faults/detect/evidence/torch_dumps.py
$(BUILD)/obj/faults/detect/evidence/evidence_log.o: faults/detect/evidence/log_calls.py
$(BUILD)/obj/faults/verify/programs.o: $(addprefix faults/verify/program_,nccl.txt mpi.txt torch.txt)
$(BUILD)/obj/common/predict/topo/topo.o: common/predict/topo/gpus.txt
$(BUILD)/obj/common/predict/topo/topo_rows.o: common/predict/command/against.py
$(BUILD)/obj/common/harness/options/options_help.o: common/harness/options/options.txt
$(BUILD)/obj/faults/inject/fault_rows.o: faults/inject/faults.txt faults/inject/ways.txt
$(BUILD)/obj/faults/detect/answer/meaning.o: faults/detect/answer/meanings.txt

$(BUILD)/obj/%.cu.o: %.cu $(FLAGS)
	$(say) NVCC $<
	@mkdir -p $(@D)
	$(Q)$(NVCC) $(NVCCFLAGS) $(INCLUDES) $(CUDA_CFLAGS) -MMD -MP -MF $(@:.o=.d) -c -o $@ $<

$(LIB): $(LIB_OBJ) $(LIST)
	$(say) AR $@
	$(Q)rm -f $@ && $(AR) qcs $@ $(LIB_OBJ)

$(READER): $(READER_OBJ) $(LIST)
	$(say) AR $@
	$(Q)rm -f $@ && $(AR) qcs $@ $(READER_OBJ)

LINK = $(CC) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^)

# What is not registered is not built, and the other way round.
.PHONY: registered
$(MAIN_OBJ) $(PERF_SRC:bench/%.c=$(BUILD)/obj/entry/%.o): | registered
registered:
	@wrong=; for name in $(filter-out $(REGISTERED),$(PERF_SRC:bench/%_perf.c=%)); do \
		echo "bench/$${name}_perf.c: not registered: add row($$name) to COLLECTIVES in bench/collectives.h" >&2; wrong=1; \
	done; for name in $(filter-out $(PERF_SRC:bench/%_perf.c=%),$(REGISTERED)); do \
		echo "bench/collectives.h: row($$name) has no bench/$${name}_perf.c: write it, or take the row out" >&2; wrong=1; \
	done; for name in $(filter $(PERF_SRC:bench/%_perf.c=%),$(REGISTERED)); do \
		grep -q "^const struct collective $$name = " bench/$${name}_perf.c || { wrong=1; \
			echo "bench/$${name}_perf.c: defines no \"const struct collective $$name\", which bench/collectives.h names" >&2; }; \
	done; [ -z "$$wrong" ]

ENTRY_OBJ := $(PERF_SRC:bench/%.c=$(BUILD)/obj/entry/%.o)
$(ENTRY_OBJ): $(BUILD)/obj/entry/%.o: bench/perf_entry.c $(FLAGS) | parts-found
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -DCOLLECTIVE=$(*:_perf=) -MMD -MP -c -o $@ $<

# Every C file without linking: for a compiler's warnings, with OPT=-fsyntax-only.
compile: $(sort $(call obj,$(LIB_SRC) $(MAIN_SRC) $(PROGRAMS) $(UNIT_SRC) $(MPI_UNIT_SRC) $(TOOL_SRC) $(RIG_SRC))) $(FAULT_TABLE).o $(ENTRY_OBJ) $(PRELOAD_OBJ)

$(PERF): $(BUILD)/%: $(BUILD)/obj/entry/%.o $(MAIN_OBJ) $(LIB)
	$(say) LINK $@
	$(Q)$(LINK) $(LIBS)

$(PREFLIGHT): $(BUILD)/obj/bench/preflight_main.o $(MAIN_OBJ) $(LIB)
	$(say) LINK $@
	$(Q)$(LINK) $(LIBS)
$(BUILD)/obj/bench/preflight_main.o $(BUILD)/obj/ci/tests/bench/test_preflight.o: bench/preflight_rules.txt

# Packages run with an older C library than that of the static ones inside of them.
$(PERF) $(PREFLIGHT) $(PROGRAM_BIN): $(if $(STATIC),$(call obj,ci/packaging/older_glibc.c))

$(BUILD)/obj/ci/%: INCLUDES += -I. -Ici/tests

$(RIG): $(call obj,$(RIG_SRC))
	$(say) AR $@
	$(Q)rm -f $@ && $(AR) qcs $@ $^

$(BENCH): $(MAIN_OBJ)
	$(say) AR $@
	$(Q)rm -f $@ && $(AR) qcs $@ $^

$(FIRED): $(BUILD)/tests/tool_fired
	@mkdir -p $(@D)
	$(Q)ln -sf ../tool_fired $@

$(TOOL): $(BUILD)/tests/%: $(BUILD)/obj/ci/tests/tools/%.o $(MAIN_OBJ) $(RIG) $(LIB)
	$(say) LINK $@
	@mkdir -p $(@D)
	$(Q)$(LINK) $(LIBS)

$(BUILD)/obj/ci/research/versus/bare_mpi.o: MPI_INCLUDES = $(MPI_CFLAGS:-I%=-isystem %)
$(BARE): $(BUILD)/obj/ci/research/versus/bare_mpi.o
	$(say) LINK $@
	@mkdir -p $(@D)
	$(Q)$(LINK) $(MPI_LIBS)

define unit # source
$(BUILD)/tests/$(notdir $(basename $(1))): $(call obj,$(1)) $(RIG) $(BENCH) $(LIB) \
		| $(DATA)
	$$(say) LINK $$@
	@mkdir -p $$(@D)
	$$(Q)$$(LINK) -lcunit $$(LIBS)
endef
$(foreach u,$(UNIT_SRC) $(MPI_UNIT_SRC),$(eval $(call unit,$(u))))

$(FUZZ): $(BUILD)/fuzz/%: $(BUILD)/obj/ci/fuzz/%.o $(RIG) $(LIB)
	$(say) LINK $@
	@mkdir -p $(@D)
	$(Q)$(LINK) -fsanitize=fuzzer $(LIBS)

# What was deleted from the tree must not live on beside the programs: fitted.json, above all.
.PHONY: stale-data
stale-data:
	@rm -f $(filter-out $(DATA),$(wildcard $(BUILD)/*.json $(BUILD)/*.csv $(BUILD)/specs/*.json))

$(DATA): $(BUILD)/%: common/predict/topo/%
	@mkdir -p $(@D)
	$(Q)cp $< $@

# It calls NCCL by itself: with NCCL's headers alone.
$(BUILD)/recover_perf: $(call obj,bench/recover/recover_rank.c)
define program # source
$(BUILD)/$(call program_name,$(1)): $(call obj,$(1)) $(if $(filter $(1),$(READER_SRC)),$(READER),$(LIB))
	$$(say) LINK $$@
	$$(Q)$$(LINK) $$(READER_LIBS)
endef
$(foreach p,$(PROGRAMS),$(eval $(call program,$(p))))

-include $(wildcard $(PRELOAD_OBJ:.o=.d) $(MPI_OBJ:.o=.d) $(MPI_PARTS:.o=.d) $(patsubst %,$(BUILD)/obj/%/*.d,bench entry $(LIB_DIRS) ci/tests/* ci/fuzz ci/research/versus))
