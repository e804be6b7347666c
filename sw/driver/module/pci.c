// SPDX-License-Identifier: GPL-2.0
/* The PCI front end: finds an engine, maps its registers, gives it to the core. */
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/pm.h>

#include "core.h"
#include "fronts.h"

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

/* With Relaxed Ordering what takes a grant back could overtake it: do not permit it. */
static void hwswap_pci_order(struct pci_dev *pdev)
{
	pcie_capability_clear_word(pdev, PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_RELAX_EN);
}

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

	hwswap_pci_order(pdev);
	if (pci_alloc_irq_vectors(pdev, 1, 1, PCI_IRQ_MSIX | PCI_IRQ_MSI) == 1)
		irq = pci_irq_vector(pdev, 0);
	/* The state for an engine that was reset with its link: no bus mastering. */
	pci_save_state(pdev);
	ret = hwswap_core_add(&pdev->dev, regs, irq, &hwswap_pci_front, NULL);
	if (ret && irq)
		pci_free_irq_vectors(pdev);
	return ret;
}

/* Neither a frozen device nor a dead one is touched. */
static void hwswap_pci_reach(struct pci_dev *pdev, pci_channel_state_t state)
{
	if (state == pci_channel_io_frozen)
		hwswap_core_reach(&pdev->dev, HWSWAP_FROZEN);
	else if (state == pci_channel_io_perm_failure)
		hwswap_core_reach(&pdev->dev, HWSWAP_DEAD);
}

static void hwswap_pci_remove(struct pci_dev *pdev)
{
	/* It may have been pulled out. All else error_detected() has said. */
	if (pdev->error_state == pci_channel_io_perm_failure)
		hwswap_core_reach(&pdev->dev, HWSWAP_DEAD);
	hwswap_core_remove(&pdev->dev);
	pci_free_irq_vectors(pdev);
}

/*
 * Somebody else resets the function or its link. Nothing of the engine's state
 * survives, nor has to: it is taken out before, and attached anew after.
 */
static void hwswap_pci_reset_prepare(struct pci_dev *pdev)
{
	hwswap_core_hold(&pdev->dev, HWSWAP_HOLD_RESET, "its PCI function is being reset");
}

static void hwswap_pci_reset_done(struct pci_dev *pdev)
{
	hwswap_core_release(&pdev->dev, HWSWAP_HOLD_RESET);
}

static pci_ers_result_t hwswap_pci_error_detected(struct pci_dev *pdev, pci_channel_state_t state)
{
	/* First of all: somebody may be about to touch it. */
	hwswap_pci_reach(pdev, state);
	hwswap_core_hold(&pdev->dev, HWSWAP_HOLD_ERROR, "a PCI error was reported");
	switch (state) {
	case pci_channel_io_normal:
		/* Attaching resets the engine itself: the link need not be. */
		return PCI_ERS_RESULT_CAN_RECOVER;
	case pci_channel_io_frozen:
		return PCI_ERS_RESULT_NEED_RESET;
	default:
		return PCI_ERS_RESULT_DISCONNECT;
	}
}

static pci_ers_result_t hwswap_pci_slot_reset(struct pci_dev *pdev)
{
	/* As probed: memory is enabled, bus mastering is not. */
	pci_restore_state(pdev);
	hwswap_pci_order(pdev);
	/* For the next time. */
	pci_save_state(pdev);
	if (!pci_device_is_present(pdev))
		return PCI_ERS_RESULT_DISCONNECT;
	hwswap_core_reach(&pdev->dev, HWSWAP_REACHABLE);
	return PCI_ERS_RESULT_RECOVERED;
}

static void hwswap_pci_resume(struct pci_dev *pdev)
{
	hwswap_core_release(&pdev->dev, HWSWAP_HOLD_ERROR);
}

static const struct pci_error_handlers hwswap_pci_errors = {
	.error_detected	= hwswap_pci_error_detected,
	.slot_reset	= hwswap_pci_slot_reset,
	.resume		= hwswap_pci_resume,
	.reset_prepare	= hwswap_pci_reset_prepare,
	.reset_done	= hwswap_pci_reset_done,
};

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
	.err_handler	= &hwswap_pci_errors,
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
