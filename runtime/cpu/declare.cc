#include "cpu/declare.h"

#include <algorithm>

#include "base/checked.h"
#include "cpu/ops/declare.h"

namespace LINFORMER_NAMESPACE {

int64_t cpu::Declaration::longest_source() const {
  const Extents& extents = program.extents;
  switch (stage.key_rows.source) {
    case KeySource::own:
      return extents.tokens;
    case KeySource::encoder_states:
      return extents.encoder_states;
    case KeySource::encoder_states_or_own:
      break;
  }
  return std::max(extents.tokens, extents.encoder_states);
}

namespace {

template <class Struct>
concept MakesGemms = requires(const Struct& op, const cpu::Declaration& to) {
  cpu::declare(op, to);
};

Status declare_all(const Program& program, GemmIds* ids, cpu::GemmSink& sink) {
  if (!ids->ops.try_resize(program.ops.size()) || !ids->groups.try_resize(program.groups.size())) {
    return Status::error(Code::out_of_memory, "no memory for the GEMMs of %zu ops", program.ops.size());
  }
  for (const Stage& stage : program.stages) {
    for (int32_t i = stage.op_begin; i < stage.op_end; ++i) {
      const cpu::Declaration to{program, stage, *ids, sink, static_cast<size_t>(i)};
      LINFORMER_TRY(with_struct(program.ops[to.op], [&]<class Struct>(const Struct& op) {
        if constexpr (MakesGemms<Struct>) return cpu::declare(op, to);
        return Status();
      }));
    }
  }
  return {};
}

class ScratchPlan final : public cpu::GemmSink {
 public:
  explicit ScratchPlan(BackendKind backend) : backend_(backend) {}
  Status add(const GemmDesc& desc, int*) override {
    bytes_ = larger(bytes_, Count::bytes(planned_scratch_bytes(backend_, desc)));
    return check_gemm(desc);
  }
  const Count& bytes() const { return bytes_; }

 private:
  const BackendKind backend_;
  Count bytes_;
};

class ToProvider final : public cpu::GemmSink {
 public:
  explicit ToProvider(GemmProvider* provider) : provider_(*provider) {}
  Status add(const GemmDesc& desc, int* id) override {
    Result<int> added = provider_.add(desc);
    if (added.ok()) *id = added.value();
    return added.status();
  }

 private:
  GemmProvider& provider_;
};

}  // namespace

Status plan_scratch(BackendKind backend, Program* program) {
  GemmIds ids;
  ScratchPlan plan(backend);
  LINFORMER_TRY(declare_all(*program, &ids, plan));
  program->arena[Term::scratch] = plan.bytes().rounded_up(64);
  program->arena.use(BufferId::scratch);
  return {};
}

Status declare_gemms(const Program& program, GemmProvider* provider, GemmIds* ids) {
  ToProvider sink(provider);
  return declare_all(program, ids, sink);
}

}  // namespace LINFORMER_NAMESPACE
