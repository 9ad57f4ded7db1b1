/* meaning.c: cause, fix and prevention of each class, as text. */
#include "diagnose/meaning.h"

static const struct meaning {
	const char *cause, *fix, *prevention;
} meanings[CLASS_COUNT] = {
	[CLASS_MISSING] = { "A culprit is alive and idle and never made the call that the "
			    "others are in.",
			    "Find why its control flow does not reach the call: a sleep, a "
			    "condition that only this "
			    "rank takes.",
			    "Put no collective behind a condition that ranks can evaluate "
			    "differently: all-reduce "
			    "the flag first. PyTorch: torch.distributed.monitored_barrier on a "
			    "gloo group names "
			    "the rank that does not come; TORCH_NCCL_DUMP_ON_TIMEOUT=1 with "
			    "TORCH_NCCL_TRACE_BUFFER_SIZE=2000 keeps the last calls of every "
			    "rank." },
	[CLASS_BLOCKED] = { "A culprit is blocked in host code, in a lock or a read, before "
			    "its call.",
			    "Look at its stack: what holds the lock, or which file, socket or "
			    "queue does not answer.",
			    "Give every lock and read a time limit: pthread_mutex_timedlock, "
			    "SO_RCVTIMEO, "
			    "DataLoader(timeout=SECONDS); keep data loading off the thread that "
			    "issues "
			    "collectives. faulthandler.dump_traceback_later(SECONDS) prints where "
			    "a Python rank "
			    "stands." },
	[CLASS_BUSY] = { "A culprit computes in a loop of its own and does not come to its "
			 "call.",
			 "Look at its stack twice: the frame that stays the same holds the loop.",
			 "Bound loops whose end depends on local data and assert the bound; log "
			 "the step time "
			 "of each rank. faulthandler.dump_traceback_later(SECONDS) prints where a "
			 "Python rank "
			 "computes." },
	[CLASS_KILLED] = { "A culprit's process was killed by SIGKILL; the others wait for it.",
			   "Ask the kernel log and the job scheduler who sent it: out of memory, a "
			   "limit, an "
			   "operator.",
			   "Compare memory.current with memory.max of the rank's cgroup; "
			   "memory.events counts "
			   "oom_kill. Have the launcher end the job when a rank dies: torchrun and "
			   "mpirun do, "
			   "srun with --kill-on-bad-exit=1. NCCL RAS (since 2.24, client ncclras) "
			   "tells which "
			   "processes are gone." },
	[CLASS_CRASHED] = { "A culprit's process died of a signal that it caused itself.",
			    "Get a core dump (ulimit -c) and its stack.",
			    "Test the step under compute-sanitizer or -fsanitize=address; set "
			    "PYTHONFAULTHANDLER=1 and ulimit -c unlimited, so that a crash leaves "
			    "its stack. "
			    "TORCH_NCCL_ASYNC_ERROR_HANDLING=1 or 3 (the default) ends PyTorch "
			    "ranks that wait "
			    "for it." },
	[CLASS_EXITED] = { "A culprit's process ended by itself without telling the others.",
			   "Search its log for the last message; look for exit() on an error path.",
			   "On an error agree with the other ranks, or call ncclCommAbort or "
			   "MPI_Abort, before "
			   "exiting. srun --kill-on-bad-exit=1 ends the others; @record of "
			   "torch.distributed.elastic keeps the error of a torchrun rank." },
	[CLASS_STOPPED] = { "A culprit's process is stopped (SIGSTOP, a debugger or a job "
			    "freezer).",
			    "Send it SIGCONT, or detach the debugger.",
			    "Suspend jobs as a whole (scontrol suspend, cgroup.freeze of the job's "
			    "cgroup). "
			    "Before attaching a debugger raise the deadline: -T here, timeout= of "
			    "init_process_group in PyTorch." },
	[CLASS_SKIPPED] = { "A culprit left out a call: from there on its calls meet the "
			    "others' next ones.",
			    "Find the condition around the call at the divergence point that this "
			    "rank evaluated "
			    "otherwise.",
			    "Compare call counts at step ends: one all-reduce (MAX) of the count "
			    "and its negative "
			    "shows any difference. TORCH_DISTRIBUTED_DEBUG=DETAIL checks every "
			    "collective against "
			    "the other ranks' before it is made. DistributedSampler gives all "
			    "ranks the same "
			    "number of batches." },
	[CLASS_EXTRA] = { "A culprit made a call that the others did not make.",
			  "Find the branch or retry that only this rank takes at the divergence "
			  "point.",
			  "Never repeat a collective on one rank alone: all-reduce the retry flag "
			  "(MAX) and let "
			  "all retry. TORCH_DISTRIBUTED_DEBUG=DETAIL checks every collective "
			  "against the other "
			  "ranks' before it is made." },
	[CLASS_EARLY] = { "A culprit left the loop of calls before the others did.",
			  "Compare the iteration counts of ranks: uneven data, an early break, "
			  "another "
			  "configuration.",
			  "Agree on the number of iterations by an all-reduce (MIN) before the "
			  "loop; for uneven "
			  "inputs use the join context torch.distributed.algorithms.Join, or "
			  "DistributedSampler "
			  "with drop_last=True." },
	[CLASS_SKIPPED_OR_EARLY] = { "A call was left out alone, or the loop of calls left before "
				     "it: no later call shows which.",
				     "Find the condition around the call at the divergence point; "
				     "then compare the iteration counts of ranks.",
				     "One all-reduce (MAX) of the call count and its negative at "
				     "step ends shows either; TORCH_DISTRIBUTED_DEBUG=DETAIL "
				     "checks every collective against the other ranks' before it "
				     "is made." },
	[CLASS_SWAPPED] = { "A culprit made two calls of a communicator in the other order than "
			    "the others.",
			    "Find what decides the order of the two on this rank: a queue, a hash "
			    "map, "
			    "a thread, the arrival of data.",
			    "Make calls in an order that does not depend on the rank: sort what is "
			    "to "
			    "be exchanged, call from one thread. NCCL matches calls by their order "
			    "alone, and takes two of one size for each other without a word." },
	[CLASS_MISMATCH] = { "Ranks made the same call with different arguments.",
			     "Compare the field named at the divergence point with where each rank "
			     "takes it from.",
			     "TORCH_DISTRIBUTED_DEBUG=DETAIL compares function and shapes across "
			     "ranks before each "
			     "collective. NCCL_DEBUG=INFO with NCCL_DEBUG_SUBSYS=COLL logs count, "
			     "type and "
			     "operator of every call, to compare rank by rank. Assert that an "
			     "all-reduced minimum "
			     "and maximum of the size agree." },
	[CLASS_OOM] = { "The kernel killed a culprit because its memory cgroup was at its "
			"limit; the "
			"others wait for it.",
			"Compare the cgroup's limit with what the rank uses (memory.max, "
			"memory.peak); raise it "
			"or use less.",
			"Watch memory.events and memory.current of each rank; leave room for data "
			"loading and "
			"checkpoints." },
	[CLASS_GPU_OOM] = { "A culprit's GPU had no memory left for an allocation, and the "
			    "rank gave up; the "
			    "others wait for it.",
			    "See what else holds memory on that GPU (nvidia-smi); use smaller "
			    "batches or buffers.",
			    "Allocate everything before the first step; on an error agree with the "
			    "other ranks "
			    "before ending." },
	[CLASS_INIT_MISSING] = { "A culprit is alive and never called communicator init; "
				 "whoever did waits inside for it.",
				 "Find why its control flow does not reach init: an exception, a "
				 "wait, a condition that "
				 "only this rank takes.",
				 "Meet at a barrier with a time limit of its own before init; log "
				 "the call of init on "
				 "every rank." },
	[CLASS_INIT_MISMATCH] = { "Ranks called communicator init with different arguments, so "
				  "they wait for each other "
				  "for ever, or fail.",
				  "Compare the field named with where each rank takes it from: "
				  "world size, or the unique "
				  "id's file, store or broadcast.",
				  "Spread number of ranks and unique id together from one rank, "
				  "and compare them after "
				  "the exchange." },
	[CLASS_INIT_UNREACHABLE] = { "All ranks called communicator init alike, but a culprit "
				     "is in another network "
				     "than the others.",
				     "Compare its interfaces with the others' (ip addr); set "
				     "NCCL_SOCKET_IFNAME to one that "
				     "all can reach.",
				     "Start all ranks in the same kind of container network; read "
				     "the Bootstrap line of "
				     "NCCL_DEBUG=INFO." },
	[CLASS_ABORTED] = { "A culprit aborted its communicator; nobody told the others, who "
			    "wait in theirs.",
			    "Search its log for what made it abort; abort or revoke on all ranks.",
			    "Spread the decision to abort over a second channel before acting on "
			    "it." },
	[CLASS_SETTINGS] = { "All ranks made the same calls, and a culprit has another setting, or "
			     "another library, than most: both ends of a connection then expect "
			     "other messages.",
			     "Set the variable named on all ranks alike, or on none: mpirun -x "
			     "NAME "
			     "in front of every \":\" section, srun --export, one "
			     "/etc/nccl.conf for all hosts; install one libnccl.",
			     "Let one script start all ranks; print NCCL_* of every rank before "
			     "the "
			     "first call. NCCL_DEBUG=VERSION prints the library's version." },
	[CLASS_UNMATCHED] = { "A send has no receive, or a receive no send: a culprit left out "
			      "one, or made one too many.",
			      "Compare the lists of partners of both ranks at the divergence "
			      "point.",
			      "Build send and receive lists of all ranks from one table; count "
			      "what each pair "
			      "of ranks exchanges in tests (the sums must agree)." },
	[CLASS_PAIR_SIZE] = { "A send and the receive that meets it differ in amount or type.",
			      "Compare how both ranks come to the field named.",
			      "Exchange amounts before data, or compute both from one table. NCCL "
			      "compares "
			      "nothing: what is too long hangs, what is too short passes "
			      "unnoticed." },
	[CLASS_PAIR_PEER] = { "A culprit made a send or receive with another partner than the one "
			      "that waits "
			      "for it.",
			      "Check how it computes its partner: wrap-around, number of ranks, a "
			      "rank "
			      "numbered in another communicator.",
			      "Let both sides take partners from one function; assert "
			      "partner(partner(rank)) == "
			      "rank." },
	[CLASS_PAIR_DEADLOCK] = { "Ranks send to each other first, or receive from each other "
				  "first, outside "
				  "of a group: each waits for what the other does next.",
				  "Put the sends and receives of the exchange between "
				  "ncclGroupStart and "
				  "ncclGroupEnd, or use MPI_Sendrecv.",
				  "Never make a blocking send before the receive on both sides. It "
				  "works as "
				  "long as messages fit into a buffer, and hangs with the first "
				  "that do not." },
	[CLASS_REPLAY] = { "A culprit launched a captured graph less often than the others, or "
			   "another one in its "
			   "place.",
			   "Count launches by graph on each rank; find the condition before the "
			   "one that is "
			   "lacking.",
			   "Let all ranks choose the graph by what all of them know (a shape after "
			   "an "
			   "all-reduce of it); agree on the number of iterations before the "
			   "loop." },
	[CLASS_CYCLE] = { "Ranks make calls of several communicators in different orders, and wait "
			  "for "
			  "each other in a circle.",
			  "Find where the culprit comes to the one communicator before the other: "
			  "a "
			  "branch, a hook, a thread that makes calls beside the main one.",
			  "Make the calls of all communicators in one order on all ranks, from one "
			  "thread; where they are to overlap, launch them in one group "
			  "(ncclGroupStart/End), or let their streams wait for each other." },
	[CLASS_GPU_STUCK] = { "A culprit's GPU does not come to the call that was enqueued: a "
			      "kernel or a wait stands ahead of it on its stream.",
			      "Find what that stream was given before the call: a kernel that "
			      "does not end, a wait for an event or a memory word that nobody "
			      "writes. cuda-gdb (info cuda kernels) and py-spy --native name it; "
			      "compute-sanitizer --tool synccheck finds barriers that not all "
			      "threads reach.",
			      "Bound every spin in a kernel and every stream wait; give "
			      "communication a stream of its own, with an event between it and "
			      "computation. Two kernels that wait for each other need room on "
			      "the GPU for both." },
	[CLASS_INSIDE] = { "The library does not return from a call that all ranks made: a first "
			   "launch of a kernel waits for the device, behind whatever occupies it, "
			   "or a connection is not accepted.",
			   "Look at the culprit's native stack: ncclLaunchKernel and "
			   "cudaLaunchKernel wait for the device (what was its stream given "
			   "before?), socket and bootstrap functions for a peer.",
			   "Make a first call on each communicator while devices are idle; "
			   "CUDA_MODULE_LOADING=EAGER loads kernels before." },
	[CLASS_GPU_FAULT] = { "A kernel on a culprit's GPU broke its CUDA context (a bad address, "
			      "as a rule): every call of that process fails from there on, and "
			      "the others wait for it.",
			      "Run the rank under compute-sanitizer, or with "
			      "CUDA_LAUNCH_BLOCKING=1: the first call that fails is the kernel. "
			      "dmesg has an Xid line: 13 and 31 are the program's, 48, 63, 64, "
			      "74, 79, 94 and 95 the hardware's.",
			      "Check CUDA's return codes after each launch in tests; on an error "
			      "end the process at once, so that the launcher ends the others." },
	[CLASS_CORRUPT] = { "All ranks made the same calls, and data are not what they must be.",
			    "Where the send buffer itself is wrong look at who writes it: a "
			    "kernel on another stream without an event between, a buffer used "
			    "again before its call completed, NaN out of the computation, "
			    "memory. Where it is right repeat the call: what stays with a rank "
			    "or a pair of ranks is hardware (dcgmi diag -r 3, nvidia-smi -q -d "
			    "ECC, NVLink and NIC error counters), what moves is a race.",
			    "Wait for a call's event before its buffers are written again "
			    "(PyTorch: Tensor.record_stream). TORCH_NCCL_NAN_CHECK=1 stops at "
			    "the first rank that sends a NaN. Check sums of what is sent and "
			    "received every few hundred steps; run this data check (-c 1) on "
			    "new nodes." },
	[CLASS_UNEXPLAINED] = { "The evidence fits none of the known causes.",
				"Take native stacks of all ranks and NCCL's own log, and compare "
				"them.",
				"Run with --record=full, and with NCCL_DEBUG=INFO and "
				"NCCL_DEBUG_FILE=DIR/nccl-%h-%p.log; ask ncclras while it hangs "
				"(NCCL RAS, since "
				"2.24, is on unless NCCL_RAS_ENABLE=0)." },
};

