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

/* On so many CPUs at once; 0: on this one, as every kernel with the bench can. */
static void run(const char *mode, unsigned long order, unsigned long count, unsigned long gap_ns, unsigned long cpus,
		bool full)
{
	static char text[1024];
	char line[64], on[24] = "", *end;

	gap_ns <<= order;
	if (gap_ns > GAP_NS_MAX)
		gap_ns = GAP_NS_MAX;
	if (cpus)
		snprintf(on, sizeof(on), " %lu", cpus);
	/* The first folio of an order asks the engine for its ring; that is not what the next ones cost. */
	snprintf(line, sizeof(line), "%lu 1 %lu%s", order, gap_ns, on);
	command(line);
	msleep(1);
	snprintf(line, sizeof(line), "%lu %lu %lu%s", order, count, gap_ns, on);
	command(line);
	read_text(BENCH, text, sizeof(text));
	for (char *at = text; (end = strchr(at, '\n')); at = end + 1) {
		*end = '\0';
		report("{\"kind\":\"%s\",\"mode\":\"%s\",\"gap_ns\":%lu,\"result\":%s}", full ? "full" : "bench", mode,
		       gap_ns, at);
	}
}

/* On each of the numbers of CPUs. */
static void run_on(const char *mode, unsigned long order, unsigned long count, const struct plan *plan, bool full)
{
	const char *at = plan->cpus;

	if (!*at)
		run(mode, order, count, plan->gap_ns, 0, full);
	while (*at) {
		char *end;

		run(mode, order, count, plan->gap_ns, strtoul(at, &end, 10), full);
		at = *end ? end + 1 : end;
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
		run_on(mode, order, count, plan, false);
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
	run_on(mode, 0, plan->full, plan, true);
}
