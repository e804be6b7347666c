// SPDX-License-Identifier: Apache-2.0
#include "common/errors.hpp"
#include "vfio_user_server.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <sys/un.h>

namespace hwswap::test {
namespace {

constexpr uint32_t trigger = vu::irq_set_data_eventfd | vu::irq_set_action_trigger;

bool readable(int fd) {
  pollfd poll_fd = {fd, POLLIN, 0};
  return poll(&poll_fd, 1, 0) > 0;
}

TEST_F(VfioUserServerTest, TheVersionIsAgreedFirst) {
  VfioUserClient client = connect();
  EXPECT_EQ(client.read(0, 0, 8).error(), EPROTO);
  const auto reply = client.greet(0, 7);
  EXPECT_EQ(reply.as<vu::Version>().major, 0);
  EXPECT_EQ(reply.as<vu::Version>().minor, 1);
  EXPECT_EQ(reply.payload.back(), 0) << "the JSON text is terminated";
  const auto capabilities = nlohmann::json::parse(reply.payload.begin() + 4, reply.payload.end() - 1);
  EXPECT_GE(capabilities["capabilities"]["max_msg_fds"], 1);
}

TEST_F(VfioUserServerTest, AnotherMajorVersionIsHungUpOn) {
  VfioUserClient client = connect();
  client.send(vu::CommandId::version, VfioUserClient::bytes(vu::Version{1, 0}));
  char byte;
  EXPECT_EQ(recv(client.fd(), &byte, 1, 0), 0);
}

TEST_F(VfioUserServerTest, DescribesItself) {
  VfioUserClient client = connect_and_greet();
  const auto info = client.call(vu::CommandId::device_get_info, VfioUserClient::bytes(vu::DeviceInfo{16, 0, 0, 0}))
                        .as<vu::DeviceInfo>();
  EXPECT_EQ(info.num_regions, 9u);
  EXPECT_EQ(info.flags, 3u);
  const uint64_t sizes[9] = {HWSWAP_BAR_SIZE, 0, 4096, 0, 4096, 0, 0, 4096, 0};
  for (uint32_t i = 0; i < 9; ++i) {
    const auto region =
        client.call(vu::CommandId::device_get_region_info, VfioUserClient::bytes(vu::RegionInfo{32, 0, i, 0, 0, 0}))
            .as<vu::RegionInfo>();
    EXPECT_EQ(region.index, i);
    EXPECT_EQ(region.size, sizes[i]);
    EXPECT_EQ(region.flags, sizes[i] ? 3u : 0u);
  }
  EXPECT_EQ(client.call(vu::CommandId::device_get_region_info, VfioUserClient::bytes(vu::RegionInfo{32, 0, 9, 0, 0, 0}))
                .error(),
            EINVAL);
  const auto irq = client.call(vu::CommandId::device_get_irq_info, VfioUserClient::bytes(vu::IrqInfo{16, 0, 2, 0}))
                       .as<vu::IrqInfo>();
  EXPECT_EQ(irq.count, 1u);
  EXPECT_EQ(irq.flags, vu::irq_flag_eventfd);
}

TEST_F(VfioUserServerTest, ConfigurationSpaceIsThatOfTheMap) {
  VfioUserClient client = connect_and_greet();
  EXPECT_EQ(client.load<uint16_t>(vu::region_config, 0), HWSWAP_PCI_ID_VENDOR);
  EXPECT_EQ(client.load<uint16_t>(vu::region_config, 2), HWSWAP_PCI_ID_DEVICE);
  EXPECT_EQ(client.load<uint32_t>(vu::region_config, 8) >> 8, 0x088000u);
  EXPECT_EQ(client.load<uint8_t>(vu::region_config, 0xe), 0) << "header type";
  // Sizing: all ones written into BAR 0 and 1 leave the size mask and the type bits.
  client.store<uint32_t>(vu::region_config, 0x10, 0xffffffff);
  client.store<uint32_t>(vu::region_config, 0x14, 0xffffffff);
  EXPECT_EQ(client.load<uint64_t>(vu::region_config, 0x10), ~uint64_t{HWSWAP_BAR_SIZE - 1} | 4);
  const auto capability = client.load<uint8_t>(vu::region_config, 0x34);
  EXPECT_EQ(client.load<uint8_t>(vu::region_config, capability), 0x11) << "MSI-X";
  EXPECT_EQ(client.load<uint16_t>(vu::region_config, capability + 2u) & 0x7ff, 0) << "one vector";
  EXPECT_EQ(client.load<uint32_t>(vu::region_config, capability + 4u), 4u) << "table in BAR 4";
  EXPECT_EQ(client.read(vu::region_config, 4090, 8).error(), EINVAL);
}

TEST_F(VfioUserServerTest, RegistersTakeAllSizesAndOffsets) {
  VfioUserClient client = connect_and_greet();
  EXPECT_EQ(client.load<uint64_t>(0, HWSWAP_REG_ID), HWSWAP_ID_MAGIC_RESET);
  EXPECT_EQ(client.load<uint32_t>(0, HWSWAP_REG_ID + 4), HWSWAP_ID_MAGIC_RESET >> 32);
  EXPECT_EQ(client.store<uint64_t>(0, HWSWAP_REG_CMD_BASE, 0x1122334455667788), 0);
  EXPECT_EQ(client.store<uint32_t>(0, HWSWAP_REG_CMD_BASE + 4, 0xaabbccdd), 0);
  EXPECT_EQ(client.store<uint16_t>(0, HWSWAP_REG_CMD_BASE + 2, 0xeeff), 0);
  EXPECT_EQ(client.store<uint8_t>(0, HWSWAP_REG_CMD_BASE, 0x99), 0);
  EXPECT_EQ(client.load<uint64_t>(0, HWSWAP_REG_CMD_BASE), 0xaabbccddeeff7799u);
  EXPECT_EQ(client.load<uint16_t>(0, HWSWAP_REG_CMD_BASE + 3), 0xddeeu) << "across two halves";
  EXPECT_EQ(client.read(0, HWSWAP_BAR_SIZE - 4, 8).error(), EINVAL);
  EXPECT_EQ(client.read(0, UINT64_MAX, 8).error(), EINVAL);
  EXPECT_EQ(client.read(1, 0, 4).error(), EINVAL) << "BAR 1 is the upper half of BAR 0";
  EXPECT_EQ(client.read(9, 0, 4).error(), EINVAL);
}

TEST_F(VfioUserServerTest, RoundsOfTheReaderAreNotPaced) {
  VfioUserClient client = connect_and_greet();
  client.store<uint64_t>(0, HWSWAP_REG_GRANT_CONTROL, ~uint64_t{0});
  EXPECT_EQ(engine.registers[HWSWAP_REG_GRANT_CONTROL], ~HWSWAP_GRANT_CONTROL_PACE);
}

TEST_F(VfioUserServerTest, SimulationControlAnswers) {
  VfioUserClient client = connect_and_greet();
  EXPECT_EQ(client.load<uint64_t>(2, HWSWAP_SIM_CONTROL_MAGIC_OFFSET), 0x53494d434c4f434bu);
  EXPECT_EQ(client.load<uint64_t>(2, HWSWAP_SIM_CONTROL_CLOCK_OFFSET), 100'000'000u);
  EXPECT_EQ(client.load<uint32_t>(2, HWSWAP_SIM_CONTROL_PCI_ID_OFFSET),
            HWSWAP_PCI_ID_VENDOR | HWSWAP_PCI_ID_DEVICE << 16);
  client.store<uint64_t>(2, HWSWAP_SIM_CONTROL_GUEST_TIME_OFFSET, 1000);
  engine.busy_until = UINT64_MAX;
  const uint64_t begin = engine.cycles();
  client.store<uint64_t>(2, HWSWAP_SIM_CONTROL_GUEST_TIME_OFFSET, 2000);
  EXPECT_EQ(engine.cycles() - begin, 100u);
}

TEST_F(VfioUserServerTest, DmaReachesMappedMemoryOnly) {
  VfioUserClient client = connect_and_greet();
  SharedMemory guest(64 * 1024);
  EXPECT_EQ(client.map(0x10000, 0x10000, 0, guest.fd()), 0);
  guest.word(0x100) = 0xfeed;
  EXPECT_FALSE(copy(client, 0x10100, 0x10200)) << "bus mastering is off";
  enable_dma(client);
  EXPECT_TRUE(copy(client, 0x10100, 0x10200));
  EXPECT_EQ(guest.word(0x200), 0xfeedu);
  EXPECT_FALSE(copy(client, 0x10100, 0x20000));
  EXPECT_FALSE(copy(client, 0xfff8, 0x10200));
}

TEST_F(VfioUserServerTest, MemoryIsMappedAgainInPieces) {
  VfioUserClient client = connect_and_greet();
  enable_dma(client);
  SharedMemory guest(64 * 1024);
  EXPECT_EQ(client.map(0, 0x10000, 0, guest.fd()), 0);
  EXPECT_EQ(client.map(0x8000, 0x1000, 0, guest.fd()), EEXIST);
  EXPECT_EQ(client.unmap(0, 0x8000), ENOENT) << "only whole ranges";
  EXPECT_EQ(client.unmap(0, 0x10000), 0);
  // As QEMU does when the firmware shadows its ROMs: pieces, out of order, one without a file, offsets that differ.
  EXPECT_EQ(client.map(0xc000, 0x4000, 0xc000, guest.fd()), 0);
  EXPECT_EQ(client.map(0, 0x8000, 0, guest.fd()), 0);
  EXPECT_EQ(client.map(0x8000, 0x4000, 0, -1), 0);
  EXPECT_EQ(client.map(0x100000000, 0x1000, 0x3000, guest.fd()), 0);
  EXPECT_EQ(client.map(0x7000, 0x2000, 0, guest.fd()), EEXIST);
  EXPECT_EQ(client.map(0x20000, 0x1001, 0, guest.fd()), EINVAL);
  guest.word(0xfff8) = 5;
  EXPECT_TRUE(copy(client, 0xfff8, 0x7ff8));
  EXPECT_EQ(guest.word(0x7ff8), 5u);
  EXPECT_FALSE(copy(client, 0xfff8, 0x8000)) << "a ROM";
  EXPECT_TRUE(copy(client, 0xfff8, 0x100000010));
  EXPECT_EQ(guest.word(0x3010), 5u);
  EXPECT_EQ(client.unmap(0, 0, vu::dma_unmap_all), 0);
  EXPECT_FALSE(copy(client, 0xfff8, 0x7ff8));
}

TEST_F(VfioUserServerTest, InterruptsSignalTheEventfd) {
  VfioUserClient client = connect_and_greet();
  enable_dma(client);
  const FileDescriptor event(eventfd(0, EFD_NONBLOCK));
  EXPECT_EQ(client.set_irqs(trigger, 0, 1, {event.get()}), 0);
  EXPECT_FALSE(readable(event.get()));
  copy(client, 0, 0);
  EXPECT_TRUE(readable(event.get()));
  eventfd_t count = 0;
  eventfd_read(event.get(), &count);
  copy(client, 0, 0);
  EXPECT_FALSE(readable(event.get())) << "the wire is still high: no edge";
  client.store<uint64_t>(0, HWSWAP_REG_IRQ_STATUS, 1);
  copy(client, 0, 0);
  EXPECT_TRUE(readable(event.get()));
}

TEST_F(VfioUserServerTest, AnInterruptWithoutEventfdStaysPending) {
  VfioUserClient client = connect_and_greet();
  const FileDescriptor event(eventfd(0, EFD_NONBLOCK));
  // QEMU begins with one vector and no descriptor.
  EXPECT_EQ(client.set_irqs(trigger, 0, 1), 0);
  copy(client, 0, 0);
  EXPECT_EQ(client.load<uint64_t>(4, PciConfig::pending_offset), 1u);
  EXPECT_EQ(client.set_irqs(trigger, 0, 1, {event.get()}), 0);
  EXPECT_TRUE(readable(event.get()));
  EXPECT_EQ(client.load<uint64_t>(4, PciConfig::pending_offset), 0u);
}

TEST_F(VfioUserServerTest, TheClientCanTriggerAndDisable) {
  VfioUserClient client = connect_and_greet();
  const FileDescriptor event(eventfd(0, EFD_NONBLOCK));
  EXPECT_EQ(client.set_irqs(trigger, 0, 1, {event.get()}), 0);
  EXPECT_EQ(client.set_irqs(vu::irq_set_data_none | vu::irq_set_action_trigger, 0, 1), 0);
  EXPECT_TRUE(readable(event.get()));
  eventfd_t count = 0;
  eventfd_read(event.get(), &count);
  EXPECT_EQ(client.set_irqs(vu::irq_set_data_none | vu::irq_set_action_trigger, 0, 0), 0);
  copy(client, 0, 0);
  EXPECT_FALSE(readable(event.get()));
  EXPECT_EQ(client.set_irqs(trigger, 1, 1, {event.get()}), EINVAL) << "there is one vector";
  EXPECT_EQ(client.set_irqs(vu::irq_set_data_none | vu::irq_set_action_mask, 0, 1), EINVAL);
}

TEST_F(VfioUserServerTest, ResetGoesBackToPowerUp) {
  VfioUserClient client = connect_and_greet();
  enable_dma(client);
  client.store<uint64_t>(0, HWSWAP_REG_CMD_BASE, 77);
  EXPECT_EQ(client.call(vu::CommandId::device_reset, {}).error(), 0);
  EXPECT_EQ(client.load<uint64_t>(0, HWSWAP_REG_CMD_BASE), 0u);
  EXPECT_EQ(client.load<uint16_t>(vu::region_config, 4), 0u);
  EXPECT_EQ(engine.resets, 2u) << "the first is the start";
}

TEST_F(VfioUserServerTest, FunctionLevelResetGoesBackToPowerUp) {
  VfioUserClient client = connect_and_greet();
  enable_dma(client);
  const auto msix = client.load<uint8_t>(vu::region_config, 0x34);
  const auto express = client.load<uint8_t>(vu::region_config, msix + 1u);
  EXPECT_EQ(client.load<uint8_t>(vu::region_config, express), 0x10) << "PCI Express";
  EXPECT_EQ(client.load<uint8_t>(vu::region_config, express + 1u), 0) << "the last one";
  EXPECT_EQ(client.load<uint32_t>(vu::region_config, express + 4u) >> 28 & 1, 1u) << "FLR capable";
  const auto control = client.load<uint16_t>(vu::region_config, express + 8u);
  EXPECT_EQ(control & 0x10, 0x10) << "Relaxed Ordering may be used";
  client.store<uint16_t>(vu::region_config, express + 8u, control & ~0x10);
  EXPECT_EQ(client.load<uint16_t>(vu::region_config, express + 8u), control & ~0x10);
  client.store<uint64_t>(0, HWSWAP_REG_CMD_BASE, 77);
  const auto before = engine.resets;
  EXPECT_EQ(client.store<uint16_t>(vu::region_config, express + 8u, control | 0x8000), 0);
  EXPECT_EQ(engine.resets, before + 1);
  EXPECT_EQ(client.load<uint64_t>(0, HWSWAP_REG_CMD_BASE), 0u);
  EXPECT_EQ(client.load<uint16_t>(vu::region_config, 4), 0u);
  EXPECT_EQ(client.load<uint16_t>(vu::region_config, express + 8u), control) << "the bit reads 0";
  EXPECT_EQ(client.load<uint32_t>(vu::region_config, 0x100), 0x00020001u) << "error reporting";
}

TEST_F(VfioUserServerTest, OneClientAfterAnotherFindsAFreshDevice) {
  SharedMemory guest(4096);
  {
    VfioUserClient client = connect_and_greet();
    enable_dma(client);
    EXPECT_EQ(client.map(0, 4096, 0, guest.fd()), 0);
    client.store<uint64_t>(0, HWSWAP_REG_CMD_BASE, 77);
  }
  VfioUserClient client = connect_and_greet();
  EXPECT_EQ(memory.ranges(), 0u);
  EXPECT_EQ(client.load<uint64_t>(0, HWSWAP_REG_CMD_BASE), 0u);
  EXPECT_EQ(client.map(0, 4096, 0, guest.fd()), 0) << "the old mapping is gone";
}

TEST_F(VfioUserServerTest, PassesAreCountedAcrossResets) {
  VfioUserClient client = connect_and_greet();
  client.store<uint64_t>(2, HWSWAP_SIM_CONTROL_GUEST_TIME_OFFSET, 0);
  client.store<uint64_t>(0, HWSWAP_REG_CONTROL, HWSWAP_CONTROL_ENABLE);
  client.store<uint64_t>(0, HWSWAP_REG_GRANT_CONTROL, HWSWAP_GRANT_CONTROL_READ | HWSWAP_GRANT_CONTROL_GRANT);
  engine.busy_until = UINT64_MAX;
  client.store<uint64_t>(2, HWSWAP_SIM_CONTROL_GUEST_TIME_OFFSET, 10 * 10 * FakeEngine::pass_cycles);
  const uint64_t before = device.statistics()["passes"];
  EXPECT_GE(before, 10u);
  engine.clear_passes();
  client.store<uint64_t>(2, HWSWAP_SIM_CONTROL_GUEST_TIME_OFFSET, 15 * 10 * FakeEngine::pass_cycles);
  EXPECT_NEAR(static_cast<double>(device.statistics()["passes"]), static_cast<double>(before + 5), 1);
}

TEST_F(VfioUserServerTest, CommandsCanBePipelinedAndUnanswered) {
  VfioUserClient client = connect_and_greet();
  auto write = VfioUserClient::bytes(vu::RegionAccess{HWSWAP_REG_CMD_BASE, 0, 8});
  const auto data = VfioUserClient::bytes(uint64_t{42});
  write.insert(write.end(), data.begin(), data.end());
  client.send(vu::CommandId::region_write, write, {}, vu::flag_no_reply);
  EXPECT_EQ(client.load<uint64_t>(0, HWSWAP_REG_CMD_BASE), 42u);
}

TEST_F(VfioUserServerTest, BrokenMessagesAreRefused) {
  VfioUserClient client = connect_and_greet();
  EXPECT_EQ(client.call(static_cast<vu::CommandId>(99), {}).error(), EOPNOTSUPP);
  EXPECT_EQ(client.call(vu::CommandId::dma_map, {1, 2, 3}).error(), EINVAL);
  EXPECT_EQ(client.call(vu::CommandId::region_write, VfioUserClient::bytes(vu::RegionAccess{0, 0, 8})).error(), EINVAL)
      << "no data";
  EXPECT_EQ(client.read(0, 0, 0xffffffff).error(), EINVAL);
  vu::Header header = {1, 1, 4, 0, 0};
  ASSERT_EQ(send(client.fd(), &header, sizeof(header), MSG_NOSIGNAL), 16);
  char byte;
  EXPECT_EQ(recv(client.fd(), &byte, 1, 0), 0) << "a message shorter than its header ends the session";
}

TEST(ListenSocketTest, APathInUseIsRefusedAndADeadOneReplaced) {
  const std::string path = ::testing::TempDir() + "hwswap_listen.sock";
  std::filesystem::remove(path);
  {
    const ListenSocket first(path);
    EXPECT_THROW(ListenSocket second(path), UserError);
  }
  EXPECT_FALSE(std::filesystem::exists(path)) << "unlinked at the end";
  {
    const FileDescriptor dead(socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    ASSERT_EQ(bind(dead.get(), reinterpret_cast<sockaddr *>(&address), sizeof(address)), 0);
  }
  EXPECT_NO_THROW(ListenSocket again(path));
  std::ofstream(path) << "a file";
  EXPECT_THROW(ListenSocket file(path), UserError);
  EXPECT_TRUE(std::filesystem::exists(path));
  std::filesystem::remove(path);
  EXPECT_THROW(ListenSocket longer("/tmp/" + std::string(200, 'x')), UserError);
}

TEST(DeviceServerTest, AStopEndsTheWaitForClients) {
  GuestMemory memory;
  PciConfig config;
  FaultInjector injector(InjectedFault::none, 0, 1);
  DmaPort port(memory, config, injector);
  FakeEngine engine(port);
  const StopSignal stop{FileDescriptor(eventfd(0, 0))};
  Pacer pacer(engine, Pace::free, 1'000'000, 100, stop);
  SimulatedDevice device(engine, config, memory, injector, pacer);
  const std::string stats = ::testing::TempDir() + "hwswap_stats.json";
  const std::string path = ::testing::TempDir() + "hwswap_stop.sock";
  DeviceServer server(device, stop, stats);
  ListenSocket socket(path);
  std::thread thread([&] { server.run(socket); });
  eventfd_write(stop.fd(), 1);
  thread.join();
  std::ifstream in(stats);
  const auto json = nlohmann::json::parse(in);
  EXPECT_EQ(json["clients"], 0);
  std::filesystem::remove(stats);
}

} // namespace
} // namespace hwswap::test
