// SPDX-License-Identifier: Apache-2.0
#include "vfio_user_server.hpp"

namespace hwswap::test {
namespace {

template <InjectedFault fault> class WithFault : public VfioUserServerTest {
protected:
  WithFault() : VfioUserServerTest(fault) {}
};

using LyingVersionTest = WithFault<InjectedFault::version>;
using LyingOnesTest = WithFault<InjectedFault::ones>;
using LyingGarbageTest = WithFault<InjectedFault::garbage>;
using LyingDeviceTest = WithFault<InjectedFault::device>;
using AstrayTest = WithFault<InjectedFault::astray>;

TEST_F(LyingVersionTest, TheMajorVersionIsAnother) {
  VfioUserClient client = connect_and_greet();
  EXPECT_EQ(client.load<uint64_t>(0, HWSWAP_REG_VERSION), 2u << HWSWAP_VERSION_MAJOR_SHIFT);
  EXPECT_EQ(client.load<uint64_t>(0, HWSWAP_REG_ID), HWSWAP_ID_MAGIC_RESET);
}

TEST_F(LyingOnesTest, RegistersAreAllOnes) {
  VfioUserClient client = connect_and_greet();
  EXPECT_EQ(client.load<uint64_t>(0, HWSWAP_REG_ID), ~uint64_t{0});
  client.store<uint64_t>(0, HWSWAP_REG_CMD_BASE, 77);
  EXPECT_EQ(engine.registers[HWSWAP_REG_CMD_BASE], 0u);
  EXPECT_EQ(client.load<uint16_t>(vu::region_config, 0), HWSWAP_PCI_ID_VENDOR);
}

TEST_F(LyingGarbageTest, OnlyRingsOfGrantsAreSpoiled) {
  VfioUserClient client = connect_and_greet();
  enable_dma(client);
  SharedMemory guest(0x4000);
  EXPECT_EQ(client.map(0, 0x4000, 0, guest.fd()), 0);
  // 2 CPUs, 10 orders, 4 entries of 8 bytes: 640 bytes of rings.
  client.store<uint64_t>(0, HWSWAP_REG_GRANT_RING_BASE, 0x1000);
  guest.word(0) = 0x1234;
  unsigned spoiled = 0;
  for (uint64_t i = 0; i < 80; ++i) {
    EXPECT_TRUE(copy(client, 0, 0x2000 + 8 * i));
    EXPECT_EQ(guest.word(0x2000 + 8 * i), 0x1234u);
    EXPECT_TRUE(copy(client, 0, 0x1000 + 8 * i));
    spoiled += guest.word(0x1000 + 8 * i) != 0x1234;
  }
  EXPECT_GT(spoiled, 40u);
  EXPECT_GT(injector.injected(), 40u);
  for (uint64_t offset = 8; offset < 0x1000; offset += 8)
    EXPECT_EQ(guest.word(offset), 0u) << "before the rings";
  for (uint64_t offset = 0x1000 + 640; offset < 0x2000; offset += 8)
    EXPECT_EQ(guest.word(offset), 0u) << "behind the rings";
}

TEST_F(LyingDeviceTest, AGrantNamesTheOtherDeviceWithItsEpoch) {
  VfioUserClient client = connect_and_greet();
  enable_dma(client);
  SharedMemory guest(0x4000);
  EXPECT_EQ(client.map(0, 0x4000, 0, guest.fd()), 0);
  client.store<uint64_t>(0, HWSWAP_REG_GRANT_RING_BASE, 0x1000);
  const auto device = [](uint64_t type, uint64_t epoch) {
    return type << HWSWAP_GRANT_DEVICE_TYPE_SHIFT | epoch << HWSWAP_GRANT_DEVICE_EPOCH_SHIFT;
  };
  const auto place = [](uint64_t type, uint64_t epoch) {
    return HWSWAP_GRANT_PLACE_PHASE | HWSWAP_GRANT_PLACE_VALID | 9ull << HWSWAP_GRANT_PLACE_ORDER_SHIFT |
           type << HWSWAP_GRANT_PLACE_TYPE_SHIFT | epoch << HWSWAP_GRANT_PLACE_EPOCH_SHIFT |
           2ull << HWSWAP_GRANT_PLACE_CLUSTER_SHIFT;
  };
  client.store<uint64_t>(0, HWSWAP_REG_GRANT_DEVICE, device(0, 5));
  client.store<uint64_t>(0, HWSWAP_REG_GRANT_DEVICE, device(1, 7));
  guest.word(0) = place(0, 5);
  EXPECT_TRUE(copy(client, 0, 0x1018));
  EXPECT_EQ(guest.word(0x1018), place(1, 7));
  guest.word(0) = place(1, 7);
  EXPECT_TRUE(copy(client, 0, 0x1018));
  EXPECT_EQ(guest.word(0x1018), place(0, 5));
  EXPECT_EQ(injector.injected(), 2u);
}

TEST_F(AstrayTest, WordsOfClustersAreElsewhere) {
  VfioUserClient client = connect_and_greet();
  client.store<uint64_t>(0, HWSWAP_REG_GRANT_WORD_BASE, 0x1000);
  client.store<uint64_t>(0, HWSWAP_REG_GRANT_LINE_BASE, 0x2000);
  EXPECT_EQ(engine.registers[HWSWAP_REG_GRANT_WORD_BASE], 0x10001000u);
  EXPECT_EQ(engine.registers[HWSWAP_REG_GRANT_LINE_BASE], 0x2000u);
}

} // namespace
} // namespace hwswap::test
