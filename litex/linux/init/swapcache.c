// SPDX-License-Identifier: Apache-2.0
#include "init.h"

#define VMSTAT "/proc/vmstat"
#define MIN_FREE "/proc/sys/vm/min_free_kbytes"
#define WAIT_MS 5000

static void set_min_free(unsigned long kbytes)
{
	char text[24];
	int error;

	snprintf(text, sizeof(text), "%lu", kbytes);
	error = write_text(MIN_FREE, text);
	if (error)
		die("%s cannot be set (errno %d)", MIN_FREE, error);
}

/*
 * A device that writes while others go on, such as an SD card, leaves what was paged out in the swap cache: it is
 * written by then, but would be found in memory. kswapd takes such pages first. It is woken by watermarks that the
 * memory which is free is just below of, by an eighth, and above of the minimum: so nobody has to reclaim but it.
 */
void swap_cache_drop(void)
{
	unsigned long before;

	for (int waited = 0; read_counter(VMSTAT, "nr_writeback") && waited < WAIT_MS; waited++)
		msleep(1);
	if (!read_counter(VMSTAT, "nr_swapcached"))
		return;
	before = read_number(MIN_FREE);
	for (int waited = 0; read_counter(VMSTAT, "nr_swapcached") && waited < WAIT_MS; waited += 10) {
		set_min_free(read_counter(VMSTAT, "nr_free_pages") * (PAGE_BYTES / 1024) * 9 / 10);
		msleep(10);
	}
	set_min_free(before);
}
