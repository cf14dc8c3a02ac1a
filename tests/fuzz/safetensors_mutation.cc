#include "fuzz/safetensors_mutation.h"

#include <cstring>
#include <nlohmann/json.hpp>

#include "fuzz/json_mutation.h"

namespace linformer_fuzz {
namespace {

using Json = nlohmann::ordered_json;

std::string file_of(const std::string& header, const std::string& data) {
  const uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + header + data;
}

uint64_t element_bytes(const std::string& type) {
  if (type == "F64" || type == "I64") return 8;
  if (type == "F32" || type == "I32") return 4;
  if (type == "F16" || type == "BF16" || type == "I16") return 2;
  return 1;
}

// Returns a file in which the tensors lie one after another, with offsets and data as their dtypes and shapes require.
// Returns an empty string if the file would have more than `most` bytes of tensors.
std::string laid_out(Json header, std::string data, size_t most) {
  uint64_t end = 0;
  for (auto& [name, tensor] : header.items()) {
    if (name == "__metadata__" || !tensor.is_object()) continue;
    const Json shape = tensor.value("shape", Json());
    const Json type = tensor.value("dtype", Json());
    if (!shape.is_array() || !type.is_string()) continue;
    double elements = 1;
    for (const Json& size : shape) elements *= size.is_number_unsigned() ? size.get<double>() : 1;
    const double bytes = elements * static_cast<double>(element_bytes(type.get<std::string>()));
    if (bytes > static_cast<double>(most)) return {};
    const uint64_t begin = end;
    end += static_cast<uint64_t>(bytes);
    if (end > most) return {};
    tensor["data_offsets"] = {begin, end};
  }
  // Missing data are filled by repeating the data that exist.
  const std::string pattern = data.empty() ? std::string(4, '\0') : data;
  while (data.size() < end) data += pattern.substr(0, std::min<size_t>(pattern.size(), end - data.size()));
  data.resize(end);
  return file_of(header.dump(-1, ' ', false, Json::error_handler_t::replace), data);
}

}  // namespace

std::string altered_safetensors(const std::string& file, size_t most, Random& random) {
  uint64_t length = 0;
  if (file.size() < sizeof length) return {};
  std::memcpy(&length, file.data(), sizeof length);
  if (length > file.size() - sizeof length) return {};
  std::string header = file.substr(sizeof length, length), data = file.substr(sizeof length + length);
  if (random.one_in(5)) {
    mutate_bytes(&data, data.size() + (random.one_in(4) ? 8 : 0));
  } else {
    header = altered_json(header, header.size() + 4096, random);
    if (!random.one_in(3)) {
      const Json parsed = Json::parse(header, nullptr, false);
      if (parsed.is_object()) {
        std::string changed = laid_out(parsed, data, most);
        if (!changed.empty() && changed.size() <= most) return changed;
      }
    }
  }
  std::string changed = file_of(header, data);
  return changed.size() <= most ? changed : std::string();
}

}  // namespace linformer_fuzz
