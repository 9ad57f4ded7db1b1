/* environment.c: the variables of a job's environment that files may hold. */
#include "settings/environment.h"

#include "base/parse.h"

/* Variables of a job's shape and speed, none about the user. */
static const char allowed[] =
	"NCCL_* TORCH_NCCL_* TORCH_DISTRIBUTED_* CUDA_* OMPI_MCA_* UCX_* FI_* HANGAR_* "
	"SLURM_JOB_ID SLURM_STEP_ID SLURM_NTASKS "
	"SLURM_NPROCS SLURM_NNODES SLURM_JOB_NUM_NODES SLURM_JOB_NODELIST SLURM_JOB_PARTITION "
	"SLURM_NTASKS_PER_NODE SLURM_TASKS_PER_NODE SLURM_CPUS_PER_TASK SLURM_CPU_BIND "
	"SLURM_GPUS_PER_NODE SLURM_GPUS_PER_TASK NVIDIA_VISIBLE_DEVICES OMP_NUM_THREADS "
	"LD_LIBRARY_PATH LD_PRELOAD";
/* Matched anywhere in a name. PRECONDITION_TRANSPORTS is Open MPI's key, URIs its addresses. */
static const char *const refused_parts[] = {
	"TOKEN", "KEY", "SECRET", "PASS", "CRED", "AUTH", "PRECONDITION_TRANSPORTS", "_URI",
};

bool environment_recorded(const char *name)
{
	/* letters, digits and underscores only: exported shell functions have other characters */
	for (const char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && *c != '_')
			return false;
	for (size_t i = 0; i < LENGTH(refused_parts); i++)
		if (strcasestr(name, refused_parts[i]))
			return false;
	return names_find(allowed, name) >= 0;
}
