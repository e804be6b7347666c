// SPDX-License-Identifier: Apache-2.0
#include "device/vfio_user_session.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

namespace hwswap {

namespace vu = vfio_user;

namespace {

/// The structure at the start of a payload, or nothing when the payload is shorter.
template <typename T> std::optional<T> get(const VfioMessage &message) {
  if (message.payload.size() < sizeof(T))
    return std::nullopt;
  T value;
  std::memcpy(&value, message.payload.data(), sizeof(T));
  return value;
}

template <typename T> std::vector<uint8_t> bytes_of(const T &value) {
  std::vector<uint8_t> bytes(sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

} // namespace

void VfioUserSession::handle_message() {
  VfioMessage message = channel_.receive();
  ++messages_;
  if ((message.header.flags & vu::flag_type_mask) != vu::flag_type_command)
    throw Disconnected("the client sent a reply although nothing was asked");
  const Answer answer = dispatch(message);
  if (message.header.flags & vu::flag_no_reply)
    return;
  if (answer.error)
    channel_.reply_error(message.header, answer.error);
  else
    channel_.reply(message.header, answer.payload);
}

VfioUserSession::Answer VfioUserSession::dispatch(VfioMessage &message) {
  const auto id = static_cast<vu::CommandId>(message.header.command);
  if (!greeted_ && id != vu::CommandId::version)
    return {EPROTO};
  switch (id) {
  case vu::CommandId::version:
    return version(message);
  case vu::CommandId::dma_map:
    return dma_map(message);
  case vu::CommandId::dma_unmap:
    return dma_unmap(message);
  case vu::CommandId::device_get_info:
    return device_info(message);
  case vu::CommandId::device_get_region_info:
    return region_info(message);
  case vu::CommandId::device_get_irq_info:
    return irq_info(message);
  case vu::CommandId::device_set_irqs:
    return set_irqs(message);
  case vu::CommandId::region_read:
    return region_read(message);
  case vu::CommandId::region_write:
    return region_write(message);
  case vu::CommandId::device_reset:
    device_.reset();
    return {};
  default:
    return {EOPNOTSUPP};
  }
}

VfioUserSession::Answer VfioUserSession::version(const VfioMessage &message) {
  const auto proposed = get<vu::Version>(message);
  if (!proposed)
    return {EINVAL};
  if (proposed->major != 0)
    throw Disconnected("the client speaks vfio-user " + std::to_string(proposed->major) +
                       ", this server speaks version 0");
  greeted_ = true;
  const nlohmann::json capabilities = {
      {"capabilities", {{"max_msg_fds", VfioChannel::max_fds}, {"max_data_xfer_size", VfioChannel::max_transfer}}}};
  const vu::Version agreed = {0, std::min<uint16_t>(proposed->minor, 1)};
  Answer answer = {0, bytes_of(agreed)};
  const std::string text = capabilities.dump();
  answer.payload.insert(answer.payload.end(), text.begin(), text.end());
  answer.payload.push_back(0);
  return answer;
}

VfioUserSession::Answer VfioUserSession::dma_map(VfioMessage &message) {
  const auto request = get<vu::DmaMap>(message);
  if (!request || message.fds.size() > 1)
    return {EINVAL};
  FileDescriptor fd;
  if (!message.fds.empty())
    fd = std::move(message.fds.front());
  const bool writable = request->flags & vu::dma_map_writable;
  return {device_.memory().map(request->address, request->size, request->offset, writable, std::move(fd))};
}

VfioUserSession::Answer VfioUserSession::dma_unmap(const VfioMessage &message) {
  const auto request = get<vu::DmaUnmap>(message);
  if (!request)
    return {EINVAL};
  if (request->flags & vu::dma_unmap_all)
    device_.memory().clear();
  else if (const int error = device_.memory().unmap(request->address, request->size))
    return {error};
  return {0, bytes_of(*request)};
}

VfioUserSession::Answer VfioUserSession::device_info(const VfioMessage &message) {
  if (!get<vu::DeviceInfo>(message))
    return {EINVAL};
  return {0, bytes_of(vu::DeviceInfo{sizeof(vu::DeviceInfo), vu::device_flag_reset | vu::device_flag_pci,
                                     vu::region_count, vu::irq_count})};
}

VfioUserSession::Answer VfioUserSession::region_info(const VfioMessage &message) {
  const auto request = get<vu::RegionInfo>(message);
  if (!request || request->index >= vu::region_count)
    return {EINVAL};
  const uint64_t size = SimulatedDevice::region_bytes(request->index);
  const uint32_t flags = size ? vu::region_flag_read | vu::region_flag_write : 0;
  return {0, bytes_of(vu::RegionInfo{sizeof(vu::RegionInfo), flags, request->index, 0, size, 0})};
}

VfioUserSession::Answer VfioUserSession::irq_info(const VfioMessage &message) {
  const auto request = get<vu::IrqInfo>(message);
  if (!request || request->index >= vu::irq_count)
    return {EINVAL};
  const uint32_t count = request->index == vu::irq_msix ? 1 : 0;
  return {0, bytes_of(vu::IrqInfo{sizeof(vu::IrqInfo), count ? vu::irq_flag_eventfd : 0, request->index, count})};
}

VfioUserSession::Answer VfioUserSession::set_irqs(VfioMessage &message) {
  const auto request = get<vu::IrqSet>(message);
  if (!request || request->index >= vu::irq_count)
    return {EINVAL};
  const uint32_t vectors = request->index == vu::irq_msix ? 1 : 0;
  if (request->start > vectors || request->count > vectors - request->start)
    return {EINVAL};
  MsixVector &vector = device_.vector();
  const bool selected = request->count != 0;
  // Masking is the client's own work: no kind says that it is maskable.
  switch (request->flags) {
  case vu::irq_set_data_none | vu::irq_set_action_trigger:
    if (selected)
      vector.raise();
    else if (vectors)
      vector.connect(FileDescriptor());
    return {};
  case vu::irq_set_data_bool | vu::irq_set_action_trigger:
    if (message.payload.size() < sizeof(vu::IrqSet) + request->count)
      return {EINVAL};
    if (selected && message.payload[sizeof(vu::IrqSet)])
      vector.raise();
    return {};
  case vu::irq_set_data_eventfd | vu::irq_set_action_trigger:
    if (message.fds.size() > request->count)
      return {EINVAL};
    if (selected)
      vector.connect(message.fds.empty() ? FileDescriptor() : std::move(message.fds.front()));
    return {};
  default:
    return {EINVAL};
  }
}

VfioUserSession::Answer VfioUserSession::region_read(const VfioMessage &message) {
  const auto request = get<vu::RegionAccess>(message);
  if (!request || request->region >= vu::region_count || request->count > VfioChannel::max_transfer)
    return {EINVAL};
  Answer answer = {0, bytes_of(*request)};
  answer.payload.resize(sizeof(vu::RegionAccess) + request->count);
  if (!device_.read(request->region, request->offset, std::span(answer.payload).subspan(sizeof(vu::RegionAccess))))
    return {EINVAL};
  return answer;
}

VfioUserSession::Answer VfioUserSession::region_write(const VfioMessage &message) {
  const auto request = get<vu::RegionAccess>(message);
  if (!request || request->region >= vu::region_count ||
      message.payload.size() != sizeof(vu::RegionAccess) + uint64_t{request->count})
    return {EINVAL};
  if (!device_.write(request->region, request->offset, std::span(message.payload).subspan(sizeof(vu::RegionAccess))))
    return {EINVAL};
  return {0, bytes_of(*request)};
}

} // namespace hwswap
