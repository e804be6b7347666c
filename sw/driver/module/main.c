// SPDX-License-Identifier: GPL-2.0
/*
 * hwswap: an engine that says where the swap allocator finds room.
 *
 * The module comes and goes. docs/driver.md lists the other files, from the
 * highest layer to the lowest: each uses those of layers below its own, and no other.
 */
#include <linux/mm.h>
#include <linux/module.h>

#include "debugfs.h"
#include "fronts.h"
#include "health.h"
#include "work.h"

static int __init hwswap_init(void)
{
	int ret;

	if (PAGE_SIZE != 4096) {
		pr_err("this kernel has swap slots of %lu bytes; the engine knows 4096 only\n",
		       PAGE_SIZE);
		return -EINVAL;
	}
	ret = hwswap_work_init(&hwswap_workers);
	if (ret)
		return ret;
	hwswap_debugfs_init();
	ret = hwswap_pci_init();
	if (ret)
		goto no_pci;
	ret = hwswap_platform_init();
	if (ret)
		goto no_platform;
	return 0;

no_platform:
	hwswap_pci_exit();
no_pci:
	hwswap_debugfs_exit();
	hwswap_work_exit();
	return ret;
}

static void __exit hwswap_exit(void)
{
	hwswap_platform_exit();
	hwswap_pci_exit();
	hwswap_debugfs_exit();
	hwswap_work_exit();
}

module_init(hwswap_init);
module_exit(hwswap_exit);

MODULE_DESCRIPTION("Swap slots granted by an hwswap engine");
MODULE_AUTHOR("hwswap developers <hwswap@localhost>");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS("SWAP_GRANTS");
