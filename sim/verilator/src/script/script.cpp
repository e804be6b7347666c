// SPDX-License-Identifier: Apache-2.0
#include "script/script.hpp"

#include "common/errors.hpp"

#include <map>
#include <sstream>
#include <utility>
#include <zlib.h>

namespace hwswap {

namespace {

struct Form {
  ScriptOp op;
  size_t arguments;
};

const std::map<std::string, Form> forms = {
    {"put", {ScriptOp::put, 2}},       {"write", {ScriptOp::write, 3}},   {"until", {ScriptOp::until, 4}},
    {"poll", {ScriptOp::poll, 4}},     {"settle", {ScriptOp::settle, 1}}, {"pass", {ScriptOp::pass, 1}},
    {"expect", {ScriptOp::expect, 3}}, {"read", {ScriptOp::read, 3}},     {"irq", {ScriptOp::irq, 1}},
    {"idle", {ScriptOp::idle, 1}},     {"mark", {ScriptOp::mark, 0}},     {"beats", {ScriptOp::beats, 2}},
    {"reset", {ScriptOp::reset, 0}},   {"hold", {ScriptOp::hold, 1}},     {"together", {ScriptOp::together, 1}},
    {"note", {ScriptOp::note, 0}},
};

std::string hex(uint64_t value) {
  std::ostringstream text;
  text << "0x" << std::hex << value;
  return text.str();
}

/// The whole file, unpacked if it is packed.
std::string contents(const std::string &path) {
  const gzFile file = gzopen(path.c_str(), "rb");
  if (!file)
    throw UserError("cannot read " + path + ": name a script");
  std::string text;
  std::array<char, 1 << 16> block;
  int got;
  while ((got = gzread(file, block.data(), block.size())) > 0)
    text.append(block.data(), static_cast<size_t>(got));
  const bool whole = gzclose(file) == Z_OK && got == 0;
  if (!whole)
    throw UserError(path + " is damaged or cut short: make it again");
  return text;
}

/// A number, decimal or with 0x; nothing else in the word.
uint64_t number(const std::string &word) {
  size_t used = 0;
  const uint64_t value = std::stoull(word, &used, 0);
  if (used != word.size() || word[0] == '-')
    throw std::invalid_argument("not a number");
  return value;
}

ScriptLine parse(const std::string &text) {
  std::istringstream words(text);
  std::string name;
  words >> name;
  const Form &form = forms.at(name);
  ScriptLine line{form.op, {}, {}};
  if (form.op == ScriptOp::note) {
    std::getline(words >> std::ws, line.text);
    return line;
  }
  std::string word;
  for (size_t i = 0; i < form.arguments; ++i) {
    if (!(words >> word))
      throw std::invalid_argument("too short");
    line.arguments.at(i) = number(word);
  }
  if (words >> word)
    throw std::invalid_argument("too long");
  return line;
}

/// Plays one line after the other; messages have the text of the last note.
class Player {
public:
  Player(Engine &engine, FlatMemory &memory) : engine_(engine), memory_(memory), named_(memory.size() / 8) {}

  std::optional<std::string> step(const ScriptLine &line, size_t number) {
    number_ = number;
    const auto &[a, b, c, d] = line.arguments;
    if (together_)
      return gather(line);
    switch (line.op) {
    case ScriptOp::put:
      named(a) = b;
      break;
    case ScriptOp::write:
      engine_.write_register(static_cast<uint32_t>(a), b, static_cast<uint8_t>(c));
      break;
    case ScriptOp::until:
      wait(d, "memory at " + hex(a) + " to be " + hex(c), [&, a = a, b = b, c = c] { return (named(a) & b) == c; });
      break;
    case ScriptOp::poll:
      wait(d, "register " + hex(a) + " to be " + hex(c),
           [&, a = a, b = b, c = c] { return (engine_.read_register(static_cast<uint32_t>(a)) & b) == c; });
      break;
    case ScriptOp::settle:
      wait(a, "rest", [&] { return engine_.idle(); });
      break;
    case ScriptOp::pass:
      for (uint64_t i = 0; i < a; ++i)
        engine_.step();
      break;
    case ScriptOp::expect:
      return same("memory at " + hex(a), named(a) & b, c);
    case ScriptOp::read:
      return same("register " + hex(a), engine_.read_register(static_cast<uint32_t>(a)) & b, c);
    case ScriptOp::together:
      together_ = a;
      break;
    case ScriptOp::irq:
      return same("the interrupt", engine_.irq(), a);
    case ScriptOp::idle:
      return same("idle", engine_.idle(), a);
    case ScriptOp::mark:
      marked_ = {engine_.dma_read_beats(), engine_.dma_write_beats()};
      break;
    case ScriptOp::beats: {
      // The engine's counts are read first, so that a beat moved meanwhile is one too many.
      const std::array said = {engine_.read_register(static_cast<uint32_t>(a)),
                               engine_.read_register(static_cast<uint32_t>(b))};
      if (auto wrong = same("register " + hex(a), said[0], engine_.dma_read_beats() - marked_[0]))
        return wrong;
      return same("register " + hex(b), said[1], engine_.dma_write_beats() - marked_[1]);
    }
    case ScriptOp::reset:
      engine_.reset();
      break;
    case ScriptOp::hold:
      engine_.hold_memory(a != 0);
      break;
    case ScriptOp::note:
      note_ = line.text;
      break;
    }
    return std::nullopt;
  }

