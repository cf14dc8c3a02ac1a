#include "cpu/declare.h"

#include <algorithm>

#include "base/checked.h"

namespace LINFORMER_NAMESPACE {
namespace {

// The longest sequence that keys are made of.
int64_t longest_source(const Program& program, const Stage& stage) {
  switch (stage.key_rows.source) {
    case KeySource::own:
      return program.extents.tokens;
    case KeySource::encoder_states:
      return program.extents.encoder_states;
    case KeySource::encoder_states_or_own:
      break;
  }
  return std::max(program.extents.tokens, program.extents.encoder_states);
}

GemmDesc desc_of(const Program& program, const Stage& stage, const ops::Gemm& op) {
  GemmDesc desc;
  desc.max_m = program.extents.block_rows;
  desc.n = op.out.cols;
  desc.k = op.a.cols;
  desc.layout = op.b.layout;
  desc.type = op.b.type;
  desc.left = op.a.type;
  desc.compute = op.multiplies_e() ? program.target.compute(op.a.type) : op.a.type;  // E's, or as converted
  desc.out = op.out.type;
  desc.varying_n = program.target.packs && !op.multiplies_e();  // threads may share it
  desc.accumulate = op.accumulate;
  desc.activation = op.activation;
  desc.bias = op.bias.present();
  desc.row_bias = op.row_bias.present();
  desc.residual = op.residual.present();
  if (stage.domain == Domain::source_columns) {
    desc.max_m = op.a.rows;
    desc.n = std::min(op.out.cols, column_chunk);
    desc.varying_n = op.out.cols % desc.n != 0;
  }
  // E Z and E (Z W) contract over the sequence's rows.
  if (op.multiplies_e()) {
    desc.varying_k = true;
    desc.k = op.b.place == Place::sequence ? op.b.rows : longest_source(program, stage);
  }
  return desc;
}

// Of sequences of up to n rows: as those that give scores and the context, with E and E^T between them.
template <class Add>
Status short_gemms(GemmDesc scores, GemmDesc context, int64_t n, Add&& add, GemmIds::Group* ids) {
  GemmDesc compress = scores, expand = context;  // n and k are k of E there
  scores.n = context.k = compress.k = expand.n = n;
  scores.varying_n = context.varying_k = compress.varying_k = expand.varying_n = true;
  context.left = ElementType::f32;
  LINFORMER_TRY(add(scores, &ids->row_scores));
  LINFORMER_TRY(add(compress, &ids->compress_scores));
  LINFORMER_TRY(add(expand, &ids->expand));
  return add(context, &ids->row_context);
}

// The GEMMs inside of `attend`.
template <class Add>
Status attention_gemms(const Program& program, const Stage& stage, const ops::Attend& attend, const KeyGroup& group,
                       Add&& add, GemmIds::Group* ids) {
  const bool packs = program.target.packs;
  GemmDesc scores;
  scores.max_m = attend.whole ? program.extents.full_queries() : program.extents.block_rows;
  scores.n = attend.whole ? std::min(full_keys, longest_source(program, stage)) : group.k;
  scores.varying_n = group.projections[0].kind != ProjectionKind::linear;
  scores.k = attend.d_head;
  scores.layout = packs ? RightLayout::panel16 : RightLayout::transposed;
  scores.type = scores.compute = attend.compute;
  if (rounds_queries(attend)) scores.left = attend.compute;
  LINFORMER_TRY(add(scores, &ids->scores));
  GemmDesc context;
  context.max_m = scores.max_m;
  context.n = attend.d_head;
  context.k = scores.n;
  context.varying_k = scores.varying_n;
  context.layout = packs ? RightLayout::panel16 : RightLayout::row_major;
  context.left = context.type = context.compute = attend.compute;
  LINFORMER_TRY(add(context, &ids->context));
  if (attend.short_rows > 0) LINFORMER_TRY(short_gemms(scores, context, attend.short_rows, add, ids));
  if (!attend.whole) return {};
  context.accumulate = true;
  return add(context, &ids->context_add);
}

// E (Z W) of one head, or the first and later taps of its convolution. Pooling needs no product.
template <class Add>
Status compress_gemms(const Program& program, const Stage& stage, const ops::Compress& op, const KeyGroup& group,
                      Add&& add, GemmIds::Group* ids) {
  const int side = op.side;
  const HeadProjection& projection = group.projections[side];
  GemmDesc desc;
  desc.max_m = projection.k;
  desc.n = op.d_head;
  desc.bias = projection.bias.present();
  desc.row_bias = projection.row_bias.present();
  if (projection.kind == ProjectionKind::linear) {
    desc.layout = RightLayout::row_major;
    desc.left = projection.weight.type;
    desc.compute = program.target.compute(desc.left);
    desc.k = longest_source(program, stage);
    desc.varying_k = true;
    return add(desc, &ids->compress[side]);
  }
  if (projection.kind != ProjectionKind::convolution) return {};
  desc.layout = RightLayout::transposed;
  desc.k = op.d_head;
  LINFORMER_TRY(add(desc, &ids->compress[side]));
  desc.bias = false;
  desc.accumulate = true;
  return add(desc, &ids->compress_more[side]);
}

// add(desc, id) for each GEMM.
template <class Add>
Status for_each_gemm(const Program& program, GemmIds* ids, Add&& add) {
  for (const Stage& stage : program.stages) {
    for (int32_t i = stage.op_begin; i < stage.op_end; ++i) {
      const Op& op = program.ops[static_cast<size_t>(i)];
      if (const auto* gemm = op.get<ops::Gemm>()) {
        LINFORMER_TRY(add(desc_of(program, stage, *gemm), &ids->ops[static_cast<size_t>(i)]));
      }
      const auto* compress = op.get<ops::Compress>();
      const auto* attend = op.get<ops::Attend>();
      const KeyGroups groups = compress != nullptr ? compress->groups
                               : attend != nullptr ? attend->groups
                                                   : KeyGroups();
      for (int32_t g = 0; g < groups.count; ++g) {
        const KeyGroup& group = program.group(groups, g);
        GemmIds::Group* own = &ids->groups[static_cast<size_t>(groups.first + g)];
        LINFORMER_TRY(compress != nullptr ? compress_gemms(program, stage, *compress, group, add, own)
                                          : attention_gemms(program, stage, *attend, group, add, own));
      }
    }
  }
  return {};
}

Status make_room(const Program& program, GemmIds* ids) {
  if (ids->ops.try_resize(program.ops.size()) && ids->groups.try_resize(program.groups.size())) return {};
  return Status::error(Code::out_of_memory, "no memory for the GEMMs of %zu ops", program.ops.size());
}

}  // namespace

Status plan_scratch(BackendKind backend, Program* program) {
  GemmIds ids;
  LINFORMER_TRY(make_room(*program, &ids));
  Count bytes;
  const auto add = [&](const GemmDesc& desc, int*) -> Status {
    bytes = larger(bytes, Count::bytes(planned_scratch_bytes(backend, desc)));
    return check_gemm(desc);
  };
  LINFORMER_TRY(for_each_gemm(*program, &ids, add));
  program->arena[Term::scratch] = bytes.rounded_up(64);
  program->arena.use(BufferId::scratch);
  return {};
}

Status declare_gemms(const Program& program, GemmProvider* provider, GemmIds* ids) {
  LINFORMER_TRY(make_room(program, ids));
  return for_each_gemm(program, ids, [&](const GemmDesc& desc, int* id) -> Status {
    Result<int> added = provider->add(desc);
    if (!added.ok()) return added.status();
    *id = added.value();
    return {};
  });
}

}  // namespace LINFORMER_NAMESPACE
