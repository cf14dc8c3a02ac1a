// Builds a .lnfr file: from roles and float32 sources to bytes. Knows nothing of checkpoints or dialects.
//
//   ModelBuilder builder(ElementType::f32);
//   builder.description.encoder.embedding.tokens = builder.add_table("embed_tokens.weight", {vocab, d}, source);
//   builder.description.heads[0].output.weight = builder.add_linear("out_proj.weight", classes, d, source);
//   builder.write("model.lnfr");
//
// Not thread-safe. All errors but those of the file itself are WriteError.
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

// Bytes written so far and in all; called often, from the thread that writes.
using Progress = std::function<void(uint64_t done, uint64_t total)>;

// 64-byte aligned memory for Model::load.
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
  // `weight_type`: of Linear weights, embedding tables and projections, which are bf16 where the others are int8. All
  // else stays f32. `kept`: the first that fits a weight's name says its type.
  explicit ModelBuilder(ElementType weight_type = ElementType::f32, std::vector<convert::KeptWeights> kept = {});

  // Everything about the model but `tensors`, which the functions below fill. The tokenizer's views must stay valid
  // until the file is written. `producer` must not contain a time or path: equal input gives equal bytes.
  ModelDescription description;
  // May stay empty: the model then can't be turned back into a checkpoint.
  Origin origin;

  // Each returns the index to store in `description`. Equal values in the same shape, type and layout share one
  // tensor, which keeps its first name. The source is read once now and again when the file is written.

  // A Linear weight, logically [out, in] as in PyTorch, stored panel16 in the weight type.
  TensorIndex add_linear(const std::string& name, uint64_t out, uint64_t in, const FloatSource& source);
  // An embedding table: row_major in the weight type.
  TensorIndex add_table(const std::string& name, const std::vector<uint64_t>& shape, const FloatSource& source);
  // E: row_major f32, or padded_rows of 16 bits.
  TensorIndex add_projection(const std::string& name, uint64_t k, uint64_t n, const FloatSource& source);
  // A bias, a norm, a convolution: row_major f32.
  TensorIndex add_floats(const std::string& name, const std::vector<uint64_t>& shape, const FloatSource& source);
  // The same with the values at hand, which are copied.
  TensorIndex add_linear(const std::string& name, uint64_t out, uint64_t in, std::span<const float> values);
  TensorIndex add_table(const std::string& name, const std::vector<uint64_t>& shape, std::span<const float> values);
  TensorIndex add_floats(const std::string& name, const std::vector<uint64_t>& shape, std::span<const float> values);

  // Whether tensor `index`, a table or a projection, has these values already: an output tied to the embedding.
  bool holds(TensorIndex index, const std::vector<uint64_t>& shape, const FloatSource& source) const;

  // The patterns of `kept` that no weight's name fits, so far.
  std::vector<std::string> unused_patterns() const;
  // What rounding to its type changed of each tensor in `description`.
  const std::vector<RoundingError>& rounding_errors() const { return errors_; }

  // The whole file in memory, validated as Model::load does.
  AlignedBytes serialize();
  // Streams the file to `path` (files/atomic_file.h; "-" is standard output) and returns its bytes. The description is
  // validated before anything is written; the output can also fail with files::WriteError.
  uint64_t write(const std::string& path, const Progress& progress = {});

 private:
  TensorIndex add(TensorDescription tensor, const FloatSource& source);
  std::vector<std::byte> finish_metadata(uint64_t* tensor_bytes);

  ElementType type_of(const std::string& name);

  ElementType weight_type_;
  std::vector<convert::KeptWeights> kept_;
  std::vector<bool> kept_used_;
  std::vector<RoundingError> errors_;
  std::vector<FloatSource> sources_;
  std::multimap<uint64_t, TensorIndex> by_hash_;  // with the seed of the process
};

}  // namespace linformer::writer
