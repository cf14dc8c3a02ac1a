// Runs a program on a GPU. Each op is one or more copies, kernel launches or products over all rows of its stage, in
// one stream.
#pragma once

#include <memory>

#include "cuda/context.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE::cuda {

class CudaExecutor final : public Executor {
 public:
  static Result<std::unique_ptr<Executor>> create(Program program, std::span<const std::byte* const> weights,
                                                  WeightStore& store, const ExecutorOptions& options);
  ~CudaExecutor() override;

  uint64_t host_bytes() const override { return context_.staging + staging_bytes_; }
  const std::byte* memory() const override { return context_.memory; }
  Status start(std::byte* arena) override;
  Status wait_until_inputs_read() override { return context_.stream->wait_for_mark(); }
  Status run(const Batch& batch, const Request& request) override;
  std::span<const OpProfile> profile() const override { return profile_; }

 private:
  CudaExecutor(Program program, std::span<const std::byte* const> weights, const ExecutorOptions& options)
      : Executor(std::move(program), weights), context_(program_, layout_, options) {}

  // These functions are in create.cc.
  Status prepare(WeightStore& store);
  Status check_ops() const;
  Status dry_run();
  Destination set_up_dry_run(int64_t length, int64_t encoder_states);
  Status dry_run_sections(int64_t length, int64_t encoder_states);
  // These functions are in executor.cc.
  Status run_all(const Batch& batch, const Request& request);
  Status upload_batch(const Batch& batch);
  Status run_section(const Section& section, const Destination& to);
  Status run_stage(const Stage& stage, const Destination& to);
  bool ignores_length(const Stage& stage) const;
  Status run_key_stage(const Stage& stage, const Destination& to);
  Status run_ops(const Item& item);
  Status run_op(int32_t index, const Item& item, bool* fused);

  Context context_;
  uint64_t staging_bytes_ = 0;  // The size of the caller's arena from context_.staging on.
  Array<OpProfile> profile_;
  float nobody_ = 0;  // A dry run's destination points to it, so that outputs are requested. It is never written.
};

}  // namespace LINFORMER_NAMESPACE::cuda
