// Session: runs batches of sequences through a model, with one arena and a number of threads. A session allocates
// nothing after create() on the native backend. oneDNN and OpenBLAS allocate in each call; runtime/gemm/README.md has
// the counts.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "linformer/model.h"
#include "linformer/output.h"
#include "linformer/session_options.h"
#include "linformer/status.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// One buffer of the arena.
struct PlannedBuffer {
  const char* name;  // Static text.
  char formula[64];  // A formula of the plan's terms for the bytes, before they are rounded up.
  uint64_t offset;   // In bytes, from the arena's beginning. A multiple of 64.
  uint64_t bytes;
};

// A number that formulas contain.
struct PlanTerm {
  const char* name;     // Static text.
  const char* meaning;  // How the number follows from n, k, d and the options. Static text.
  int64_t value;
};

// The memory and the precision of a session, before the session exists.
struct Plan {
  static constexpr int max_buffers = 40, max_terms = 40;
  // The options of the session. A 0 that stands for a default is replaced by the default. In a plan for this machine,
  // Isa::automatic is replaced by the instruction set, and Compute::automatic by no_bf16 if bf16 isn't faster.
  SessionOptions options;
  int64_t block_rows = 0;  // The rows that one thread takes through a layer at once.
  // A layer that compresses a sequence has two ways to do so. E (X W) computes keys, values or scores first, and (E X)
  // W compresses the rows first. Each layer uses E (X W) for sequences that are shorter than some length, because it
  // needs fewer operations there, and (E X) W for all others. This is the largest of these lengths over the layers.
  int64_t project_first_below = 0;
  // The type of most of the layers' weights, the type in which these weights are multiplied, and the type in which the
  // first layer's attention is computed.
  ElementType weights = ElementType::f32, compute = ElementType::f32, attention_compute = ElementType::f32;
  // Whether some weights are multiplied in another type than `compute` (linformer-convert --dtype-for).
  bool other_compute = false;
  // One sentence that says what was chosen and why: "Weights in int8 are multiplied in int8 (...), and attention is
  // computed in bf16 (...)."
  char precision[384] = "";
  int buffer_count = 0;
  // In the order of their offsets. Buffers that this model doesn't use have 0 bytes.
  PlannedBuffer buffers[max_buffers] = {};
  int term_count = 0;
  PlanTerm terms[max_terms] = {};
  uint64_t total_bytes = 0;
};
// Plans a session for this machine's processor, with the values that Session::create() would choose for options that
// are 0 or automatic. plan() looks at the kind of the processor and times nothing. If this machine or build lacks the
// instruction set, the plan is that of a machine that doesn't compute in bf16. For a device, it assumes one that does.
// Returns invalid_argument for options out of range, too_long if the memory can't be addressed, and unsupported for a
// device in a build without CUDA and for bf16 that this machine or build lacks. The plan is exact on the native backend
// and on OpenBLAS. On oneDNN, Session::plan() has the final figure, which may be some kilobytes larger for each thread,
// because oneDNN's scratch memory is known only when its primitives exist.
Result<Plan> plan(const Model& model, const SessionOptions& options);

// What a plan depends on in the machine that will run the session.
struct Machine {
  // Whether the machine is faster in bf16 than in f32. On a CPU this counts only if the requested instruction set may
  // have bf16.
  bool bf16 = true;
  int64_t block_rows = 128;  // The CpuOptions::block_rows that suits the processor.
};
// Plans a session for a machine that the caller describes. This is a pure function of its arguments: it reads no
// environment, doesn't look at this machine and generates no code.
Result<Plan> plan(const Model& model, const SessionOptions& options, const Machine& machine);

