// SPDX-License-Identifier: Apache-2.0
#include "script.hpp"

#include "errors.hpp"

#include <map>
#include <sstream>
#include <zlib.h>

namespace hwswap {

namespace {

struct Form {
  ScriptOp op;
  size_t arguments;
};

const std::map<std::string, Form> forms = {
    {"put", {ScriptOp::put, 2}},       {"write", {ScriptOp::write, 3}},   {"until", {ScriptOp::until, 4}},
    {"poll", {ScriptOp::poll, 4}},     {"settle", {ScriptOp::settle, 2}}, {"pass", {ScriptOp::pass, 1}},
    {"expect", {ScriptOp::expect, 3}}, {"read", {ScriptOp::read, 3}},     {"irq", {ScriptOp::irq, 1}},
    {"idle", {ScriptOp::idle, 1}},     {"reset", {ScriptOp::reset, 0}},   {"note", {ScriptOp::note, 0}},
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

/// One line after the other, with what the last note said for messages.
class Player {
public:
  Player(Engine &engine, FlatMemory &memory) : engine_(engine), memory_(memory) {}

  std::optional<std::string> step(const ScriptLine &line, size_t number) {
    number_ = number;
    const auto &[a, b, c, d] = line.arguments;
    switch (line.op) {
    case ScriptOp::put:
      memory_.word(a) = b;
      break;
    case ScriptOp::write:
      engine_.write_register(static_cast<uint32_t>(a), b, static_cast<uint8_t>(c));
      break;
    case ScriptOp::until:
      wait(d, "memory at " + hex(a) + " to be " + hex(c),
           [&, a = a, b = b, c = c] { return (memory_.word(a) & b) == c; });
      break;
    case ScriptOp::poll:
      wait(d, "register " + hex(a) + " to be " + hex(c),
           [&, a = a, b = b, c = c] { return (engine_.read_register(static_cast<uint32_t>(a)) & b) == c; });
      break;
    case ScriptOp::settle:
      wait(b, std::to_string(a) + " rounds of polling and rest",
           [&, a = a, start = engine_.round()] { return engine_.round() - start >= a && engine_.idle(); });
      break;
    case ScriptOp::pass:
      for (uint64_t i = 0; i < a; ++i)
        engine_.step();
      break;
    case ScriptOp::expect:
      return same("memory at " + hex(a), memory_.word(a) & b, c);
    case ScriptOp::read:
      return same("register " + hex(a), engine_.read_register(static_cast<uint32_t>(a)) & b, c);
    case ScriptOp::irq:
      return same("the interrupt", engine_.irq(), a);
    case ScriptOp::idle:
      return same("idle", engine_.idle(), a);
    case ScriptOp::reset:
      engine_.reset();
      break;
    case ScriptOp::note:
      note_ = line.text;
      break;
    }
    return std::nullopt;
  }

private:
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
        script.memory_bytes = number(line.substr(7));
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
  return std::nullopt;
}

} // namespace hwswap
