// What run() of an op gets on the CPU. The context holds the batch and finds operands in memory. The item says which
// rows the call computes.
#pragma once

#include <algorithm>
#include <span>

#include "cpu/declare.h"
#include "linformer/version.h"
#include "program/executor.h"

namespace LINFORMER_NAMESPACE::cpu {

// Sequences next to one another, and who works on them.
struct Part {
  int64_t first = 0, sequences = 0;
  int64_t row = 0, rows = 0;
  int64_t shortest = 0, longest = 0;  // sequence
  int64_t shortest_states = 0, longest_states = 0;
  int thread = 0;
};

// What an op works on.
struct Item {
  const Stage& stage;
  const Part& part;
  const Destination& call;
  int thread = 0;
  int64_t sequence = 0;
  int64_t row = 0, rows = 0;        // of the batch (row_blocks, scored), or of the sequence
  int64_t column = 0, columns = 0;  // source_columns
  int64_t group = 0;                // key_heads
  // The index of the thread that runs this call and whose scratch memory the op uses. Several threads can share an op.
  // Each then computes the columns [from, to) of `out`. If both are 0, this thread computes all columns.
  int worker = thread;
  int64_t from = 0, to = 0;
  bool shares = false;  // threads share this op, and the ops that follow it
  int32_t op = 0;       // index of the op in the program
  // The kernel prefetches these weights, which this thread's next product will probably read.
  const void* next_weights = nullptr;
};

// The element type that C++ type T holds; there is none for other types.
template <class T>
extern const ElementType element_type;
template <>
inline constexpr ElementType element_type<float> = ElementType::f32;
template <>
inline constexpr ElementType element_type<uint16_t> = ElementType::bf16;
template <>
inline constexpr ElementType element_type<uint8_t> = ElementType::int8;

// The rows that keys and values are computed from. They are the layer's own rows or the encoder states.
struct Source {
  const float* rows = nullptr;
  int64_t ld = 0;
  const int32_t* starts = nullptr;
  const uint8_t* masks = nullptr;
  int64_t length(int64_t sequence) const { return starts[sequence + 1] - starts[sequence]; }
  // The first row of a sequence in the buffers of full attention. It is a multiple of the panel width, so that
  // sequences don't share a panel.
  int64_t panel_start(int64_t sequence) const {
    return (starts[sequence] + (panel_width - 1) * sequence + panel_width - 1) / panel_width * panel_width;
  }
};

// What an op's code reads beside its operands and its item. An executor fills it; ops change nothing of it.
struct Context {
  const Program& program;
  const Kernels& kernels;
  std::span<const std::byte* const> weights;  // the bytes of each tensor
  const ArenaLayout& layout;
  std::byte* arena = nullptr;
  Batch batch;
  GemmProvider* provider = nullptr;
  GemmIds gemms;
  Array<RightMatrix> rights;  // by op: of a product with a weight, the part of it that is multiplied

  Context(const Program& own_program, const Kernels& own_kernels, std::span<const std::byte* const> own_weights,
          const ArenaLayout& own_layout)
      : program(own_program), kernels(own_kernels), weights(own_weights), layout(own_layout) {}
  // Fills `rights`, once for a session.
  Status prepare_weights();

  // The rows that the keys of the item's layer are made of.
  Source source_of(const Item& item) const { return source_of(item.stage.key_rows); }
  Source source_of(const KeyRows& key_rows) const;

  template <class T = float>
  T* buffer(BufferId id) const {
    return reinterpret_cast<T*>(arena + layout.offsets[static_cast<int>(id)]);
  }
  float* block_buffer(BufferId id, int thread) const {
    return reinterpret_cast<float*>(buffer<std::byte>(id) +
                                    static_cast<uint64_t>(thread) * layout.strides[static_cast<int>(id)]);
  }
  void* scratch(int thread) const { return block_buffer(BufferId::scratch, thread); }

  const std::byte* tensor(const View& view) const { return weights[static_cast<size_t>(view.tensor)]; }
  const float* floats(const View& view) const {
    return view.present() ? reinterpret_cast<const float*>(tensor(view)) + view.offset : nullptr;
  }
  // The scales of an int8 table, one for each row; null where it has none.
  const float* scales(const View& view) const;
  // Where a view's first row of the item lies, and `units` of 4 bytes behind it: slots and tables have room for f32,
  // whatever the type of what lies in them.
  std::byte* bytes(const View& view, const Item& item, int64_t units = 0) const;
  // The same of a view whose elements are T; null of any other.
  template <class T>
  T* address(const View& view, const Item& item) const {
    return view.type == element_type<T> ? reinterpret_cast<T*>(bytes(view, item)) : nullptr;
  }
  // Of f32.
  MutableMatrix matrix(const View& view, const Item& item) const {
    return {address<float>(view, item), item.rows, view.cols, ld_of(view, item)};
  }
  int64_t ld_of(const View& view, const Item& item) const {
    return view.place == Place::source ? source_of(item).ld : view.ld;
  }
  // Of any type that products write.
  OutMatrix out(const View& view, const Item& item) const;
  // Rows of a block as a product reads them.
  LeftMatrix left(const View& view, const Item& item) const;
  // E, or another weight on the left.
  LeftMatrix left(const View& view, int64_t rows, int64_t cols) const {
    return {tensor(view) + view.offset * element_bytes(view.type), view.type, rows, cols, view.ld};
  }

  // The item's rows, of row_blocks or first_rows, one sequence after the other: each(sequence, place in the sequence,
  // first row of the item, rows).
  template <class Each>
  Status for_each_sequence(const Item& item, Each&& each) const {
    const bool first_only = item.stage.domain == Domain::first_rows;
    int64_t sequence = first_only ? item.row : batch.sequence_of(item.row);
    for (int64_t r = 0; r < item.rows; ++sequence) {
      const int64_t place = first_only ? 0 : item.row + r - batch.row_starts[sequence];
      const int64_t rows = first_only ? 1 : std::min(item.rows - r, batch.length(sequence) - place);
      LINFORMER_TRY(each(sequence, place, r, rows));
      r += rows;
    }
    return {};
  }
};

}  // namespace LINFORMER_NAMESPACE::cpu
