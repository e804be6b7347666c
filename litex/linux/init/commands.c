// SPDX-License-Identifier: Apache-2.0
// The commands of the shell. Each runs in a process of its own, so that it may die.
#include "init.h"

#include <linux/reboot.h>
#include <sys/mman.h>
#include <sys/reboot.h>

#define PRIORITY_MAX 0x7fff
#define LOG_READ_ALL 3 /* of syslog(2) */

static const struct command *self(const char *name)
{
	const struct command *command = commands;

	while (strcmp(command->name, name))
		command++;
	return command;
}

__attribute__((noreturn)) static void usage(const char *name)
{
	die("usage: %s %s", name, self(name)->arguments);
}

static unsigned long number(const char *text, const char *what, unsigned long most)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (!isdigit(*text) || *end || value > most)
		die("%s is a number up to %lu, not '%s'", what, most, text);
	return value;
}

/* Bytes, with k, m or g behind. */
static unsigned long bytes(const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);
	const char *units = "kmg", *unit = *end ? strchr(units, tolower(*end)) : NULL;

	if (!isdigit(*text) || (*end && (!unit || end[1])))
		die("a size is a number with k, m or g behind it, not '%s'", text);
	for (; unit && unit >= units; unit--)
		value <<= 10;
	return value;
}

static void copy(const char *path)
{
	char part[4096];
	int fd = open(path, O_RDONLY);
	ssize_t length;

	if (fd < 0)
		die("%s cannot be opened (errno %d)", path, errno);
	while ((length = read(fd, part, sizeof(part))) > 0)
		write(STDOUT_FILENO, part, length);
	if (length < 0)
		die("%s cannot be read (errno %d)", path, errno);
	close(fd);
}

static int help(int count, char **words)
{
	if (count > 1)
		usage(words[0]);
	for (const struct command *command = commands; command->name; command++) {
		char start[64];

		snprintf(start, sizeof(start), "%s %s", command->name, command->arguments);
		printf("  %s", start);
		for (size_t at = strlen(start); at < 34; at++)
			putchar(' ');
		printf(" %s\n", command->help);
	}
	return 0;
}

static int cat(int count, char **words)
{
	if (count < 2)
		usage(words[0]);
	for (int i = 1; i < count; i++)
		copy(words[i]);
	return 0;
}

static int echo(int count, char **words)
{
	static char line[2048];
	size_t length = 0;

	/* One write: files of sysfs take a value whole. */
	for (int i = 1; i < count; i++)
		length += snprintf(line + length, sizeof(line) - length, i > 1 ? " %s" : "%s", words[i]);
	line[length++] = '\n';
	if (write(STDOUT_FILENO, line, length) < 0)
		die("it cannot be written (errno %d)", errno);
	return 0;
}

static int ls(int count, char **words)
{
	const char *path = count > 1 ? words[1] : "/";
	DIR *folder = opendir(path);
	struct dirent entry, *found;

	if (count > 2)
		usage(words[0]);
	if (!folder)
		die("%s is no folder that can be read (errno %d)", path, errno);
	while (!readdir_r(folder, &entry, &found) && found)
		printf("%s\n", entry.d_name);
	closedir(folder);
	return 0;
}

static int show_file(const char *path, int count, char **words)
{
	if (count > 1)
		usage(words[0]);
	copy(path);
	return 0;
}

static int free_memory(int count, char **words)
{
	return show_file("/proc/meminfo", count, words);
}

static int swaps(int count, char **words)
{
	return show_file("/proc/swaps", count, words);
}

static int partitions(int count, char **words)
{
	return show_file("/proc/partitions", count, words);
}

static int dmesg(int count, char **words)
{
	static char log[1 << 17];
	long length;

	if (count > 1)
		usage(words[0]);
	length = syscall(__NR_syslog, LOG_READ_ALL, log, sizeof(log));
	if (length < 0)
		die("the kernel's log cannot be read (errno %d)", errno);
	write(STDOUT_FILENO, log, length);
	return 0;
}

static int wait_seconds(int count, char **words)
{
	if (count != 2)
		usage(words[0]);
	sleep(number(words[1], "the time", 1000000));
	return 0;
}

static int insmod(int count, char **words)
{
	static char parameters[512];
	size_t length = 0;

	if (count < 2)
		usage(words[0]);
	for (int i = 2; i < count; i++)
		length += snprintf(parameters + length, sizeof(parameters) - length, "%s ", words[i]);
	load_module(words[1], parameters);
	return 0;
}

static int rmmod(int count, char **words)
{
	if (count != 2)
		usage(words[0]);
	unload_module(words[1]);
	return 0;
}

