// SPDX-License-Identifier: Apache-2.0
#include <linux/fs.h>

#include "init.h"

/* The first page of a swap area, as mkswap(8) writes it. */
struct header {
	char boot[1024];
	uint32_t version;
	uint32_t last_page;
	uint32_t bad_pages;
	char rest[3072 - 12 - 10];
	char signature[10];
} __attribute__((packed));

_Static_assert(sizeof(struct header) == PAGE_BYTES, "the header is one page");

unsigned int area_make(const char *path, unsigned int most)
{
	static struct header header = {.version = 1};
	unsigned long size;
	int fd = open(path, O_RDWR);

	if (fd < 0)
		die("%s cannot be opened to swap to (errno %d)", path, errno);
	if (ioctl(fd, BLKGETSIZE64, &size))
		die("%s is no block device (errno %d)", path, errno);
	if (size < 10 * PAGE_BYTES || size / PAGE_BYTES > UINT32_MAX)
		die("%s has %lu bytes; a swap area needs 40 kB at least and 16 TB at most", path, size);
	header.last_page = (most && size / PAGE_BYTES > most ? most : size / PAGE_BYTES) - 1;
	memcpy(header.signature, "SWAPSPACE2", sizeof(header.signature));
	if (write(fd, &header, sizeof(header)) != sizeof(header) || fsync(fd))
		die("the header of %s cannot be written (errno %d)", path, errno);
	close(fd);
	return header.last_page + 1;
}

void area_start(const char *path, int flags)
{
	if (syscall(__NR_swapon, path, flags))
		die("the kernel does not swap to %s (errno %d)", path, errno);
}

void area_on(const char *path)
{
	unsigned int pages = area_make(path, 0);

	area_start(path, 0);
	report("{\"kind\":\"area\",\"path\":\"%s\",\"pages\":%u}", path, pages);
}

void area_off(const char *path)
{
	if (syscall(__NR_swapoff, path))
		die("swapoff of %s failed (errno %d)", path, errno);
}
