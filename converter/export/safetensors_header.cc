#include "converter/export/safetensors_header.h"

#include <cstring>
#include <nlohmann/json.hpp>

#include "converter/readers/error.h"

namespace linformer::convert {

namespace {

constexpr size_t max_header = 100'000'000;  // In bytes: the limit of the format.

const char* code_of(ElementType type) {
  return type == ElementType::bf16 ? "BF16" : type == ElementType::f16 ? "F16" : "F32";
}

}  // namespace

std::string safetensors_header(const std::vector<std::pair<std::string, std::string>>& metadata,
                               std::span<const SafetensorsEntry> entries) {
  nlohmann::ordered_json texts = nlohmann::ordered_json::object();
  for (const auto& [name, text] : metadata) texts[name] = text;
  // The header is not built as one ordered_json object, because inserting into it searches all earlier names: the time
  // would be quadratic.
  std::string header = "{\"__metadata__\":" + texts.dump();
  uint64_t begin = 0;
  for (const SafetensorsEntry& entry : entries) {
    const nlohmann::ordered_json fields = {
        {"dtype", code_of(entry.type)}, {"shape", entry.shape}, {"data_offsets", {begin, begin + entry.bytes}}};
    header.append(",").append(nlohmann::ordered_json(entry.name).dump()).append(":").append(fields.dump());
    begin += entry.bytes;
  }
  header += "}";
  while (header.size() % 8 != 0) header += ' ';
  if (header.size() > max_header) {
    fail("the header of the safetensors file would have ", header.size(), " bytes; the format allows ", max_header);
  }
  const uint64_t length = header.size();
  std::string start(sizeof length, '\0');
  std::memcpy(start.data(), &length, sizeof length);
  return start + header;
}

}  // namespace linformer::convert
