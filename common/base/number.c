/* number.c: floating-point numbers as text that no locale changes. */
#include "base/number.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void number_point(char *text, const char *point)
{
	size_t len = strlen(point);
	char *at = len ? strstr(text, point) : NULL;

	if (!at)
		return;
	*at = '.';
	memmove(at + 1, at + len, strlen(at + len) + 1);
}

/* printf's f, e or g conversion; returns the length, also when it was cut. */
static int convert(char conversion, int precision, double value, char *buf, size_t len)
{
	int n;

	if (isnan(value))
		return snprintf(buf, len, "nan");
	if (isinf(value))
		return snprintf(buf, len, value < 0 ? "-inf" : "inf");
	if (conversion == 'f')
		n = snprintf(buf, len, "%.*f", precision, value);
	else if (conversion == 'e')
		n = snprintf(buf, len, "%.*e", precision, value);
	else
		n = snprintf(buf, len, "%.*g", precision, value);
	number_point(buf, localeconv()->decimal_point);
	return n;
}

char *number_text(double value, char *buf, size_t len)
{
	double size = fabs(value);

	if (size >= 999999.5 && size < 1e15)
		convert('f', 0, value, buf, len);
	else
		convert('g', 6, value, buf, len);
	return buf;
}

char *number_fit(double value, int width, char *buf, size_t len)
{
	for (int decimals = 2; decimals >= 0; decimals--)
		if (convert('f', decimals, value, buf, len) <= width)
			return buf;
	convert('e', width >= 7 ? 1 : 0, value, buf, len);
	return buf;
}

char *number_fixed(double value, int decimals, char *buf, size_t len)
{
	convert('f', decimals, value, buf, len);
	return buf;
}
