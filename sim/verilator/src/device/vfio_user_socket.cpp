// SPDX-License-Identifier: Apache-2.0
#include "device/vfio_user_socket.hpp"

#include "common/errors.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <system_error>

namespace hwswap {

namespace {

/// A client that does not take its reply for so long (seconds) counts as gone.
constexpr time_t send_patience = 30;

std::string error_text() { return std::strerror(errno); }

sockaddr_un address_of(const std::string &path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path))
    throw UserError("the socket path " + path + " is longer than the " + std::to_string(sizeof(address.sun_path) - 1) +
                    " bytes a UNIX socket may have: choose a shorter one with --socket");
  std::copy(path.begin(), path.end(), address.sun_path);
  return address;
}

FileDescriptor new_socket() {
  FileDescriptor fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd)
    throw std::system_error(errno, std::generic_category(), "socket");
  return fd;
}

/// Make room at `path`: nothing there is fine, a dead socket is removed, anything else is the user's to solve.
void clear_path(const std::string &path, const sockaddr_un &address) {
  struct stat info = {};
  if (lstat(path.c_str(), &info) != 0)
    return;
  if (!S_ISSOCK(info.st_mode))
    throw UserError(path + " exists and is no socket: remove it or choose another path with --socket");
  const FileDescriptor probe = new_socket();
  if (connect(probe.get(), reinterpret_cast<const sockaddr *>(&address), sizeof(address)) == 0)
    throw UserError("another server answers at the socket " + path + ": stop it or choose another path with --socket");
  unlink(path.c_str());
}

} // namespace

VfioChannel::VfioChannel(FileDescriptor fd, const StopSignal &stop) : fd_(std::move(fd)), stop_(stop) {
  const timeval patience = {send_patience, 0};
  setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
}

void VfioChannel::receive_all(std::span<uint8_t> bytes, std::vector<FileDescriptor> *fds) {
  while (!bytes.empty()) {
    alignas(cmsghdr) std::array<uint8_t, CMSG_SPACE(max_fds * sizeof(int))> control;
    iovec part = {bytes.data(), bytes.size()};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t got = recvmsg(fd_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
      stop_.wait_readable(fd_.get(), -1);
      continue;
    }
    if (got < 0)
      throw Disconnected("the connection failed (" + error_text() + ")");
    for (cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
      if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
        continue;
      const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (size_t i = 0; i < count; ++i) {
        int fd;
        std::memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
        FileDescriptor owner(fd);
        if (fds)
          fds->push_back(std::move(owner));
      }
    }
    if (message.msg_flags & MSG_CTRUNC)
      throw Disconnected("the client sent more descriptors with a message than were agreed upon");
    if (got == 0)
      throw Disconnected("the client closed the connection");
    bytes = bytes.subspan(static_cast<size_t>(got));
  }
}

VfioMessage VfioChannel::receive() {
  VfioMessage message;
  std::array<uint8_t, sizeof(vfio_user::Header)> start;
  receive_all(start, &message.fds);
  std::memcpy(&message.header, start.data(), start.size());
  const uint32_t size = message.header.size;
  if (size < start.size() || size - start.size() > max_payload)
    throw Disconnected("the client sent a message that claims " + std::to_string(size) + " bytes");
  message.payload.resize(size - start.size());
  receive_all(message.payload, &message.fds);
  return message;
}

void VfioChannel::send(vfio_user::Header header, std::span<const uint8_t> payload) {
  header.size = static_cast<uint32_t>(sizeof(header) + payload.size());
  iovec parts[2] = {{&header, sizeof(header)}, {const_cast<uint8_t *>(payload.data()), payload.size()}};
  msghdr message = {};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  size_t left = header.size;
  while (left) {
    const ssize_t sent = sendmsg(fd_.get(), &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR)
      continue;
    if (sent < 0)
      throw Disconnected("the client took no reply (" + error_text() + ")");
    left -= static_cast<size_t>(sent);
    for (size_t skip = static_cast<size_t>(sent); iovec & part : parts) {
      const size_t now = std::min(skip, part.iov_len);
      part.iov_base = static_cast<uint8_t *>(part.iov_base) + now;
      part.iov_len -= now;
      skip -= now;
    }
  }
}

void VfioChannel::reply(const vfio_user::Header &command, std::span<const uint8_t> payload) {
  send({command.id, command.command, 0, vfio_user::flag_type_reply, 0}, payload);
}

void VfioChannel::reply_error(const vfio_user::Header &command, int error) {
  send({command.id, command.command, 0, vfio_user::flag_type_reply | vfio_user::flag_error,
        static_cast<uint32_t>(error)},
       {});
}

ListenSocket::ListenSocket(const std::string &path) : path_(path), fd_(new_socket()) {
  const sockaddr_un address = address_of(path);
  clear_path(path, address);
  // The client's memory passes through this socket: nobody but its owner may connect.
  const mode_t mask = umask(0077);
  const int bound = bind(fd_.get(), reinterpret_cast<const sockaddr *>(&address), sizeof(address));
  const int error = errno;
  umask(mask);
  if (bound != 0)
    throw UserError("cannot make the socket " + path + " (" + std::strerror(error) +
                    "): choose another path with --socket");
  if (listen(fd_.get(), 4) != 0)
    throw std::system_error(errno, std::generic_category(), "listen");
}

ListenSocket::~ListenSocket() { unlink(path_.c_str()); }

FileDescriptor ListenSocket::accept(const StopSignal &stop) {
  while (true) {
    stop.wait_readable(fd_.get(), -1);
    FileDescriptor client(accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (client)
      return client;
    if (errno != EINTR && errno != ECONNABORTED && errno != EAGAIN)
      throw std::system_error(errno, std::generic_category(), "accept");
  }
}

} // namespace hwswap
