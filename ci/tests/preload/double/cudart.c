/* cudart.c: a test double of libcudart.so.13: what is waited with. */
#include "double.h"

int cudaStreamSynchronize(void *stream)
{
	return cuStreamSynchronize(stream);
}

int cudaEventQuery(void *event)
{
	return event ? 600 : 0;
}
