// SPDX-License-Identifier: Apache-2.0
// Messages with descriptors over a UNIX socket, and the socket that clients connect to.
#pragma once

#include "common/file_descriptor.hpp"
#include "common/stop_signal.hpp"
#include "device/vfio_user_protocol.hpp"

#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace hwswap {

/// The client closed the connection, or broke the protocol so that nothing more can be read from it.
struct Disconnected : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A command as it came.
struct VfioMessage {
  vfio_user::Header header;
  std::vector<uint8_t> payload;
  std::vector<FileDescriptor> fds;
};

/// One connection.
class VfioChannel {
public:
  /// Most data of one region access, and the longest payload that is read.
  static constexpr uint32_t max_transfer = 1 << 20;
  static constexpr size_t max_payload = sizeof(vfio_user::RegionAccess) + max_transfer;
  /// Most descriptors taken with one message.
  static constexpr size_t max_fds = 8;

  VfioChannel(FileDescriptor fd, const StopSignal &stop);

  int fd() const { return fd_.get(); }

  /// Wait for the next message. Throws Disconnected, or Stopped.
  VfioMessage receive();

  /// Answer `command` with `payload`.
  void reply(const vfio_user::Header &command, std::span<const uint8_t> payload);

  /// Answer `command` with the errno value `error`.
  void reply_error(const vfio_user::Header &command, int error);

private:
  void receive_all(std::span<uint8_t> bytes, std::vector<FileDescriptor> *fds);
  void send(vfio_user::Header header, std::span<const uint8_t> payload);

  FileDescriptor fd_;
  const StopSignal &stop_;
};

/// The socket in the file system. UserError when the path cannot be used.
class ListenSocket {
public:
  /// A socket file left by a killed server is replaced; one that a server answers at is not.
  explicit ListenSocket(const std::string &path);
  ~ListenSocket();
  ListenSocket(const ListenSocket &) = delete;
  ListenSocket &operator=(const ListenSocket &) = delete;

  /// Wait for the next client. Throws Stopped.
  FileDescriptor accept(const StopSignal &stop);

private:
  std::string path_;
  FileDescriptor fd_;
};

} // namespace hwswap