  /// Check that words of memory that no line named are zero.
  std::optional<std::string> rest() const {
    for (size_t offset = 0; offset < memory_.size(); offset += 8)
      if (!named_[offset / 8] && memory_.word(offset))
        return "after the last line: memory at " + hex(offset) + " is " + hex(memory_.word(offset)) +
               " and must be 0x0: nobody has written it but the engine";
    return std::nullopt;
  }

private:
  /// A word of memory, which is named by that.
  uint64_t &named(size_t offset) {
    uint64_t &word = memory_.word(offset);
    named_[offset / 8] = true;
    return word;
  }

  /// Keeps a register access until all that are asked for with it are there, then makes them.
  std::optional<std::string> gather(const ScriptLine &line) {
    const auto &[address, b, c, d] = line.arguments;
    if (line.op != ScriptOp::read && line.op != ScriptOp::write)
      throw UserError(where() + "'together' is for lines that read and write registers: correct its number");
    const bool write = line.op == ScriptOp::write;
    accesses_.push_back({write, static_cast<uint32_t>(address), b, static_cast<uint8_t>(c)});
    gathered_.push_back(line);
    if (accesses_.size() < together_)
      return std::nullopt;
    together_ = 0;
    const std::vector<uint64_t> words = engine_.access_registers(std::exchange(accesses_, {}));
    size_t answered = 0;
    for (const ScriptLine &asked : std::exchange(gathered_, {})) {
      if (asked.op != ScriptOp::read)
        continue;
      const auto &[from, mask, value, unused] = asked.arguments;
      if (auto wrong = same("register " + hex(from), words.at(answered++) & mask, value))
        return wrong;
    }
    return std::nullopt;
  }

  std::string where() const { return "line " + std::to_string(number_) + " (" + note_ + "): "; }

  std::optional<std::string> same(const std::string &what, uint64_t is, uint64_t must) const {
    if (is == must)
      return std::nullopt;
    return where() + what + " is " + hex(is) + " and must be " + hex(must);
  }

  template <typename Condition> void wait(uint64_t limit, const std::string &what, Condition reached) {
    const uint64_t begin = engine_.cycles();
    while (!reached()) {
      if (engine_.cycles() - begin > limit)
        throw EngineError(where() + "waited " + std::to_string(limit) + " cycles for " + what);
      engine_.step();
    }
  }

  Engine &engine_;
  FlatMemory &memory_;
  std::vector<bool> named_;
  /// Beats read and written at the last mark.
  std::array<uint64_t, 2> marked_{};
  /// The number of lines that are made at once, if any, and those collected so far.
  uint64_t together_ = 0;
  std::vector<RegisterAccess> accesses_;
  std::vector<ScriptLine> gathered_;
  size_t number_ = 0;
  std::string note_;
};

} // namespace

Script read_script(const std::string &path) {
  std::istringstream text(contents(path));
  Script script;
  std::string line;
  size_t number_of_line = 0;
  while (std::getline(text, line)) {
    ++number_of_line;
    try {
      if (number_of_line == 1) {
        if (line.rfind("memory ", 0) != 0)
          throw std::invalid_argument("no memory");
        std::istringstream words(line.substr(7));
        std::string bytes, base, more;
        words >> bytes >> base >> more;
        if (!more.empty())
          throw std::invalid_argument("too long");
        script.memory_bytes = number(bytes);
        if (!base.empty())
          script.memory_base = number(base);
      } else {
        script.lines.push_back(parse(line));
      }
    } catch (const std::logic_error &) {
      throw UserError(path + ":" + std::to_string(number_of_line) + ": '" + line + "' is no line of a script");
    }
  }
  return script;
}

std::optional<std::string> play(const Script &script, Engine &engine, FlatMemory &memory) {
  Player player(engine, memory);
  for (size_t i = 0; i < script.lines.size(); ++i)
    if (auto wrong = player.step(script.lines[i], i + 2)) // the first line is the memory's
      return wrong;
  return player.rest();
}

} // namespace hwswap
