/* version.h: the version of hangar, which is raised here and nowhere else. */
#pragma once

#define HANGAR_VERSION "0.2.0"

/* Prints the lines of --version: the version; of the file built.txt beside the program, commit and libraries of the
 * build; the libraries that this process finds, and where. */
void version_print(FILE *out, const char *program);
