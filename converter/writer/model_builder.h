// Builds .lnfr files from tensors with roles, whose values come from float32 sources. It does not depend on checkpoints
// or dialects.
//
//   ModelBuilder builder(ElementType::f32);
//   builder.description.encoder.embedding.tokens = builder.add_table("embed_tokens.weight", {vocab, d}, source);
//   builder.description.heads[0].output.weight = builder.add_linear("out_proj.weight", classes, d, source);
//   builder.write("model.lnfr");
//
// Not thread-safe. Functions throw WriteError, and errors of the output file are files::WriteError.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/description.h"
#include "converter/writer/origin.h"
#include "converter/writer/tensor_data.h"
#include "converter/writer/write_error.h"
#include "linformer/convert.h"

namespace linformer::writer {

// A function that is called with the number of bytes written so far and in total. It is called often, on the thread
// that writes.
using Progress = std::function<void(uint64_t done, uint64_t total)>;

// A block of memory that is 64-byte aligned, as Model::load() needs it.
class AlignedBytes {
 public:
  AlignedBytes() = default;
  explicit AlignedBytes(size_t size);
  ~AlignedBytes();
  AlignedBytes(AlignedBytes&& other) noexcept;
  AlignedBytes& operator=(AlignedBytes&& other) noexcept;
  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  operator std::span<const std::byte>() const { return {data_, size_}; }

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

class ModelBuilder {
 public:
  // `weight_type` is the type of Linear weights, embedding tables and projections. If it is int8, projections are bf16.
  // All other tensors are f32. The first element of `kept` whose pattern fits a weight's name sets the type of that
  // weight instead.
  explicit ModelBuilder(ElementType weight_type = ElementType::f32, std::vector<convert::KeptWeights> kept = {});

  // The caller fills the description, except `tensors`, which the functions below fill. The views of the tokenizer must
  // stay valid until the file is written. description.producer must not contain a time or a path, so that equal inputs
  // give equal bytes.
  ModelDescription description;
  // May stay empty. Then the model can't be turned back into a checkpoint.
  Origin origin;

  // The functions below add a tensor and return its index, which the caller stores in `description`. If a tensor of the
  // same shape, type, layout and values exists, they return the index of that tensor, which keeps its name. The source
  // is read at least once in the call, and once more when the file is written.

  // Adds a Linear weight of the logical shape [out, in], as in PyTorch. It is stored as panel16 in the weight type.
  TensorIndex add_linear(const std::string& name, uint64_t out, uint64_t in, const FloatSource& source);
  // Adds an embedding table. It is stored as row_major in the weight type.
  TensorIndex add_table(const std::string& name, const std::vector<uint64_t>& shape, const FloatSource& source);
  // Adds a projection E. It is stored as row_major in f32, or as padded_rows in a 16-bit type.
  TensorIndex add_projection(const std::string& name, uint64_t k, uint64_t n, const FloatSource& source);
  // Adds a bias, a norm or a convolution. It is stored as row_major in f32.
  TensorIndex add_floats(const std::string& name, const std::vector<uint64_t>& shape, const FloatSource& source);
  // The functions below do the same with values instead of a source. The values are copied.
  TensorIndex add_linear(const std::string& name, uint64_t out, uint64_t in, std::span<const float> values);
  TensorIndex add_table(const std::string& name, const std::vector<uint64_t>& shape, std::span<const float> values);
  TensorIndex add_floats(const std::string& name, const std::vector<uint64_t>& shape, std::span<const float> values);

  // Returns whether tensor `index` has this shape, and `source` its values (equal_values() in tensor_data.h). The
  // converter thereby finds out whether an output layer is tied to the embedding. Returns false for Linear weights.
  bool has_values(TensorIndex index, const std::vector<uint64_t>& shape, const FloatSource& source) const;

  // Returns the patterns of `kept` that have set the type of no weight so far.
  std::vector<std::string> unused_patterns() const;
  // Returns the rounding error of each tensor in `description`.
  const std::vector<RoundingError>& rounding_errors() const { return errors_; }

  // Returns the whole file in memory. The description is validated in the same way as by Model::load().
  AlignedBytes serialize();
  // Writes the file to `path` (files/atomic_file.h; "-" is standard output) in pieces, and returns its size in bytes.
  // The description is validated before anything is written. Throws files::WriteError if the output can't be written.
  uint64_t write(const std::string& path, const Progress& progress = {});

 private:
  TensorIndex add(TensorDescription tensor, const FloatSource& source);
  std::vector<std::byte> finish_metadata(uint64_t* tensor_bytes);

  // Returns the type for a weight of this name. If a pattern in kept_ decides it, the pattern is marked as used.
  ElementType choose_type(const std::string& name);

  ElementType weight_type_;
  std::vector<convert::KeptWeights> kept_;
  std::vector<bool> kept_used_;
  std::vector<RoundingError> errors_;
  std::vector<FloatSource> sources_;
  std::multimap<uint64_t, TensorIndex> by_hash_;  // The hashes have the seed of the process.
};

}  // namespace linformer::writer
