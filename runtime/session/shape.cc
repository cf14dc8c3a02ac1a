// Checks that the model has the outputs that the caller wants, and computes their shapes.
#include "base/description.h"
#include "session/state.h"

namespace LINFORMER_NAMESPACE {
namespace {

const char* name_of(OutputKind kind) {
  constexpr const char* names[] = {"hidden", "pooled", "logits", "probabilities", "embeddings", "masked-LM"};
  return names[static_cast<int>(kind)];
}

}  // namespace

int64_t Session::State::hidden_width(int layer) const {
  if (layer < 0 || program().layers.empty()) return program().output_width;
  const LayerSections& first = program().layers[0];
  if (layer == 0) return first.streams * encoder().d_model;
  const LayerSections& sections = program().layers[static_cast<size_t>(layer) - 1];
  return sections.streams * sections.width;
}

Result<Shape> Session::State::head_shape(int head, int64_t sequences, int64_t hidden_rows) const {
  const auto& heads = description().heads;
  if (head < 0 || static_cast<size_t>(head) >= heads.size()) {
    return Status::error(Code::invalid_argument, "there is no classification head %d: this model has %zu", head,
                         heads.size());
  }
  const HeadSections& sections = program().heads[static_cast<size_t>(head)];
  if (sections.each_row) return Shape{hidden_rows, sections.classes};
  if (sections.pairs && sequences % 2 != 0) {
    return Status::error(Code::invalid_argument,
                         "head '%s' compares pairs of texts: the batch has %lld, not an even number",
                         heads[static_cast<size_t>(head)].name.c_str(), static_cast<long long>(sequences));
  }
  return Shape{sections.pairs ? sequences / 2 : sequences, sections.classes};
}

Result<Shape> Session::State::shape(const Output& output, int64_t sequences, int64_t hidden_rows) const {
  if (output.kind > OutputKind::masked_lm) {
    return Status::error(Code::invalid_argument, "there is no output number %d", static_cast<int>(output.kind));
  }
  if (!has_heads && output.kind != OutputKind::hidden && output.kind != OutputKind::pooled) {
    return Status::error(Code::invalid_argument,
                         "the encoder of an encoder-decoder gives only hidden and pooled outputs: run the decoder");
  }
  switch (output.kind) {
    case OutputKind::hidden:
      if (output.layer < -1 || output.layer > static_cast<int>(encoder().layers.size())) {
        return Status::error(Code::invalid_argument,
                             "there is no hidden layer %d: this model has 0 (embedding) to %zu, or -1 (the output)",
                             output.layer, encoder().layers.size());
      }
      return Shape{hidden_rows, hidden_width(output.layer)};
    case OutputKind::pooled:
      if (output.pooling == Pooling::none || (output.pooling && *output.pooling > Pooling::weighted_mean)) {
        return Status::error(Code::invalid_argument, "a pooled output can't have pooling number %d",
                             static_cast<int>(*output.pooling));
      }
      return Shape{sequences, program().output_width};
    case OutputKind::logits:
    case OutputKind::probabilities:
      return head_shape(output.head, sequences, hidden_rows);
    case OutputKind::embeddings:
      if (!description().embedding.present) {
        return Status::error(Code::invalid_argument,
                             "this model doesn't say how its texts are embedded: ask for a pooled output");
      }
      return Shape{sequences, program().embedding_width};
    case OutputKind::masked_lm:
      break;
  }
  if (!description().mlm.present()) {
    return Status::error(Code::invalid_argument, "this model has no masked-LM head");
  }
  return Shape{static_cast<int64_t>(output.positions.size()), encoder().vocab_size};
}

Result<Shape> Session::State::shape(const Output& output, const InputList& inputs) const {
  int64_t rows = 0;
  for (size_t t = 0; t < inputs.size(); ++t) rows += output_rows(input_length(inputs[t]));
  return shape(output, static_cast<int64_t>(inputs.size()), rows);
}

Status Session::State::check_outputs(const InputList& inputs, std::span<const Output> outputs,
                                     int64_t hidden_rows) const {
  if (outputs.size() > Outputs::most) {
    return Status::error(Code::too_long, "a call has %zu outputs: ask for at most %zu", outputs.size(), Outputs::most);
  }
  for (const Output& output : outputs) {
    const Result<Shape> shape = this->shape(output, static_cast<int64_t>(inputs.size()), hidden_rows);
    if (!shape.ok()) return shape.status();
    if (output.kind == OutputKind::masked_lm) {
      LINFORMER_TRY(check_positions(inputs, output.positions));
      if (output.positions.empty() && !output.values.empty()) {
        return Status::error(Code::invalid_argument,
                             "masked-LM logits need positions: give those of the masked tokens");
      }
    }
    // Rows and columns are at most 2^31 each, so the product can't overflow.
    const uint64_t wanted = static_cast<uint64_t>(shape->rows) * static_cast<uint64_t>(shape->columns);
    if (output.values.empty() || output.values.size() >= wanted) continue;
    return Status::error(Code::too_long, "the %s output has room for %zu floats, but %lld x %lld are computed",
                         name_of(output.kind), output.values.size(), static_cast<long long>(shape->rows),
                         static_cast<long long>(shape->columns));
  }
  return {};
}

Status Session::State::check_positions(const InputList& inputs, std::span<const MaskPosition> positions) const {
  for (const MaskPosition& p : positions) {
    if (p.sequence >= 0 && static_cast<uint64_t>(p.sequence) < inputs.size() && p.position >= 0 &&
        p.position < computed_rows(inputs[static_cast<size_t>(p.sequence)])) {
      continue;
    }
    return Status::error(Code::invalid_argument, "masked-LM position %lld of text %lld does not exist",
                         static_cast<long long>(p.position), static_cast<long long>(p.sequence));
  }
  return {};
}

}  // namespace LINFORMER_NAMESPACE
