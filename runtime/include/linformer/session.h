// Session: one arena and the threads that it was given. Runs batches of texts. Nothing is allocated after create() on
// the native backend; oneDNN and OpenBLAS allocate for themselves in each call (runtime/gemm/README.md has the counts).
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
  const char* name;  // static text
  char formula[64];  // bytes, before rounding up to 64, in the names of the plan's terms
  uint64_t offset;   // bytes from the arena's start; multiple of 64
  uint64_t bytes;
};

// A number that formulas are made of.
struct PlanTerm {
  const char* name;     // static text
  const char* meaning;  // static text: how it follows from n, k, d and the options
  int64_t value;
};

// The memory of a session before it exists.
struct Plan {
  static constexpr int max_buffers = 40, max_terms = 40;
  SessionOptions options;  // with every 0 resolved; for this machine also with its instruction set
  int64_t block_rows = 0;  // rows that one thread takes through a layer at once
  // Texts of fewer tokens are projected before they, or their scores, are compressed: E (X W). The others take (E X) W.
  // Whichever needs fewer operations. The largest of any layer.
  int64_t project_first_below = 0;
  // Of the layers' weights the type that most of them have, what is multiplied with these in, and what the first
  // layer's attention is computed in.
  ElementType weights = ElementType::f32, compute = ElementType::f32, attention_compute = ElementType::f32;
  bool other_compute = false;  // some are multiplied in another type than `compute` (linformer-convert --dtype-for)
  // What was chosen and why, in one sentence: "Weights in int8 are multiplied in int8 (...), attention is computed in
  // bf16 (...)."
  char precision[384] = "";
  int buffer_count = 0;
  PlannedBuffer buffers[max_buffers] = {};  // in the order of their offsets; of 0 bytes: this model has no use for it
  int term_count = 0;
  PlanTerm terms[max_terms] = {};
  uint64_t total_bytes = 0;
};
// For this machine's processor: options that are automatic, or 0, become what Session::create() would take, and stand
// in Plan::options. It asks the processor what it is and times nothing. Where this machine or build lacks
// SessionOptions::cpu.isa, the plan is that of a machine which doesn't compute in bf16. The errors are those of
// Session::create() for the same options; also unsupported for a device in a build without CUDA. Exact on the native
// backend and OpenBLAS. oneDNN's scratch is known only when its primitives exist: Session::plan() has the final figure,
// which may be some kilobytes larger for each thread.
Result<Plan> plan(const Model& model, const SessionOptions& options);

// What a plan depends on of the machine that will run the session.
struct Machine {
  bool bf16 = true;  // it is faster in bf16 than in f32, where the instruction set that is asked for may have it
  int64_t block_rows = 128;  // what suits its processor
};
// The same for a machine that the caller describes: a pure function of its inputs, which reads no environment, asks
// nothing of this machine and generates no code.
Result<Plan> plan(const Model& model, const SessionOptions& options, const Machine& machine);

// One op of a model as sessions run it, for people to read: `linformer inspect --plan`, `--profile`.
struct ProgramLine {
  int stage;            // ops of one stage run one after the other on each of its items
  bool joins;           // the stage runs at once with the one before it: no barrier between them
  char part[24];        // "embedding", "layer 3", "head 0", "first rows"
  bool instead;         // "first rows": in place of the last layer's row blocks and of what follows, where outputs read
                        // the first row of each text alone
  const char* domain;   // what the stage loops over; static text
  char condition[24];   // on each sequence: "always", "n < 188", "n >= 188"
  const char* op;       // static text
  char operands[384];   // "query and context[512, 768] = rows[512, 768] x q_proj.weight[768, 768] panel16 + bias"
  bool weights;         // it is a product with weights,
  ElementType compute;  // computed in this; f32 where it isn't one
  double flop;          // operations of products, a multiply-add is two; norms, softmax and copies count none
  double bytes;         // activations and weights that it reads and writes, each once
  double seconds;       // profile: of all threads together
};
using ProgramVisitor = void (*)(void* context, const ProgramLine& line);
// visit(context, line) for each op that a sequence of `tokens` tokens takes, in order; outputs are all those that the
// model has, so that lines with `instead` are not part of the sum. A pure function, as plan().
Status list_program(const Model& model, const SessionOptions& options, int64_t tokens, ProgramVisitor visit,
                    void* context);

// A model's weights as a device and precision reads them. Immutable; shared by any number of sessions and threads.
// On the CPU weights are read where the file's mapping has them. On a device the first session uploads what it reads,
// for all others of the same device and type.
class PreparedWeights {
 public:
  static Result<std::shared_ptr<const PreparedWeights>> create(std::shared_ptr<const Model> model);
  const std::shared_ptr<const Model>& model() const;
  // Memory that the prepared weights take beside the model's own: on devices, for the sessions created so far.
  uint64_t bytes() const;
  ~PreparedWeights();