// One op of a model as sessions run it, for people to read: `inspect --plan` and `--profile` print these lines.
struct ProgramLine {
  int stage;      // The index of the stage. The ops of one stage run one after the other on each of its items.
  bool joins;     // Whether the stage runs together with the stage before it, without a barrier between them.
  char part[24];  // "embedding", "layer 3", "head 0", "first rows"
  // Whether the line is part of "first rows". If all outputs read only the first row of each sequence, these ops
  // replace the last layer's ops on row blocks and everything that follows them.
  bool in_first_rows;
  const char* domain;   // What the stage loops over. Static text.
  char condition[24];   // Which sequences the op runs for, by their length: "always", "n < 188", "n >= 188"
  const char* op;       // Static text.
  char operands[384];   // "query and context[512, 768] = rows[512, 768] x q_proj.weight[768, 768] panel16 + bias"
  bool weights;         // Whether the op is a product with weights.
  ElementType compute;  // For a product with weights: the type that it is computed in. Otherwise f32.
  double flop;     // The operations of products. A multiply-add counts as two; norms, softmax and copies count as none.
  double bytes;    // The activations and weights that the op reads and writes, each counted once.
  double seconds;  // For a profile: the time of all threads together.
};
using ProgramVisitor = void (*)(void* context, const ProgramLine& line);
// Calls visit(context, line) for each op that a sequence of `tokens` tokens takes, in order. Lines with `in_first_rows`
// are listed, too. Their ops don't run in calls that compute all of the model's outputs, so the sum over such a call
// must leave them out. Like the second plan(), it is a pure function.
Status list_program(const Model& model, const SessionOptions& options, int64_t tokens, ProgramVisitor visit,
                    void* context);

// A model's weights in the form that a device and a precision need. Immutable: any number of sessions and threads may
// share them. On the CPU, weights are read where the file is mapped. On a device, the first session uploads the weights
// that it reads, and all other sessions of the same device and type use these.
class PreparedWeights {
 public:
  static Result<std::shared_ptr<const PreparedWeights>> create(std::shared_ptr<const Model> model);
  const std::shared_ptr<const Model>& model() const;
  // Returns the memory that the prepared weights take in addition to the model: on devices, for the sessions created so
  // far.
  uint64_t bytes() const;
  ~PreparedWeights();

 private:
  friend class Session;
  struct Data;
  explicit PreparedWeights(std::unique_ptr<Data> data);
  std::unique_ptr<Data> data_;
};

// The token ids of one sequence.
using Tokens = std::span<const int32_t>;

// One sequence of a batch: a text, an image, ... Spans that the model doesn't read stay empty.
struct Input {
  Tokens tokens = {};
  std::span<const float> vectors = {};  // For models that read vectors: [n, ModelInfo::vector_width].
  std::span<const uint8_t> types = {};  // The token type of each token. If empty, all types are 0.
  // A number for each token or vector: 0 = masked. If empty, no token is masked. With Padding::strip, masked tokens are
  // removed from the sequence before the encoder runs, as pads are, and the others are numbered anew. With
  // Padding::keep, attention treats masked tokens as LayerInfo::row_mask says, and they keep their positions. Only the
  // positions of pad ids aren't counted if EmbeddingInfo::positions_count_non_pad is true.
  std::span<const uint8_t> mask = {};
  // 0 = the token's query is zero (embeddings_mask of the package linformer-pytorch). If empty, no query is changed.
  std::span<const uint8_t> query_mask = {};
  std::span<const float> encoder_states = {};  // For cross attention: [m, EncoderInfo::encoder_states_width].
  // The mask of the encoder states, with a number for each of their m rows. If empty, `mask` is used if it has m
  // numbers, and otherwise no row is masked.
  std::span<const uint8_t> encoder_states_mask = {};
};

// Stops a call, and reports its progress. The flag is read between blocks of rows, or on a device between layers.
struct RunControl {
  // If the flag becomes true, run() soon returns Code::cancelled. The session can be used again.
  const std::atomic<bool>* cancel = nullptr;
  // If not null, it is called now and then, on the thread that called run(), with a growing share of the work: 0 to 1.
  void (*progress)(void* context, double share) = nullptr;
  void* context = nullptr;
  bool one_thread = false;  // The session's threads sleep, and the calling thread does all the work.
};

