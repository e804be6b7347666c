// SPDX-License-Identifier: Apache-2.0
// Serves the device to one client after another.
#pragma once

#include "device/simulated_device.hpp"
#include "device/vfio_user_socket.hpp"

#include <nlohmann/json.hpp>
#include <string>

namespace hwswap {

class DeviceServer {
public:
  /// `stats_json`: file that the statistics go to whenever a client leaves and at the end; empty for none.
  DeviceServer(SimulatedDevice &device, const StopSignal &stop, std::string stats_json)
      : device_(device), stop_(stop), stats_json_(std::move(stats_json)) {}

  /// Serve clients of `socket` until the stop is asked for.
  void run(ListenSocket &socket);

  /// Serve one client until it leaves; the device is reset afterwards. Throws Stopped.
  void serve(FileDescriptor client);

  /// The device's statistics with those of the connections.
  nlohmann::json statistics() const;

  void write_statistics() const;

private:
  SimulatedDevice &device_;
  const StopSignal &stop_;
  std::string stats_json_;
  uint64_t clients_ = 0;
  uint64_t messages_ = 0;
};

} // namespace hwswap
