// SPDX-License-Identifier: Apache-2.0
#include "device/device_server.hpp"

#include "common/errors.hpp"
#include "device/vfio_user_session.hpp"

#include <fstream>
#include <iostream>

namespace hwswap {

namespace {

/// Cycles the engine runs between two looks at the socket: some tens of microseconds of host time.
constexpr uint64_t slice_cycles = 64;
/// Cycles it gets even while messages keep coming.
constexpr uint64_t busy_slice_cycles = 16;

} // namespace

void DeviceServer::run(ListenSocket &socket) {
  try {
    while (true)
      serve(socket.accept(stop_));
  } catch (const Stopped &) {
    write_statistics();
  }
}

void DeviceServer::serve(FileDescriptor client) {
  ++clients_;
  VfioUserSession session(VfioChannel(std::move(client), stop_), device_);
  std::cerr << "hwswap-device: client " << clients_ << " has connected" << std::endl;
  try {
    while (true) {
      Pacer &pacer = device_.pacer();
      if (pacer.wants_to_run()) {
        if (!stop_.wait_readable(session.fd(), 0)) {
          device_.run_slice(slice_cycles);
          continue;
        }
      } else if (!stop_.wait_readable(session.fd(), pacer.sleep_us())) {
        pacer.woke();
        continue;
      }
      session.handle_message();
      ++messages_;
      if (pacer.wants_to_run())
        device_.run_slice(busy_slice_cycles);
    }
  } catch (const Disconnected &reason) {
    std::cerr << "hwswap-device: client " << clients_ << " has left: " << reason.what() << std::endl;
    device_.client_gone();
  }
  write_statistics();
}

nlohmann::json DeviceServer::statistics() const {
  nlohmann::json out = device_.statistics();
  out["clients"] = clients_;
  out["messages"] = messages_;
  return out;
}

void DeviceServer::write_statistics() const {
  if (stats_json_.empty())
    return;
  std::ofstream out(stats_json_);
  out << statistics().dump(2) << '\n';
  if (!out.flush())
    throw UserError("cannot write " + stats_json_ + ": choose another place with --stats-json");
}

} // namespace hwswap
