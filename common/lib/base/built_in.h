/* built_in.h: files of the tree as texts of the programs. */
#pragma once

/* Makes `const char name[]`, which ends with a NUL, of a file, by its path from the top of the tree. The Makefile must say that
 * the object depends on it. */
#define BUILT_IN(name, path)                                                                       \
	extern const char name[];                                                                  \
	__asm__(".section .rodata\n.global " #name "\n" #name ":\n.incbin \"" path                 \
		"\"\n.byte 0\n.previous\n")
