// Session: one thread's arena and plan. Runs batches of texts. Nothing is allocated after create() on the native
// backend; oneDNN and OpenBLAS allocate for themselves in each call (runtime/backends/README.md has the counts).
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "linformer/model.h"
#include "linformer/status.h"

namespace linformer {

enum class Padding : uint8_t {
  strip = 0,  // pad ids are removed first: a text's result never depends on padding or neighbours
  keep,       // pad ids stay and do what the dialect's original implementation does with them
};

struct SessionOptions {
  int64_t max_tokens = 0;  // longest text; 0 = the model's N
  int64_t max_batch = 1;   // texts in one call
  int64_t max_rows = 0;    // tokens in one call, all texts together; 0 = max_tokens * max_batch
  int threads = 1;         // the caller's thread and threads - 1 of our own
  BackendKind backend = BackendKind::native;
  Isa isa = Isa::automatic;  // automatic: the best this machine has, or LINFORMER_ISA from the environment
  Padding padding = Padding::strip;
};

// One buffer of the arena.
struct PlannedBuffer {
  const char* name;     // static text
  const char* formula;  // static text in n (rows), b (texts), k, d, ...
  uint64_t offset;      // bytes from the arena's start; multiple of 64
  uint64_t bytes;
};

// The memory of a session before it exists. A pure function of its inputs.
struct Plan {
  static constexpr int max_buffers = 32;
  SessionOptions options;  // with every 0 and automatic resolved
  int64_t block_rows = 0;  // rows that one thread takes through a layer at once
  // Texts of fewer tokens take E (X W), the others (E X) W: whichever needs fewer operations. The largest of any layer.
  int64_t project_first_below = 0;
  int buffer_count = 0;
  PlannedBuffer buffers[max_buffers] = {};
  uint64_t total_bytes = 0;
};
Result<Plan> plan(const Model& model, const SessionOptions& options);

using Tokens = std::span<const int32_t>;

struct MaskPosition {
  int64_t text;      // index into the batch
  int64_t position;  // row of that text (after stripping pads)
};

// What to compute and where to put it. Empty spans are not computed. All f32, row-major, the caller's memory.
struct Outputs {
  // [sum of input lengths, d_model]: text t begins at the sum of the lengths before it; rows that stripping
  // left without a token are zero. Layer 0 is the embedding, layer L the last (before the final norm);
  // `hidden` with hidden_layer = -1 is the encoder's output (after the final norm where there is one).
  std::span<float> hidden;
  int hidden_layer = -1;
  int head = 0;                    // classification head for the next three
  std::span<float> pooled;         // [texts, d_model]: the head's pooling; first token when the model has no head
  std::span<float> logits;         // [texts, classes]
  std::span<float> probabilities;  // [texts, classes]
  std::span<const MaskPosition> mlm_positions;
  std::span<float> mlm_logits;  // [mlm_positions, vocab_size]
};

class Session {
 public:
  static Result<Session> create(std::shared_ptr<const Model> model, const SessionOptions& options);
  // Not thread-safe: one call at a time for each session. Texts longer than planned, ids outside the vocabulary
  // and empty texts are errors that name the text; nothing is written then.
  Status run(std::span<const Tokens> texts, const Outputs& outputs);
  const Plan& plan() const;
  // Bytes up to the end of the arena's highest page ever touched, for comparison with plan().total_bytes.
  uint64_t used_bytes() const;

  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

 private:
  struct State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace linformer