 private:
  friend class Session;
  struct Data;
  explicit PreparedWeights(std::unique_ptr<Data> data);
  std::unique_ptr<Data> data_;
};

using Tokens = std::span<const int32_t>;

// One text (or image, ...) of a batch. Spans that a model has no use for stay empty.
struct Input {
  Tokens tokens = {};
  std::span<const float> vectors = {};  // for models that read vectors: [n, embedding.vectors.width]
  std::span<const uint8_t> types = {};  // token type of each token; empty: all 0
  // For each token or vector; empty: all 1. 0 = masked: stripped as pads are, or, where they are kept, what the
  // model's row_mask says (its position counts, as only pad ids do not).
  std::span<const uint8_t> mask = {};
  std::span<const uint8_t> query_mask = {};    // 0 = its query is zero (tatp22 embeddings_mask); empty: all 1
  std::span<const float> encoder_states = {};  // for cross attention: [m, encoder_states_width]
  // For each of their rows as `mask`; empty: `mask` where there are as many rows as the text has, else all 1.
  std::span<const uint8_t> encoder_states_mask = {};
};

// Stops a call, and says how far it is. Read by every thread of the session between blocks of rows.
struct RunControl {
  const std::atomic<bool>* cancel = nullptr;  // true: run() soon returns Code::cancelled; the session can be used again
  // Called on the thread that called run(), now and then with a growing share of the work: 0 to 1.
  void (*progress)(void* context, double share) = nullptr;
  void* context = nullptr;
  bool one_thread = false;  // the session's threads sleep: the caller works alone
};

// After fork() the child may create sessions, and run and destroy those that it inherited: they have their memory but
// none of their threads, so a run there takes the calling thread alone and gives the same bits. A session that another
// thread was running at that moment may only be left as it is; one with a device may not be used in the child at all.
class Session {
 public:
  static Result<Session> create(std::shared_ptr<const PreparedWeights> weights, const SessionOptions& options);
  // Prepares the model's weights first.
  static Result<Session> create(std::shared_ptr<const Model> model, const SessionOptions& options);
  // One pass over the texts, from which all outputs come. Not thread-safe: one call at a time for each session. Texts
  // longer than planned (output_rows() of their tokens counts, after stripping pads), ids outside the vocabulary, empty
  // texts and values that are too short are errors that name the text or the output; nothing is written then. After
  // Code::cancelled and Code::internal the values are unspecified.
  Status run(std::span<const Tokens> texts, const Outputs& outputs, const RunControl& control = {});
  Status run(std::span<const Input> inputs, const Outputs& outputs, const RunControl& control = {});
  // The shape that run() would give an output (whose `values` aren't looked at) for these inputs. Errors as run() has
  // them for an output that this model can't give.
  Result<Shape> shape(const Output& output, std::span<const Tokens> texts) const;
  Result<Shape> shape(const Output& output, std::span<const Input> inputs) const;
  // The same before there are inputs: for `texts` texts that have `rows` output rows in all. It grows with both, so
  // that memory for options.memory.max_batch texts of output_rows(max_tokens) rows each is enough for every call.
  Result<Shape> shape(const Output& output, int64_t texts, int64_t rows) const;
  // Outputs of a classification head; 0: this session has no such head.
  int64_t classes(int head) const;
  // Rows of hidden states that a text of n tokens or vectors takes: n, one more where the model puts a row or a token
  // before them.
  int64_t output_rows(int64_t n) const;
  // The token (or vector) of the input that each of its output rows belongs to; -1: none, for the row that the model
  // puts before it and for rows that are zero because pads were stripped. `tokens` has output_rows() elements.
  Status row_tokens(const Input& input, std::span<int64_t> tokens) const;
  // The other way: the row of token `token`, which is what MaskPosition::position takes. invalid_argument where the
  // token has none, since it is stripped.
  Result<int64_t> row_of(const Input& input, size_t token) const;
  const Plan& plan() const;
  // visit(context, line) for each op that ran since the session exists, with its FLOPs, bytes and seconds in all calls
  // together. invalid_argument without SessionOptions::profile.
  Status profile(ProgramVisitor visit, void* context) const;
  // The same of several sessions together, which were created with the same model and options but for threads.
  static Status profile(std::span<const Session> sessions, ProgramVisitor visit, void* context);
  // Bytes up to the end of the arena's highest page ever touched, for comparison with plan().total_bytes. All of it on
  // a device, and of an arena of the caller's.
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
