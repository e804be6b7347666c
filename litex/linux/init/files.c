// SPDX-License-Identifier: Apache-2.0
#include "init.h"

int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY), error = 0;

	if (fd < 0)
		return errno;
	if (write(fd, text, strlen(text)) < 0)
		error = errno;
	close(fd);
	return error;
}

void read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY);
	size_t length = 0;
	ssize_t part;

	if (fd < 0)
		die("%s cannot be opened (errno %d)", path, errno);
	while (length < size - 1 && (part = read(fd, text + length, size - 1 - length)) > 0)
		length += part;
	text[length] = '\0';
	close(fd);
}

unsigned long read_number(const char *path)
{
	char text[32];

	read_text(path, text, sizeof(text));
	return strtoul(text, NULL, 10);
}

/* A line "name value" of the text: returns the value, and where the next line starts. */
static char *split_line(char *line, char **value)
{
	char *end = strchr(line, '\n'), *gap;

	if (end)
		*end++ = '\0';
	gap = strchr(line, ' ');
	*value = gap ? gap + 1 : NULL;
	if (gap)
		*gap = '\0';
	return end;
}

unsigned long read_counter(const char *path, const char *name)
{
	static char text[8192];
	char *value, *next;

	read_text(path, text, sizeof(text));
	for (char *line = text; line && *line; line = next) {
		next = split_line(line, &value);
		if (value && !strcmp(line, name))
			return strtoul(value, NULL, 10);
	}
	die("%s has no counter %s", path, name);
}

static bool is_number(const char *text)
{
	while (isdigit(*text))
		text++;
	return !*text;
}

void report_counters(const char *kind, const char *mode, const char *path)
{
	static char text[8192], object[3200];
	char *value, *next;
	size_t length = 0;

	read_text(path, text, sizeof(text));
	object[0] = '\0';
	for (char *line = text; line && *line; line = next) {
		next = split_line(line, &value);
		if (!value || strchr(value, ' ') || !strcmp(value, "0"))
			continue;
		length +=
		    snprintf(object + length, sizeof(object) - length,
			     is_number(value) ? "%s\"%s\":%s" : "%s\"%s\":\"%s\"", length ? "," : "", line, value);
		if (length >= sizeof(object))
			die("%s is too long to be reported", path);
	}
	report("{\"kind\":\"%s\",\"mode\":\"%s\",\"counters\":{%s}}", kind, mode, object);
}

/* NAME of a path that ends in NAME.ko. */
static const char *module_name(const char *path)
{
	static char text[64];
	const char *name = strrchr(path, '/');
	char *end;

	strlcpy(text, name ? name + 1 : path, sizeof(text));
	end = strrchr(text, '.');
	if (end)
		*end = '\0';
	return text;
}

bool module_is_loaded(const char *path)
{
	char folder[96];

	snprintf(folder, sizeof(folder), "/sys/module/%s", module_name(path));
	return !access(folder, F_OK);
}

void load_module(const char *path, const char *parameters)
{
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		die("the module %s is not in the initramfs (errno %d)", path, errno);
	if (syscall(__NR_finit_module, fd, parameters, 0) < 0)
		die("the kernel does not take the module %s (errno %d; its log says why)", path, errno);
	close(fd);
}

void unload_module(const char *path)
{
	/* Called inside of syscall(), it would overwrite the registers that are being set. */
	const char *name = module_name(path);

	if (syscall(__NR_delete_module, name, 0) < 0)
		die("the module %s cannot be unloaded (errno %d)", name, errno);
}
