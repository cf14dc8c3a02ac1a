#include "converter/writer/tensor_data.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>

#include "base/checked.h"
#include "base/description.h"
#include "base/storage.h"
#include "converter/writer/narrow.h"
#include "converter/writer/write_error.h"

namespace linformer::writer {
namespace {

constexpr uint64_t panel_width = linformer::panel_width;
// The most rows of a panel that are in memory at a time. It is a multiple of panel_k_multiple() of every type.
constexpr uint64_t max_panel_rows = uint64_t{1} << 16;
constexpr uint64_t piece_elements = uint64_t{1} << 18;  // The most elements that encode_plain() reads at once.
constexpr float int8_steps = 127;                       // -128 is never stored, so that negation stays exact.

uint64_t elements_of(const TensorDescription& tensor) {
  uint64_t elements = 1;
  for (uint64_t size : tensor.shape) {
    if (size == 0 || size > max_dimension) {
      throw WriteError(tensor.name + " has a dimension of " + std::to_string(size) + ": 1 to " +
                       std::to_string(max_dimension) + " are possible");
    }
    if (!checked_mul(elements, size, &elements)) {
      throw WriteError(tensor.name + " has more elements than 64 bits can count");
    }
  }
  return elements;
}

// The shape of a tensor as rows and columns. A tensor that doesn't have two dimensions counts as one row.
struct Extent {
  uint64_t rows, cols;
};
Extent extent_of(const TensorDescription& tensor) {
  const uint64_t elements = elements_of(tensor);
  return tensor.shape.size() == 2 ? Extent{tensor.shape[0], tensor.shape[1]} : Extent{1, elements};
}

StoredParts compute_part_offsets(const TensorDescription& tensor) {
  const Extent extent = extent_of(tensor);
  StoredParts storage;
  if (!linformer::compute_part_offsets(tensor.type, tensor.layout, extent.rows, extent.cols, &storage)) {
    throw WriteError(tensor.name + " takes more bytes than 64 bits can count");
  }
  return storage;
}

void check_overflow(const TensorDescription& tensor, int64_t index, std::span<const float> values) {
  if (index < 0) return;
  char value[32];
  std::snprintf(value, sizeof value, "%g", static_cast<double>(values[static_cast<size_t>(index)]));
  const std::string other = tensor.type == ElementType::f16 ? "bf16" : "f32";
  throw WriteError(tensor.name + " holds " + value + ", which " + name_of(tensor.type) +
                       " can't: keep this weight in f32, or convert all weights to " + other,
                   tensor.name, other);
}

void add_errors(ElementType type, std::span<const float> values, const std::byte* stored, RoundingError* error) {
  if (error == nullptr || type == ElementType::f32) return;
  const uint64_t width = static_cast<uint64_t>(element_bytes(type));
  for (size_t i = 0; i < values.size(); ++i) {
    float back = 0;
    widen(stored + i * width, type, {&back, 1});
    error->add(values[i], back);
  }
}

// The data behind the elements of an int8 tensor: the scale of each row, and for panel16 the sums of the codes.
class Int8Tail {
 public:
  Int8Tail(const TensorDescription& tensor, RoundingError* error)
      : tensor_(tensor), error_(error), padded_((tensor.shape[0] + 15) / 16 * 16), sums_(padded_ * slices_of(tensor)) {
    scales_.reserve(padded_);
  }

  // Stores the int8 codes of the next row (or, for panel16, of the next output) in `codes`, in groups of `together`
  // consecutive codes which are `together` * `stride` apart.
  void add(std::span<const float> values, int8_t* codes, uint64_t stride, uint64_t together) {
    float largest = 0;
    for (float value : values) {
      if (!std::isfinite(value)) {
        throw WriteError(
            tensor_.name + " holds " + std::to_string(value) + ", which int8 can't: keep this weight in f32",
            tensor_.name, "");
      }
      largest = std::max(largest, std::abs(value));
    }
    float scale = largest / int8_steps;
    // If the quotient was rounded up, the largest code times the scale could overflow.
    if (scale * int8_steps > std::numeric_limits<float>::max()) scale = std::nextafter(scale, 0.f);
    // The inverse of a tiny scale would not be finite. Then all codes and the scale are 0.
    const float inverse = scale >= 1e-37f ? 1.f / scale : 0.f;
    for (uint64_t i = 0; i < values.size(); ++i) {
      const float code = std::clamp(std::nearbyint(values[i] * inverse), -int8_steps, int8_steps);
      codes[i / together * together * stride + i % together] = static_cast<int8_t>(code);
      sums_[i / int8_slice * padded_ + scales_.size()] += static_cast<int32_t>(code);
      if (error_ != nullptr) error_->add(values[i], code * scale);
    }
    scales_.push_back(inverse == 0.f ? 0.f : scale);
  }

