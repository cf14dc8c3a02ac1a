// Writes .model files of SentencePiece: the fields of the protocol-buffer message and the rules of the normaliser.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace linformer_test {

inline std::string varint(uint64_t value) {
  std::string bytes;
  for (; value > 127; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

// These functions return a field of the message that holds bytes, an integer or a float.
inline std::string field(uint64_t number, const std::string& bytes) {
  return varint(number << 3 | 2) + varint(bytes.size()) + bytes;
}
inline std::string field(uint64_t number, int value) {
  return varint(number << 3) + varint(static_cast<uint64_t>(value));
}
inline std::string float_field(uint64_t number, float value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return varint(number << 3 | 5) + bytes;
}

inline std::string piece(const std::string& name, int type) { return field(1, field(1, name) + field(3, type)); }

// The compiled form of a normaliser's rules: the size in bytes of a double array, the array, and the replacements that
// it points to.
class CompiledRules {
 public:
  explicit CompiledRules(const std::map<std::string, std::string>& rules) {
    for (const auto& [text, replacement] : rules) {
      value_of_[text] = static_cast<uint32_t>(replacements_.size());
      replacements_ += replacement + '\0';
    }
    units_.resize(block);
    used_.resize(block);
    used_[0] = true;
    place(0, "");
  }
  std::string bytes() const {
    std::string all = little_endian(static_cast<uint32_t>(units_.size() * 4));
    for (const uint32_t unit : units_) all += little_endian(unit);
    return all + replacements_;
  }

 private:
  static constexpr uint32_t block = 256, has_leaf = 1u << 8, is_leaf = 1u << 31;

  static std::string little_endian(uint32_t value) {
    std::string bytes;
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(value >> shift & 0xFF);
    return bytes;
  }

  // Returns the bytes that follow `prefix` in the texts of the rules. The byte 0 stands for a text that equals
  // `prefix`.
  std::vector<uint8_t> children_of(const std::string& prefix) const {
    std::vector<uint8_t> children;
    for (const auto& [text, value] : value_of_) {
      if (!text.starts_with(prefix)) continue;
      const uint8_t child = text.size() == prefix.size() ? 0 : static_cast<uint8_t>(text[prefix.size()]);
      if (children.empty() || children.back() != child) children.push_back(child);
    }
    return children;
  }

  // Finds a base for the unit at `index`, so that the place of each child, which is base ^ child, is free. Writes the
  // children there, and all units below them.
  void place(uint32_t index, const std::string& prefix) {
    const std::vector<uint8_t> children = children_of(prefix);
    if (children.empty()) return;
    uint32_t base = 1;
    for (const auto taken =
             [&] {
               if (base / block * block >= units_.size()) {
                 units_.resize(units_.size() + block);
                 used_.resize(units_.size());
               }
               for (const uint8_t child : children) {
                 if (used_[base ^ child]) return true;
               }
               return false;
             };
         taken(); ++base) {
    }
    units_[index] |= (index ^ base) << 10;
    for (const uint8_t child : children) used_[base ^ child] = true;
    for (const uint8_t child : children) {
      if (child == 0) {
        units_[index] |= has_leaf;
        units_[base] = is_leaf | value_of_.at(prefix);
      } else {
        units_[base ^ child] = child;
        place(base ^ child, prefix + static_cast<char>(child));
      }
    }
  }

  std::map<std::string, uint32_t> value_of_;
  std::string replacements_;
  std::vector<uint32_t> units_;
  std::vector<bool> used_;
};

}  // namespace linformer_test
