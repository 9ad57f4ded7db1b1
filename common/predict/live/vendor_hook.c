/* vendor_hook.c: the rows of a run for vendor_run, and its lines as remarks. */
#include "live/vendor_hook.h"

static void take_row(void *ctx, const struct row *row)
{
	struct vendor_hook *vendor = ctx;

	vendor_run_row(&vendor->best, row->size, row->busbw_gbs, row->predicted_busbw_gbs);
}

static int line(void *report, const char *text)
{
	return report_comment(report, "%s", text);
}

/* An unreadable file is a remark and does not harm the run. */
static int finish(void *ctx, struct report *report)
{
	struct vendor_hook *vendor = ctx;
	struct error err = { .rank = -1 };
	int rc = vendor_run_lines(&vendor->best, NULL, line, report, &err);

	return rc < 0 && err.code ? report_comment(report, "Vendors' figures: %.300s", err.text)
				  : rc;
}

const struct run_hook *vendor_hook_open(struct vendor_hook *vendor, const char *device,
					const struct topo_system *sys)
{
	*vendor = (struct vendor_hook){
		.best = { .device = device, .sys = sys },
		.hook = { .ctx = vendor, .row = take_row, .finish = finish },
	};
	return &vendor->hook;
}
