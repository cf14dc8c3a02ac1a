// What runs a program: on the CPU (runtime/cpu) or on a GPU (runtime/cuda).
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "linformer/status.h"
#include "program/batch.h"
#include "program/program.h"

namespace linformer {

// Where the numbers of a call go. Null: not wanted.
struct HeadRequest {
  int32_t head = 0;
  float* logits = nullptr;
  float* probabilities = nullptr;
};

struct Request {
  float* hidden = nullptr;
  int hidden_layer = -1;
  float* pooled = nullptr;
  Pooling pooling = Pooling::first_token;
  // At index i of [0, heads): a function, so that nothing is copied.
  HeadRequest (*head)(const void* context, size_t index) = nullptr;
  size_t heads = 0;
  const void* context = nullptr;
  float* embeddings = nullptr;
  float* mlm_logits = nullptr;
  RowOf (*mlm_position)(const void* context, size_t index) = nullptr;
  size_t mlm_positions = 0;
};

class Executor {
 public:
  virtual ~Executor() = default;

  const Program& program() const { return program_; }
  // The arena's final layout, with the scratch that products turned out to need.
  const ArenaLayout& layout() const { return layout_; }
  // Of the arena's beginning, which the caller provides: all of it, or what a device is sent in each call.
  virtual uint64_t host_bytes() const { return layout_.total; }
  // Starts the threads and fills the tables; nothing is allocated after it. The arena stays the caller's.
  virtual Status start(std::byte* arena) = 0;
  // Of what the caller provides.
  template <class T = float>
  T* buffer(BufferId id) const {
    return reinterpret_cast<T*>(arena_ + layout_.offsets[static_cast<int>(id)]);
  }

  // Waits until the last call has read what the caller's memory holds, which the next one writes.
  virtual Status ready() { return {}; }
  virtual Status run(const Batch& batch, const Request& request) = 0;

  // What ops did in all calls, all threads together, by index in the program; empty without `profile`.
  struct OpProfile {
    double seconds = 0, flop = 0, bytes = 0;
  };
  virtual std::span<const OpProfile> profile() const { return {}; }

 protected:
  Executor(Program program, std::span<const std::byte* const> weights)
      : program_(std::move(program)), weights_(weights) {}
  // Adds to `profile`, by index in the program, what a section costs for sequences [first, first + sequences) of the
  // batch. All masked-LM positions are counted with the first.
  void count_costs(const Section& section, const Batch& batch, int64_t first, int64_t sequences, int64_t positions,
                   OpProfile* profile) const;
  // Sinusoidal and rotary positions, for as many tokens as the program was lowered for.
  void fill_tables();

  Program program_;
  std::span<const std::byte* const> weights_;
  ArenaLayout layout_;
  std::byte* arena_ = nullptr;

 private:
  void fill_positions();
  void fill_rotary(const Rotary& rotary);
};

}  // namespace linformer
