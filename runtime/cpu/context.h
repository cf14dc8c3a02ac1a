// The arguments of an op's run() on the CPU. The context holds the batch and finds operands in memory. The item says
// which rows the call computes.
#pragma once

#include <algorithm>
#include <span>

#include "cpu/declare.h"
#include "linformer/version.h"
#include "program/executor.h"

namespace LINFORMER_NAMESPACE::cpu {

// A range of consecutive sequences of a batch, and the thread that computes them.
struct Part {
  int64_t first = 0, sequences = 0;                 // The sequences [first, first + sequences).
  int64_t row = 0, rows = 0;                        // Their packed rows [row, row + rows).
  int64_t shortest = 0, longest = 0;                // The numbers of rows of the shortest and the longest sequence.
  int64_t shortest_states = 0, longest_states = 0;  // The same for encoder states; 0 without them.
  int thread = 0;                                   // The index of the thread, or -1 if all threads share the part.
};

// What one call of an op's run() computes, such as some rows of one sequence. A stage is a list of ops (stage.h).
struct Item {
  const Stage& stage;
  const Part& part;
  const Destination& call;
  int thread = 0;
  int64_t sequence = 0;
  // The rows [row, row + rows). In the domains source_rows and compressed_rows they are counted from the first row of
  // the item's sequence, in `sequences` from the first row of the output, and otherwise from the first of the call.
  int64_t row = 0, rows = 0;
  int64_t column = 0, columns = 0;  // The columns [column, column + columns), in the domain source_columns.
  int64_t group = 0;                // The index of the group of heads, in the domain key_heads.
  // The index of the thread that runs this call and whose scratch memory the op uses. Several threads can share an op.
  // Each then computes the columns [from, to) of `out`. If from and to are 0, this thread computes all columns.
  int worker = thread;
  int64_t from = 0, to = 0;
  bool shares = false;  // Whether several threads share this op. They may then share the next ops, too.
  int32_t op = 0;       // The index of the op in the program.
  // The kernel prefetches these weights, which this thread's next product will probably read.
  const void* next_weights = nullptr;
};

// The element type that the C++ type T stores. Only the types below have one.
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

// The state of a session that an op's code reads in addition to its operands and its item. The executor fills it, and
// ops don't change it.
struct Context {
  const Program& program;
  const Kernels& kernels;
  std::span<const std::byte* const> weights;  // The first byte of each tensor, by tensor index.
  const ArenaLayout& layout;
  std::byte* arena = nullptr;
  Batch batch;
  GemmProvider* provider = nullptr;
  GemmIds gemms;
  // By index of the op: if the op multiplies by a weight, the part of the weight that it multiplies by.
  Array<RightMatrix> rights;

  Context(const Program& own_program, const Kernels& own_kernels, std::span<const std::byte* const> own_weights,
          const ArenaLayout& own_layout)
      : program(own_program), kernels(own_kernels), weights(own_weights), layout(own_layout) {}
  // Fills `rights`. The executor calls it once for each session.
  Status prepare_weights();

  // Returns the rows that the keys of the item's layer are computed from.
  Source key_source_of(const Item& item) const { return key_source_of(item.stage.key_rows); }
  Source key_source_of(const KeyRows& key_rows) const;

  template <class T = float>
  T* buffer(BufferId id) const {
    return reinterpret_cast<T*>(arena + layout.offsets[static_cast<int>(id)]);
  }
  float* thread_buffer(BufferId id, int thread) const {
    return reinterpret_cast<float*>(buffer<std::byte>(id) +
                                    static_cast<uint64_t>(thread) * layout.strides[static_cast<int>(id)]);
  }
  void* scratch(int thread) const { return thread_buffer(BufferId::scratch, thread); }

  const std::byte* tensor(const View& view) const { return weights[static_cast<size_t>(view.tensor)]; }
  const float* floats(const View& view) const {
    return view.present() ? reinterpret_cast<const float*>(tensor(view)) + view.offset : nullptr;
  }
  // Returns the scales of a table, one for each row, or null if the table isn't int8.
  const float* scales(const View& view) const;
  // Returns the address of the item's first row of a view. In buffers of rows, slots and keys, adds `four_byte_units` x
  // 4 bytes. Offsets in slots and tables count 4 bytes for each element, because these have room for f32 in every type.
  std::byte* bytes(const View& view, const Item& item, int64_t four_byte_units = 0) const;
  // Returns the address of the item's first row, or null if the elements of the view don't have the type T.
  template <class T>
  T* address(const View& view, const Item& item) const {
    return view.type == element_type<T> ? reinterpret_cast<T*>(bytes(view, item)) : nullptr;
  }
  // Returns the item's rows of an f32 view.
  MutableMatrix matrix(const View& view, const Item& item) const {
    return {address<float>(view, item), item.rows, view.cols, ld_of(view, item)};
  }
  int64_t ld_of(const View& view, const Item& item) const {
    return view.place == Place::source ? key_source_of(item).ld : view.ld;
  }
  // Returns the item's rows of a view that a product writes, in f32 or bf16.
  OutMatrix out(const View& view, const Item& item) const;
  // Returns the item's rows of a view as the left operand of a product.
  LeftMatrix left(const View& view, const Item& item) const;
  // Returns the first `rows` rows and `cols` columns of a weight, such as E, as the left operand of a product.
  LeftMatrix left(const View& view, int64_t rows, int64_t cols) const {
    return {tensor(view) + view.offset * element_bytes(view.type), view.type, rows, cols, view.ld};
  }

  // Calls each(sequence, position, r, rows) for every sequence that the item has rows of, in order. The item's rows [r,
  // r + rows) belong to that sequence, and the first of them has the position `position` in it. The stage's domain must
  // be row_blocks or first_rows. Stops at the first error and returns it.
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
