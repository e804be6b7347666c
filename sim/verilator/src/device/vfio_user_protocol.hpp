// SPDX-License-Identifier: Apache-2.0
// Messages of the vfio-user protocol, version 0.1, as QEMU's documentation (docs/interop/vfio-user.rst) lays them out,
// and the numbers they share with the kernel's VFIO interface. All in the host's byte order.
#pragma once

#include <cstdint>

namespace hwswap::vfio_user {

enum class CommandId : uint16_t {
  version = 1,
  dma_map = 2,
  dma_unmap = 3,
  device_get_info = 4,
  device_get_region_info = 5,
  device_get_region_io_fds = 6,
  device_get_irq_info = 7,
  device_set_irqs = 8,
  region_read = 9,
  region_write = 10,
  dma_read = 11,
  dma_write = 12,
  device_reset = 13,
};

struct Header {
  uint16_t id;
  uint16_t command;
  /// Bytes of the whole message, this header included.
  uint32_t size;
  uint32_t flags;
  uint32_t error;
};
static_assert(sizeof(Header) == 16);

constexpr uint32_t flag_type_mask = 0xf;
constexpr uint32_t flag_type_command = 0x0;
constexpr uint32_t flag_type_reply = 0x1;
constexpr uint32_t flag_no_reply = 0x10;
constexpr uint32_t flag_error = 0x20;

/// A zero-terminated JSON text may follow.
struct Version {
  uint16_t major;
  uint16_t minor;
};
static_assert(sizeof(Version) == 4);

struct DmaMap {
  uint32_t argsz;
  uint32_t flags;
  uint64_t offset;
  uint64_t address;
  uint64_t size;
};
static_assert(sizeof(DmaMap) == 32);

constexpr uint32_t dma_map_readable = 1;
constexpr uint32_t dma_map_writable = 2;

struct DmaUnmap {
  uint32_t argsz;
  uint32_t flags;
  uint64_t address;
  uint64_t size;
};
static_assert(sizeof(DmaUnmap) == 24);

constexpr uint32_t dma_unmap_all = 2;

struct DeviceInfo {
  uint32_t argsz;
  uint32_t flags;
  uint32_t num_regions;
  uint32_t num_irqs;
};
static_assert(sizeof(DeviceInfo) == 16);

constexpr uint32_t device_flag_reset = 1;
constexpr uint32_t device_flag_pci = 2;

struct RegionInfo {
  uint32_t argsz;
  uint32_t flags;
  uint32_t index;
  uint32_t cap_offset;
  uint64_t size;
  uint64_t offset;
};
static_assert(sizeof(RegionInfo) == 32);

constexpr uint32_t region_flag_read = 1;
constexpr uint32_t region_flag_write = 2;

/// Regions of a PCI device: BARs 0 to 5, expansion ROM, configuration space, VGA.
constexpr uint32_t region_config = 7;
constexpr uint32_t region_count = 9;

struct IrqInfo {
  uint32_t argsz;
  uint32_t flags;
  uint32_t index;
  uint32_t count;
};
static_assert(sizeof(IrqInfo) == 16);

constexpr uint32_t irq_flag_eventfd = 1;

/// Interrupt kinds this device speaks of: INTx, MSI, MSI-X. (Error and request would follow; a client that asks for
/// them is told that there are none.)
constexpr uint32_t irq_msix = 2;
constexpr uint32_t irq_count = 3;

/// With irq_set_data_bool, `count` bytes follow.
struct IrqSet {
  uint32_t argsz;
  uint32_t flags;
  uint32_t index;
  uint32_t start;
  uint32_t count;
};
static_assert(sizeof(IrqSet) == 20);

constexpr uint32_t irq_set_data_none = 0x01;
constexpr uint32_t irq_set_data_bool = 0x02;
constexpr uint32_t irq_set_data_eventfd = 0x04;
constexpr uint32_t irq_set_action_mask = 0x08;
constexpr uint32_t irq_set_action_unmask = 0x10;
constexpr uint32_t irq_set_action_trigger = 0x20;

/// In a region_write command and a region_read reply `count` bytes follow.
struct RegionAccess {
  uint64_t offset;
  uint32_t region;
  uint32_t count;
};
static_assert(sizeof(RegionAccess) == 16);

} // namespace hwswap::vfio_user