// Runs a model. Not thread-safe: one call at a time for each session.
//
//   auto session = linformer::Session::create(model, {.memory = {.max_batch = 2}});
//   if (!session.ok()) return session.status();
//   const linformer::Tokens sequences[] = {first_ids, second_ids};
//   std::vector<float> scores(2 * session->classes(0));
//   linformer::Status done = session->run(sequences, linformer::Output::probabilities(scores));
//
// After fork(), the child may create sessions, and it may run and destroy sessions that it inherited. An inherited
// session has its memory but none of its threads. It runs on the calling thread alone, and its results are
// bit-identical. There are two exceptions: the child must leave alone a session that another thread was running at the
// time of fork(), and it must not use a session with a device.
class Session {
 public:
  // Returns invalid_argument for options out of range and for an arena that is too small or not aligned, too_long if
  // the memory can't be addressed, unsupported for an instruction set, backend, device or bf16 that this machine or
  // build lacks, io_error if a backend's library can't be opened, internal if a backend fails, and out_of_memory.
  static Result<Session> create(std::shared_ptr<const PreparedWeights> weights, const SessionOptions& options);
  // As above, but first prepares the model's weights.
  static Result<Session> create(std::shared_ptr<const Model> model, const SessionOptions& options);
  // Runs one pass over the sequences, which computes all outputs. It returns an error if a sequence is longer than
  // planned (output_rows() of its tokens, without stripped pads) or empty, if the call has more sequences or rows than
  // planned, if an id is outside the vocabulary, or if an output's `values` are too short. Nothing is written then.
  // After Code::cancelled and Code::internal, the values are unspecified.
  Status run(std::span<const Tokens> sequences, const Outputs& outputs, const RunControl& control = {});
  Status run(std::span<const Input> inputs, const Outputs& outputs, const RunControl& control = {});
  // Returns the shape that run() would give an output for these inputs. It doesn't look at the output's `values`. The
  // errors are those of run() for an output that this model can't give.
  Result<Shape> shape(const Output& output, std::span<const Tokens> sequences) const;
  Result<Shape> shape(const Output& output, std::span<const Input> inputs) const;
  // Returns the shape before there are inputs: for `sequences` sequences that have `rows` output rows in all. The shape
  // grows with both numbers, so memory for options.memory.max_batch sequences of output_rows(max_tokens) rows each is
  // enough for every call whose sequences have at most max_tokens tokens, stripped pads included.
  Result<Shape> shape(const Output& output, int64_t sequences, int64_t rows) const;
  // Returns the number of outputs of a classification head, or 0 if this session has no such head.
  int64_t classes(int head) const;
  // Returns the rows of hidden states for a sequence of n tokens or vectors: n, or n + 1 if the model puts a row or a
  // token before a sequence.
  int64_t output_rows(int64_t n) const;
  // Sets tokens[i] to the index of the token (or vector) of the input that output row i belongs to, or to -1 for the
  // row that the model puts before the sequence and for the zero rows at the end that stripped pads leave. `tokens`
  // must have output_rows() elements.
  Status row_tokens(const Input& input, std::span<int64_t> tokens) const;
  // Returns the row of token `token`, as MaskPosition::position needs it. Returns invalid_argument if the token has no
  // row because it is stripped.
  Result<int64_t> row_of(const Input& input, size_t token) const;
  const Plan& plan() const;
  // Calls visit(context, line) for each op that has run since the session was created, with its FLOPs, bytes and
  // seconds in all calls together. Returns invalid_argument without SessionOptions::profile.
  Status profile(ProgramVisitor visit, void* context) const;
  // Adds up the profiles of several sessions, which must have the same model and the same options except for the
  // threads.
  static Status profile(std::span<const Session> sessions, ProgramVisitor visit, void* context);
  // Returns the bytes up to the end of the highest page of the arena that was ever touched, for comparison with
  // plan().total_bytes. On a device, and with an arena of the caller's, it returns the size of the whole arena.
  uint64_t used_bytes() const;

  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

 private:
  struct State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace LINFORMER_NAMESPACE
