#include "converter/writer/model_builder.h"

#include <cstring>
#include <new>
#include <numeric>
#include <set>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/checked.h"
#include "base/description.h"
#include "converter/files/atomic_file.h"
#include "converter/files/name_pattern.h"
#include "converter/seed.h"
#include "converter/writer/metadata.h"
#include "io/container.h"
#include "model/validate.h"

namespace linformer::writer {
namespace {

// The XXH3-64 hash of bytes that come in pieces. With seed 0 it equals hash_bytes() of all bytes together.
class StreamHash {
 public:
  explicit StreamHash(uint64_t seed = 0) { XXH3_64bits_reset_withSeed(&state_, seed); }
  void update(std::span<const std::byte> bytes) { XXH3_64bits_update(&state_, bytes.data(), bytes.size()); }
  uint64_t value() const { return XXH3_64bits_digest(&state_); }

 private:
  XXH3_state_t state_{};  // Initialised, because XXH3_64bits_reset_withSeed() reads the old seed.
};

uint64_t count_of(const std::vector<uint64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), uint64_t{1}, std::multiplies<>());
}

void check_count(const std::string& name, const std::vector<uint64_t>& shape, std::span<const float> values) {
  if (values.size() == count_of(shape)) return;
  throw WriteError(name + " has " + std::to_string(values.size()) + " values, but its shape needs " +
                   std::to_string(count_of(shape)));
}

void throw_if(const Status& status) {
  if (!status.ok()) throw WriteError(status.message());
}

}  // namespace

AlignedBytes::AlignedBytes(size_t size) : size_(size) {
  data_ = static_cast<std::byte*>(::operator new(size, std::align_val_t(tensor_alignment)));
}

AlignedBytes::~AlignedBytes() { ::operator delete(data_, std::align_val_t(tensor_alignment)); }

