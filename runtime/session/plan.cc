// Plans a session's memory and precision before the session exists.
#include <algorithm>
#include <cstdio>

#include "base/checked.h"
#include "base/description.h"
#include "program/device_scratch.h"
#include "program/lower.h"
#include "session/state.h"

namespace LINFORMER_NAMESPACE {
namespace {

// Row numbers have 32 bits.
constexpr int64_t most_rows = INT32_MAX;

// Replaces each 0 by its default, and checks the options.
Status resolve(const EncoderDescription& encoder, SessionOptions* options) {
  if (options->memory.max_tokens == 0) options->memory.max_tokens = encoder.max_tokens;
  if (options->memory.max_tokens < 1 || options->memory.max_tokens > encoder.max_tokens) {
    return Status::error(Code::invalid_argument, "max_tokens is %lld: this model takes 1 to %u tokens",
                         static_cast<long long>(options->memory.max_tokens), encoder.max_tokens);
  }
  if (options->memory.max_batch < 1 || options->memory.max_batch > MemoryOptions::most_sequences) {
    return Status::error(Code::invalid_argument, "max_batch is %lld: give 1 to %lld",
                         static_cast<long long>(options->memory.max_batch),
                         static_cast<long long>(MemoryOptions::most_sequences));
  }
  // The product is at most 2^24 x 2^20, so it can't overflow.
  const int64_t rows = options->memory.max_tokens * options->memory.max_batch;
  if (options->memory.max_rows == 0) options->memory.max_rows = rows;
  if (options->memory.max_rows < 1) {
    return Status::error(Code::invalid_argument, "max_rows is %lld: give at least 1, or 0 for max_tokens x max_batch",
                         static_cast<long long>(options->memory.max_rows));
  }
  options->memory.max_rows = std::min(options->memory.max_rows, rows);
  if (options->memory.max_encoder_states == 0) options->memory.max_encoder_states = options->memory.max_tokens;
  if (options->memory.max_encoder_states < 1 || options->memory.max_encoder_states > encoder.max_tokens) {
    return Status::error(Code::invalid_argument, "max_encoder_states is %lld: this model takes 1 to %u rows",
                         static_cast<long long>(options->memory.max_encoder_states), encoder.max_tokens);
  }
  if (encoder.encoder_states_width == 0) options->memory.max_encoder_states = 0;
  if (options->memory.max_rows > most_rows ||
      options->memory.max_encoder_states * options->memory.max_batch > most_rows) {
    return Status::error(Code::too_long,
                         "a session takes at most %lld rows in a call: lower max_tokens or max_batch, "
                         "or set max_rows",
                         static_cast<long long>(most_rows));
  }
  if (options->cpu.threads < 1 || options->cpu.threads > ThreadTeam::max_threads) {
    return Status::error(Code::invalid_argument, "threads is %d: give 1 to %d", options->cpu.threads,
                         ThreadTeam::max_threads);
  }
  if (options->cuda.device < -1) {
    return Status::error(Code::invalid_argument, "device is %d: give -1 for the CPU, or a GPU's number",
                         options->cuda.device);
  }
  if (options->cpu.block_rows == 0) options->cpu.block_rows = default_block_rows;
  if (options->cpu.block_rows < block_row_multiple || options->cpu.block_rows > max_block_rows ||
      options->cpu.block_rows % block_row_multiple != 0) {
    return Status::error(Code::invalid_argument, "block_rows is %lld: give a multiple of %d up to %d, or 0",
                         static_cast<long long>(options->cpu.block_rows), static_cast<int>(block_row_multiple),
                         static_cast<int>(max_block_rows));
  }
  if (options->cpu.backend > BackendKind::openblas) {
    return Status::error(Code::invalid_argument, "there is no backend number %d",
                         static_cast<int>(options->cpu.backend));
  }
  return check_precision(*options);
}

// Returns the type in which a GPU multiplies a file's weights: a 16-bit type, unless the weights are f32, the options
// ask for f32, or the weights are bf16 and `bf16` is false, because the GPU or the options exclude it.
ElementType device_compute(const ModelDescription& description, const EncoderDescription& encoder,
                           const SessionOptions& options, bool bf16) {
  const Linear& query = encoder.layers[0].attention.query;
  const ElementType type = description.tensors[static_cast<size_t>(query.weight)].type;
  const bool widens = options.run.compute == Compute::f32 || (type == ElementType::bf16 && !bf16);
  if (widens) return ElementType::f32;
  return type == ElementType::int8 ? ElementType::f16 : type;
}

Status plan_device_scratch(Program* program) {
  DeviceScratch scratch;
  if (!lay_out_device_scratch(*program, &scratch)) {
    return Status::error(Code::too_long, "the session's memory can't be addressed: lower max_tokens or max_batch");
  }
  program->arena[Term::scratch] = Count::bytes(scratch.total);
  program->arena.use(BufferId::scratch);
  return {};
}

}  // namespace

Result<LoweredModel> lower_model(const ModelDescription& description, const SessionOptions& options,
                                 const Bf16Choice& bf16) {
  LoweredModel lowered;
  Plan& plan = lowered.plan;
  plan.options = options;
  const bool decoder = options.run.part == Part::decoder;
  if (decoder && !description.has_decoder()) {
    return Status::error(Code::invalid_argument, "this model has no decoder: leave part at encoder");
  }
  lowered.encoder = decoder ? &description.decoder : &description.encoder;
  lowered.has_heads = decoder == description.has_decoder();
  LINFORMER_TRY(resolve(*lowered.encoder, &plan.options));
  const SessionOptions& resolved = plan.options;
  if (resolved.cuda.device >= 0 && lowered.encoder->layers.empty()) {
    return Status::error(Code::unsupported,
                         "this model has no layers, which leaves a GPU nothing to compute: run it on the CPU");
  }
  plan.block_rows =
      std::min(resolved.cpu.block_rows,
               round_up(std::max(resolved.memory.max_rows, resolved.memory.max_encoder_states), panel_width));
  if (resolved.cuda.device >= 0) {
    // On a GPU one block has all rows, and the compressed rows must fit into a block, too.
    int64_t k = 0;
    for (const Projection& projection : lowered.encoder->projections) k = std::max(k, int64_t{projection.k});
    const int64_t rows =
        std::max({resolved.memory.max_rows, resolved.memory.max_encoder_states * resolved.memory.max_batch,
                  k * resolved.memory.max_batch});
    plan.block_rows = round_up(rows, panel_width);
  }
  const Extents extents{resolved.memory.max_batch,
                        resolved.memory.max_tokens,
                        resolved.memory.max_rows,
                        resolved.memory.max_encoder_states,
                        resolved.cuda.device >= 0 ? 1 : resolved.cpu.threads,
                        plan.block_rows};
  Target target{.packs = wants_packed_activations(resolved.cpu.backend)};
  if (resolved.cuda.device < 0) {
    choose_precision(resolved, bf16, &target);
  } else {
    const bool multiplies_bf16 = bf16.faster && resolved.run.compute != Compute::no_bf16;
    target = {.device = true, .all = device_compute(description, *lowered.encoder, resolved, multiplies_bf16)};
  }
  LINFORMER_TRY(lower(description, *lowered.encoder, lowered.has_heads, extents, target, &lowered.program));
  if (resolved.cuda.device < 0) {
    LINFORMER_TRY(plan_scratch(resolved.cpu.backend, &lowered.program));
  } else {
    LINFORMER_TRY(plan_device_scratch(&lowered.program));
  }
  ArenaLayout layout;
  if (!lowered.program.arena.lay_out(&layout)) {
    return Status::error(Code::too_long,
                         "a session of %lld tokens and %lld texts needs more memory than can be addressed: lower "
                         "max_tokens or max_batch",
                         static_cast<long long>(resolved.memory.max_tokens),
                         static_cast<long long>(resolved.memory.max_batch));
  }
  fill_plan(lowered.program, layout, &plan);
  explain_precision(bf16, &plan);
  return lowered;
}

namespace {

// Finds the type of most of the layers' weights, and the type in which these are multiplied.
void count_types(const Program& program, Plan* plan) {
  constexpr int types = 4;
  int64_t counts[types][types] = {};
  for (const Stage& stage : program.stages) {
    if (stage.domain == Domain::scored || stage.domain == Domain::positions) continue;  // Heads don't count.
    for (int32_t i = stage.op_begin; i < stage.op_end; ++i) {
      const auto* gemm = program.ops[static_cast<size_t>(i)].get<ops::Gemm>();
      if (gemm == nullptr || !gemm->multiplies_weights()) continue;
      counts[static_cast<int>(gemm->b.type)][static_cast<int>(gemm->a.type)] += gemm->a.cols * gemm->out.cols;
    }
  }
  int64_t most = 0, all = 0, of_compute = 0;
  for (int weights = 0; weights < types; ++weights) {
    for (int compute = 0; compute < types; ++compute) {
      all += counts[weights][compute];
      if (counts[weights][compute] <= most) continue;
      most = counts[weights][compute];
      plan->weights = static_cast<ElementType>(weights);
      plan->compute = static_cast<ElementType>(compute);
    }
  }
  for (const auto& row : counts) of_compute += row[static_cast<int>(plan->compute)];
  plan->other_compute = of_compute < all;
}

}  // namespace

void fill_plan(const Program& program, const ArenaLayout& layout, Plan* plan) {
  static_assert(buffer_count <= Plan::max_buffers && term_count <= Plan::max_terms);
  plan->project_first_below = program.project_first_below;
  for (size_t i = program.ops.size(); i-- > 0;) {
    if (const auto* attend = program.ops[i].get<ops::Attend>()) plan->attention_compute = attend->compute;
  }
  count_types(program, plan);
  plan->buffer_count = buffer_count;
  for (int i = 0; i < buffer_count; ++i) {
    const BufferId id = static_cast<BufferId>(i);
    PlannedBuffer& buffer = plan->buffers[i];
    buffer.name = info(id).name;
    std::snprintf(buffer.formula, sizeof buffer.formula, "%s", program.arena.formula(id).text);
    buffer.offset = layout.offsets[i];
    buffer.bytes = layout.bytes[i];
  }
  plan->term_count = 0;
  for (int i = 1; i < term_count; ++i) {
    const Term term = static_cast<Term>(i);
    plan->terms[plan->term_count++] = {info(term).name, info(term).meaning, program.arena.value(term)};
  }
  plan->total_bytes = layout.total;
}

Result<Plan> plan(const Model& model, const SessionOptions& options, const Machine& machine) {
  LINFORMER_TRY(check_device(options));
  SessionOptions resolved = options;
  if (options.cpu.block_rows == 0) resolved.cpu.block_rows = machine.block_rows;
  Result<LoweredModel> lowered = lower_model(model.description(), resolved, choose_planned_bf16(options, machine));
  if (!lowered.ok()) return lowered.status();
  return lowered->plan;
}

}  // namespace LINFORMER_NAMESPACE
