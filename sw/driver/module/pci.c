// SPDX-License-Identifier: GPL-2.0
/* The PCI front end: finds an engine, maps its registers, gives it to the core. */
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/pm.h>

#include "hwswap.h"

static void hwswap_pci_bus_master(struct device *dev, bool on)
{
	if (on)
		pci_set_master(to_pci_dev(dev));
	else
		pci_clear_master(to_pci_dev(dev));
}

static const struct hwswap_front hwswap_pci_front = {
	.bus_master = hwswap_pci_bus_master,
};

static int hwswap_pci_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	void __iomem *regs;
	int ret, irq = 0;

	ret = pcim_enable_device(pdev);
	if (ret)
		return ret;
	if (pci_resource_len(pdev, 0) < HWSWAP_BAR_SIZE)
		return dev_err_probe(&pdev->dev, -ENODEV, "BAR 0 is too small for an engine\n");
	regs = pcim_iomap_region(pdev, 0, "hwswap");
	if (IS_ERR(regs))
		return PTR_ERR(regs);
	ret = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(64));
	if (ret)
		return ret;

	if (hwswap_use_irq && pci_alloc_irq_vectors(pdev, 1, 1, PCI_IRQ_MSIX | PCI_IRQ_MSI) == 1)
		irq = pci_irq_vector(pdev, 0);
	ret = hwswap_core_add(&pdev->dev, regs, irq, &hwswap_pci_front, NULL);
	if (ret && irq)
		pci_free_irq_vectors(pdev);
	return ret;
}

static void hwswap_pci_remove(struct pci_dev *pdev)
{
	hwswap_core_remove(&pdev->dev);
	pci_free_irq_vectors(pdev);
}

static const struct pci_device_id hwswap_pci_ids[] = {
	{ PCI_DEVICE(HWSWAP_PCI_ID_VENDOR, HWSWAP_PCI_ID_DEVICE) },
	{ }
};
MODULE_DEVICE_TABLE(pci, hwswap_pci_ids);

static struct pci_driver hwswap_pci_driver = {
	.name		= "hwswap",
	.id_table	= hwswap_pci_ids,
	.probe		= hwswap_pci_probe,
	.remove		= hwswap_pci_remove,
	.shutdown	= hwswap_pci_remove,
	.driver.pm	= pm_sleep_ptr(&hwswap_pm_ops),
};

/* hwswap_pci_init - look for engines on PCI */
int hwswap_pci_init(void)
{
	return pci_register_driver(&hwswap_pci_driver);
}

/* hwswap_pci_exit - give up the engine found on PCI */
void hwswap_pci_exit(void)
{
	pci_unregister_driver(&hwswap_pci_driver);
}
