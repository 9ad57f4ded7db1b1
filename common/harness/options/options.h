/* options.h: the options of a *_perf binary: parsed once, checked together, constant afterwards. */
#pragma once

#include "settings/backend_kind.h"
#include "base/error.h"

enum mode { MODE_STREAM, MODE_ISOLATED, MODE_GRAPH };
const char *mode_name(enum mode mode); /* "stream" "isolated" "graph" */

enum record_level { RECORD_OFF, RECORD_CALLS, RECORD_FULL };
enum table_kind { TABLE_HANGAR, TABLE_NCCL_TESTS };
enum average { AVERAGE_RANK0, AVERAGE_MEAN, AVERAGE_MIN, AVERAGE_MAX }; /* -a 0..3 */
enum split_kind { SPLIT_NONE, SPLIT_AND, SPLIT_OR, SPLIT_MOD, SPLIT_DIV };

enum { OPTIONS_SIZES = 64 };

#define STEP_MESSAGE ((size_t)1 << 20) /* bytes of a message of step_perf without -b */

/* The groups have no names: a field is options->FIELD. */
struct options {
	/* sweep, bytes */
	struct {
		size_t min_bytes, max_bytes, step_bytes; /* -b -e -i */
		int step_factor;			 /* -f; 0 when -i was given */
		size_t sizes[OPTIONS_SIZES];		 /* --sizes, in place of these */
		int nsizes;				 /* 0: not given */
		size_t align; /* --align: per-rank counts, bytes; 16 as in nccl-tests */
	};
	/* shape of the job */
	struct {
		int threads, gpus;	    /* -t -g: ranks to start = threads x gpus; 0: not set */
		bool share_gpu;		    /* --share-gpu */
		int device_first;	    /* NCCL_TESTS_DEVICE, -1 unset */
		enum split_kind split_kind; /* NCCL_TESTS_SPLIT, NCCL_TESTS_SPLIT_MASK (as AND) */
		unsigned long split_value;
	};
	/* the calls */
	struct {
		const char *backend;	     /* --backend auto|nccl|mpi|null */
		enum mode mode;		     /* --mode; MODE_GRAPH also from -G */
		int dtype_first, dtype_last; /* -d; DT_INT8..DT_F8E5M2 for "all" */
		int op_first, op_last;	     /* -o; OP_SUM..OP_MULSUM for "all" */
		int root;		     /* -r; -1: all */
	};
	/* repetitions */
	struct {
		int iters;		  /* -n; 0: adaptive */
		int warmup;		  /* -w; -1: until steady */
		bool like_nccl_tests;	  /* --like-nccl-tests */
		int agg_iters;		  /* -m */
		int cycles;		  /* -N; 0: for ever */
		int graph_launches;	  /* -G; 0: not set */
		double budget;		  /* --budget: seconds per point when adaptive */
		double ci_percent;	  /* --ci: target */
		int check;		  /* -c: extra check iterations, 0: no check */
		bool check_every;	  /* --check-every: check every call; times are off */
		uint32_t seed;		  /* --seed */
		int unalign;		  /* -u elements */
		int blocking;		  /* -z 0..3 */
		int timeout;		  /* -T seconds, 0: automatic deadlines */
		double slow_percent;	  /* of a step: a rank that is so much slower is named */
		bool fail_slow;		  /* --fail-slow: such a rank makes exit 15 */
		double silent, partition; /* seconds without a sign of life: warning, verdict */
		int parallel_init;	  /* -p; accepted: each rank is a process, and all start in
				    * parallel */
	};
	/* communicator and memory */
	struct {
		enum alloc_kind alloc; /* --alloc nccl|cuda */
		int local_register;    /* -R 0..2 */
		int cta_policy;	       /* -x, -1 unset */
		bool nvlink_centric;   /* --nvlink-centric 0|1 */
		bool stream_null;      /* -y */
		const char *nccl_lib;  /* --nccl-lib FILE; NULL: as nccl_library.h finds it */
		int device_impl;       /* -D: exit 77 if > 0 */
		int device_ctas;       /* -V: exit 77 if set, unless it is 16; see options_check */
	};
	/* report */
	struct {
		enum average average;  /* -a */
		bool cputime;	       /* -C */
		bool timestamps;       /* -S */
		bool memory_report;    /* -M */
		bool per_iter;	       /* -I */
		int per_iter_skip;     /* -K */
		double min_bw;	       /* NCCL_TESTS_MIN_BW GB/s, 0: none */
		double min_busbw;      /* --min-busbw GB/s, 0: none */
		const char *calibrate; /* --calibrate; NULL: by the model alone */
		double min_percent;    /* --min-percent of the prediction, 0: none */
		double good, low;      /* --good --low: percent of the prediction */
		bool reconcile;	       /* --reconcile */
		const char *topo;      /* --topo: "live", "none", a spec's name or a file */
		enum table_kind table; /* --table */
		const char *nccl_json; /* -J FILE.json; NULL: none. The strings are argv's or the
	                       * environment's. */
		const char *spec;      /* --spec */
		const char *csv, *json, *out; /* --csv --json --out */
		const char *metrics;	      /* --metrics */
	};
	/* faults: --fault, as given (faults/inject/fault.h); "none": the healthy twin */
	struct {
		const char *faults[8];
		int nfaults;
		const char *list_faults;     /* --list-faults: "list", "all", a fault; NULL: none */
		bool size_given, ends_given; /* -b or -e is set; both are set */
		const char *schedule;	     /* --schedule; NULL: the fault's own, or plain */
	};
	/* step_perf */
	struct {
		int recipe_first, recipe_last; /* --recipe; all of them for "all" */
		double compute_ms;	       /* --compute-ms of a step */
		size_t params;		       /* --params */
	};
	/* watching */
	struct {
		enum record_level record; /* --record off|calls|full */
		bool watch;		  /* --no-watch clears it */
		const char *expect;	  /* --expect */
	};
	/* alltoallv */
	struct {
		double spread;		 /* NCCL_TESTS_ALLTOALLV_SPREAD 0..1 */
		const char *matrix_file; /* NCCL_TESTS_ALLTOALLV_MATRIX_FILE */
		double matrix_scale;	 /* NCCL_TESTS_ALLTOALLV_MATRIX_SCALE */
		bool matrix_summary;	 /* NCCL_TESTS_ALLTOALLV_PRINT_SUMMARY */
	};
	/* options that print to standard output and end the program; see options_parse */
	struct {
		bool help, version;
	};
};

/* The collective of a command line. */
struct option_target {
	const char *name;		 /* "all_reduce" */
	bool reduces, rooted, irregular; /* true: options of this subject are valid */
};

/* Sets defaults, then environment, then command line, then checks the whole; argv is not changed.
 * Returns 0, or -EINVAL with one line in `err` that names the option or variable, its value and the
 * valid values. err->outcome is OUTCOME_USAGE, or OUTCOME_UNSUPPORTED for a feature of no build
 * (-D). Prints nothing and never exits. `target` decides which options are valid; NULL: all. */
int options_parse(struct options *options, const struct option_target *target, int argc,
		  char **argv, struct error *err);

/* Returns the long name of a set option that needs a GPU, or NULL. options_parse refuses it with
 * --backend mpi; the caller must do so if "auto" finds no GPU. */
const char *options_need_gpu(const struct options *options);

/* Returns the color of a rank's group under NCCL_TESTS_SPLIT, 0 without; a color is a group. */
int options_color(const struct options *options, int rank);

void options_print_help(FILE *out, const struct option_target *target, const char *program);
