/* host_topo.c: hwloc's view of the host, counted. */
#include "topo/host_topo.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

double host_topo_share(const struct host_topo *t)
{
	double cores = t->rank_cores > 0 ? t->rank_cores : 1;

	return t->ranks > cores ? t->ranks / cores : 1;
}

static void unite(const cpu_set_t *sets, int nsets, cpu_set_t *all)
{
	CPU_ZERO(all);
	for (int i = 0; i < nsets; i++)
		CPU_OR(all, all, &sets[i]);
}

#ifdef HAVE_HWLOC
#include <hwloc.h>
#include <hwloc/glibc-sched.h>

static int count(hwloc_topology_t h, hwloc_obj_type_t type)
{
	int n = hwloc_get_nbobjs_by_type(h, type);

	return n > 0 ? n : 0;
}

static size_t cache(hwloc_topology_t h, hwloc_obj_type_t type)
{
	hwloc_obj_t obj = hwloc_get_obj_by_type(h, type, 0);

	return obj ? (size_t)obj->attr->cache.size : 0;
}

/* Objects of a type that share a CPU with `set`. */
static int touched(hwloc_topology_t h, hwloc_obj_type_t type, hwloc_const_cpuset_t set)
{
	int n = 0;

	for (int i = 0; i < count(h, type); i++) {
		hwloc_obj_t obj = hwloc_get_obj_by_type(h, type, (unsigned)i);

		n += hwloc_bitmap_intersects(obj->cpuset, set);
	}
	return n;
}

static void read_all(struct host_topo *t, hwloc_topology_t h, hwloc_const_cpuset_t set)
{
	t->packages = count(h, HWLOC_OBJ_PACKAGE);
	t->numa = count(h, HWLOC_OBJ_NUMANODE);
	t->cores = count(h, HWLOC_OBJ_CORE);
	t->pus = count(h, HWLOC_OBJ_PU);
	t->l1 = cache(h, HWLOC_OBJ_L1CACHE);
	t->l2 = cache(h, HWLOC_OBJ_L2CACHE);
	t->l3 = cache(h, HWLOC_OBJ_L3CACHE);
	t->l3_count = count(h, HWLOC_OBJ_L3CACHE);
	t->rank_packages = touched(h, HWLOC_OBJ_PACKAGE, set);
	t->rank_numa = touched(h, HWLOC_OBJ_NUMANODE, set);
	t->rank_cores = touched(h, HWLOC_OBJ_CORE, set);
	t->rank_pus = touched(h, HWLOC_OBJ_PU, set);
	if (t->cores == 0) { /* some virtual machines hide them */
		t->cores = t->pus;
		t->rank_cores = t->rank_pus;
	}
	t->full = true;
}

static int read_host(struct host_topo *t, const char *synthetic, const cpu_set_t *all,
		     struct error *err)
{
	hwloc_topology_t h;
	hwloc_bitmap_t set = hwloc_bitmap_alloc();
	int rc = 0;

	if (!set || hwloc_topology_init(&h) < 0) {
		hwloc_bitmap_free(set);
		return error_set(err, OUTCOME_INTERNAL, -ENOMEM, "hwloc: no memory");
	}
	hwloc_topology_set_io_types_filter(h, HWLOC_TYPE_FILTER_KEEP_NONE);
	if (synthetic && hwloc_topology_set_synthetic(h, synthetic) < 0)
		rc = error_set(err, OUTCOME_USAGE, -EINVAL,
			       "'%.100s': no description of a host that hwloc knows", synthetic);
	if (rc == 0 && hwloc_topology_load(h) < 0)
		rc = error_set(err, OUTCOME_UNSUPPORTED, -EIO, "hwloc cannot read this host");
	if (rc == 0 && !synthetic && !hwloc_topology_is_thissystem(h))
		rc = error_set(
			err, OUTCOME_UNSUPPORTED, -ENOTSUP,
			"hwloc is told to describe another host (HWLOC_XMLFILE, HWLOC_SYNTHETIC)");
	if (rc == 0) {
		hwloc_cpuset_from_glibc_sched_affinity(h, set, all, sizeof(*all));
		read_all(t, h, set);
	}
	hwloc_topology_destroy(h);
	hwloc_bitmap_free(set);
	return rc;
}
#else
static size_t cache(int name)
{
	long bytes = sysconf(name);

	return bytes > 0 ? (size_t)bytes : 0;
}

static int read_host(struct host_topo *t, const char *synthetic, const cpu_set_t *all,
		     struct error *err)
{
	if (synthetic)
		return error_set(err, OUTCOME_UNSUPPORTED, -ENOTSUP, "this build has no hwloc");
	t->pus = t->cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
	t->rank_pus = t->rank_cores = CPU_COUNT(all);
	t->l1 = cache(_SC_LEVEL1_DCACHE_SIZE);
	t->l2 = cache(_SC_LEVEL2_CACHE_SIZE);
	t->l3 = cache(_SC_LEVEL3_CACHE_SIZE);
	return 0;
}
#endif

int host_topo_read(struct host_topo *t, const char *synthetic, const cpu_set_t *sets, int nsets,
		   struct error *err)
{
	cpu_set_t all;
	int rc;

	memset(t, 0, sizeof(*t));
	unite(sets, nsets, &all);
	rc = read_host(t, synthetic, &all, err);
	if (rc < 0)
		return rc;
	t->ranks = nsets;
	if (t->rank_cores <= 0)
		return error_set(err, OUTCOME_UNSUPPORTED, -EINVAL,
				 "none of the ranks' CPUs is among the host's %d", t->pus);
	return 0;
}

static void amount(size_t bytes, char *text, size_t len)
{
	if (bytes >= (size_t)1 << 20)
		snprintf(text, len, "%.3g MiB", (double)bytes / (1 << 20));
	else
		snprintf(text, len, "%.3g KiB", (double)bytes / (1 << 10));
}

char *host_topo_text(const struct host_topo *t, char *text, size_t len)
{
	char caches[64] = "no L3", size[32];

	amount(t->l3, size, sizeof(size));
	if (t->l3 && t->l3_count)
		snprintf(caches, sizeof(caches), "L3 %d x %s", t->l3_count, size);
	else if (t->l3)
		snprintf(caches, sizeof(caches), "L3 %s", size);
	if (t->full)
		snprintf(text, len,
			 "%d package%s, %d NUMA node%s, %d core%s, %s; %d rank%s on %d of them",
			 t->packages, t->packages == 1 ? "" : "s", t->numa, t->numa == 1 ? "" : "s",
			 t->cores, t->cores == 1 ? "" : "s", caches, t->ranks,
			 t->ranks == 1 ? "" : "s", t->rank_cores);
	else
		snprintf(text, len, "%d CPUs, %s; %d ranks on %d of them", t->pus, caches, t->ranks,
			 t->rank_cores);
	return text;
}
