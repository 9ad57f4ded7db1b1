/* test_check_element_data.c: test data: finite, of all bits, different by rank, place and seed. */
#include "rig/unit.h"

#include "check/check.h"
#include "check/check_plan.h"

UNIT_TEST(test_moved_data_are_finite, "moved data are finite")
{
	uint32_t wrong = 0, positive = 0;

	for (int type = DT_HALF; type < DT_COUNT; type++) {
		struct check_data data = { 77, (enum dtype)type, OP_NONE, 4, false };

		for (uint64_t index = 0; index < 5000; index++) {
			uint64_t bits = 0;
			double value;

			check_element(&data, 3, index, &bits);
			value = check_decode(data.dtype, bits);
			wrong += !isfinite(value);
			positive += value > 0;
		}
	}
	UNIT_ALL(wrong == 0, positive > 6 * 2000 && positive < 6 * 3000);
}

/* Zeros compare equal and subnormals may be flushed: neither may decide a maximum. */
UNIT_TEST(test_extremes_are_normal, "extremes are normal")
{
	uint32_t wrong = 0;

	for (int type = DT_HALF; type < DT_COUNT; type++) {
		struct check_data data = { 8, (enum dtype)type, OP_MIN, 8, false };
		double tiny = type == DT_BFLOAT16 || type == DT_FLOAT ? 0x1p-126
			      : type == DT_DOUBLE		      ? 0x1p-1022
			      : type == DT_F8E4M3		      ? 0x1p-6
								      : 0x1p-14;

		for (uint64_t index = 0; index < 5000; index++) {
			uint64_t bits = 0;

			check_element(&data, 5, index, &bits);
			wrong += !(fabs(check_decode(data.dtype, bits)) >= tiny);
		}
	}
	CU_ASSERT_EQUAL(wrong, 0);
}

/* Every bit of moved data takes both values, except the cleared top exponent bit. */
UNIT_TEST(test_moved_data_use_all_bits, "moved data use all bits")
{
	for (int type = 0; type < DT_COUNT; type++) {
		struct check_data data = { 3, (enum dtype)type, OP_NONE, 4, false };
		uint64_t mask = ~(uint64_t)0 >> (64 - 8 * dtype_size(data.dtype));
		uint64_t ones = 0, zeros = 0, bits = 0;

		for (uint64_t index = 0; index < 2000; index++) {
			check_element(&data, 0, index, &bits);
			ones |= bits;
			zeros |= ~bits & mask;
		}
		UNIT_ALL(zeros == mask,
			 ones == (check_is_float(data.dtype) ? mask ^ (mask ^ mask >> 1) >> 1
							     : mask));
	}
}

/* Every rank contributes to any 256 neighbouring elements. */
UNIT_TEST(test_every_rank_contributes, "every rank contributes")
{
	uint32_t absent = 0;

	for (int type = 0; type < DT_COUNT; type++) {
		for (int op = 0; op < OP_COUNT; op++) {
			for (int n = 1; n <= 8; n++) {
				struct check_data data = { 1, (enum dtype)type, (enum redop)op, n,
							   false };
				struct check_plan plan;

				check_plan(&data, &plan);
				for (int rank = 0; rank < n; rank++) {
					uint64_t first = 4096 * (uint64_t)rank, index = first;

					while (index < first + 256 &&
					       check_element_at(&plan, (uint32_t)rank, index,
								check_turn(&plan, index)) ==
						       plan.neutral)
						index++;
					absent += index == first + 256;
				}
			}
		}
	}
	CU_ASSERT_EQUAL(absent, 0);
}

static int longest_run(const struct check_data *data)
{
	uint64_t last = 0, bits = 0;
	int run = 0, longest = 0;

	for (uint64_t index = 0; index < 4096; index++) {
		check_reduced(data, index, &bits);
		run = index > 0 && bits == last ? run + 1 : 1;
		longest = run > longest ? run : longest;
		last = bits;
	}
	return longest;
}

UNIT_TEST(test_no_equal_stretches, "no stretches of equal elements")
{
	for (int type = 0; type < DT_COUNT; type++) {
		for (int op = 0; op < OP_COUNT; op++) {
			int longest = 0;

			for (int n = 1; n <= 8; n++) {
				struct check_data data = { 2, (enum dtype)type, (enum redop)op, n,
							   false };
				int run = longest_run(&data);

				longest = run > longest ? run : longest;
			}
			/* The sum of four +-1 is 0 in 3 of 8 cases, others vary more. */
			CU_ASSERT(longest <= (dtype_size((enum dtype)type) == 1 ? 16 : 8));
		}
	}
}

UNIT_TEST(test_seed_rank_index_matter, "seed, rank and index matter")
{
	const struct check_data data = { 1, DT_UINT32, OP_NONE, 4, false },
				other = { 2, DT_UINT32, OP_NONE, 4, false };
	uint32_t a, b, same_rank = 0, same_seed = 0, same_upper = 0;

	for (uint64_t index = 0; index < 1000; index++) {
		check_element(&data, 0, index, &a);
		check_element(&data, 1, index, &b);
		same_rank += a == b;
		check_element(&other, 0, index, &b);
		same_seed += a == b;
		check_element(&data, 0, index + ((uint64_t)1 << 32), &b);
		same_upper += a == b;
	}
	UNIT_ALL(same_rank == 0, same_seed == 0, same_upper == 0);
}
