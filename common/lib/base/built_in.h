/* built_in.h: files of the tree as texts of the programs. */
#pragma once

/* Makes `const char name[]`, with a NUL, of a file from the top of the tree; the Makefile must know. */
#define BUILT_IN(name, path)                                                                       \
	extern const char name[];                                                                  \
	__asm__(".section .rodata\n.global " #name "\n" #name ":\n.incbin \"" path                 \
		"\"\n.byte 0\n.previous\n")

/* Writes line `number` of the paragraph that begins with the word `name` to `to` (`len` bytes): 0 is the rest of its first
 * line, one more than there are lines "". Paragraphs stand behind empty lines. False, and "": there is none of that name. */
bool built_in_line(const char *text, const char *name, int number, char *to, size_t len);
