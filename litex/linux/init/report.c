// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>

#include "init.h"

/* One line is one write(2): what the kernel says on the same console goes between lines then, not into them. */
#define LINE_BYTES 4096

bool finish_shell;

static void print_line(const char *start, const char *format, va_list arguments)
{
	static char line[LINE_BYTES];
	size_t length = strlcpy(line, start, sizeof(line));
	int more = vsnprintf(line + length, sizeof(line) - length - 1, format, arguments);

	length += (size_t)more < sizeof(line) - length - 1 ? (size_t)more : sizeof(line) - length - 2;
	line[length++] = '\n';
	for (const char *at = line; length;) {
		ssize_t part = write(STDOUT_FILENO, at, length);

		if (part <= 0)
			break; /* a console that is gone cannot be told about */
		at += part;
		length -= part;
	}
}

void report(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	print_line("HWSWAP-JSON ", format, arguments);
	va_end(arguments);
}

void finish(int status)
{
	char line[32];
	int length = snprintf(line, sizeof(line), "HWSWAP-DONE %d\n", status);

	if (getpid() != 1)
		exit(status);
	write(STDOUT_FILENO, line, length);
	if (finish_shell)
		shell_run();
	/* Where the firmware cannot switch the machine off, the kernel halts; without either, wait. */
	reboot(LINUX_REBOOT_CMD_POWER_OFF);
	reboot(LINUX_REBOOT_CMD_HALT);
	for (;;)
		sleep(3600);
}

void die(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	print_line(getpid() == 1 ? "init: " : "", format, arguments);
	va_end(arguments);
	finish(1);
}

unsigned long now_ns(void)
{
	struct timespec time;

	if (clock_gettime(CLOCK_MONOTONIC, &time))
		die("the kernel has no monotonic clock (errno %d)", errno);
	return time.tv_sec * 1000000000UL + time.tv_nsec;
}
