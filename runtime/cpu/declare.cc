#include "cpu/declare.h"

#include "base/checked.h"
#include "cpu/ops/declare.h"

namespace LINFORMER_NAMESPACE {

namespace {

template <class Struct>
concept MakesGemms = requires(const Struct& op, const cpu::Declaration& to) {
  cpu::declare_gemms(op, to);
};

Status declare_all(const Program& program, GemmIds* ids, const cpu::GemmSink& sink) {
  if (!ids->ops.try_resize(program.ops.size()) || !ids->groups.try_resize(program.groups.size())) {
    return Status::error(Code::out_of_memory, "no memory for the GEMMs of %zu ops", program.ops.size());
  }
  for (const Stage& stage : program.stages) {
    for (int32_t i = stage.op_begin; i < stage.op_end; ++i) {
      const cpu::Declaration to{program, stage, *ids, sink, static_cast<size_t>(i)};
      LINFORMER_TRY(with_struct(program.ops[to.op], [&]<class Struct>(const Struct& op) {
        if constexpr (MakesGemms<Struct>) return cpu::declare_gemms(op, to);
        return Status();
      }));
    }
  }
  return {};
}

struct ScratchPlan {
  BackendKind backend;
  Count bytes;
};

}  // namespace

Status plan_scratch(BackendKind backend, Program* program) {
  GemmIds ids;
  ScratchPlan plan{backend, {}};
  const auto receive = [](void* object, const GemmDesc& desc, int*) -> Status {
    auto& own = *static_cast<ScratchPlan*>(object);
    own.bytes = larger(own.bytes, Count::bytes(planned_scratch_bytes(own.backend, desc)));
    return check_gemm(desc);
  };
  LINFORMER_TRY(declare_all(*program, &ids, {receive, &plan}));
  program->arena[Term::scratch] = plan.bytes.rounded_up(64);
  program->arena.use(BufferId::scratch);
  return {};
}

Status declare_gemms(const Program& program, GemmProvider* provider, GemmIds* ids) {
  const auto receive = [](void* object, const GemmDesc& desc, int* id) -> Status {
    Result<int> added = static_cast<GemmProvider*>(object)->add(desc);
    if (added.ok()) *id = added.value();
    return added.status();
  };
  return declare_all(program, ids, {receive, provider});
}

}  // namespace LINFORMER_NAMESPACE
