/* SPDX-License-Identifier: Apache-2.0 */
/* The init program's calls to the kernel that it runs on. A call that fails stops the machine, with a sentence. */
#ifndef KERNEL_H
#define KERNEL_H

#include <stdbool.h>

/* Prints a line on the console, by one write(2): the kernel's own messages go between lines then, not into them. */
__attribute__((format(printf, 1, 2))) void say(const char *format, ...);

/* Says that all is over, with 0 if all went well, and stops the machine. */
__attribute__((noreturn)) void finish(int status);

/* Names the error in one sentence, and stops the machine. */
#define die(format, ...) (say("init: " format "\n", ##__VA_ARGS__), finish(1))

/* Goes on only if that is done. */
void must(bool done, const char *otherwise, const char *what);

void write_text(const char *path, const char *text);

/* Returns the file's text; the next call overwrites it. */
char *read_text(const char *path);

/* Returns the number that a file begins with, or has after the text, if there is one. */
unsigned long read_number(const char *path, const char *text);

/* Nanoseconds since the machine started, as the device tree's clocks have it. */
unsigned long now_ns(void);

/* Loads NAME.ko of the initramfs with these parameters. */
void load(const char *name, const char *parameters);

void unload(const char *name);

#endif
