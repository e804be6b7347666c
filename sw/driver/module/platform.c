// SPDX-License-Identifier: GPL-2.0
/*
 * The platform front end: an engine on the bus of a system on chip, which a
 * device tree describes. See bindings/hwswap,engine.yaml.
 *
 * A bitstream holds one build of the engine, and the device tree that is made
 * with it says which. If the two do not belong together, addresses and interrupt
 * are somebody else's: better no engine than the wrong one.
 */
#include <linux/dma-mapping.h>
#include <linux/mod_devicetable.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/pm.h>
#include <linux/property.h>

#include "core.h"
#include "fronts.h"

/* On-chip buses have no switch that keeps a device from memory: reset must do. */
static const struct hwswap_front hwswap_platform_front = {
	.on_chip = true,
};

/* The architecture would treat the device as coherent, and not say a word. */
static bool hwswap_platform_unserved(struct device *dev)
{
	return IS_ENABLED(CONFIG_RISCV) && !IS_ENABLED(CONFIG_RISCV_DMA_NONCOHERENT) &&
	       device_get_dma_attr(dev) == DEV_DMA_NON_COHERENT;
}

static int hwswap_platform_probe(struct platform_device *pdev)
{
	struct device *dev = &pdev->dev;
	struct resource *res;
	void __iomem *regs;
	int ret, irq;
	u64 build;

	if (device_property_read_u64(dev, "hwswap,build-hash", &build)) {
		dev_err(dev, "the device tree does not say which build of the engine it belongs to (hwswap,build-hash, 64 bits): boot the device tree that was made with the bitstream\n");
		return -ENODEV;
	}
	if (hwswap_platform_unserved(dev)) {
		dev_err(dev, "the device tree says that the engine's DMA is not coherent, which this kernel cannot handle: build it with CONFIG_RISCV_DMA_NONCOHERENT\n");
		return -ENODEV;
	}
	regs = devm_platform_get_and_ioremap_resource(pdev, 0, &res);
	if (IS_ERR(regs))
		return PTR_ERR(regs);
	if (resource_size(res) < HWSWAP_BAR_SIZE) {
		dev_err(dev, "the device tree gives the engine %pr for its registers, which take %u bytes: boot the device tree that was made with the bitstream\n",
			res, HWSWAP_BAR_SIZE);
		return -ENODEV;
	}
	/* The buses of LiteX have 32 address bits, whatever the engine could do. */
	ret = dma_set_mask_and_coherent(dev, DMA_BIT_MASK(32));
	if (ret)
		return dev_err_probe(dev, ret, "no memory within reach of 32-bit addresses\n");

	irq = platform_get_irq_optional(pdev, 0);
	if (irq == -EPROBE_DEFER)
		return irq;
	return hwswap_core_add(dev, regs, irq, &hwswap_platform_front, &build);
}

static void hwswap_platform_remove(struct platform_device *pdev)
{
	hwswap_core_remove(&pdev->dev);
}

static const struct of_device_id hwswap_platform_ids[] = {
	{ .compatible = "hwswap,engine-4" },
	{ }
};
MODULE_DEVICE_TABLE(of, hwswap_platform_ids);

static struct platform_driver hwswap_platform_driver = {
	.probe		= hwswap_platform_probe,
	.remove		= hwswap_platform_remove,
	.shutdown	= hwswap_platform_remove,
	.driver = {
		.name		= "hwswap",
		.of_match_table	= hwswap_platform_ids,
		.pm		= pm_sleep_ptr(&hwswap_pm_ops),
	},
};

/* hwswap_platform_init - look for engines in the device tree */
int hwswap_platform_init(void)
{
	return platform_driver_register(&hwswap_platform_driver);
}

/* hwswap_platform_exit - give up the engine found in the device tree */
void hwswap_platform_exit(void)
{
	platform_driver_unregister(&hwswap_platform_driver);
}
