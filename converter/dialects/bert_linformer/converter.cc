#include "converter/dialects/bert_linformer/converter.h"

#include <algorithm>

#include "converter/dialects/hugging_face/heads.h"
#include "converter/dialects/hugging_face/vocabulary.h"
#include "converter/readers/error.h"

namespace linformer::convert::bert_linformer {

namespace {

constexpr const char* word_embeddings = "embeddings.word_embeddings.weight";

}  // namespace

Converter::Converter(Conversion& conversion, const Settings& settings, const Form& form)
    : conversion_(conversion),
      settings_(settings),
      form_(form),
      tensors_(conversion.checkpoint, hugging_face::canonical_name),
      projections_(conversion.description.encoder, conversion.weights, ProjectionOrder::after_linear,
                   form.length_scale),
      reader_(conversion, tensors_, settings, form.family) {}

void Converter::read_sizes(uint32_t columns, const std::string& source) {
  const Tensor& tokens =
      hugging_face::token_embedding(tensors_, settings_, word_embeddings, form_.family.masked_lm.output);
  EncoderDescription& encoder = conversion_.description.encoder;
  encoder.max_tokens = std::min(reader_.read_sizes(tokens), columns);
  conversion_.report.add_fact("longest text (N)", std::to_string(encoder.max_tokens),
                              source + " and " + reader_.position_count_source());
}

uint32_t Converter::add_projection(const std::string& role, const Tensor& matrix) {
  const uint32_t longest = conversion_.description.encoder.max_tokens;
  return projections_.add(role, dimension(matrix, 1) > longest ? first_columns(matrix, longest) : matrix);
}

void Converter::read(const std::function<void(uint32_t index, AttentionDescription* attention)>& add_projections) {
  reader_.add_embedding(
      hugging_face::token_embedding(tensors_, settings_, word_embeddings, form_.family.masked_lm.output));
  EncoderDescription& encoder = conversion_.description.encoder;
  Report& report = conversion_.report;
  for (uint32_t i = 0; i < reader_.layers(); ++i) {
    AttentionDescription& attention = reader_.add_layer(i).attention;
    attention.row_mask = form_.row_mask;
    add_projections(i, &attention);
    check_same_k(encoder, attention, i);
  }
  projections_.report(report);
  const uint32_t k = encoder.projections[0].k;
  report.add_fact("compressed length (k)", std::to_string(k), "shape of layer 0's projection");
  check_agreement(settings_, "k", k, "compressed positions");
  const hugging_face::HeadInputs inputs{conversion_, tensors_, settings_, form_.family, reader_.epsilon()};
  add_masked_lm(inputs);
  add_heads(inputs);
  tensors_.report_or_reject_unused(hugging_face::unused_names(), form_.model, report);
}

}  // namespace linformer::convert::bert_linformer
