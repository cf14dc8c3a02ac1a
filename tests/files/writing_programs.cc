#include "files/writing_programs.h"

#include "converter/tiny_fairseq.h"
#include "research/spectrum_lapack.h"
#include "support/random_model.h"

namespace linformer_test {
namespace {

using Arguments = std::vector<std::string>;

// Returns a checkpoint whose model file has more than a MiB.
std::string large_checkpoint() {
  TinyFairseq tiny;
  tiny.vocabulary = 40000;
  tiny.masked_lm = false;
  return torch_zip(tiny.tensors(), tiny.settings());
}

std::string many_ids() {
  std::string lines;
  for (int i = 0; i < 3000; ++i) lines += i % 2 == 0 ? "[2,5,7,10,3]\n" : "[2,6,3]\n";
  return lines;
}

std::string many_texts() {
  std::string lines;
  for (int i = 0; i < 200; ++i) lines += i % 2 == 0 ? "a good film\n" : "bad plot\n";
  return lines;
}

}  // namespace

std::vector<WritingProgram> writing_programs(const Folder& folder) {
  const std::string checkpoint = folder.file("checkpoint.pt", large_checkpoint()), model = folder.path("model.lnfr"),
                    made = folder.path("made.lnfr"), ids = folder.file("ids.jsonl", many_ids()),
                    texts = folder.file("texts.txt", many_texts());
  write_sentiment_model({.embedding = true}, model);
  run_program(LINFORMER_CONVERT, {checkpoint, "--quiet", "-o", made});
  const auto linformer = [](Arguments arguments, const char* output_option) {
    return [arguments, output_option](const std::string& output) {
      Arguments all = arguments;
      all.insert(all.end(), {output_option, output});
      return all;
    };
  };
  std::vector<WritingProgram> programs = {
      {"convert", LINFORMER_CONVERT, linformer({checkpoint, "--force", "--quiet"}, "-o"), checkpoint},
      {"convert back", LINFORMER_CONVERT, linformer({"--from-lnfr", made, "--force", "--quiet"}, "-o"), made},
      {"encode", LINFORMER_PROGRAM, linformer({"encode", model, "--ids", ids}, "-o"), model},
      {"embed", LINFORMER_PROGRAM, linformer({"embed", model, "-i", texts}, "-o"), model},
      {"embed as JSON", LINFORMER_PROGRAM, linformer({"embed", model, "-i", texts, "--json"}, "-o"), model},
      {"logits", LINFORMER_PROGRAM, linformer({"classify", model, "-i", texts}, "--logits"), model},
      {"masks", LINFORMER_PROGRAM, linformer({"perplexity", model, "-i", texts}, "--dump-masks"), model}};
  if (linformer::research::lapack_problem().empty()) {
    RandomModel shape;
    shape.n = shape.d_model = 16;
    shape.heads = 2;
    shape.kinds = {linformer::ProjectionKind::none};
    shape.pad = shape.fairseq_positions = false;
    shape.head_classes = {};
    shape.masked_lm = false;
    const std::string full = folder.path("full.lnfr");
    random_builder(shape).write(full);
    programs.push_back({"spectrum", LINFORMER_PROGRAM,
                        linformer({"spectrum", full, "--ids", ids, "--max-tokens", "3", "--limit", "2"}, "--csv"),
                        full});
  }
  return programs;
}

}  // namespace linformer_test
