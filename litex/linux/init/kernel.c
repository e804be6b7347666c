// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>

#include "kernel.h"

void say(const char *format, ...)
{
	static char line[8192];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	write(STDOUT_FILENO, line, strlen(line));
}

void finish(int status)
{
	say("HWSWAP-DONE %d\n", status);
	/* Where the firmware cannot switch the machine off, the kernel halts; without either, wait. */
	reboot(LINUX_REBOOT_CMD_POWER_OFF);
	reboot(LINUX_REBOOT_CMD_HALT);
	for (;;)
		sleep(3600);
}

void must(bool done, const char *otherwise, const char *what)
{
	if (!done)
		die("%s %s (errno %d)", otherwise, what, errno);
}

void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		die("%s does not take '%s' (errno %d)", path, text, errno);
	close(fd);
}

char *read_text(const char *path)
{
	static char text[8192];
	int fd = open(path, O_RDONLY);
	size_t length = 0;
	ssize_t part;

	must(fd >= 0, "there is no", path);
	while (length < sizeof(text) - 1 && (part = read(fd, text + length, sizeof(text) - 1 - length)) > 0)
		length += part;
	text[length] = '\0';
	close(fd);
	return text;
}

unsigned long read_number(const char *path, const char *text)
{
	const char *at = read_text(path);

	/* The kernel's strstr() finds no empty text. */
	if (*text)
		at = strstr(at, text);
	must(at, "a number is missing in", path);
	return strtoul(at + strlen(text), NULL, 10);
}

unsigned long now_ns(void)
{
	struct timespec time;

	must(!clock_gettime(CLOCK_MONOTONIC, &time), "the kernel has no", "clock");
	return time.tv_sec * 1000000000UL + time.tv_nsec;
}

void load(const char *name, const char *parameters)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/%s.ko", name);
	fd = open(path, O_RDONLY);
	must(fd >= 0 && !syscall(__NR_finit_module, fd, parameters, 0), "the kernel does not take the module", path);
	close(fd);
}

void unload(const char *name)
{
	must(!syscall(__NR_delete_module, name, 0), "the kernel does not unload", name);
}
