// Writes small checkpoints in each file format, without Python.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "converter/readers/checkpoint.h"

namespace linformer_test {

using linformer::convert::DataType;

struct HandTensor {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<double> values;
  DataType type = DataType::f32;
};

using Setting = std::variant<int64_t, bool, std::string>;
using HandSettings = std::map<std::string, Setting>;

std::string tensor_bytes(const HandTensor& tensor);

struct HandZipEntry {
  std::string name, bytes;
};
// Returns a zip archive of uncompressed entries. Sizes and checksums are in the entries' own headers and in the central
// directory. There are no zip64 records.
std::string zip_archive(const std::vector<HandZipEntry>& entries);

// Return a file with {"args": Namespace(settings), "model": {name: tensor}}, as fairseq of 2020 saves it.
std::string torch_zip(const std::vector<HandTensor>& tensors, const HandSettings& settings = {});
std::string torch_legacy(const std::vector<HandTensor>& tensors, const HandSettings& settings = {});
// Like torch_zip(), but with the settings as cfg = {"model": Namespace}, as fairseq of 2021 saves them.
std::string torch_zip_with_cfg(const std::vector<HandTensor>& tensors, const HandSettings& settings);

std::string safetensors_file(const std::string& header, const std::string& data);
std::string safetensors(const std::vector<HandTensor>& tensors,
                        const std::map<std::string, std::string>& metadata = {});

inline std::span<const std::byte> as_bytes(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

}  // namespace linformer_test