  void write(const ByteSink& sink) {
    scales_.resize(padded_);
    sink(std::as_bytes(std::span(scales_)));
    if (tensor_.layout == TensorLayout::panel16) sink(std::as_bytes(std::span(sums_)));
  }

 private:
  static uint64_t slices_of(const TensorDescription& tensor) {
    if (tensor.type != ElementType::int8) return 0;
    return static_cast<uint64_t>(int8_slices(static_cast<int64_t>(tensor.shape.back())));
  }

  const TensorDescription& tensor_;
  RoundingError* error_;
  const uint64_t padded_;  // The number of rows or outputs, rounded up to a multiple of 16.
  std::vector<float> scales_;
  std::vector<int32_t> sums_;
};

void encode_plain(const TensorDescription& tensor, const FloatSource& source, const ByteSink& sink,
                  RoundingError* error) {
  const uint64_t elements = elements_of(tensor);
  const uint64_t width = static_cast<uint64_t>(element_bytes(tensor.type));
  std::vector<float> values(std::min(elements, piece_elements));
  std::vector<std::byte> bytes(values.size() * width);
  for (uint64_t first = 0; first < elements; first += values.size()) {
    const std::span<float> piece(values.data(), std::min<uint64_t>(values.size(), elements - first));
    source(first, piece);
    check_overflow(tensor, narrow(piece, tensor.type, bytes.data()), piece);
    add_errors(tensor.type, piece, bytes.data(), error);
    sink(std::span(bytes).first(piece.size() * width));
  }
}

// Encodes a tensor row by row, because its rows are padded or each row has a scale.
void encode_rows(const TensorDescription& tensor, const FloatSource& source, const ByteSink& sink,
                 RoundingError* error) {
  const auto [rows, cols] = extent_of(tensor);
  const bool int8 = tensor.type == ElementType::int8;
  const uint64_t stride = element_index(tensor.type, tensor.layout, cols, 1, 0);
  std::vector<float> values(cols);
  std::vector<std::byte> bytes(stride * static_cast<uint64_t>(element_bytes(tensor.type)));
  Int8Tail tail(tensor, error);
  for (uint64_t row = 0; row < rows; ++row) {
    source(row * cols, values);
    if (int8) {
      tail.add(values, reinterpret_cast<int8_t*>(bytes.data()), 1, 1);
    } else {
      check_overflow(tensor, narrow(values, tensor.type, bytes.data()), values);
      add_errors(tensor.type, values, bytes.data(), error);
    }
    sink(bytes);
  }
  if (!int8) return;
  const std::vector<std::byte> padding(compute_part_offsets(tensor).scales - rows * stride);
  if (!padding.empty()) sink(padding);
  tail.write(sink);
}

// Encodes a tensor as panel16. Panel p holds outputs [16 p, 16 p + 16). The rows of a panel are inputs and its columns
// are outputs.
void encode_panels(const TensorDescription& tensor, const FloatSource& source, const ByteSink& sink,
                   RoundingError* error) {
  const uint64_t out = tensor.shape[0], in = tensor.shape[1];
  const bool int8 = tensor.type == ElementType::int8;
  if (int8 && in > max_int8_inputs) {
    throw WriteError(tensor.name + " has " + std::to_string(in) + " inputs: int8 takes at most " +
                         std::to_string(max_int8_inputs) + ", keep this weight in f32",
                     tensor.name, "");
  }
  elements_of(tensor);
  const uint64_t rows = static_cast<uint64_t>(round_up(static_cast<int64_t>(in), panel_k_multiple(tensor.type)));
  // A panel is encoded in parts of its rows, because a whole panel would need much memory: 16 columns for each of up to
  // 2^24 inputs, even if there is only one output.
  const uint64_t part = std::min(rows, max_panel_rows);
  const uint64_t width = static_cast<uint64_t>(element_bytes(tensor.type));
  const uint64_t together = static_cast<uint64_t>(panel_interleave(tensor.type));
  std::vector<float> weights(panel_width * std::min(part, in));
  std::vector<float> panel(int8 ? 0 : part * panel_width);
  std::vector<std::byte> bytes(part * panel_width * width);
  Int8Tail tail(tensor, error);
  for (uint64_t first = 0; first < out; first += panel_width) {
    const uint64_t columns = std::min(panel_width, out - first);
    for (uint64_t begin = 0; begin < rows; begin += part) {
      const uint64_t end = std::min(begin + part, rows), filled = std::min(end, in) - begin;
      if (filled == in) {
        source(first * in, std::span(weights).first(columns * in));
      } else {
        for (uint64_t column = 0; column < columns; ++column) {
          source((first + column) * in + begin, std::span(weights).subspan(column * filled, filled));
        }
      }
      if (int8) {
        std::fill(bytes.begin(), bytes.end(), std::byte{0});
        for (uint64_t column = 0; column < columns; ++column) {
          tail.add(std::span(weights).subspan(column * in, in),
                   reinterpret_cast<int8_t*>(bytes.data()) + column * together, panel_width, together);
        }
        sink(bytes);
        continue;
      }
      std::fill(panel.begin(), panel.end(), 0.f);
      for (uint64_t column = 0; column < columns; ++column) {
        for (uint64_t row = 0; row < filled; ++row) {
          panel[element_index(tensor.type, tensor.layout, part, column, row)] = weights[column * filled + row];
        }
      }
      const std::span<const float> values = std::span(panel).first((end - begin) * panel_width);
      check_overflow(tensor, narrow(values, tensor.type, bytes.data()), values);
      add_errors(tensor.type, values, bytes.data(), error);  // Padding has no error.
      sink(std::span(bytes).first(values.size() * width));
    }
  }
  if (int8) tail.write(sink);
}

}  // namespace

FloatSource copy_of(std::span<const float> values) {
  auto owned = std::make_shared<const std::vector<float>>(values.begin(), values.end());
  return [owned](uint64_t first, std::span<float> out) {
    std::copy_n(owned->begin() + static_cast<std::ptrdiff_t>(first), out.size(), out.begin());
  };
}

void encode(const TensorDescription& tensor, const FloatSource& source, const ByteSink& sink, RoundingError* error) {
  if (tensor.layout == TensorLayout::panel16) {
    encode_panels(tensor, source, sink, error);
  } else if (tensor.layout == TensorLayout::padded_rows || tensor.type == ElementType::int8) {
    encode_rows(tensor, source, sink, error);
  } else {
    encode_plain(tensor, source, sink, error);
  }
}

uint64_t encoded_bytes(const TensorDescription& tensor) { return compute_part_offsets(tensor).bytes; }

bool equal_values(const TensorDescription& tensor, const FloatSource& a, const FloatSource& b) {
  const uint64_t elements = elements_of(tensor);
  // An int8 code depends on the whole row. So the floats are compared: equal rows have equal codes.
  const ElementType type = tensor.type == ElementType::int8 ? ElementType::f32 : tensor.type;
  const uint64_t width = static_cast<uint64_t>(element_bytes(type));
  const uint64_t size = std::min(elements, piece_elements);
  std::vector<float> values(size);
  std::vector<std::byte> of_a(size * width), of_b(size * width);
  for (uint64_t first = 0; first < elements; first += size) {
    const std::span<float> piece(values.data(), std::min(size, elements - first));
    a(first, piece);
    narrow(piece, type, of_a.data());
    b(first, piece);
    narrow(piece, type, of_b.data());
    if (std::memcmp(of_a.data(), of_b.data(), piece.size() * width) != 0) return false;
  }
  return true;
}

std::vector<float> decode(const TensorDescription& tensor, const std::byte* data) {
  std::vector<float> values(elements_of(tensor));
  const auto [rows, cols] = extent_of(tensor);
  const StoredParts storage = compute_part_offsets(tensor);
  const uint64_t width = static_cast<uint64_t>(element_bytes(tensor.type));
  for (uint64_t row = 0; row < rows; ++row) {
    float scale = 1;
    if (tensor.type == ElementType::int8) std::memcpy(&scale, data + storage.scales + row * sizeof scale, sizeof scale);
    for (uint64_t col = 0; col < cols; ++col) {
      const std::byte* from = data + element_index(tensor.type, tensor.layout, cols, row, col) * width;
      float& value = values[row * cols + col];
      if (tensor.type == ElementType::int8) {
        value = static_cast<float>(static_cast<int8_t>(*from)) * scale;
      } else {
        widen(from, tensor.type, {&value, 1});
      }
    }
  }
  return values;
}

}  // namespace linformer::writer
