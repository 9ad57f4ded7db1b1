/* host_calibrate.h: what a host's memory does when all its ranks use it at once, measured in well
 * under a second. */
#ifndef HANGAR_HOST_CALIBRATE_H
#define HANGAR_HOST_CALIBRATE_H

#include "base/dtype.h"
#include "backend/job.h"
#include "topo/host_topo.h"

/* Message sizes that copies are measured at: 4 KiB, and each eight times the one before, up to 16
 * MiB. */
enum { HOST_SIZES = 5, HOST_FIRST = 4096, HOST_RATIO = 8 };

/* Times of the slowest host; all are doubles and larger is slower. INFINITY: it cannot be done
 * here. */
struct host_figures {
	double step_us; /* a message of a byte to a partner and one back, all ranks at once */
	double hop_us;	/* a flag to a rank that waits for it, one rank at a time */
	/* ns per byte, messages of HOST_FIRST x HOST_RATIO^i bytes, each from memory that the ones
	 * before left alone */
	double copy_alone[HOST_SIZES],
		copy_all[HOST_SIZES]; /* memcpy by one rank, by each of all ranks */
	double read_alone[HOST_SIZES],
		read_all[HOST_SIZES]; /* of another rank's memory, through the kernel */
	/* how far the others may be trusted */
	double waited; /* part of the quietest round that a rank was ready to run and had no CPU */
	double crowd;  /* ranks for each CPU that they may run on */
	double fresh;  /* memory that is taken, written once and given back, by all ranks */
	double reduce[DT_COUNT]
		     [OP_COUNT]; /* ns per byte of operand in the cache, all ranks at once */
};

/* Measure, in rounds, and keep the best of each figure: the more rounds the less a rank was let
 * run. Collective over the job; every rank gets the same figures, and `topo` of its own host.
 * Its own watched waits. 0, or a negative errno with the error set, on every rank alike: a host
 * whose ranks cannot share memory (-EACCES), no memory (-ENOMEM), a rank that did not come
 * (-ETIMEDOUT). */
int host_calibrate(struct job *job, bool yields, struct host_topo *topo,
		   struct host_figures *figures, struct error *err);

/* ns per byte at `bytes`, between measured sizes linear in their logarithm, beyond them the
 * nearest. */
double host_figure_at(const double figure[HOST_SIZES], double bytes);

#endif
