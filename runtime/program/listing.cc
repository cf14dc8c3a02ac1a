#include "program/listing.h"

#include "base/description.h"
#include "program/ops/text.h"

namespace LINFORMER_NAMESPACE {
namespace {

template <class Struct>
concept ListsItself = requires(const Struct& op, ops::TextContext& context) {
  write_text(op, context);
};

void list_op(const Op& op, ops::TextContext& context) {
  bool lists_itself = false;
  with_struct(op, [&]<class Struct>(const Struct& own) {
    if constexpr (ListsItself<Struct>) {
      write_text(own, context);
      lists_itself = true;
    }
  });
  if (lists_itself) return;
  context.write_view(op.out());
  if (operand_count(op.kind()) < 2) return;
  Op copy = op;
  const View& read = operand_of(copy, 1).view;
  if (!read.present()) return;
  context.text().add(" = ");
  context.write_view(read);
}

}  // namespace

OpText describe(const Program& program, const ModelDescription& description, const Stage& stage, const Op& op,
                int64_t rows, int64_t states) {
  OpText result;
  FixedText condition(result.condition, sizeof result.condition);
  const Lengths& lengths = stage.lengths;
  if (lengths.all()) {
    condition.add("always");
  } else if (lengths.below == INT64_MAX) {
    condition.add("n >= %lld", static_cast<long long>(lengths.from));
  } else if (lengths.from == 0) {
    condition.add("n < %lld", static_cast<long long>(lengths.below));
  } else {
    condition.add("%lld <= n < %lld", static_cast<long long>(lengths.from), static_cast<long long>(lengths.below));
  }
  FixedText text(result.operands, sizeof result.operands);
  ops::TextContext context(program, description, stage, rows, states, &text);
  list_op(op, context);
  return result;
}

PartText part_of(const Program& program, int32_t stage) {
  PartText result;
  FixedText text(result.text, sizeof result.text);
  const auto within = [&](const Section& section) { return stage >= section.begin && stage < section.end; };
  for (size_t i = 0; i < program.layers.size(); ++i) {
    if (within(program.layers[i].stages)) text.add("layer %zu", i);
    if (within(program.layers[i].hidden)) text.add("layer %zu's rows", i);
  }
  for (size_t i = 0; i < program.heads.size(); ++i) {
    if (within(program.heads[i].stages)) text.add("head %zu", i);
  }
  if (within(program.embedding)) text.add("embedding");
  if (within(program.embedding_hidden)) text.add("embedding's rows");
  if (within(program.finish)) text.add("finish");
  if (within(program.first_rows)) text.add("first rows");
  if (within(program.output_hidden)) text.add("output's rows");
  if (within(program.pooled)) text.add("pooled");
  if (within(program.sentence_embedding)) text.add("sentence embedding");
  if (within(program.masked_lm)) text.add("masked-LM");
  return result;
}

}  // namespace LINFORMER_NAMESPACE
