/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only program of the initramfs: it swaps in every mode of the driver, verifies its data, has the kernel measure
 * its swap allocator, and reports on the console, a line of JSON each. Then it is a small shell. Built with the
 * kernel's nolibc alone, so no other C library is needed; Debian's busybox wants an FPU, which Rocket `linux` does not
 * have.
 */
#ifndef HWSWAP_INIT_H
#define HWSWAP_INIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAGE_BYTES 4096UL
#define FOLIO_PAGES 16UL /* pages of a 64 kB folio */

#define DRIVER_MODE "/sys/module/hwswap/parameters/mode"
#define DRIVER_FILES "/sys/kernel/debug/hwswap/"

#define PROMPT "hwswap# "

/* What is to be done. Each member can be set on the kernel's command line, as hwswap_NAME=VALUE; there is also
   hwswap_shell=after, only or none: a shell after the run, instead of it, or no shell. */
struct plan {
	const char *modes;     /* comma-separated, of off, hint, scan */
	const char *bench;     /* comma-separated ORDER:COUNT, folios that the kernel's bench allocates and frees */
	const char *cpus;      /* comma-separated: on how many CPUs at once the bench calls; empty: on one */
	const char *area;      /* block device to swap to; its content is lost */
	const char *module;    /* the driver; empty: none, so that only off is possible */
	unsigned long pages;   /* pages that are swapped out and in, one by one, in each mode */
	unsigned long folios;  /* 64 kB folios that are swapped out and in, in each mode */
	unsigned long gap_ns;  /* what the bench waits before each call, an order-0 folio */
	unsigned long full;    /* modes off and hint: folios of order 0 that it takes on an area that is 90 % full */
	const char *full_area; /* block device of that area; its content is lost */
};

/* The plan of the kernel's command line; NAME=VALUE among the words goes before. */
struct plan plan_read(int count, char **words);

/* plan.c: what is planned, done. */
void plan_run(const struct plan *plan);

/* Loads the driver unless it is there, and sets its mode, of off, hint and scan. */
void plan_mode(const char *mode, const struct plan *plan);

/* report.c: the console, for programs. */

/* Prints "HWSWAP-JSON " and the text as one line. */
__attribute__((format(printf, 1, 2))) void report(const char *format, ...);

/* Says in one sentence what is wrong, and finishes with 1. */
__attribute__((noreturn, format(printf, 1, 2))) void die(const char *format, ...);

/* As init: prints "HWSWAP-DONE status", and goes on as a shell if finish_shell, or else stops the machine. As a command
   of the shell: ends. */
extern bool finish_shell;
__attribute__((noreturn)) void finish(int status);

/* Nanoseconds since the machine started, as the device tree's clocks have it. */
unsigned long now_ns(void);

/* files.c: small files of sysfs, procfs and debugfs, and the driver's module. */

/* Writes the text; returns 0 or the errno. */
int write_text(const char *path, const char *text);

/* Reads at most size - 1 bytes and ends them with 0; dies when there is no such file. */
void read_text(const char *path, char *text, size_t size);

/* The number that a file holds; dies when there is no such file. */
unsigned long read_number(const char *path);

/* The value of `name` in a file of lines "name value"; dies when there is none. */
unsigned long read_counter(const char *path, const char *name);

/* Reports a file of lines "name value" as one object; what is 0, and lines of more than two words, stay out. */
void report_counters(const char *kind, const char *mode, const char *path);

/* The path is that of NAME.ko. */
bool module_is_loaded(const char *path);
void load_module(const char *path, const char *parameters);
void unload_module(const char *path);

/* area.c */

/* Writes the header of a swap area over the start of the block device; returns how many pages it has, at most so many
   unless 0. */
unsigned int area_make(const char *path, unsigned int most);
#define PRIORITY_FLAG 0x8000 /* of swapon(2): the lowest 15 bits are the area's priority */

/* The flags are swapon(2)'s. */
void area_start(const char *path, int flags);
void area_off(const char *path);

/* Both: makes it, and swaps to it. */
void area_on(const char *path);

/* load.c */

/* Pages that stay swapped out while modes change: each attach has to find slots in use. */
void load_hold(void);
void load_release(void);

/* Writes pages, has the kernel swap them out, reads them back and verifies every byte; reports. */
void load_run(const char *mode, const struct plan *plan);

/* That for the shell: so many pages, one by one or in 64 kB folios. */
void load_pages(unsigned long pages, bool folios);

/* bench.c */

/* Has the kernel measure its allocator, order by order; reports. */
void bench_run(const char *mode, const struct plan *plan);

/* Takes all slots but the header's of an area of so many pages and frees a tenth of them, chosen at random; gives back
   what is left. Nothing else may be free: the area has the highest priority. */
void bench_fill(unsigned int pages);
void bench_drop(void);

/* Has the kernel measure it at order 0 on what bench_fill() has left; reports. */
void bench_full(const char *mode, const struct plan *plan);

/* shell.c */

/* Reads commands from standard input, and runs each in a process of its own. */
__attribute__((noreturn)) void shell_run(void);

/* commands.c */

struct command {
	const char *name, *arguments, *help;
	int (*run)(int count, char **words);
};

/* Ends with a command without a name. */
extern const struct command commands[];

#endif
