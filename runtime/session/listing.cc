// Describes a program's ops in words, with their planned or their measured costs.
#include "program/listing.h"

#include <cstdio>

#include "base/description.h"
#include "program/cost.h"
#include "session/state.h"

namespace LINFORMER_NAMESPACE {
namespace {

ProgramLine line_of(const Program& program, const ModelDescription& description, int32_t stage, const Op& op,
                    int64_t rows, int64_t states) {
  const Stage& s = program.stages[static_cast<size_t>(stage)];
  const OpText text = describe(program, description, s, op, rows, states);
  ProgramLine line{};
  line.stage = stage;
  line.joins = s.joins;
  line.in_first_rows = s.domain == Domain::first_rows;
  line.domain = name_of(s.domain);
  line.op = name_of(op.kind());
  const auto* gemm = op.get<ops::Gemm>();
  line.weights = gemm != nullptr && gemm->multiplies_weights();
  line.compute = line.weights ? gemm->a.type : ElementType::f32;
  std::snprintf(line.part, sizeof line.part, "%s", part_of(program, stage).text);
  std::snprintf(line.condition, sizeof line.condition, "%s", text.condition);
  std::snprintf(line.operands, sizeof line.operands, "%s", text.operands);
  return line;
}

// Calls visit(stage, op index, op) for each op.
template <class Visit>
void for_each_op(const Program& program, Visit&& visit) {
  for (size_t s = 0; s < program.stages.size(); ++s) {
    for (int32_t i = program.stages[s].op_begin; i < program.stages[s].op_end; ++i) {
      visit(static_cast<int32_t>(s), static_cast<size_t>(i), program.ops[static_cast<size_t>(i)]);
    }
  }
}

}  // namespace

Status list_program(const Model& model, const SessionOptions& options, int64_t tokens, ProgramVisitor visit,
                    void* context) {
  Result<LoweredModel> lowered = lower_model(model.description(), options, choose_planned_bf16(options, Machine()));
  if (!lowered.ok()) return lowered.status();
  const SessionOptions& resolved = lowered->plan.options;
  if (tokens < 1 || tokens > resolved.memory.max_tokens) {
    return Status::error(Code::invalid_argument, "the number of tokens is %lld: the session takes 1 to %lld",
                         static_cast<long long>(tokens), static_cast<long long>(resolved.memory.max_tokens));
  }
  const Program& program = lowered->program;
  const int64_t states = resolved.memory.max_encoder_states;
  for_each_op(program, [&](int32_t s, size_t, const Op& op) {
    const Stage& stage = program.stages[static_cast<size_t>(s)];
    if (!applies(stage, tokens, states)) return;
    ProgramLine line = line_of(program, model.description(), s, op, tokens, states);
    const Cost cost = cost_of(program, stage, op, tokens, states, 1);
    line.flop = cost.flop;
    line.bytes = cost.bytes + cost.weight_bytes;
    visit(context, line);
  });
  return {};
}

Status Session::profile(ProgramVisitor visit, void* context) const { return profile({this, 1}, visit, context); }

Status Session::profile(std::span<const Session> sessions, ProgramVisitor visit, void* context) {
  if (sessions.empty())
    return Status::error(Code::invalid_argument, "the list of sessions is empty: give at least one session");
  const State& first = *sessions[0].state_;
  const Program& program = first.program();
  for (const Session& session : sessions) {
    if (!session.state_->plan.options.profile || session.state_->weights->model() != first.weights->model() ||
        session.state_->executor->profile().size() != program.ops.size()) {
      return Status::error(Code::invalid_argument,
                           "nothing was measured: create the sessions of one model with profile = true");
    }
  }
  const SessionOptions& options = first.plan.options;
  for_each_op(program, [&](int32_t s, size_t index, const Op& op) {
    Executor::OpProfile measured;
    for (const Session& session : sessions) {
      const Executor::OpProfile& own = session.state_->executor->profile()[index];
      measured.seconds += own.seconds;
      measured.flop += own.flop;
      measured.bytes += own.bytes;
    }
    if (measured.seconds == 0) return;
    ProgramLine line =
        line_of(program, first.description(), s, op, options.memory.max_tokens, options.memory.max_encoder_states);
    line.flop = measured.flop;
    line.bytes = measured.bytes;
    line.seconds = measured.seconds;
    visit(context, line);
  });
  return {};
}

}  // namespace LINFORMER_NAMESPACE