static int mode(int count, char **words)
{
	struct plan plan = plan_read(0, NULL);

	if (count > 2)
		usage(words[0]);
	if (count == 2)
		plan_mode(words[1], &plan);
	if (!module_is_loaded(plan.module))
		die("the driver is not loaded: 'mode hint' loads it");
	copy(DRIVER_MODE);
	copy(DRIVER_FILES "state");
	return 0;
}

static int stats(int count, char **words)
{
	return show_file(DRIVER_FILES "stats", count, words);
}

/* -p PRIORITY among the options, and areas behind them. */
static int areas(const char *name, int count, char **words, void (*each)(const char *path, int flags))
{
	int flags = 0, first = 0;

	if (count > 1 && !strcmp(words[0], "-p")) {
		flags = PRIORITY_FLAG | number(words[1], "the priority", PRIORITY_MAX);
		first = 2;
	}
	if (first >= count || *words[first] == '-')
		usage(name);
	for (int i = first; i < count; i++)
		each(words[i], flags);
	return 0;
}

static void make_area(const char *path, int flags)
{
	if (flags)
		die("a priority is said when an area is switched on");
	printf("%s has %u pages\n", path, area_make(path, 0));
}

static void stop_area(const char *path, int flags)
{
	if (flags)
		die("a priority is said when an area is switched on");
	area_off(path);
}

static int swapon(int count, char **words)
{
	return areas(words[0], count - 1, words + 1, area_start);
}

static int swapoff(int count, char **words)
{
	return areas(words[0], count - 1, words + 1, stop_area);
}

static int swapctl(int count, char **words)
{
	if (count > 2 && !strcmp(words[1], "make"))
		return areas(words[0], count - 2, words + 2, make_area);
	if (count > 2 && !strcmp(words[1], "on"))
		return areas(words[0], count - 2, words + 2, area_start);
	if (count > 2 && !strcmp(words[1], "off"))
		return areas(words[0], count - 2, words + 2, stop_area);
	usage(words[0]);
}

static int zram(int count, char **words)
{
	char text[32];
	int error;

	if (count != 2)
		usage(words[0]);
	snprintf(text, sizeof(text), "%lu", bytes(words[1]));
	error = write_text("/sys/block/zram0/disksize", text);
	if (error)
		die("/dev/zram0 does not take the size %s (errno %d): is it in use?", words[1], error);
	make_area("/dev/zram0", 0);
	return 0;
}

static int swapload(int count, char **words)
{
	bool folios = count > 1 && !strcmp(words[1], "-f");

	if (count != (folios ? 3 : 2))
		usage(words[0]);
	load_pages(number(words[count - 1], "the number of pages", 1UL << 24), folios);
	return 0;
}

static int bench(int count, char **words)
{
	struct plan plan;

	for (int i = 1; i < count; i++) {
		if (!strchr(words[i], '='))
			usage(words[0]);
	}
	plan = plan_read(count - 1, words + 1);
	plan_run(&plan);
	return 0;
}

static int stop(int count, char **words)
{
	if (count > 1)
		usage(words[0]);
	syscall(__NR_sync);
	reboot(!strcmp(words[0], "reboot") ? LINUX_REBOOT_CMD_RESTART : LINUX_REBOOT_CMD_POWER_OFF);
	reboot(LINUX_REBOOT_CMD_HALT);
	return 0;
}

const struct command commands[] = {
    {"help", "", "this list", help},
    {"hwswap-bench", "[NAME=VALUE]...", "swap and measure in each mode, and print that as lines of JSON", bench},
    {"swapload", "[-f] PAGES", "swap so many pages out and in, and verify; -f in 64 kB folios", swapload},
    {"mode", "[MODE]", "what the driver does: off, hint or scan", mode},
    {"stats", "", "the driver's counters", stats},
    {"swapctl", "make|on|off [-p N] AREA...", "make swap areas, and switch them on and off", swapctl},
    {"swapon", "[-p N] AREA...", "swap to an area that is one", swapon},
    {"swapoff", "AREA...", "stop swapping to it", swapoff},
    {"swaps", "", "the areas in use", swaps},
    {"zram", "SIZE", "make /dev/zram0 a swap area of that size", zram},
    {"partitions", "", "the block devices", partitions},
    {"free", "", "the memory", free_memory},
    {"dmesg", "", "the kernel's log", dmesg},
    {"insmod", "FILE [NAME=VALUE]...", "load a module", insmod},
    {"rmmod", "NAME", "unload it", rmmod},
    {"cat", "FILE...", "print files", cat},
    {"echo", "[WORD]... [> FILE]", "print words, or write them to a file", echo},
    {"ls", "[FOLDER]", "what is in a folder", ls},
    {"sleep", "SECONDS", "wait", wait_seconds},
    {"reboot", "", "start again", stop},
    {"poweroff", "", "stop", stop},
    {NULL, NULL, NULL, NULL},
};
