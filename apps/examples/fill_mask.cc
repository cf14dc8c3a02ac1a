// fill_mask MODEL TEXT... prints the most probable tokens for each mask, the best first.
#include <cstdio>
#include <string_view>
#include <vector>

#include "linformer/mask_filler.h"

int main(int count, char** arguments) {
  if (count < 3) return 2;
  const auto model = linformer::Model::load(arguments[1]);
  if (!model.ok()) return std::fprintf(stderr, "%s\n", model.status().message()), 1;
  linformer::MaskFillerOptions options;
  options.top_k = 3;
  auto filler = linformer::MaskFiller::create(*model, options);
  if (!filler.ok()) return std::fprintf(stderr, "%s\n", filler.status().message()), 1;

  const std::vector<std::string_view> texts(arguments + 2, arguments + count);
  const auto print = [](size_t index, const linformer::MaskFilling& made) {
    if (!made.report.status.ok()) std::printf("text %zu: %s\n", index, made.report.status.message());
    for (const linformer::MaskedToken& mask : made.masks) {
      std::printf("text %zu, token %zu:", index, mask.token);
      for (const linformer::MaskCandidate& candidate : mask.candidates) {
        std::printf(" %d %.3f", candidate.id, static_cast<double>(candidate.probability));
      }
      std::printf("\n");
    }
    return true;
  };
  const linformer::Status status = filler->fill(texts, print);
  if (!status.ok()) return std::fprintf(stderr, "%s\n", status.message()), 1;
}
