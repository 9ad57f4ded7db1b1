/* descriptors.h: what a child that never calls exec must not go on holding. */
#ifndef HANGAR_DESCRIPTORS_H
#define HANGAR_DESCRIPTORS_H

/* Close every descriptor but `keep` (-1: every one, standard streams as well): locks, sockets and
 * pipes of the parent live as long as a child has them. */
void descriptors_close(int keep);

#endif
