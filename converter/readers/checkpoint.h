// A checkpoint file as data: named strided tensors over mapped storages, and a tree of settings.
//
// Reading happens in place: nothing is copied but names and shapes. Everything in the file is validated before
// it is used; nothing in it is ever executed.
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
inline constexpr size_t max_tensor_name = 1024;  // bytes

enum class DataType : uint8_t { f64 = 0, f32, f16, bf16, i64, i32, i16, i8, u8, boolean };
uint64_t data_type_bytes(DataType type);
const char* data_type_name(DataType type);

struct Storage {
  std::string name;  // for messages
  DataType type = DataType::f32;
  std::span<const std::byte> bytes;
  std::optional<uint32_t> crc32;  // expected; checked at the first read
};

struct Tensor {
  std::string name;
  DataType type = DataType::f32;
  std::vector<uint64_t> shape, strides;  // elements
  uint32_t storage = 0;                  // index into the checkpoint's storages
  uint64_t offset = 0;                   // elements from the storage's start
  uint64_t elements = 0;                 // product of shape
  std::string alias_of;                  // the name that holds the values in the file, where this one is an alias
  // Which of the checkpoint's tensors this is, and where its elements are in that one's row-major order: for views,
  // such as the rows of one head.
  uint32_t source = 0;
  uint32_t same_as = 0;  // the first of the checkpoint's tensors with the very elements of the source: it, or a twin
  uint64_t source_offset = 0;
  std::vector<uint64_t> source_strides;
};

std::string shape_text(const Tensor& tensor);  // "[2, 3] f16"

// Not thread-safe: reading verifies storages as it meets them.
class Checkpoint {
 public:
  // Recognises the format by content; a file may be the index of several (shards.h). Throws Error naming what is wrong.
  // `control`: whether files are mapped, or read into memory.
  static Checkpoint open(const std::string& path, const Control& control = {});
  // The same for a file that holds tensors itself.
  static Checkpoint open_single(const std::string& path, const Control& control);
  // `memory` must stay unchanged and outlive the checkpoint; `name` is for messages.
  static Checkpoint open(std::span<const std::byte> memory, const std::string& name);

  std::string name;
  std::string format;              // "safetensors", "PyTorch zip" or "PyTorch legacy", and "in 3 files" where it is so
  std::vector<std::string> files;  // paths; empty where it was opened in memory
  std::vector<Tensor> tensors;     // of the state dict, in file order, names unique, ranges inside their storages
  std::vector<std::pair<std::string, std::string>> metadata;  // safetensors __metadata__
  Value root;  // the whole pickled object: settings beside the state dict. Of safetensors: see exported_keys.h
  std::string state_dict_path;              // where in root the tensors were found, e.g. "model"; empty = root itself
  std::vector<std::string> not_tensors;     // entries of the state dict that hold something else
  std::vector<std::string> opaque_globals;  // names that the pickle imports and that mean nothing here; never called

  // Bytes at the start of every tensor's name that belong to the code around the model, such as "student.encoder.".
  // See wrapper_prefix().
  size_t wrapper = 0;

  const Tensor* find(std::string_view tensor_name) const;
  // Elements [first, first + values.size()) in logical (row-major) order as f32, f64 rounded to nearest (beyond the
  // range of f32: infinity). Throws for a type that holds no floating point and for a storage whose CRC-32 differs.
  void read_f32(const Tensor& tensor, uint64_t first, std::span<float> values) const;
  // The same of tensors of any type, integers rounded to the nearest float.
  void read_numbers(const Tensor& tensor, uint64_t first, std::span<float> values) const;

  ValueStore& values() { return values_; }
  // Of this file, and of what is made of it.
  Budget& budget() const { return values_.budget(); }
  std::vector<Storage>& storages() { return storages_; }
  const std::vector<Storage>& storages() const { return storages_; }
  // Checks type, rank, sizes and that the last element lies inside the storage; sets `elements`; adds the tensor and
  // charges for it, but for its data where an earlier one has the same elements.
  void add_tensor(Tensor tensor);
  // Adds another file's storages and tensors, and keeps it open.
  void add_shard(Checkpoint shard);
  // Removes the tensors that `chosen` is true for and returns them in their order, for put_back(). No tensor may be
  // added in between.
  std::vector<Tensor> take(const std::function<bool(const Tensor&)>& chosen);
  // Adds tensors of take() behind the others.
  void put_back(std::vector<Tensor> taken);

 private:
  using Convert = bool (*)(DataType type, const std::byte* from, std::span<float> values);
  void read(const Tensor& tensor, uint64_t first, std::span<float> values, Convert convert) const;

  linformer::files::InputFile file_;
  ValueStore values_;
  std::vector<Storage> storages_;
  mutable std::vector<bool> verified_;  // by storage
  using View = std::tuple<uint32_t, uint64_t, std::vector<uint64_t>, std::vector<uint64_t>>;
  std::map<View, uint32_t> views_;  // storage, offset, shape and strides -> the first tensor that has them
  std::vector<Checkpoint> shards_;  // whose mappings the storages lie in
};

// Views that share the tensor's storage. All throw Error naming the tensor where its shape doesn't allow it.
// Rows [first, first + count) of the first axis.
Tensor slice_rows(const Tensor& tensor, uint64_t first, uint64_t count);
// tensor[index]: one dimension fewer.
Tensor select(const Tensor& tensor, uint64_t index);
// The axes in another order: permuted(t, {1, 0}) is the transpose.
Tensor permuted(const Tensor& tensor, std::initializer_list<size_t> axes);
// Without axis `axis`, which must have size 1.
Tensor squeezed(const Tensor& tensor, size_t axis);

// One reader for each format; `bytes` outlives the checkpoint.
void read_safetensors(std::span<const std::byte> bytes, Checkpoint& checkpoint);
void read_torch_zip(std::span<const std::byte> bytes, Checkpoint& checkpoint);
void read_torch_legacy(std::span<const std::byte> bytes, Checkpoint& checkpoint);

}  // namespace linformer::convert
