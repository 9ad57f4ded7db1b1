/* test_environment.c: variables that are recorded, and those that may be secrets. */
#include "rig/unit.h"

#include "settings/environment.h"

UNIT_TEST(test_environment_list, "environment's allow-list")
{
	static const char *const allowed[] = {
		"NCCL_DEBUG", "CUDA_VISIBLE_DEVICES", "OMPI_MCA_btl",
		"UCX_TLS",    "SLURM_JOB_ID",	      "SLURM_NTASKS"
	};
	static const char *const refused[] = {
		"",
		"PATH",
		"HOME",
		"USER",
		"AWS_SECRET_ACCESS_KEY",
		"GITHUB_TOKEN",
		"NCCL_TOKEN",
		"nccl_debug",
		"XNCCL_DEBUG",
		"NCCL",
		"SLURM_JWT",
		"OMPI_MCA_orte_precondition_transports",
		"UCX_password",
		"CUDA_Api_Key",
		"NCCL_MY_SECRET",
		"OMPI_MCA_creds",
		"NCCL_A=B",
		"NCCL_\xff",
		"NCCL_ X",
		"OMPI_MCA_orte_hnp_uri",
	};

	for (size_t i = 0; i < LENGTH(allowed); i++)
		CU_ASSERT_TRUE(environment_recorded(allowed[i]));
	for (size_t i = 0; i < LENGTH(refused); i++)
		CU_ASSERT_FALSE(environment_recorded(refused[i]));
}
