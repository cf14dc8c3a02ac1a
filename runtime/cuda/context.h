// The arguments of run() of an op on a GPU. The Context holds the batch and finds operands in memory. The Item says
// which rows the call computes.
#pragma once

#include <memory>

#include "base/checked.h"
#include "cuda/attention.h"
#include "cuda/create.h"
#include "cuda/elements.h"
#include "cuda/weights.h"
#include "linformer/version.h"
#include "program/device_scratch.h"
#include "program/executor.h"

namespace LINFORMER_NAMESPACE::cuda {

// The rows that a stage's ops compute: rows [row, row + rows) of the stage's domain, or of each of `count` sequences.
// These have the same length, unless the stage computes the same for every length.
struct Item {
  const Stage& stage;
  const Destination& call;
  int64_t row = 0, rows = 0;
  int64_t sequence = 0, count = 1;
  int64_t n = 0;             // The rows that each sequence's keys are made of. If whole_batch, those of all sequences.
  bool whole_batch = false;  // The item has the rows of all sequences.
  int64_t group = 0;         // The group of heads, in stages of the domain key_heads.
};

// An operand of an op: `count` matrices of the same shape, `step` elements apart.
struct Operand {
  std::byte* data = nullptr;
  ElementType type = ElementType::f32;
  int64_t rows = 0, cols = 0, ld = 0;
  int64_t count = 1, step = 0;
  float* floats() const { return reinterpret_cast<float*>(data); }
  Operand matrix_at(int64_t i) const {
    Operand result = *this;
    result.data += i * step * element_bytes(type);
    result.count = 1;
    return result;
  }
  // Returns whether the matrices follow one another in memory without gaps.
  bool forms_one_matrix() const { return step == rows * ld; }
  // Returns the operand as one matrix of all rows if forms_one_matrix(), otherwise unchanged.
  Operand as_one_matrix() const {
    Operand result = *this;
    if (count > 1 && forms_one_matrix()) {
      result.rows *= count;
      result.count = 1;
    }
    return result;
  }
};

// The rows that keys and values are computed from. They are the layer's own rows or the encoder states.
struct Source {
  std::byte* rows = nullptr;
  int64_t ld = 0;
  BufferId starts = BufferId::row_starts, masks = BufferId::masks;
  const int32_t* host_starts = nullptr;
  int64_t length(int64_t sequence) const { return host_starts[sequence + 1] - host_starts[sequence]; }
};

inline bool aligned(const void* data) { return reinterpret_cast<uintptr_t>(data) % 16 == 0; }

// Calls run(static_cast<T*>(nullptr)), where T is the C++ type of the elements.
template <class Run>
Status with_element_type(ElementType type, Run&& run) {
  if (type == ElementType::f16) return run(static_cast<Half*>(nullptr));
  if (type == ElementType::bf16) return run(static_cast<Bf16*>(nullptr));
  return run(static_cast<float*>(nullptr));
}

// The data of a session that the code of ops uses. The executor fills it. Ops change only the stream, the device's
// memory, and the caller's arena from `staging` on.
struct Context {
  const Program& program;
  const ArenaLayout& layout;
  const ExecutorOptions options;
  const ElementType type;  // The type in which products are computed.
  const DeviceWeights* weights = nullptr;
  std::unique_ptr<Stream> stream;
  DeviceScratch regions;        // The layout of the scratch buffer.
  std::byte* memory = nullptr;  // The session's arena in the device's memory.
  std::byte* arena = nullptr;   // The caller's arena in the host's memory.
  uint64_t staging = 0;  // The offset in the caller's arena of memory for masked-LM's rows and for copying outputs.
  Batch batch;

  Context(const Program& own_program, const ArenaLayout& own_layout, const ExecutorOptions& own_options)
      : program(own_program), layout(own_layout), options(own_options), type(own_program.target.all) {}

  // Returns the rows that the keys of the item's layer are made of.
  Source key_source_of(const Item& item) const { return key_source_of(item.stage.key_rows); }
  Source key_source_of(const KeyRows& key_rows) const;
  std::byte* device_buffer(BufferId id) const { return memory + layout.offsets[static_cast<int>(id)]; }
  template <class T>
  const T* device_buffer_as(BufferId id) const {
    return reinterpret_cast<const T*>(device_buffer(id));
  }
  std::byte* scratch(uint64_t offset) const {
    const int64_t begin = static_cast<int64_t>(layout.offsets[static_cast<int>(BufferId::scratch)]);
    return memory + round_up(begin, device_alignment) + offset;
  }
  Operand operand(const View& view, const Item& item) const;
  const float* floats(const View& view) const;
  // Launches a kernel that calls `op` for each element of a matrix of `rows` x `cols`.
  template <class Kernel>
  Status launch_each_element(const Kernel& op, int64_t rows, int64_t cols) {
    const EachElement<Kernel> kernel{op, rows, cols};
    return rows * cols == 0 && !stream->in_dry_run() ? Status() : stream->launch(kernel, kernel.grid());
  }
};

}  // namespace LINFORMER_NAMESPACE::cuda
