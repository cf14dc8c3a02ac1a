#include "converter/readers/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>

#include "base/checked.h"
#include "converter/readers/bytes.h"
#include "converter/readers/crc32.h"
#include "converter/readers/error.h"
#include "converter/readers/found_file.h"
#include "converter/readers/shards.h"

namespace linformer::convert {

namespace {

bool starts_with(std::span<const std::byte> bytes, std::string_view prefix) {
  return bytes.size() >= prefix.size() && std::memcmp(bytes.data(), prefix.data(), prefix.size()) == 0;
}

// Returns whether the file begins with the length of a header that fits into the file, and with the '{' of a JSON
// object. Files of torch.save can't be mistaken for this: byte 8 of a zip archive is its compression method (0), and
// byte 8 of the old format belongs to its magic number.
bool is_safetensors(std::span<const std::byte> bytes) {
  return bytes.size() > 8 && load<uint64_t>(bytes.data()) <= bytes.size() - 8 && bytes[8] == std::byte{'{'};
}

// Returns the name of a format that other programs write and the converter does not read, or "" if the format is
// unknown. An ONNX file has no signature. It is a protobuf message that begins with the version (field 1) and the name
// of the producer (field 2).
std::string_view foreign_format(std::span<const std::byte> bytes) {
  if (starts_with(bytes, "GGUF")) return "a GGUF file";
  if (starts_with(bytes, "\x89HDF\r\n\x1a\n")) return "an HDF5 file";
  const bool onnx =
      bytes.size() > 2 && bytes[0] == std::byte{0x08} && bytes[1] <= std::byte{0x20} && bytes[2] == std::byte{0x12};
  return onnx ? "an ONNX file" : std::string_view();
}

void read_any(std::span<const std::byte> bytes, Checkpoint& checkpoint) {
  // This test comes first because the length of a header may begin with the same bytes as a pickle.
  if (is_safetensors(bytes)) return read_safetensors(bytes, checkpoint);
  if (starts_with(bytes, "PK\x03\x04")) return read_torch_zip(bytes, checkpoint);
  if (bytes.size() > 2 && bytes[0] == std::byte{0x80} && bytes[1] >= std::byte{2} && bytes[1] <= std::byte{5}) {
    return read_torch_legacy(bytes, checkpoint);
  }
  if (bytes.size() > 8 && bytes[8] == std::byte{'{'}) return read_safetensors(bytes, checkpoint);
  if (starts_with(bytes, "version https://git-lfs")) {
    fail("this is a Git LFS pointer and not the file itself: fetch it with `git lfs pull`");
  }
  if (starts_with(bytes, "\x89LNFR")) fail("this is already a converted model: give the checkpoint that it came from");
  if (const std::string_view foreign = foreign_format(bytes); !foreign.empty()) {
    fail("this is ", foreign,
         ", which is not read: save the model's weights from PyTorch with torch.save or as safetensors");
  }
  fail(
      "this is neither a PyTorch checkpoint (zip, or the format before version 1.6) nor a safetensors file: its first "
      "bytes are ",
      quote({reinterpret_cast<const char*>(bytes.data()), std::min<size_t>(bytes.size(), 8)}));
}

void read_named(std::span<const std::byte> bytes, Checkpoint& checkpoint) {
  checkpoint.budget().raise_tensor_limit(bytes.size());
  try {
    read_any(bytes, checkpoint);
    // Recognising the dialect needs at least one tensor.
    if (checkpoint.tensors.empty()) fail("the file has no tensors: save the model's weights again");
  } catch (const Error& error) {
    throw Error(checkpoint.name + ": " + error.what());
  }
}

}  // namespace

uint64_t data_type_bytes(DataType type) {
  switch (type) {
    case DataType::f64:
    case DataType::i64:
      return 8;
    case DataType::f32:
    case DataType::i32:
      return 4;
    case DataType::f16:
    case DataType::bf16:
    case DataType::i16:
      return 2;
    default:
      return 1;
  }
}

const char* data_type_name(DataType type) {
  static constexpr const char* names[] = {"f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "bool"};
  return names[static_cast<size_t>(type)];
}

std::string shape_text(const Tensor& tensor) {
  std::string text = "[";
  for (size_t i = 0; i < tensor.shape.size(); ++i) text += (i ? ", " : "") + std::to_string(tensor.shape[i]);
  return text + "] " + data_type_name(tensor.type);
}

Checkpoint Checkpoint::open(const std::string& path, const Control& control) {
  if (is_shard_index(path)) return open_shards(path, control);
  Checkpoint checkpoint = open_single(path, control);
  refuse_single_shard(path);
  return checkpoint;
}

Checkpoint Checkpoint::open_single(const std::string& path, const Control& control) {
  if (!finds_file(path)) fail(path, " does not exist");
  std::error_code error;
  if (std::filesystem::file_size(path, error) == 0) fail(path, " is empty: download or copy it again");
  Result<files::InputFile> file = files::InputFile::open(path, control);
  if (!file.ok()) fail(file.status().message());
  Checkpoint checkpoint;
  checkpoint.file_ = std::move(file.value());
  checkpoint.name = path;
  checkpoint.files = {path};
  checkpoint.budget().limit_memory(control.max_memory);
  read_named(checkpoint.file_.bytes(), checkpoint);
  return checkpoint;
}

Checkpoint Checkpoint::open(std::span<const std::byte> memory, const std::string& name) {
  Checkpoint checkpoint;
  checkpoint.name = name;
  read_named(memory, checkpoint);
  return checkpoint;
}

const Tensor* Checkpoint::find(std::string_view tensor_name) const {
  const auto found =
      std::find_if(tensors.begin(), tensors.end(), [&](const Tensor& t) { return t.name == tensor_name; });
  return found == tensors.end() ? nullptr : &*found;
}

void Checkpoint::add_tensor(Tensor tensor) {
  const std::string shown = "tensor " + quote(tensor.name);
  if (tensors.size() >= max_checkpoint_tensors) fail("there are more than ", max_checkpoint_tensors, " tensors");
  if (tensor.name.empty()) fail("a tensor has an empty name");
  if (tensor.name.size() > max_tensor_name) fail(shown, " has a name longer than ", max_tensor_name, " bytes");
  if (!valid_utf8(tensor.name) || tensor.name.find('\0') != std::string::npos)
    fail(shown, " has a name that is not text");
  if (tensor.shape.size() > max_checkpoint_rank) fail(shown, " has more than ", max_checkpoint_rank, " dimensions");
  const Storage& storage = storages_.at(tensor.storage);
  const uint64_t held = storage.bytes.size() / data_type_bytes(storage.type);
  tensor.type = storage.type;
  tensor.elements = 1;
  uint64_t last = tensor.offset;  // The largest index of an element in the storage.
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    uint64_t step = 0;
    if (!checked_mul(tensor.elements, tensor.shape[i], &tensor.elements) ||
        (tensor.shape[i] > 0 && !checked_mul(tensor.shape[i] - 1, tensor.strides[i], &step)) ||
        !checked_add(last, step, &last)) {
      fail(shown, " has a shape or strides too large to address: the file is damaged");
    }
  }
  if (tensor.elements > 0 && last >= held) {
    fail(shown, " reaches element ", last, " of ", storage.name, ", which holds ", held,
         ": the file is damaged or incomplete");
  }
  // Strides of 0 repeat elements. A tensor must not have more elements than its storage holds, because otherwise the
  // repetition would have no bound.
  if (tensor.elements > held) {
    fail(shown, " repeats the ", held, " elements of ", storage.name, " to ", tensor.elements,
         ": save it again after .contiguous()");
  }
  budget().charge_memory(2 * sizeof tensor + tensor.name.size() + 5 * sizeof(uint64_t) * tensor.shape.size());
  tensor.source = static_cast<uint32_t>(tensors.size());
  const auto [twin, first] =
      views_.emplace(View{tensor.storage, tensor.offset, tensor.shape, tensor.strides}, tensor.source);
  tensor.same_as = twin->second;
  if (first) budget().charge_tensor(tensor.elements * data_type_bytes(tensor.type));
  tensor.source_offset = 0;
  tensor.source_strides.assign(tensor.shape.size(), 1);
  for (size_t i = tensor.shape.size(); i-- > 1;) {
    tensor.source_strides[i - 1] = tensor.source_strides[i] * tensor.shape[i];
  }
  tensors.push_back(std::move(tensor));
}

void Checkpoint::add_shard(Checkpoint shard) {
  budget().raise_limits(shard.budget().structure_bytes());
  budget().raise_tensor_limit(shard.budget().file_bytes());
  const uint32_t first = static_cast<uint32_t>(storages_.size());
  for (Storage storage : shard.storages_) {
    storage.name = shard.name + ": " + storage.name;
    storages_.push_back(std::move(storage));
  }
  for (Tensor tensor : shard.tensors) {
    tensor.storage += first;
    add_tensor(std::move(tensor));
  }
  not_tensors.insert(not_tensors.end(), shard.not_tensors.begin(), shard.not_tensors.end());
  for (const std::string& global : shard.opaque_globals) {
    if (std::find(opaque_globals.begin(), opaque_globals.end(), global) == opaque_globals.end()) {
      opaque_globals.push_back(global);
    }
  }
  files.insert(files.end(), shard.files.begin(), shard.files.end());
  shards_.push_back(std::move(shard));
}

std::vector<Tensor> Checkpoint::extract_tensors(const std::function<bool(const Tensor&)>& chosen) {
  constexpr uint32_t none = std::numeric_limits<uint32_t>::max();
  struct Part {
    std::vector<Tensor> tensors;
    // For each group of tensors with equal `same_as`, the place of the first one in `tensors`. The index is the old
    // `same_as`.
    std::vector<uint32_t> twins;
  };
  Part kept, taken;
  kept.twins.resize(tensors.size(), none);
  taken.twins.resize(tensors.size(), none);
  for (Tensor& tensor : tensors) {
    Part& part = chosen(tensor) ? taken : kept;
    tensor.source = static_cast<uint32_t>(part.tensors.size());
    uint32_t& twin = part.twins[tensor.same_as];
    if (twin == none) twin = tensor.source;
    tensor.same_as = twin;
    part.tensors.push_back(std::move(tensor));
  }
  tensors = std::move(kept.tensors);
  return std::move(taken.tensors);
}

void Checkpoint::restore_tensors(std::vector<Tensor> taken) {
  const auto first = static_cast<uint32_t>(tensors.size());
  for (Tensor& tensor : taken) {
    tensor.source += first;
    tensor.same_as += first;
    tensors.push_back(std::move(tensor));
  }
}

void Checkpoint::read_f32(const Tensor& tensor, uint64_t first, std::span<float> values) const {
  read(tensor, first, values, convert_to_f32);
}

void Checkpoint::read_numbers(const Tensor& tensor, uint64_t first, std::span<float> values) const {
  read(tensor, first, values, convert_numbers);
}

void Checkpoint::read(const Tensor& tensor, uint64_t first, std::span<float> values, Convert convert) const {
  if (!range_within(first, values.size(), tensor.elements))
    fail("tensor ", quote(tensor.name), " is read past its end");
  budget().charge_read(values.size() * data_type_bytes(tensor.type));
  const Storage& storage = storages_.at(tensor.storage);
  verified_.resize(storages_.size());
  if (!verified_[tensor.storage]) {
    if (storage.crc32 && *storage.crc32 != crc32(storage.bytes)) {
      fail(name, ": ", storage.name, " (tensor ", quote(tensor.name),
           ") does not match its checksum: the file is damaged, copy or download it again");
    }
    verified_[tensor.storage] = true;
  }
  if (values.empty()) return;
  const std::byte* base = storage.bytes.data();

  // `run` is the number of elements that lie next to each other in the innermost dimensions, and `outer` the number of
  // dimensions around them.
  size_t outer = tensor.shape.size();
  uint64_t run = 1;
  while (outer > 0 && (tensor.strides[outer - 1] == run || tensor.shape[outer - 1] == 1)) run *= tensor.shape[--outer];

  uint64_t done = 0;
  while (done < values.size()) {
    const uint64_t logical = first + done;
    uint64_t place = tensor.offset + logical % run;
    uint64_t rest = logical / run;
    for (size_t i = outer; i-- > 0;) {
      place += rest % tensor.shape[i] * tensor.strides[i];
      rest /= tensor.shape[i];
    }
    const uint64_t count = std::min<uint64_t>(run - logical % run, values.size() - done);
    if (!convert(tensor.type, base + place * data_type_bytes(tensor.type), values.subspan(done, count))) {
      fail("tensor ", quote(tensor.name), " is ", shape_text(tensor),
           ", where floating point is expected: save it as f32, f16 or bf16");
    }
    done += count;
  }
}

}  // namespace linformer::convert
