// SPDX-License-Identifier: Apache-2.0
#include "init.h"

#define BENCH "/sys/kernel/debug/swap_alloc_bench"
#define GAP_NS_MAX 200000UL /* enough for a ring of any order to be filled again */

static void command(const char *text)
{
	int error = write_text(BENCH, text);

	if (error)
		die("the kernel's bench refuses '%s' (errno %d)", text, error);
}

static void run(const char *mode, unsigned long order, unsigned long count, unsigned long gap_ns, bool full)
{
	static char text[1024];
	char line[64], *end;

	gap_ns <<= order;
	if (gap_ns > GAP_NS_MAX)
		gap_ns = GAP_NS_MAX;
	/* The first folio of an order asks the engine for its ring; that is not what the next ones cost. */
	snprintf(line, sizeof(line), "%lu 1 %lu", order, gap_ns);
	command(line);
	msleep(1);
	snprintf(line, sizeof(line), "%lu %lu %lu", order, count, gap_ns);
	command(line);
	read_text(BENCH, text, sizeof(text));
	for (char *at = text; (end = strchr(at, '\n')); at = end + 1) {
		*end = '\0';
		table_bench(mode, at, full);
		report("{\"kind\":\"%s\",\"mode\":\"%s\",\"gap_ns\":%lu,\"result\":%s}", full ? "full" : "bench", mode,
		       gap_ns, at);
	}
}

void bench_run(const char *mode, const struct plan *plan)
{
	const char *at = plan->bench;

	while (*at) {
		char *end;
		unsigned long order = strtoul(at, &end, 10), count;

		if (*end != ':')
			die("hwswap_bench= takes ORDER:COUNT[,ORDER:COUNT...], not '%s'", plan->bench);
		count = strtoul(end + 1, &end, 10);
		if (*end && *end != ',')
			die("hwswap_bench= takes ORDER:COUNT[,ORDER:COUNT...], not '%s'", plan->bench);
		run(mode, order, count, plan->gap_ns, false);
		at = *end ? end + 1 : end;
	}
}

void bench_fill(unsigned int pages)
{
	char text[64];

	snprintf(text, sizeof(text), "fill %u 1 10", pages - 1);
	command(text);
}

void bench_drop(void)
{
	command("drop");
}

void bench_full(const char *mode, const struct plan *plan)
{
	run(mode, 0, plan->full, plan->gap_ns, true);
}
