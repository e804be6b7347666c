// SPDX-License-Identifier: Apache-2.0
// What is measured: loads and benches in each mode.
#include "init.h"

#define FULL_PAGES 4096 /* of the area that is filled: each slot of it is taken once in each mode */
#define FULL_PRIORITY 9

static int given_count;
static char **given_words;

/* NAME=VALUE of the words that were given, or hwswap_NAME=VALUE of the kernel's command line. */
static const char *text_option(const char *name, const char *otherwise)
{
	size_t length = strlen(name);
	char variable[48];
	const char *value;

	for (int i = 0; i < given_count; i++) {
		if (!strncmp(given_words[i], name, length) && given_words[i][length] == '=')
			return given_words[i] + length + 1;
	}
	snprintf(variable, sizeof(variable), "hwswap_%s", name);
	value = getenv(variable);
	return value ? value : otherwise;
}

static unsigned long number_option(const char *name, unsigned long otherwise)
{
	const char *value = text_option(name, NULL);
	unsigned long number;
	char *end;

	if (!value)
		return otherwise;
	number = strtoul(value, &end, 10);
	if (!*value || *end)
		die("%s= takes a number, not '%s'", name, value);
	return number;
}

struct plan plan_read(int count, char **words)
{
	given_count = count;
	given_words = words;
	return (struct plan){
	    .modes = text_option("modes", "off,hint"),
	    .bench = text_option("bench", "0:96,2:24,4:24,7:8,9:6"),
	    .cpus = text_option("cpus", ""),
	    .area = text_option("area", "/dev/ram0"),
	    .module = text_option("module", "/hwswap.ko"),
	    .pages = number_option("pages", 32),
	    .folios = number_option("folios", 4),
	    .gap_ns = number_option("gap_ns", 10000),
	    .full = number_option("full", 96),
	    .full_area = text_option("full_area", "/dev/ram1"),
	};
}

/* The driver says why when it does not use its engine; then nothing that follows would be about the engine. */
static void set_mode(const char *mode)
{
	char state[160], *end;
	int error = write_text(DRIVER_MODE, mode);

	if (error)
		die("the driver does not take the mode '%s' (errno %d)", mode, error);
	if (!strcmp(mode, "off"))
		return;
	read_text(DRIVER_FILES "state", state, sizeof(state));
	end = strchr(state, '\n');
	if (end)
		*end = '\0';
	if (strcmp(state, "attached"))
		die("in mode %s the engine is not used: %s", mode, state);
}

/* What the kernel stores for the engine is compared with its own tables. */
static void report_mirror(const char *mode)
{
	static char text[4096];
	unsigned long clusters, differences;
	char *at, *end;

	read_text(DRIVER_FILES "verify", text, sizeof(text));
	at = strstr(text, "clusters ");
	if (!at)
		die("the mirror cannot be compared in mode %s: %s", mode, text);
	clusters = strtoul(at + strlen("clusters "), &end, 10);
	at = strstr(end, "differences ");
	if (!at)
		die("the mirror cannot be compared in mode %s: %s", mode, text);
	differences = strtoul(at + strlen("differences "), NULL, 10);
	report("{\"kind\":\"mirror\",\"mode\":\"%s\",\"clusters\":%lu,\"differences\":%lu}", mode, clusters,
	       differences);
}

static void provide_driver(const struct plan *plan)
{
	if (*plan->module && !module_is_loaded(plan->module))
		load_module(plan->module, "");
}

/* What a call costs where it has to search: on an area of its own that goes before the other. */
static void run_full(const char *mode, const struct plan *plan)
{
	bool engine = strcmp(mode, "off");
	unsigned int pages;

	if (!plan->full)
		return;
	pages = area_make(plan->full_area, FULL_PAGES);
	area_start(plan->full_area, PRIORITY_FLAG | FULL_PRIORITY);
	/* The engine keeps free clusters back, so the kernel's own search fills it. */
	if (engine)
		set_mode("off");
	bench_fill(pages);
	if (engine)
		set_mode(mode);
	bench_full(mode, plan);
	bench_drop();
	area_off(plan->full_area);
}

static void run_mode(const char *mode, const struct plan *plan)
{
	bool driver = *plan->module, engine = strcmp(mode, "off");
	unsigned long start = now_ns();

	if (engine && !driver)
		die("mode %s needs the driver, and hwswap_module= names none", mode);
	report("{\"kind\":\"mode\",\"mode\":\"%s\"}", mode);
	provide_driver(plan);
	if (driver) {
		set_mode(mode);
		write_text(DRIVER_FILES "stats", "0");
		report("{\"kind\":\"set\",\"mode\":\"%s\",\"ns\":%lu}", mode, now_ns() - start);
	}
	load_run(mode, plan);
	bench_run(mode, plan);
	if (engine) {
		report_mirror(mode);
		report_counters("driver", mode, DRIVER_FILES "stats");
		report_counters("engine", mode, DRIVER_FILES "engine");
	}
	/* It takes long, and in the other modes software or grants find the slots as well. */
	if (!engine || !strcmp(mode, "hint"))
		run_full(mode, plan);
}

/* Before anything is changed: a mode that nobody knows would leave the area in use. */
static void check_modes(const char *modes)
{
	static const char *const known[] = {"off", "hint", "scan"};

	for (const char *at = modes, *end; at; at = *end ? end + 1 : NULL) {
		bool found = false;

		end = strchr(at, ',');
		if (!end)
			end = at + strlen(at);
		for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
			found |= strlen(known[i]) == (size_t)(end - at) && !strncmp(known[i], at, end - at);
		if (!found)
			die("modes= takes off, hint and scan, with commas between, not '%s'", modes);
	}
}

static void check_cpus(const char *cpus)
{
	for (const char *at = cpus; *at;) {
		char *end;
		unsigned long number = strtoul(at, &end, 10);

		if (!number || (*end && (*end != ',' || !end[1])))
			die("cpus= takes numbers from 1 on, with commas between, not '%s'", cpus);
		at = *end ? end + 1 : end;
	}
}

void plan_run(const struct plan *plan)
{
	static char modes[64];
	char *mode = modes, *comma;

	check_modes(plan->modes);
	check_cpus(plan->cpus);
	area_on(plan->area);
	load_hold();
	strlcpy(modes, plan->modes, sizeof(modes));
	do {
		comma = strchr(mode, ',');
		if (comma)
			*comma = '\0';
		run_mode(mode, plan);
		mode = comma + 1;
	} while (comma);
	/* With the last mode on: swapoff has to take every slot back from the engine. */
	load_release();
	area_off(plan->area);
	if (*plan->module && module_is_loaded(plan->module))
		unload_module(plan->module);
}

void plan_mode(const char *mode, const struct plan *plan)
{
	provide_driver(plan);
	set_mode(mode);
}
