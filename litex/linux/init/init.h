/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only program of the initramfs: it swaps in every mode of the driver, verifies its data, has the kernel measure
 * its swap allocator, and reports on the console, a line of JSON each. Built with the kernel's nolibc alone, so no
 * other C library is needed.
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
#define TUNED_PARAMETERS "/sys/module/hwswap_testprovider/parameters/"

/* What is to be done. Each member can be set on the kernel's command line, as hwswap_NAME=VALUE. */
struct plan {
	const char *modes;    /* comma-separated, of off, tuned, shadow, hint, trusted */
	const char *bench;    /* comma-separated ORDER:COUNT, folios that the kernel's bench allocates and frees */
	const char *area;     /* block device to swap to; its content is lost */
	const char *module;   /* the driver; empty: none, so that only off and tuned are possible */
	const char *tuned;    /* module that writes the words of folios in software, without a look at each */
	unsigned long pages;  /* pages that are swapped out and in, one by one, in each mode */
	unsigned long folios; /* 64 kB folios that are swapped out and in, in each mode */
	unsigned long trusted_order; /* in mode trusted the engine writes the words of folios from this order on */
	unsigned long gap_ns;	     /* what the bench waits before each call, an order-0 folio */
};

/* report.c: the console, for programs. */

/* Prints "HWSWAP-JSON " and the text as one line. */
__attribute__((format(printf, 1, 2))) void report(const char *format, ...);

/* Says in one sentence what is wrong, prints "HWSWAP-DONE 1" and stops the machine. */
__attribute__((noreturn, format(printf, 1, 2))) void die(const char *format, ...);

/* Prints "HWSWAP-DONE status" and stops the machine. */
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
void load_module(const char *path, const char *parameters);
void unload_module(const char *path);

/* area.c */

/* Writes the header of a swap area over the start of the block device, and swaps to it. */
void area_on(const char *path);
void area_off(const char *path);

/* load.c */

/* Pages that stay swapped out while modes change: each attach has to find slots in use. */
void load_hold(void);
void load_release(void);

/* Writes pages, has the kernel swap them out, reads them back and verifies every byte; reports. */
void load_run(const char *mode, const struct plan *plan);

/* bench.c */

/* Has the kernel measure its allocator, order by order; reports. */
void bench_run(const char *mode, const struct plan *plan);

#endif
