// Creates an executor: checks the ops, allocates memory, and makes a dry run of every kernel and product.
#include "cuda/create.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/checked.h"
#include "cuda/executor.h"
#include "cuda/ops/check.h"

namespace LINFORMER_NAMESPACE::cuda {
namespace {

template <class Struct>
concept MayLackKernel = requires(const Struct& op) {
  check_supported(op);
};

// Fills the table that tells the attention kernel where the keys of each group of heads are.
Status place_groups(const Program& program, Array<GroupKeys>* groups) {
  if (!groups->try_resize(program.groups.size())) {
    return Status::error(Code::out_of_memory, "no memory for the heads of a session");
  }
  for (const Op& op : program.ops) {
    const auto* attend = op.get<ops::Attend>();
    for (int32_t g = 0; attend != nullptr && g < attend->groups.count; ++g) {
      const KeyGroup& group = program.group(attend->groups, g);
      const HeadProjection& projection = group.projections[0];
      const bool linear = projection.kind == ProjectionKind::linear;
      GroupKeys& keys = (*groups)[static_cast<size_t>(attend->groups.first + g)];
      keys.offset = attend->whole ? group.column : group.key_offset;
      keys.count = attend->whole || !linear ? 0 : projection.k;
      if (attend->whole || linear) continue;
      keys.window = projection.kernel;
      keys.stride = projection.stride;
    }
  }
  return {};
}

}  // namespace

Result<bool> multiplies_bf16(int device) {
  const Result<int> architecture = Device::architecture_of(device);
  if (!architecture.ok()) return architecture.status();
  return *architecture >= 80;
}

Result<std::unique_ptr<Executor>> create_executor(Program program, std::span<const std::byte* const> weights,
                                                  WeightStore& store, const ExecutorOptions& options) {
  return CudaExecutor::create(std::move(program), weights, store, options);
}

Result<std::unique_ptr<Executor>> CudaExecutor::create(Program program, std::span<const std::byte* const> weights,
                                                       WeightStore& store, const ExecutorOptions& options) {
  std::unique_ptr<CudaExecutor> made(new (std::nothrow) CudaExecutor(std::move(program), weights, options));
  if (!made) return Status::error(Code::out_of_memory, "no memory for a session");
  LINFORMER_TRY(made->prepare(store));
  return std::unique_ptr<Executor>(std::move(made));
}

CudaExecutor::~CudaExecutor() {
  context_.stream.reset();  // The destructor waits until the stream no longer uses the memory.
  if (context_.weights != nullptr) context_.weights->device().free(context_.memory);
}

// Returns an error that names the op if the program has an op without a kernel.
Status CudaExecutor::check_ops() const {
  for (const Op& op : program_.ops) {
    LINFORMER_TRY(with_struct(op, []<class Struct>(const Struct& own) {
      if constexpr (MayLackKernel<Struct>) return check_supported(own);
      return Status();
    }));
  }
  return {};
}

Status CudaExecutor::prepare(WeightStore& store) {
  LINFORMER_TRY(check_ops());
  if (!program_.arena.lay_out(&layout_) || !lay_out_device_scratch(program_, &context_.regions)) {
    return Status::error(Code::too_long, "the session's memory can't be addressed: lower max_tokens or max_batch");
  }
  if (context_.options.profile && !profile_.try_resize(program_.ops.size())) {
    return Status::error(Code::out_of_memory, "no memory for the profile of %zu ops", program_.ops.size());
  }
  Result<const DeviceWeights*> weights = store.get(context_.options.device, context_.type, program_, weights_);
  if (!weights.ok()) return weights.status();
  const Device& device = (*weights)->device();
  Result<std::unique_ptr<Stream>> stream =
      Stream::create(device, {context_.options.stream, context_.options.tf32, context_.options.profile});
  if (!stream.ok()) return stream.status();
  context_.memory = device.allocate(layout_.total);
  context_.weights = *weights;
  context_.stream = std::move(stream.value());
  if (context_.memory == nullptr) {
    return Status::error(Code::out_of_memory,
                         "cuda:%d doesn't have %llu bytes of free memory for a session: lower max_tokens or max_batch",
                         device.index(), static_cast<unsigned long long>(layout_.total));
  }
  static_assert(sizeof(GroupKeys) == device_group_bytes);
  Array<GroupKeys> groups;
  LINFORMER_TRY(place_groups(program_, &groups));
  LINFORMER_TRY(
      device.upload(context_.scratch(context_.regions.groups), groups.data(), groups.size() * sizeof(GroupKeys)));
  context_.stream->set_workspace(context_.scratch(context_.regions.workspace),
                                 context_.regions.total - device_alignment - context_.regions.workspace);
  context_.stream->set_usual_sizes(
      program_.extents.rows,
      std::min(device_e_slice, std::max(program_.extents.tokens, program_.extents.encoder_states)));
  context_.staging = layout_.offsets[static_cast<int>(BufferId::rows)];
  const uint64_t outputs =
      context_.options.device_outputs ? 0 : static_cast<uint64_t>(context_.regions.output_elements) * 4;
  staging_bytes_ = device_positions * sizeof(int32_t) + outputs;
  return {};
}

Status CudaExecutor::start(std::byte* arena) {
  arena_ = context_.arena = arena;
  const Device& device = context_.weights->device();
  const Device::Current current(device);
  context_.stream->pin(arena, host_bytes());
  fill_position_tables();
  const uint64_t tables = layout_.offsets[static_cast<int>(BufferId::position_table)];
  LINFORMER_TRY(device.upload(context_.memory + tables, arena_ + tables, context_.staging - tables));
  context_.stream->set_dry_run(true);
  LINFORMER_TRY(dry_run());
  context_.stream->set_dry_run(false);
  return {};
}

// Makes a dry run (Stream::set_dry_run) of everything that a call may need: all sections for the longest text, and each
// layer's stages for short texts (E (Z W)) with the longest of these. One text is enough, because the algorithms of
// products don't depend on the number of texts; only heads on pairs need two.
Status CudaExecutor::dry_run() {
  const Extents& e = program_.extents;
  for (const bool states : {false, true}) {
    if (states ? program_.states_width == 0 : program_.needs_states) continue;
    context_.batch = {};
    context_.batch.has_states = states;
    const int64_t longest = std::min(e.tokens, e.rows);
    LINFORMER_TRY(dry_run_sections(longest, e.encoder_states));
    for (const LayerSections& layer : program_.layers) {
      for (int32_t i = layer.stages.begin; i < layer.stages.end; ++i) {
        const Stage& stage = program_.stages[static_cast<size_t>(i)];
        if (stage.lengths.below == INT64_MAX) continue;
        const Destination to = set_up_dry_run(std::clamp<int64_t>(stage.lengths.below - 1, 1, longest),
                                              std::min(stage.lengths.below - 1, e.encoder_states));
        LINFORMER_TRY(run_stage(stage, to));
      }
    }
  }
  return {};
}

// Sets up the batch for a dry run with one text of `length` rows and `encoder_states` encoder states. Returns the
// destination, to which nothing is written.
Destination CudaExecutor::set_up_dry_run(int64_t length, int64_t encoder_states) {
  int32_t* starts = buffer<int32_t>(BufferId::row_starts);
  starts[0] = 0;
  starts[1] = static_cast<int32_t>(length);
  context_.batch.sequences = 1;
  context_.batch.rows = length;
  context_.batch.has_masks = true;
  context_.batch.row_starts = context_.batch.output_starts = starts;
  if (context_.batch.has_states) {
    int32_t* state_starts = buffer<int32_t>(BufferId::state_starts);
    state_starts[0] = 0;
    state_starts[1] = static_cast<int32_t>(encoder_states);
    context_.batch.state_starts = state_starts;
  }
  static constexpr MaskPosition positions[device_positions] = {};
  Destination to;
  to.values = to.probabilities = &nobody_;
  to.positions = positions;
  return to;
}

Status CudaExecutor::dry_run_sections(int64_t length, int64_t encoder_states) {
  const Destination to = set_up_dry_run(length, encoder_states);
  LINFORMER_TRY(run_section(program_.embedding, to));
  for (const LayerSections& layer : program_.layers) LINFORMER_TRY(run_section(layer.stages, to));
  LINFORMER_TRY(run_section(program_.finish, to));
  LINFORMER_TRY(run_section(program_.output_hidden, to));
  LINFORMER_TRY(run_section(program_.first_rows, to));
  // Heads that compare two texts need two sequences. The stages of scores don't read where sequences start, so the
  // start of the second sequence needn't be set.
  context_.batch.sequences = std::min<int64_t>(2, program_.extents.sequences);
  LINFORMER_TRY(run_section(program_.pooled, to));
  for (const HeadSections& head : program_.heads) LINFORMER_TRY(run_section(head.stages, to));
  LINFORMER_TRY(run_section(program_.sentence_embedding, to));
  return run_section(program_.masked_lm, to);
}

}  // namespace LINFORMER_NAMESPACE::cuda
