// SPDX-License-Identifier: GPL-2.0
/*
 * hwswap: proposals of an engine for the swap allocator.
 *
 * The module comes and goes. docs/driver.md has a table of the other files, from the
 * highest layer to the lowest: each uses those of layers below its own, and no other.
 */
#include <linux/module.h>
#include <linux/swap_offload.h>

#include "debugfs.h"
#include "health.h"
#include "pci.h"
#include "platform.h"
#include "work.h"

static int __init hwswap_init(void)
{
	int ret;

	if (PAGE_SIZE != 4096 || swap_offload_cluster_slots() != HWSWAP_SLOTS) {
		pr_err("this kernel has swap clusters of %u slots of %lu bytes; the engine knows %u of 4096 only (CONFIG_THP_SWAP with 4 KiB pages)\n",
		       swap_offload_cluster_slots(), PAGE_SIZE, HWSWAP_SLOTS);
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

MODULE_DESCRIPTION("Swap slots proposed by an hwswap engine");
MODULE_AUTHOR("hwswap developers <hwswap@localhost>");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS("SWAP_OFFLOAD");
MODULE_IMPORT_NS("SWAP_GRANTS");
