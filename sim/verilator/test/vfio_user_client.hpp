// SPDX-License-Identifier: Apache-2.0
// The other end of the vfio-user protocol, for tests.
#pragma once

#include "common/file_descriptor.hpp"
#include "device/vfio_user_protocol.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <sys/socket.h>
#include <sys/time.h>
#include <vector>

namespace hwswap::test {

namespace vu = vfio_user;

/// Sends commands and waits for each reply.
class VfioUserClient {
public:
  explicit VfioUserClient(FileDescriptor fd) : fd_(std::move(fd)) {
    const timeval patience = {10, 0};
    setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  }

  struct Reply {
    vu::Header header{};
    std::vector<uint8_t> payload;

    int error() const { return header.flags & vu::flag_error ? static_cast<int>(header.error) : 0; }
    template <typename T> T as(size_t offset = 0) const {
      T value{};
      if (payload.size() < offset + sizeof(T))
        ADD_FAILURE() << "the reply is too short: " << payload.size();
      else
        std::memcpy(&value, payload.data() + offset, sizeof(T));
      return value;
    }
  };

  void send(vu::CommandId command, const std::vector<uint8_t> &payload, const std::vector<int> &fds = {},
            uint32_t flags = 0) {
    vu::Header header = {++id_, static_cast<uint16_t>(command),
                         static_cast<uint32_t>(sizeof(vu::Header) + payload.size()), flags, 0};
    iovec parts[2] = {{&header, sizeof(header)}, {const_cast<uint8_t *>(payload.data()), payload.size()}};
    alignas(cmsghdr) uint8_t control[CMSG_SPACE(16 * sizeof(int))] = {};
    msghdr message = {};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    if (!fds.empty()) {
      message.msg_control = control;
      message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
      cmsghdr *c = CMSG_FIRSTHDR(&message);
      c->cmsg_level = SOL_SOCKET;
      c->cmsg_type = SCM_RIGHTS;
      c->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
      std::memcpy(CMSG_DATA(c), fds.data(), fds.size() * sizeof(int));
    }
    ASSERT_EQ(sendmsg(fd_.get(), &message, MSG_NOSIGNAL), static_cast<ssize_t>(header.size));
  }

  Reply receive() {
    Reply reply;
    if (recv(fd_.get(), &reply.header, sizeof(reply.header), MSG_WAITALL) !=
        static_cast<ssize_t>(sizeof(reply.header))) {
      ADD_FAILURE() << "no reply";
      return reply;
    }
    EXPECT_EQ(reply.header.id, id_);
    EXPECT_EQ(reply.header.flags & vu::flag_type_mask, vu::flag_type_reply);
    reply.payload.resize(reply.header.size - sizeof(vu::Header));
    // A recv of nothing would wait for the next message.
    if (!reply.payload.empty()) {
      const ssize_t got = recv(fd_.get(), reply.payload.data(), reply.payload.size(), MSG_WAITALL);
      EXPECT_EQ(got, static_cast<ssize_t>(reply.payload.size()));
    }
    return reply;
  }

  Reply call(vu::CommandId command, const std::vector<uint8_t> &payload, const std::vector<int> &fds = {}) {
    send(command, payload, fds);
    return receive();
  }

  template <typename T> static std::vector<uint8_t> bytes(const T &value) {
    std::vector<uint8_t> out(sizeof(T));
    std::memcpy(out.data(), &value, sizeof(T));
    return out;
  }

  Reply greet(uint16_t major = 0, uint16_t minor = 1) {
    auto payload = bytes(vu::Version{major, minor});
    const std::string text = R"({"capabilities":{"max_msg_fds":8,"max_data_xfer_size":1048576}})";
    payload.insert(payload.end(), text.c_str(), text.c_str() + text.size() + 1);
    return call(vu::CommandId::version, payload);
  }

  Reply read(uint32_t region, uint64_t offset, uint32_t count) {
    return call(vu::CommandId::region_read, bytes(vu::RegionAccess{offset, region, count}));
  }

  template <typename T> T load(uint32_t region, uint64_t offset) {
    const Reply reply = read(region, offset, sizeof(T));
    EXPECT_EQ(reply.error(), 0);
    return reply.as<T>(sizeof(vu::RegionAccess));
  }

  template <typename T> int store(uint32_t region, uint64_t offset, T value) {
    auto payload = bytes(vu::RegionAccess{offset, region, sizeof(T)});
    const auto data = bytes(value);
    payload.insert(payload.end(), data.begin(), data.end());
    return call(vu::CommandId::region_write, payload).error();
  }

  int map(uint64_t address, uint64_t size, uint64_t offset, int fd) {
    const vu::DmaMap request = {sizeof(vu::DmaMap), vu::dma_map_readable | vu::dma_map_writable, offset, address, size};
    return call(vu::CommandId::dma_map, bytes(request), fd < 0 ? std::vector<int>{} : std::vector<int>{fd}).error();
  }

  int unmap(uint64_t address, uint64_t size, uint32_t flags = 0) {
    return call(vu::CommandId::dma_unmap, bytes(vu::DmaUnmap{sizeof(vu::DmaUnmap), flags, address, size})).error();
  }

  int set_irqs(uint32_t flags, uint32_t start, uint32_t count, const std::vector<int> &fds = {}) {
    const vu::IrqSet request = {sizeof(vu::IrqSet), flags, vu::irq_msix, start, count};
    return call(vu::CommandId::device_set_irqs, bytes(request), fds).error();
  }

  int fd() const { return fd_.get(); }

private:
  FileDescriptor fd_;
  uint16_t id_ = 0;
};

} // namespace hwswap::test