AlignedBytes::AlignedBytes(AlignedBytes&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

AlignedBytes& AlignedBytes::operator=(AlignedBytes&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

ModelBuilder::ModelBuilder(ElementType weight_type, std::vector<convert::KeptWeights> kept)
    : weight_type_(weight_type), kept_(std::move(kept)), kept_used_(kept_.size()) {}

ElementType ModelBuilder::choose_type(const std::string& name) {
  for (size_t i = 0; i < kept_.size(); ++i) {
    if (!files::fits_pattern(kept_[i].pattern, name)) continue;
    kept_used_[i] = true;
    return kept_[i].type;
  }
  return weight_type_;
}

std::vector<std::string> ModelBuilder::unused_patterns() const {
  std::vector<std::string> unused;
  for (size_t i = 0; i < kept_.size(); ++i) {
    if (!kept_used_[i]) unused.push_back(kept_[i].pattern);
  }
  return unused;
}

TensorIndex ModelBuilder::add_linear(const std::string& name, uint64_t out, uint64_t in, const FloatSource& source) {
  TensorDescription tensor;
  tensor.name = name;
  tensor.type = choose_type(name);
  tensor.layout = TensorLayout::panel16;
  tensor.shape = {out, in};
  return add(std::move(tensor), source);
}

TensorIndex ModelBuilder::add_table(const std::string& name, const std::vector<uint64_t>& shape,
                                    const FloatSource& source) {
  TensorDescription tensor;
  tensor.name = name;
  tensor.type = choose_type(name);
  tensor.shape = shape;
  return add(std::move(tensor), source);
}

TensorIndex ModelBuilder::add_projection(const std::string& name, uint64_t k, uint64_t n, const FloatSource& source) {
  TensorDescription tensor;
  tensor.name = name;
  // The product of a projection and a matrix sums over the rows of that matrix. If the matrix is quantised to int8,
  // each of its rows has a scale of its own, which can't be taken out of the sum. So projections are not stored in
  // int8.
  tensor.type = choose_type(name);
  if (tensor.type == ElementType::int8) tensor.type = ElementType::bf16;
  if (tensor.type != ElementType::f32) tensor.layout = TensorLayout::padded_rows;
  tensor.shape = {k, n};
  return add(std::move(tensor), source);
}

TensorIndex ModelBuilder::add_floats(const std::string& name, const std::vector<uint64_t>& shape,
                                     const FloatSource& source) {
  TensorDescription tensor;
  tensor.name = name;
  tensor.shape = shape;
  return add(std::move(tensor), source);
}

TensorIndex ModelBuilder::add_linear(const std::string& name, uint64_t out, uint64_t in,
                                     std::span<const float> values) {
  check_count(name, {out, in}, values);
  return add_linear(name, out, in, copy_of(values));
}

TensorIndex ModelBuilder::add_table(const std::string& name, const std::vector<uint64_t>& shape,
                                    std::span<const float> values) {
  check_count(name, shape, values);
  return add_table(name, shape, copy_of(values));
}

TensorIndex ModelBuilder::add_floats(const std::string& name, const std::vector<uint64_t>& shape,
                                     std::span<const float> values) {
  check_count(name, shape, values);
  return add_floats(name, shape, copy_of(values));
}

TensorIndex ModelBuilder::add(TensorDescription tensor, const FloatSource& source) {
  if (tensor.shape.empty() || tensor.shape.size() > max_rank) {
    throw WriteError(tensor.name + " has " + std::to_string(tensor.shape.size()) + " dimensions: 1 to " +
                     std::to_string(max_rank) + " are possible");
  }
  // Equal tensors are found with a seeded hash. A checkpoint can be made to contain many different tensors with equal
  // checksums, which would all be compared, but not with equal seeded hashes.
  StreamHash hash, seeded(convert::process_seed());
  RoundingError error;
  encode(
      tensor, source,
      [&](std::span<const std::byte> bytes) {
        hash.update(bytes);
        seeded.update(bytes);
      },
      &error);
  tensor.bytes = encoded_bytes(tensor);
  tensor.checksum = hash.value();
  const auto [first, last] = by_hash_.equal_range(seeded.value());
  for (auto candidate = first; candidate != last; ++candidate) {
    const TensorIndex index = candidate->second;
    const TensorDescription& other = description.tensors[static_cast<size_t>(index)];
    if (other.type == tensor.type && other.layout == tensor.layout && other.shape == tensor.shape &&
        equal_values(tensor, sources_[static_cast<size_t>(index)], source)) {
      return index;
    }
  }
  const TensorIndex index = static_cast<TensorIndex>(description.tensors.size());
  by_hash_.emplace(seeded.value(), index);
  description.tensors.push_back(std::move(tensor));
  sources_.push_back(source);
  errors_.push_back(error);
  return index;
}

bool ModelBuilder::has_values(TensorIndex index, const std::vector<uint64_t>& shape, const FloatSource& source) const {
  if (index < 0 || static_cast<size_t>(index) >= sources_.size()) return false;
  const TensorDescription& tensor = description.tensors[static_cast<size_t>(index)];
  return tensor.layout != TensorLayout::panel16 && tensor.shape == shape &&
         equal_values(tensor, sources_[static_cast<size_t>(index)], source);
}

std::vector<std::byte> ModelBuilder::finish_metadata(uint64_t* tensor_bytes) {
  if (description.tensors.size() != sources_.size()) {
    throw WriteError("tensors were changed outside the builder: add them through its functions");
  }
  uint64_t offset = 0, end = 0;
  for (TensorDescription& tensor : description.tensors) {
    tensor.offset = offset;
    if (!checked_add(offset, tensor.bytes, &end) || !checked_round_up(end, tensor_alignment, &offset)) {
      throw WriteError("the tensors exceed what a file can hold");
    }
  }
  *tensor_bytes = end;
  throw_if(validate(description, end));
  return serialize_metadata(description, origin);
}

AlignedBytes ModelBuilder::serialize() {
  uint64_t tensor_bytes = 0;
  const std::vector<std::byte> metadata = finish_metadata(&tensor_bytes);
  const Result<Header> header = make_header(metadata, tensor_bytes);
  throw_if(header.status());
  AlignedBytes file(header.value().tensor_offset + tensor_bytes);
  std::memset(file.data(), 0, file.size());
  std::memcpy(file.data(), &header.value(), sizeof(Header));
  std::memcpy(file.data() + header_bytes, metadata.data(), metadata.size());
  for (size_t i = 0; i < sources_.size(); ++i) {
    const TensorDescription& tensor = description.tensors[i];
    std::byte* out = file.data() + header.value().tensor_offset + tensor.offset;
    encode(tensor, sources_[i], [&](std::span<const std::byte> bytes) {
      std::memcpy(out, bytes.data(), bytes.size());
      out += bytes.size();
    });
  }
  return file;
}

uint64_t ModelBuilder::write(const std::string& path, const Progress& progress) {
  uint64_t tensor_bytes = 0;
  const std::vector<std::byte> metadata = finish_metadata(&tensor_bytes);
  const Result<Header> header = make_header(metadata, tensor_bytes);
  throw_if(header.status());
  const uint64_t total = header.value().tensor_offset + tensor_bytes;
  files::AtomicFile file(path);
  file.append(std::as_bytes(std::span(&header.value(), 1)));
  file.append(metadata);
  file.append_zeros(header.value().tensor_offset - file.size());
  for (size_t i = 0; i < sources_.size(); ++i) {
    const TensorDescription& tensor = description.tensors[i];
    file.append_zeros(header.value().tensor_offset + tensor.offset - file.size());
    StreamHash hash;
    encode(tensor, sources_[i], [&](std::span<const std::byte> bytes) {
      hash.update(bytes);
      file.append(bytes);
      if (progress) progress(file.size(), total);
    });
    if (hash.value() != tensor.checksum) {
      throw WriteError(tensor.name + " changed while it was converted: leave the checkpoint alone and convert again");
    }
  }
  file.commit();
  return file.size();
}

}  // namespace linformer::writer
