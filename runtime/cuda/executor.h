// Runs a program on a GPU: each op over all rows of its stage, one launch or product at a time, in one stream.
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

class CudaExecutor final : public Executor {
 public:
  static Result<std::unique_ptr<Executor>> create(Program program, std::span<const std::byte* const> weights,
                                                  WeightStore& store, const ExecutorOptions& options);
  ~CudaExecutor() override;

  uint64_t host_bytes() const override { return staging_ + staging_bytes_; }
  const std::byte* memory() const override { return memory_; }
  Status start(std::byte* arena) override;
  Status ready() override { return stream_->wait_for_mark(); }
  Status run(const Batch& batch, const Request& request) override;
  std::span<const OpProfile> profile() const override { return profile_; }

 private:
  // What a stage's ops work on: rows [row, row + rows), of the batch or of each of `count` sequences of equal length.
  struct Item {
    const Stage& stage;
    const Destination& call;
    int64_t row = 0, rows = 0;
    int64_t sequence = 0, count = 1;
    int64_t n = 0;             // rows that their keys are made of
    bool whole_batch = false;  // one item of all sequences' rows
    int64_t group = 0;         // key_heads
  };
  // `count` matrices.
  struct Operand {
    std::byte* data = nullptr;
    ElementType type = ElementType::f32;
    int64_t rows = 0, cols = 0, ld = 0;
    int64_t count = 1, step = 0;  // elements
    float* floats() const { return reinterpret_cast<float*>(data); }
    Operand one(int64_t i) const {
      Operand result = *this;
      result.data += i * step * element_bytes(type);
      result.count = 1;
      return result;
    }
    bool follow() const { return step == rows * ld; }
    // Rows that follow one another are one matrix.
    Operand joined() const {
      Operand result = *this;
      if (count > 1 && follow()) {
        result.rows *= count;
        result.count = 1;
      }
      return result;
    }
  };
  struct Source {
    std::byte* rows = nullptr;
    int64_t ld = 0;
    BufferId starts = BufferId::row_starts, masks = BufferId::masks;
    const int32_t* host_starts = nullptr;
    int64_t length(int64_t sequence) const { return host_starts[sequence + 1] - host_starts[sequence]; }
  };

  CudaExecutor(Program program, std::span<const std::byte* const> weights, const ExecutorOptions& options)
      : Executor(std::move(program), weights), options_(options), type_(program_.target.all) {}

  // create.cc
  Status prepare(WeightStore& store);
  Status check_ops() const;
  Status place_heads(Array<HeadKeys>* heads);
  Status rehearse();
  Destination rehearsed(int64_t length, int64_t states);
  Status rehearse_all(int64_t length, int64_t states);
  // executor.cc
  Status run_all(const Batch& batch, const Request& request);
  Status send(const Batch& batch);
  Status run_section(const Section& section, const Destination& to);
  Status run_stage(const Stage& stage, const Destination& to);
  bool takes_any_length(const Stage& stage) const;
  Status run_key_stage(const Stage& stage, const Destination& to);
  Status run_ops(const Item& item);
  Status run_op(int32_t index, const Item& item, bool* fused);
  Status execute(const Op& op, const Item& item);
  Source source_of(const Attention& attention) const;
  const Attention& attention_of(const Item& item) const {
    return program_.attentions[static_cast<size_t>(item.stage.attention)];
  }
  std::byte* device_buffer(BufferId id) const { return memory_ + layout_.offsets[static_cast<int>(id)]; }
  template <class T>
  const T* device_as(BufferId id) const {
    return reinterpret_cast<const T*>(device_buffer(id));
  }
  std::byte* scratch(uint64_t offset) const {
    const int64_t begin = static_cast<int64_t>(layout_.offsets[static_cast<int>(BufferId::scratch)]);
    return memory_ + round_up(begin, device_alignment) + offset;
  }
  static bool aligned(const void* data) { return reinterpret_cast<uintptr_t>(data) % 16 == 0; }
  Operand operand(const View& view, const Item& item) const;
  const float* floats(const View& view) const;
  template <class Op>
  Status each_element(const Op& op, int64_t rows, int64_t cols) {
    const EachElement<Op> kernel{op, rows, cols};
    return rows * cols == 0 && !stream_->rehearses() ? Status() : stream_->launch(kernel, kernel.grid());
  }
  // run(static_cast<T*>(nullptr)) of a type's T.
  template <class Run>
  static Status typed(ElementType type, Run&& run) {
    if (type == ElementType::f16) return run(static_cast<Half*>(nullptr));
    if (type == ElementType::bf16) return run(static_cast<Bf16*>(nullptr));
    return run(static_cast<float*>(nullptr));
  }

  // gemm_ops.cc
  Status gemm(const Op& op, const Item& item);
  Status product(const Operand& a, const Operand& b, bool transposed, const Operand& c, bool adds,
                 const float* bias = nullptr, int64_t usual_rows = 0);
  Status multiply_e(const DeviceTensor& e, int64_t k, const Operand& rows, const Operand& out);
  Status multiply_slices(const Operand& e, const Operand& rows, const Operand& part);
  Status finish(const Operand& c, const float* bias, const float* row_bias, Activation activation);
  Result<Operand> narrowed(const Operand& x);
  Status copy_converted(const Operand& from, const Operand& to);
  Status add_row_sums(const Op& op, const Item& item);
  Status scale_rows(LengthScale scale, const View& weight, int64_t n, const Operand& rows);
  Status compress(const Op& op, const Item& item);
  // row_ops.cc
  Status table_row(const Op& op, const Item& item);
  Status row_op(const Op& op, const Item& item);
  Status norm(const Op& op, const Item& item, const Op* convert);
  Status read_vectors(const Op& op, const Item& item);
  Status zero(const Op& op, const Item& item);
  Status rotate(const Op& op, const Item& item);
  Status convert(const Op& op, const Item& item);
  Status pool(const Op& op, const Item& item);
  // attend.cc
  Status attend(const Op& op, const Item& item);
  // output_ops.cc
  Status select(const Op& op, const Item& item);
  Status expand(const Op& op, const Item& item);
  Status expand_rows(const View& view, float* to, int64_t ld);
  Status fill_stripped(float* to, int64_t ld, float value);
  Status give(const Item& item);
  Status give(float* to, int64_t first, int64_t count);
  Status make_probabilities(const Op& op, float* scores, int64_t ld, int64_t rows);
  Status probabilities(const Op& op, const Item& item);

  const ExecutorOptions options_;
  const ElementType type_;
  const DeviceWeights* device_weights_ = nullptr;
  std::unique_ptr<Stream> stream_;
  DeviceScratch scratch_;
  std::byte* memory_ = nullptr;  // the arena
  // In the caller's arena, behind what is sent: outputs on their way, and masked-LM's rows.
  uint64_t staging_ = 0, staging_bytes_ = 0;
  Array<int64_t> first_head_;  // by attention
  Array<OpProfile> profile_;
  Batch batch_;
  float nobody_ = 0;  // asks for outputs while they are rehearsed
};

}  // namespace LINFORMER_NAMESPACE::cuda
