#include "plan/program.h"

#include <algorithm>

#include "base/checked.h"
#include "base/cpu.h"
#include "base/threads.h"

namespace linformer {
namespace {

Status resolve(const EncoderDescription& encoder, SessionOptions* options) {
  if (options->max_tokens == 0) options->max_tokens = encoder.max_tokens;
  if (options->max_tokens < 1 || options->max_tokens > encoder.max_tokens) {
    return Status::error(Code::invalid_argument, "max_tokens is %lld: this model takes 1 to %u tokens",
                         static_cast<long long>(options->max_tokens), encoder.max_tokens);
  }
  constexpr int64_t most_texts = 1 << 20;
  if (options->max_batch < 1 || options->max_batch > most_texts) {
    return Status::error(Code::invalid_argument, "max_batch is %lld: give 1 to %lld",
                         static_cast<long long>(options->max_batch), static_cast<long long>(most_texts));
  }
  const int64_t most_rows = options->max_tokens * options->max_batch;
  if (options->max_rows == 0) options->max_rows = most_rows;
  if (options->max_rows < 1) {
    return Status::error(Code::invalid_argument, "max_rows is %lld: give at least 1, or 0 for max_tokens x max_batch",
                         static_cast<long long>(options->max_rows));
  }
  options->max_rows = std::min(options->max_rows, most_rows);
  if (options->max_memory == 0) options->max_memory = options->max_tokens;
  if (options->max_memory < 1 || options->max_memory > encoder.max_tokens) {
    return Status::error(Code::invalid_argument, "max_memory is %lld: this model takes 1 to %u rows",
                         static_cast<long long>(options->max_memory), encoder.max_tokens);
  }
  if (encoder.memory_width == 0) options->max_memory = 0;
  if (options->threads < 1 || options->threads > ThreadTeam::max_threads) {
    return Status::error(Code::invalid_argument, "threads is %d: give 1 to %d", options->threads,
                         ThreadTeam::max_threads);
  }
  return {};
}

}  // namespace

Result<Program> make_program(const Model& model, const SessionOptions& options) {
  const ModelDescription& description = model.description();
  Program program;
  program.plan.options = options;
  if (options.part == Part::decoder && !description.has_decoder()) {
    return Status::error(Code::invalid_argument, "this model has no decoder: leave part at encoder");
  }
  program.encoder = options.part == Part::decoder ? &description.decoder : &description.encoder;
  program.has_heads = (options.part == Part::decoder) == description.has_decoder();
  LINFORMER_TRY(check_executable(description, *program.encoder));
  LINFORMER_TRY(resolve(*program.encoder, &program.plan.options));
  if (options.isa == Isa::automatic) {
    const Result<Isa> asked = isa_from_environment();
    if (!asked.ok()) return asked.status();
    if (*asked != Isa::automatic && kernels_for(*asked) == nullptr) {
      return Status::error(Code::unsupported,
                           "this machine or build has no %s kernels, which LINFORMER_ISA in the environment asks for: "
                           "unset it",
                           name_of(*asked));
    }
  }
  program.kernels = kernels_for(options.isa);
  if (program.kernels == nullptr) {
    return Status::error(Code::unsupported, "this machine or build has no %s kernels: choose another instruction set",
                         name_of(options.isa));
  }
  program.plan.options.isa = program.kernels->isa;
  const SessionOptions& resolved = program.plan.options;
  program.plan.block_rows =
      std::min(max_block_rows, round_up(std::max(resolved.max_rows, resolved.max_memory), panel_width));
  Result<std::unique_ptr<GemmProvider>> gemm = make_gemm_provider(options.backend, *program.kernels);
  if (!gemm.ok()) return gemm.status();
  program.gemm = std::move(gemm.value());
  LINFORMER_TRY(declare_products(model, &program));
  LINFORMER_TRY(lay_out(*program.encoder, &program));
  return program;
}

Result<Plan> plan(const Model& model, const SessionOptions& options) {
  Result<Program> program = make_program(model, options);
  if (!program.ok()) return program.status();
  return program->plan;
}

}  // namespace linformer
