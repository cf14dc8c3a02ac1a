#include "converter/writer/tensor_data.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/checked.h"
#include "base/matrix.h"
#include "converter/writer/narrow.h"
#include "converter/writer/write_error.h"

namespace linformer::writer {
namespace {

constexpr uint64_t panel_width = linformer::panel_width;
constexpr uint64_t max_panel_rows = uint64_t{1} << 16;  // of a panel at a time; a multiple of its width
constexpr uint64_t piece_elements = uint64_t{1} << 18;  // 1 MiB of float32 at a time

uint64_t elements_of(const TensorDescription& tensor) {
  uint64_t elements = 1;
  for (uint64_t size : tensor.shape) {
    if (size == 0 || size > max_dimension || !checked_mul(elements, size, &elements)) {
      throw WriteError(tensor.name + " has a dimension of " + std::to_string(size) + ": 1 to " +
                       std::to_string(max_dimension) + " are possible");
    }
  }
  return elements;
}

// Where row `row` (an input) of a panel's column (an output) is.
uint64_t index_in_panel(ElementType type, uint64_t row, uint64_t column) {
  const uint64_t together = static_cast<uint64_t>(panel_interleave(type));
  return row / together * together * panel_width + column * together + row % together;
}

void check_overflow(const TensorDescription& tensor, int64_t index, std::span<const float> values) {
  if (index < 0) return;
  throw WriteError(tensor.name + " holds " + std::to_string(values[static_cast<size_t>(index)]) + ", which " +
                   name_of(tensor.type) + " can't: convert with --dtype f32 or bf16");
}

void encode_row_major(const TensorDescription& tensor, const FloatSource& source, const ByteSink& sink) {
  const uint64_t elements = elements_of(tensor);
  const uint64_t width = static_cast<uint64_t>(element_bytes(tensor.type));
  std::vector<float> values(std::min(elements, piece_elements));
  std::vector<std::byte> bytes(values.size() * width);
  for (uint64_t first = 0; first < elements; first += values.size()) {
    const std::span<float> piece(values.data(), std::min<uint64_t>(values.size(), elements - first));
    source(first, piece);
    check_overflow(tensor, narrow(piece, tensor.type, bytes.data()), piece);
    sink(std::span(bytes).first(piece.size() * width));
  }
}

// Panel p holds outputs [16 p, 16 p + 16): its rows are inputs, its columns outputs.
void encode_panels(const TensorDescription& tensor, const FloatSource& source, const ByteSink& sink) {
  const uint64_t out = tensor.shape[0], in = tensor.shape[1];
  elements_of(tensor);
  const uint64_t rows = static_cast<uint64_t>(round_up(static_cast<int64_t>(in), panel_depth(tensor.type)));
  // A part of the inputs at a time: a panel of one output that has 2^24 of them would take 16 times as much.
  const uint64_t part = std::min(rows, max_panel_rows);
  const uint64_t width = static_cast<uint64_t>(element_bytes(tensor.type));
  std::vector<float> weights(panel_width * std::min(part, in));
  std::vector<float> panel(part * panel_width);
  std::vector<std::byte> bytes(panel.size() * width);
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
      std::fill(panel.begin(), panel.end(), 0.f);
      for (uint64_t column = 0; column < columns; ++column) {
        for (uint64_t row = 0; row < filled; ++row) {
          panel[index_in_panel(tensor.type, row, column)] = weights[column * filled + row];
        }
      }
      const std::span<const float> values = std::span(panel).first((end - begin) * panel_width);
      check_overflow(tensor, narrow(values, tensor.type, bytes.data()), values);
      sink(std::span(bytes).first(values.size() * width));
    }
  }
}

}  // namespace

FloatSource copy_of(std::span<const float> values) {
  auto owned = std::make_shared<const std::vector<float>>(values.begin(), values.end());
  return [owned](uint64_t first, std::span<float> out) {
    std::copy_n(owned->begin() + static_cast<std::ptrdiff_t>(first), out.size(), out.begin());
  };
}

void encode(const TensorDescription& tensor, const FloatSource& source, const ByteSink& sink) {
  if (tensor.layout == TensorLayout::panel16) {
    encode_panels(tensor, source, sink);
  } else {
    encode_row_major(tensor, source, sink);
  }
}

uint64_t encoded_bytes(const TensorDescription& tensor) {
  uint64_t elements = elements_of(tensor);
  if (tensor.layout == TensorLayout::panel16) {
    elements = static_cast<uint64_t>(
        panel_elements(tensor.type, static_cast<int64_t>(tensor.shape[1]), static_cast<int64_t>(tensor.shape[0])));
  }
  return elements * static_cast<uint64_t>(element_bytes(tensor.type));
}

bool equal_values(const TensorDescription& tensor, const FloatSource& a, const FloatSource& b) {
  const uint64_t elements = elements_of(tensor);
  const uint64_t width = static_cast<uint64_t>(element_bytes(tensor.type));
  const uint64_t size = std::min(elements, piece_elements);
  std::vector<float> values(size);
  std::vector<std::byte> of_a(size * width), of_b(size * width);
  for (uint64_t first = 0; first < elements; first += size) {
    const std::span<float> piece(values.data(), std::min(size, elements - first));
    a(first, piece);
    narrow(piece, tensor.type, of_a.data());
    b(first, piece);
    narrow(piece, tensor.type, of_b.data());
    if (std::memcmp(of_a.data(), of_b.data(), piece.size() * width) != 0) return false;
  }
  return true;
}

std::vector<float> decode(const TensorDescription& tensor, const std::byte* data) {
  std::vector<float> values(elements_of(tensor));
  if (tensor.layout == TensorLayout::row_major) {
    widen(data, tensor.type, values);
    return values;
  }
  const uint64_t out = tensor.shape[0], in = tensor.shape[1];
  const uint64_t rows = static_cast<uint64_t>(round_up(static_cast<int64_t>(in), panel_depth(tensor.type)));
  std::vector<float> stored(encoded_bytes(tensor) / static_cast<uint64_t>(element_bytes(tensor.type)));
  widen(data, tensor.type, stored);
  for (uint64_t o = 0; o < out; ++o) {
    for (uint64_t i = 0; i < in; ++i) {
      values[o * in + i] =
          stored[index_in_panel(tensor.type, i, o % panel_width) + o / panel_width * rows * panel_width];
    }
  }
  return values;
}

}  // namespace linformer::writer
