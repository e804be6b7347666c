// SPDX-License-Identifier: Apache-2.0
// One client of the device: its commands and our answers.
#pragma once

#include "device/simulated_device.hpp"
#include "device/vfio_user_socket.hpp"

#include <optional>

namespace hwswap {

/// Serves the vfio-user protocol on one connection.
class VfioUserSession {
public:
  VfioUserSession(VfioChannel channel, SimulatedDevice &device) : channel_(std::move(channel)), device_(device) {}

  int fd() const { return channel_.fd(); }

  /// Receive one command and answer it. Throws Disconnected when the session is over, or Stopped.
  void handle_message();

  /// Commands handled so far.
  uint64_t messages() const { return messages_; }

private:
  /// The payload of a reply, or an errno value.
  struct Answer {
    int error = 0;
    std::vector<uint8_t> payload = {};
  };

  Answer dispatch(VfioMessage &message);
  Answer version(const VfioMessage &message);
  Answer dma_map(VfioMessage &message);
  Answer dma_unmap(const VfioMessage &message);
  Answer device_info(const VfioMessage &message);
  Answer region_info(const VfioMessage &message);
  Answer irq_info(const VfioMessage &message);
  Answer set_irqs(VfioMessage &message);
  Answer region_read(const VfioMessage &message);
  Answer region_write(const VfioMessage &message);

  VfioChannel channel_;
  SimulatedDevice &device_;
  bool greeted_ = false;
  uint64_t messages_ = 0;
};

} // namespace hwswap
