// SPDX-License-Identifier: Apache-2.0
// A model of an SD card (SDHC, physical layer 3.0, default speed) at its pins, for simulation.
//
// It is the file sdcard.img of the present directory, which is written to; without the file there is no card. What it
// knows is what a host needs to find, read and write it: identification, one and four data lines, single and multiple
// blocks, with and without their number before; CRCs are made and looked at on every line. A host that breaks the rules
// (drives a line that the card drives, starts a block on some of the lines only, a block length that the card does not
// have) ends the simulation with a sentence.
//
// HWSWAP_SD_CARD_FAULTS="KIND:SECTOR,..." makes the card err, once each: `read` sends that sector with a wrong CRC,
// `write` answers it as if its CRC had been wrong, `silent` does not answer when it is written.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace {

constexpr unsigned kSector = 512;
constexpr unsigned kResponseClocks = 3; // from a command's end bit to its response
constexpr unsigned kAccessClocks = 40;  // from a response to the first block, and between blocks
constexpr unsigned kTokenClocks = 2;    // from a written block's end bit to the answer to it
constexpr unsigned kBusyClocks = 60;    // that a block takes to be written
constexpr std::uint16_t kAddress = 0x1234;
constexpr std::uint32_t kOcr = 0x40ff8000; // high capacity, 2.7 to 3.6 V
constexpr std::uint32_t kOcrReady = 0x80000000;

enum State : unsigned { kIdle, kReady, kIdentify, kStandby, kTransfer, kSending, kReceiving, kProgramming };

enum Status : std::uint32_t {
  kOutOfRange = 1U << 31,
  kIllegal = 1U << 22,
  kBadCrc = 1U << 23,
  kReadyForData = 1U << 8,
  kAppCommand = 1U << 5,
};

using Bits = std::deque<bool>;

void append(Bits &bits, std::uint64_t value, unsigned count) {
  for (unsigned bit = count; bit-- > 0;)
    bits.push_back((value >> bit & 1) != 0);
}

unsigned crc7(const Bits &bits, std::size_t from) {
  unsigned crc = 0;
  for (std::size_t at = from; at < bits.size(); ++at) {
    const bool feed = bits[at] != ((crc >> 6 & 1) != 0);
    crc = (crc << 1 & 0x7f) ^ (feed ? 0x09 : 0);
  }
  return crc;
}

std::uint16_t crc16(std::uint16_t crc, bool bit) {
  const bool feed = bit != ((crc >> 15) != 0);
  return static_cast<std::uint16_t>((crc << 1) ^ (feed ? 0x1021 : 0));
}

class Card {
public:
  Card() : file_(open("sdcard.img", O_RDWR)) {
    struct stat info = {};
    if (file_ >= 0 && fstat(file_, &info) == 0)
      sectors_ = static_cast<std::uint64_t>(info.st_size) / kSector;
    // The size is told in steps of 512 KiB.
    if (file_ >= 0 && (sectors_ == 0 || sectors_ % 1024 != 0))
      wrong("sdcard.img has a size that no card has: make it a multiple of 512 KiB");
    if (const char *faults = std::getenv("HWSWAP_SD_CARD_FAULTS"))
      read_faults(faults);
  }

  bool absent() const { return file_ < 0; }
  bool failed() const { return failed_; }

  // The clock rises: what the host drives is looked at.
  void rise(unsigned lines) {
    const bool cmd = (lines & 1) != 0 || (lines >> 1 & 1) == 0;
    const unsigned driven = lines >> 6 & 0xf;
    const unsigned data = (lines >> 2 & 0xf) | (~driven & 0xf);
    if ((lines >> 1 & 1) != 0 && (out_ & 2) != 0)
      wrong("host and card drive the command line at the same time");
    if ((driven & out_ >> 6 & 0xf) != 0)
      wrong("host and card drive a data line at the same time");
    if (response_.empty())
      take_command(cmd);
    if (state_ == kReceiving && data_out_.empty())
      take_data(data);
  }

  // The clock falls: returns what the card drives.
  unsigned fall() {
    const bool cmd_was = !response_.empty();
    unsigned cmd = 1;
    unsigned cmd_oe = 0;
    if (cmd_was) {
      if (response_wait_ > 0) {
        --response_wait_;
      } else {
        cmd = response_.front() ? 1 : 0;
        cmd_oe = 1;
        response_.pop_front();
      }
    }
    unsigned data = 0xf;
    unsigned data_oe = 0;
    if (!data_out_.empty()) {
      if (data_wait_ > 0) {
        data_wait_ -= cmd_was && state_ == kSending ? 0 : 1;
      } else {
        data = data_out_.front().first;
        data_oe = data_out_.front().second;
        data_out_.pop_front();
        if (data_out_.empty())
          sent();
      }
    }
    out_ = cmd | cmd_oe << 1 | data << 2 | data_oe << 6 | (absent() ? 1U << 10 : 0);
    return out_;
  }

private:
  void wrong(const char *text) {
    if (!failed_)
      std::fprintf(stderr, "sdcard: %s\n", text);
    failed_ = true;
  }

