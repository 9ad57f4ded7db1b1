/* number.c: floating-point numbers as text. Nobody here calls setlocale: the point is a point. */
#include "base/number.h"

/* No sign before "nan". */
static double plain(double value)
{
	return isnan(value) ? NAN : value;
}

char *number_text(double value, char *buf, size_t len)
{
	double size = fabs(value);

	snprintf(buf, len, size >= 999999.5 && size < 1e15 ? "%.0f" : "%.6g", plain(value));
	return buf;
}

char *number_fit(double value, int width, char *buf, size_t len)
{
	for (int decimals = 2; decimals >= 0; decimals--)
		if (snprintf(buf, len, "%.*f", decimals, plain(value)) <= width)
			return buf;
	snprintf(buf, len, "%.*e", width >= 7 ? 1 : 0, value);
	return buf;
}
