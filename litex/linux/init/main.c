// SPDX-License-Identifier: Apache-2.0
#include "init.h"

static const char *text_option(const char *name, const char *otherwise)
{
	const char *value = getenv(name);

	return value ? value : otherwise;
}

static unsigned long number_option(const char *name, unsigned long otherwise)
{
	const char *value = getenv(name);
	unsigned long number;
	char *end;

	if (!value)
		return otherwise;
	number = strtoul(value, &end, 10);
	if (!*value || *end)
		die("%s= on the kernel's command line takes a number, not '%s'", name, value);
	return number;
}

static void mount_on(const char *what, const char *where)
{
	mkdir(where, 0755);
	if (mount(what, where, what, 0, NULL))
		die("%s cannot be mounted (errno %d)", what, errno);
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

/* Kernel tables, records and the engine's own picture are compared; the last line of the file counts. */
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

/* The kernel has room for one module behind its hooks: the driver, or the software that mode tuned is. */
static void provide(const char *path, const char *parameters)
{
	static const char *provider = "";

	if (!strcmp(path, provider))
		return;
	if (*provider)
		unload_module(provider);
	if (*path)
		load_module(path, parameters);
	provider = path;
}

static void provide_driver(const struct plan *plan)
{
	char parameters[48];

	/* By default it is the largest order alone; what the engine takes for the others is to be seen as well. */
	snprintf(parameters, sizeof(parameters), "trusted_min_order=%lu", plan->trusted_order);
	provide(plan->module, parameters);
}

static void run_tuned(const char *mode, const struct plan *plan)
{
	report("{\"kind\":\"mode\",\"mode\":\"%s\"}", mode);
	provide(plan->tuned, "fill_order=0 fill_verify=n");
	load_run(mode, plan);
	bench_run(mode, plan);
	report("{\"kind\":\"driver\",\"mode\":\"%s\",\"counters\":{\"fills\":%lu,\"clears\":%lu}}", mode,
	       read_number(TUNED_PARAMETERS "fills"), read_number(TUNED_PARAMETERS "clears"));
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
}

static void run(const struct plan *plan)
{
	static char modes[64];
	char *mode = modes, *comma;

	area_on(plan->area);
	load_hold();
	strlcpy(modes, plan->modes, sizeof(modes));
	do {
		comma = strchr(mode, ',');
		if (comma)
			*comma = '\0';
		if (!strcmp(mode, "tuned"))
			run_tuned(mode, plan);
		else
			run_mode(mode, plan);
		mode = comma + 1;
	} while (comma);
	/* With the last mode on: swapoff has to take every slot back from the engine. */
	load_release();
	area_off(plan->area);
	provide("", "");
}

int main(void)
{
	struct plan plan;

	report("{\"kind\":\"init\"}");
	mount_on("proc", "/proc");
	mount_on("sysfs", "/sys");
	mount_on("debugfs", "/sys/kernel/debug");
	mount_on("devtmpfs", "/dev");
	plan = (struct plan){
	    .modes = text_option("hwswap_modes", "off,tuned,shadow,hint,trusted"),
	    .bench = text_option("hwswap_bench", "0:96,2:24,4:24,7:8,9:6"),
	    .area = text_option("hwswap_area", "/dev/ram0"),
	    .module = text_option("hwswap_module", "/hwswap.ko"),
	    .tuned = text_option("hwswap_tuned", "/hwswap_testprovider.ko"),
	    .pages = number_option("hwswap_pages", 32),
	    .folios = number_option("hwswap_folios", 4),
	    .trusted_order = number_option("hwswap_trusted_order", 0),
	    .gap_ns = number_option("hwswap_gap_ns", 10000),
	};
	run(&plan);
	finish(0);
}
