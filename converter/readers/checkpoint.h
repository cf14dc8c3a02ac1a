// Opens checkpoint files. A checkpoint consists of storages, which are ranges of bytes in the mapped file, of named
// strided tensors in these storages, and of a tree of settings.
//
// The data of tensors stays in the mapped file; only names and shapes are copied. Everything in the file is validated
// before it is used, and nothing in it is ever executed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "converter/files/input_file.h"
#include "converter/readers/value.h"

namespace linformer::convert {

inline constexpr size_t max_checkpoint_tensors = 1u << 16;
inline constexpr size_t max_checkpoint_rank = 8;
inline constexpr size_t max_tensor_name = 1024;  // In bytes.

enum class DataType : uint8_t { f64 = 0, f32, f16, bf16, i64, i32, i16, i8, u8, boolean };
uint64_t data_type_bytes(DataType type);
const char* data_type_name(DataType type);

struct Storage {
  std::string name;  // For errors.
  DataType type = DataType::f32;
  std::span<const std::byte> bytes;
  std::optional<uint32_t> crc32;  // The expected checksum of `bytes`. It is checked at the first read.
};

struct Tensor {
  std::string name;
  DataType type = DataType::f32;
  std::vector<uint64_t> shape, strides;  // Strides are in elements.
  uint32_t storage = 0;                  // The index of the tensor's storage in the checkpoint.
  uint64_t offset = 0;                   // In elements, from the start of the storage.
  uint64_t elements = 0;                 // The product of the shape.
  std::string alias_of;  // If this name is an alias, the name under which the file holds the values; else empty.
  // The index of the checkpoint's tensor that this tensor is, or that it is a view of, such as the rows of one head.
  // source_offset and source_strides give the places of its elements in the row-major order of that tensor.
  uint32_t source = 0;
  // The index of the first tensor of the checkpoint that has the same storage, offset, shape and strides as tensor
  // `source`. It may be `source` itself.
  uint32_t same_as = 0;
  uint64_t source_offset = 0;
  std::vector<uint64_t> source_strides;
};

// Returns the shape and type as text, such as "[2, 3] f16".
std::string shape_text(const Tensor& tensor);

// An open checkpoint. Not thread-safe, because reading verifies the checksums of storages.
class Checkpoint {
 public:
  // Opens a checkpoint file, or the index file of a checkpoint in several files (shards.h). The content decides the
  // format. control.access sets whether files are mapped or read into memory. Throws Error, which names the fault.
  static Checkpoint open(const std::string& path, const Control& control = {});
  // Opens a file that holds tensors itself.
  static Checkpoint open_single(const std::string& path, const Control& control);
  // Opens a checkpoint in memory. `memory` must stay unchanged and outlive the checkpoint. `name` is for errors.
  static Checkpoint open(std::span<const std::byte> memory, const std::string& name);

  std::string name;
  // "safetensors", "PyTorch zip" or "PyTorch legacy". " in 3 files" is appended if the checkpoint has several files.
  std::string format;
  std::vector<std::string> files;  // The paths of the checkpoint's files. Empty if the checkpoint was opened in memory.
  // The tensors of the state dict, in the order of the file. Names are unique, and elements lie inside the storages.
  std::vector<Tensor> tensors;
  std::vector<std::pair<std::string, std::string>> metadata;  // The __metadata__ of a safetensors file.
  // The whole pickled object, which may hold settings beside the state dict. For a safetensors file that holds exported
  // settings, it is a dict with exported_settings_key; for other safetensors files it is null.
  Value root;
  std::string state_dict_path;              // The place of the state dict in `root`, such as "model". Empty for `root`.
  std::vector<std::string> not_tensors;     // The entries of the state dict that are not tensors.
  std::vector<std::string> opaque_globals;  // Names that the pickle calls and that are unknown here. None was called.

  // The number of bytes at the start of every tensor's name that belong to the code around the model, such as
  // "student.encoder.". See wrapper_prefix_length().
  size_t wrapper = 0;

  const Tensor* find(std::string_view tensor_name) const;
  // Reads elements [first, first + values.size()) in row-major order as f32. f64 values are rounded to the nearest f32,
  // or to infinity beyond its range. Throws Error if the type is not a floating-point type, or if the CRC-32 of the
  // storage differs from the expected one.
  void read_f32(const Tensor& tensor, uint64_t first, std::span<float> values) const;
  // Does the same for tensors of any type. Integers are rounded to the nearest float.
  void read_numbers(const Tensor& tensor, uint64_t first, std::span<float> values) const;

  ValueStore& values() { return values_; }
  // Returns the limits of this file. They also hold for the data that the conversion derives from it.
  Budget& budget() const { return values_.budget(); }
  std::vector<Storage>& storages() { return storages_; }
  const std::vector<Storage>& storages() const { return storages_; }
  // Adds a tensor, sets all members that follow from its storage and place, and charges for it. Its data is not charged
  // if same_as is an earlier tensor. Throws Error if the name, rank or size is not valid, or if an element lies outside
  // the storage.
  void add_tensor(Tensor tensor);
  // Adds the storages and tensors of another file, and keeps that file open.
  void add_shard(Checkpoint shard);
  // Removes the tensors for which `chosen` returns true, and returns them in their order. restore_tensors() puts them
  // back. Between the two calls no tensor may be added.
  std::vector<Tensor> extract_tensors(const std::function<bool(const Tensor&)>& chosen);
  // Appends the tensors that extract_tensors() returned.
  void restore_tensors(std::vector<Tensor> extracted);

 private:
  using Convert = bool (*)(DataType type, const std::byte* from, std::span<float> values);
  void read(const Tensor& tensor, uint64_t first, std::span<float> values, Convert convert) const;

  linformer::files::InputFile file_;
  ValueStore values_;
  std::vector<Storage> storages_;
  mutable std::vector<bool> verified_;  // Whether the checksum of each storage was verified.
  using View = std::tuple<uint32_t, uint64_t, std::vector<uint64_t>, std::vector<uint64_t>>;
  // Maps storage, offset, shape and strides to the index of the first tensor that has them.
  std::map<View, uint32_t> views_;
  std::vector<Checkpoint> shards_;  // The files whose mappings hold the storages.
};

// The functions below return views that share the tensor's storage. They throw Error, which names the tensor, if its
// shape doesn't allow the view.
//
// Returns rows [first, first + count) of the first axis.
Tensor slice_rows(const Tensor& tensor, uint64_t first, uint64_t count);
// Returns tensor[index], which has one dimension fewer.
Tensor select(const Tensor& tensor, uint64_t index);
// Returns the tensor with its axes in another order. permuted(t, {1, 0}) is the transpose of a matrix.
Tensor permuted(const Tensor& tensor, std::initializer_list<size_t> axes);
// Returns the tensor without axis `axis`, which must have size 1.
Tensor squeezed(const Tensor& tensor, size_t axis);

// Each function reads one format. `bytes` must outlive the checkpoint.
void read_safetensors(std::span<const std::byte> bytes, Checkpoint& checkpoint);
void read_torch_zip(std::span<const std::byte> bytes, Checkpoint& checkpoint);
void read_torch_legacy(std::span<const std::byte> bytes, Checkpoint& checkpoint);

}  // namespace linformer::convert