/* Where the fault lies, of classes whose evidence shows it. */
static const char *const sides[CLASS_COUNT] = {
	[CLASS_MISSING] = "host",      [CLASS_BLOCKED] = "host",  [CLASS_BUSY] = "host",
	[CLASS_KILLED] = "host",       [CLASS_CRASHED] = "host",  [CLASS_EXITED] = "host",
	[CLASS_STOPPED] = "host",      [CLASS_OOM] = "host",	  [CLASS_GPU_OOM] = "gpu",
	[CLASS_INIT_MISSING] = "host", [CLASS_GPU_STUCK] = "gpu", [CLASS_GPU_FAULT] = "gpu",
};

/* A mismatch of which call it is, rather than of what it was given. */
static const struct meaning other_call = {
	"Ranks made different calls in the same place.",
	"Find the branch before the divergence point that chooses the call, and what each rank "
	"decided "
	"it by.",
	"Put no choice between collectives behind a condition that ranks can evaluate differently: "
	"all-reduce the flag first. TORCH_DISTRIBUTED_DEBUG=DETAIL compares the function across "
	"ranks "
	"before each collective; NCCL_DEBUG=INFO with NCCL_DEBUG_SUBSYS=COLL logs every call, to "
	"compare rank by rank.",
};

/* Of some ranks evidence is missing, and there is nothing wrong in what is there. */
static const struct meaning not_known = {
	"Evidence of some ranks is missing or torn, and what there is shows no harm.",
	"Bring the folders of all hosts together and diagnose them as one: hang_diagnose DIR "
	"DIR...",
	"Let runs write to a file system that all hosts share: then their evidence is in one "
	"folder.",
};

static const struct meaning *meaning_of(const struct diagnosis *d)
{
	bool call = strcmp(d->field, "kind") == 0 || strcmp(d->field, "call") == 0;

	if (call && d->class == CLASS_MISMATCH)
		return &other_call;
	if (d->outcome == OUTCOME_INTERNAL && d->class == CLASS_UNEXPLAINED)
		return &not_known;
	return meanings[d->class].cause ? &meanings[d->class] : NULL;
}

void class_explain(struct diagnosis *d)
{
	const struct meaning *m = meaning_of(d);

	d->side = sides[d->class];
	d->cause = m			      ? m->cause
		   : d->outcome == OUTCOME_OK ? "Nothing is wrong."
					      : "The ranks reported it themselves.";
	d->fix = m			    ? m->fix
		 : d->outcome == OUTCOME_OK ? "None is needed."
					    : "See what the ranks reported.";
	d->prevention = m ? m->prevention
			: d->outcome == OUTCOME_OK
				? "-"
				: "Keep the data check (-c 1) and NCCL_DEBUG=WARN on: then "
				  "the first report has its cause beside it.";
}
