// SPDX-License-Identifier: Apache-2.0
// A device server around the fake engine, and memory of its client, for tests.
#pragma once

#include "device/device_server.hpp"
#include "device/dma_port.hpp"
#include "fake_engine.hpp"
#include "vfio_user_client.hpp"

#include <sys/eventfd.h>
#include <sys/mman.h>
#include <thread>

namespace hwswap::test {

/// A memory file of the client, as QEMU's memory-backend-memfd makes one.
class SharedMemory {
public:
  explicit SharedMemory(size_t bytes) : fd_(memfd_create("guest", MFD_CLOEXEC)), bytes_(bytes) {
    EXPECT_EQ(ftruncate(fd_.get(), static_cast<off_t>(bytes)), 0);
    words_ = static_cast<uint64_t *>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0));
  }
  ~SharedMemory() { munmap(words_, bytes_); }
  int fd() const { return fd_.get(); }
  uint64_t &word(size_t offset) { return words_[offset / 8]; }

private:
  FileDescriptor fd_;
  size_t bytes_;
  uint64_t *words_;
};

class VfioUserServerTest : public ::testing::Test {
protected:
  explicit VfioUserServerTest(InjectedFault fault = InjectedFault::none) : injector(fault, 0, 1) {}

  GuestMemory memory;
  PciConfig config;
  FaultInjector injector;
  DmaPort port{memory, config, injector};
  FakeEngine engine{port};
  StopSignal stop{FileDescriptor(eventfd(0, 0))};
  Pacer pacer{engine, Pace::free, 100'000'000, 100, stop};
  SimulatedDevice device{engine, config, memory, injector, pacer};
  DeviceServer server{device, stop, ""};
  std::thread thread;

  /// Connect a client; the one before must have left.
  VfioUserClient connect() {
    join();
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    thread = std::thread([this, fd = ends[0]] { server.serve(FileDescriptor(fd)); });
    return VfioUserClient(FileDescriptor(ends[1]));
  }

  VfioUserClient connect_and_greet() {
    VfioUserClient client = connect();
    EXPECT_EQ(client.greet().error(), 0);
    return client;
  }

  void join() {
    if (thread.joinable())
      thread.join();
  }

  void TearDown() override { join(); }

  static void enable_dma(VfioUserClient &client) { EXPECT_EQ(client.store<uint16_t>(vu::region_config, 4, 0x6), 0); }

  /// Let the fake engine copy a word by DMA; whether it could.
  bool copy(VfioUserClient &client, uint64_t from, uint64_t to) {
    EXPECT_EQ(client.store<uint64_t>(0, HWSWAP_REG_CMD_BASE, from), 0);
    EXPECT_EQ(client.store<uint64_t>(0, HWSWAP_REG_CPL_BASE, to), 0);
    EXPECT_EQ(client.store<uint32_t>(0, HWSWAP_REG_CMD_TAIL, 1), 0);
    return !engine.dma_failed;
  }
};

} // namespace hwswap::test
