#include "converter/dialects/fairseq/fairseq_hf.h"

#include "converter/dialects/common.h"
#include "converter/dialects/fairseq/port.h"
#include "converter/dialects/hugging_face/settings.h"

namespace linformer::convert {

namespace {

const fairseq::Port& port() {
  static const fairseq::Port made = {
      hugging_face::roberta(), "attention.self.", "attention.self.query", "a RoBERTa with Linformer attention", {}};
  return made;
}

}  // namespace

DialectFacts FairseqHf::facts() const {
  return {"fairseq's Linformer in Hugging Face's RoBERTa classes",
          "a community port; the classes are those of https://github.com/huggingface/transformers",
          {{R"({"num_attention_heads": 12})", "always; config.json of the model's folder has it"}}};
}

Recognition FairseqHf::recognise(const Checkpoint& checkpoint) const {
  return fairseq::recognise_port(checkpoint, port());
}

void FairseqHf::convert(Conversion& conversion) const {
  hugging_face::refuse_unsupported(user_and_checkpoint_settings(conversion));
  fairseq::convert_port(conversion, port());
}

}  // namespace linformer::convert
