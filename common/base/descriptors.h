/* descriptors.h: what a child that never calls exec must not go on holding. */
#pragma once

/* Close every descriptor but `keep` (-1: every one, standard streams as well): locks, sockets and
 * pipes of the parent live as long as a child has them. */
void descriptors_close(int keep);
