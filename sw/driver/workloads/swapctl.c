// SPDX-License-Identifier: Apache-2.0
// swapctl: makes swap areas and switches them on and off, with priority, discard and bad pages, which busybox lacks.

#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <unistd.h>

#define BAD_PAGES_MAX 637 /* what fits between the header's fixed part and its signature */

/* The swap area's first page, as mkswap(8) writes it. */
struct header {
	char boot[1024];
	uint32_t version;
	uint32_t last_page;
	uint32_t bad_pages;
	uint8_t uuid[16];
	char label[16];
	uint32_t padding[117];
	uint32_t bad_page[BAD_PAGES_MAX];
	char gap[2];
	char signature[10];
} __attribute__((packed));

_Static_assert(sizeof(struct header) == PAGE_BYTES, "the header is one page");

static const char *const help = "usage: swapctl make [-b PAGE[,PAGE...]] [-s SIZE] AREA...\n"
				"       swapctl on [-p PRIORITY] [-d] AREA...\n"
				"       swapctl off AREA...\n"
				"make: -b marks pages bad, -s uses only the first SIZE bytes, and creates a file.\n"
				"on: -p sets the priority (0 to 32767), -d asks for discards.\n";

static uint64_t area_size(int fd, const char *path)
{
	struct stat status;
	uint64_t size;

	if (fstat(fd, &status))
		die("%s: %s", path, strerror(errno));
	if (!S_ISBLK(status.st_mode))
		return status.st_size;
	if (ioctl(fd, BLKGETSIZE64, &size))
		die("the size of %s cannot be had: %s", path, strerror(errno));
	return size;
}

/* A swap file must have no holes: write it out in full. */
static void fill_file(int fd, const char *path, uint64_t size)
{
	static const char zeros[1 << 16];

	for (uint64_t at = 0; at < size; at += sizeof(zeros)) {
		size_t part = size - at < sizeof(zeros) ? size - at : sizeof(zeros);

		if (write(fd, zeros, part) != (ssize_t)part)
			die("cannot write %" PRIu64 " bytes to %s: %s", size, path, strerror(errno));
	}
}

static void make(const char *path, uint64_t wanted, char *bad_list)
{
	struct header header = {.version = 1, .signature = "SWAPSPACE2"};
	int fd = open(path, O_RDWR | (wanted ? O_CREAT : 0) | O_CLOEXEC, 0600);
	struct stat status;
	uint64_t size;

	if (fd < 0)
		die("cannot open %s: %s", path, strerror(errno));
	if (wanted && !fstat(fd, &status) && S_ISREG(status.st_mode) && (uint64_t)status.st_size < wanted)
		fill_file(fd, path, wanted);
	size = area_size(fd, path);
	if (wanted && wanted > size)
		die("%s has %" PRIu64 " bytes; -s must not ask for more", path, size);
	if (wanted)
		size = wanted;
	if (size < 10 * PAGE_BYTES || size / PAGE_BYTES > UINT32_MAX)
		die("%s has %" PRIu64 " bytes; a swap area needs 40k at least and 16t at most", path, size);
	header.last_page = size / PAGE_BYTES - 1;
	for (char *part = bad_list ? strtok(bad_list, ",") : NULL; part; part = strtok(NULL, ",")) {
		if (header.bad_pages == BAD_PAGES_MAX)
			die("a swap header holds %d bad pages at most", BAD_PAGES_MAX);
		header.bad_page[header.bad_pages++] = parse_number(part, "a bad page", 1, header.last_page);
	}
	if (pwrite(fd, &header, sizeof(header), 0) != sizeof(header) || fsync(fd))
		die("cannot write the header of %s: %s", path, strerror(errno));
	close(fd);
}

int main(int argc, char **argv)
{
	const char *command = argc > 1 ? argv[1] : "";
	bool on = !strcmp(command, "on"), off = !strcmp(command, "off"), making = !strcmp(command, "make");
	uint64_t size = 0;
	char *bad = NULL;
	int flags = 0, c;

	if (!on && !off && !making) {
		bool asked = !strcmp(command, "-h") || !strcmp(command, "--help");

		fputs(help, asked ? stdout : stderr);
		return asked ? 0 : 2;
	}
	argc--;
	argv++;
	while ((c = getopt(argc, argv, on ? "p:d" : making ? "b:s:" : "")) != -1) {
		switch (c) {
		case 'p':
			flags |= SWAP_FLAG_PREFER | parse_number(optarg, "the priority", 0, SWAP_FLAG_PRIO_MASK);
			break;
		case 'd':
			flags |= SWAP_FLAG_DISCARD;
			break;
		case 'b':
			bad = optarg;
			break;
		case 's':
			size = parse_size(optarg, "-s");
			break;
		default:
			fputs(help, stderr);
			return 2;
		}
	}
	if (optind == argc)
		die("%s needs at least one area; see --help", command);
	if (bad && argc - optind > 1)
		die("-b is for one area at a time");
	for (; optind < argc; optind++) {
		const char *path = argv[optind];

		if (making)
			make(path, size, bad);
		else if (on ? swapon(path, flags) : swapoff(path))
			die("swap%s %s: %s", command, path, strerror(errno));
	}
	return 0;
}