  void read_faults(const std::string &text) {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find(',', at), text.size());
      const std::size_t colon = text.find(':', at);
      if (colon == std::string::npos || colon > end)
        return wrong("HWSWAP_SD_CARD_FAULTS takes KIND:SECTOR,...");
      faults_[text.substr(at, colon - at)][std::strtoull(text.c_str() + colon + 1, nullptr, 10)] = true;
      at = end + 1;
    }
  }

  bool fault(const char *kind, std::uint64_t sector) {
    const auto found = faults_.find(kind);
    return found != faults_.end() && found->second.erase(sector) != 0;
  }

  void take_command(bool bit) {
    if (command_.empty() && bit)
      return;
    command_.push_back(bit);
    if (command_.size() < 48)
      return;
    const Bits whole = std::move(command_);
    command_ = {};
    std::uint64_t value = 0;
    for (const bool each : whole)
      value = value << 1 | (each ? 1U : 0U);
    if (!whole[1] || !whole[47])
      return wrong("a command without the bits that every command has");
    const Bits covered(whole.begin(), whole.begin() + 40);
    if (crc7(covered, 0) != (value >> 1 & 0x7f)) {
      pending_ |= kBadCrc;
      return;
    }
    const bool app = app_;
    app_ = false;
    command(static_cast<unsigned>(value >> 40 & 0x3f), static_cast<std::uint32_t>(value >> 8), app);
  }

  // Responses

  void respond(unsigned index, std::uint32_t argument, bool with_crc = true) {
    Bits bits;
    append(bits, index, 8); // start bit, from the card, index
    append(bits, argument, 32);
    append(bits, with_crc ? crc7(bits, 0) : 0x7f, 7);
    bits.push_back(true);
    response_ = std::move(bits);
    response_wait_ = kResponseClocks;
  }

  std::uint32_t status(bool app) {
    // What the card was in when the command came.
    const std::uint32_t word = pending_ | static_cast<std::uint32_t>(came_in_) << 9 | (app ? kAppCommand : 0U) |
                               (came_in_ == kProgramming ? 0U : kReadyForData);
    pending_ = 0;
    return word;
  }

  void respond_register(const std::array<std::uint64_t, 2> &upper120) {
    Bits bits;
    append(bits, 0x3f, 8);
    append(bits, upper120[0], 56);
    append(bits, upper120[1], 64);
    append(bits, crc7(bits, 8), 7);
    bits.push_back(true);
    response_ = std::move(bits);
    response_wait_ = kResponseClocks;
  }

  void card_identity() { respond_register({0x41'4857'5357'4150ULL, 0x2000'0000'0101'7aULL}); }

  void card_data() {
    const std::uint64_t units = sectors_ / 1024 - 1;
    Bits bits;
    append(bits, 1, 2); // version 2
    append(bits, 0, 6);
    append(bits, 0x0e, 8);   // access time
    append(bits, 0, 8);      // in clocks
    append(bits, 0x32, 8);   // 25 MHz
    append(bits, 0x515, 12); // classes: basic, block read, block write, application, switch
    append(bits, 9, 4);      // blocks of 512 bytes
    append(bits, 0, 10);
    append(bits, units, 22);
    append(bits, 0, 1);
    append(bits, 1, 1);
    append(bits, 0x7f, 7);
    append(bits, 0, 10);
    append(bits, 2, 3); // writing takes four times as long
    append(bits, 9, 4);
    append(bits, 0, 14);
    std::array<std::uint64_t, 2> words = {};
    for (std::size_t at = 0; at < bits.size(); ++at) {
      auto &word = words[at < 56 ? 0 : 1];
      word = word << 1 | (bits[at] ? 1U : 0U);
    }
    respond_register(words);
  }

  // Commands

  void command(unsigned index, std::uint32_t argument, bool app) {
    came_in_ = state_;
    if (app && app_command(index, argument))
      return;
    switch (index) {
    case 0:
      state_ = kIdle;
      wide_ = false;
      polled_ = 0;
      data_out_.clear();
      count_ = 0;
      return;
    case 8:
      if (state_ == kIdle)
        return respond(8, argument & 0xfff);
      break;
    case 2:
      if (state_ == kReady) {
        state_ = kIdentify;
        return card_identity();
      }
      break;
    case 3:
      if (state_ == kIdentify || state_ == kStandby) {
        state_ = kStandby;
        return respond(3, static_cast<std::uint32_t>(kAddress) << 16 | (status(false) & 0x1fff));
      }
      break;
    case 9:
    case 10:
      if (state_ == kStandby && argument >> 16 == kAddress)
        return index == 9 ? card_data() : card_identity();
      break;
    case 7:
      if (argument >> 16 != kAddress) {
        state_ = kStandby;
        return;
      }
      if (state_ == kStandby) {
        state_ = kTransfer;
        return respond(7, status(false));
      }
      break;
    case 13:
      if (argument >> 16 == kAddress)
        return respond(13, status(false));
      return;
    case 55:
      if (state_ != kIdle && argument >> 16 != kAddress)
        return;
      app_ = true;
      return respond(55, status(true));
    case 6:
      if (state_ == kTransfer) {
        respond(6, status(false));
        return send(switched(argument));
      }
      break;
    case 16:
      if (state_ == kTransfer) {
        if (argument != kSector)
          wrong("a block length other than 512 was set");
        return respond(16, status(false));
      }
      break;
    case 23:
      if (state_ == kTransfer) {
        respond(23, status(false));
        count_ = argument;
        return;
      }
      break;
    case 17:
    case 18:
    case 24:
    case 25:
      if (state_ == kTransfer)
        return transfer(index, argument);
      break;
    case 12:
      if (state_ == kSending || state_ == kReceiving) {
        const bool wrote = state_ == kReceiving;
        state_ = kTransfer;
        count_ = 0;
        data_out_.clear();
        received_.clear();
        in_block_ = false;
        respond(12, status(false));
        if (wrote)
          busy(kBusyClocks);
        return;
      }
      break;
    default:
      break;
    }
    // A card does not answer what it does not know, and says so in its next answer.
    pending_ |= kIllegal;
  }

  bool app_command(unsigned index, std::uint32_t argument) {
    switch (index) {
    case 41: {
      if (state_ != kIdle)
        return false;
      const bool ready = argument != 0 && (argument & 0x40000000) != 0 && ++polled_ > 2;
      if (ready)
        state_ = kReady;
      respond(0x3f, kOcr | (ready ? kOcrReady : 0), false);
      return true;
    }
    case 6:
      if (state_ != kTransfer || (argument != 0 && argument != 2))
        return false;
      wide_ = argument == 2;
      respond(6, status(true));
      return true;
    case 13:
    case 51: {
      if (state_ != kTransfer)
        return false;
      respond(index, status(true));
      std::vector<std::uint8_t> block(index == 13 ? 64 : 8);
      if (index == 13) {
        block[0] = wide_ ? 0x80 : 0;
      } else {
        // Version 3.0, one and four lines, the number of blocks can be set.
        block = {0x02, 0x05, 0x80, 0x02, 0, 0, 0, 0};
      }
      send(block);
      return true;
    }
    case 42:
      if (state_ != kTransfer)
        return false;
      respond(42, status(true));
      return true;
    default:
      return false;
    }
  }

  static std::vector<std::uint8_t> switched(std::uint32_t argument) {
    std::vector<std::uint8_t> block(64);
    block[1] = 100; // mA
    for (unsigned at = 2; at < 14; at += 2)
      block[at] = 0x80, block[at + 1] = 0x01;
    block[13] = 0x03; // access mode: default and high speed
    block[16] = (argument & 0xf) == 1 ? 1 : 0;
    return block;
  }

  // Data

  void transfer(unsigned index, std::uint32_t sector) {
    const bool multiple = index == 18 || index == 25;
    if (sector >= sectors_) {
      pending_ |= kOutOfRange;
      count_ = 0;
      return respond(index, status(false));
    }
    respond(index, status(false));
    sector_ = sector;
    left_ = !multiple ? 1 : count_ != 0 ? static_cast<std::uint64_t>(count_) : UINT64_MAX;
    count_ = 0;
    if (index < 20) {
      send_sector();
    } else {
      state_ = kReceiving;
      in_block_ = false;
    }
  }

  void send_sector() {
    std::vector<std::uint8_t> block(kSector);
    if (pread(file_, block.data(), kSector, static_cast<off_t>(sector_ * kSector)) != kSector)
      return wrong("sdcard.img cannot be read");
    const bool bad = fault("read", sector_);
    ++sector_;
    --left_;
    send(block, bad);
  }

  void send(const std::vector<std::uint8_t> &block, bool bad = false) {
    state_ = kSending;
    const unsigned enable = wide_ ? 0xf : 0x1;
    const unsigned step = wide_ ? 4 : 1;
    std::array<std::uint16_t, 4> crc = {};
    data_out_.clear();
    data_out_.emplace_back(0, enable);
    for (const std::uint8_t byte : block) {
      for (unsigned shift = 8; shift > 0; shift -= step) {
        const unsigned value = byte >> (shift - step) & (wide_ ? 0xf : 1);
        for (unsigned line = 0; line < 4; ++line)
          crc[line] = crc16(crc[line], (value >> line & 1) != 0);
        data_out_.emplace_back(value, enable);
      }
    }
    for (unsigned bit = 16; bit-- > 0;) {
      unsigned value = 0;
      for (unsigned line = 0; line < 4; ++line)
        value |= (crc[line] >> bit & 1U) << line;
      data_out_.emplace_back(bad && bit == 7 ? value ^ 1 : value, enable);
    }
    data_out_.emplace_back(0xf, enable);
    data_wait_ = kAccessClocks;
  }

  // All that the card had to drive is out.
  void sent() {
    if (state_ == kSending) {
      if (left_ != 0 && sector_ < sectors_)
        send_sector();
      else
        state_ = kTransfer;
    } else if (state_ == kProgramming) {
      state_ = left_ != 0 ? kReceiving : kTransfer;
    }
  }

  void take_data(unsigned data) {
    if (!in_block_) {
      if ((data & 1) != 0)
        return;
      if (wide_ && data != 0)
        wrong("a block begins on some of the four data lines only");
      in_block_ = true;
      received_.clear();
      return;
    }
    received_.push_back(static_cast<std::uint8_t>(data));
    const std::size_t bits = kSector * 8 / (wide_ ? 4 : 1);
    if (received_.size() < bits + 16 + 1)
      return;
    in_block_ = false;
    const unsigned lines = wide_ ? 4 : 1;
    bool good = true;
    for (unsigned line = 0; line < lines; ++line) {
      std::uint16_t crc = 0;
      for (std::size_t at = 0; at < bits + 16; ++at)
        crc = crc16(crc, (received_[at] >> line & 1) != 0);
      good = good && crc == 0 && (received_[bits + 16] >> line & 1) != 0;
    }
    if (fault("silent", sector_))
      return;
    good = good && !fault("write", sector_);
    if (good)
      store();
    data_out_.clear();
    for (const unsigned bit : {0U, good ? 0U : 1U, good ? 1U : 0U, good ? 0U : 1U, 1U})
      data_out_.emplace_back(0xe | bit, 1);
    data_wait_ = kTokenClocks;
    if (good) {
      state_ = kProgramming;
      --left_;
      ++sector_;
      for (unsigned clock = 0; clock < kBusyClocks; ++clock)
        data_out_.emplace_back(0xe, 1);
    }
  }

  void store() {
    std::vector<std::uint8_t> block(kSector);
    const unsigned step = wide_ ? 4 : 1;
    for (std::size_t at = 0; at < kSector * 8 / step; ++at) {
      auto &byte = block[at * step / 8];
      byte = static_cast<std::uint8_t>(byte << step | (received_[at] & (wide_ ? 0xf : 1)));
    }
    if (pwrite(file_, block.data(), kSector, static_cast<off_t>(sector_ * kSector)) != kSector)
      wrong("sdcard.img cannot be written");
  }

  void busy(unsigned clocks) {
    data_out_.clear();
    for (unsigned clock = 0; clock < clocks; ++clock)
      data_out_.emplace_back(0xe, 1);
    data_wait_ = kTokenClocks;
    left_ = 0;
    state_ = kProgramming;
  }

  int file_;
  std::uint64_t sectors_ = 0;
  std::map<std::string, std::map<std::uint64_t, bool>> faults_;
  bool failed_ = false;

  State state_ = kIdle;
  State came_in_ = kIdle;
  bool app_ = false;
  bool wide_ = false;
  unsigned polled_ = 0;
  std::uint32_t pending_ = 0;
  std::uint32_t count_ = 0;

  Bits command_;
  Bits response_;
  unsigned response_wait_ = 0;

  std::uint64_t sector_ = 0;
  std::uint64_t left_ = 0;
  std::deque<std::pair<unsigned, unsigned>> data_out_;
  unsigned data_wait_ = 0;
  std::vector<std::uint8_t> received_;
  bool in_block_ = false;
  unsigned out_ = 0;
};

Card &card() {
  static Card only;
  return only;
}

} // namespace

extern "C" int hwswap_sd_card_rise(int lines) {
  card().rise(static_cast<unsigned>(lines));
  return card().failed() ? 1 : 0;
}

extern "C" int hwswap_sd_card_fall() { return static_cast<int>(card().fall()); }
