#include "converter/dialects/model_prefix.h"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "converter/readers/error.h"

namespace linformer::convert {

namespace {

bool is_number(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

class Search {
 public:
  Search(Checkpoint& checkpoint, const FindFit& find) : checkpoint_(checkpoint), find_(find) {
    checkpoint_.budget().charge_memory(checkpoint.tensors.size() * (sizeof(Tensor) + sizeof(uint32_t)));
    sorted_.resize(checkpoint.tensors.size());
    std::iota(sorted_.begin(), sorted_.end(), 0u);
    std::sort(sorted_.begin(), sorted_.end(), [&](uint32_t a, uint32_t b) { return name(a) < name(b); });
  }

  std::vector<PrefixFit> run() {
    look({sorted_.data(), sorted_.size()}, 0, 0);
    return std::move(fits_);
  }

 private:
  static constexpr int deepest = 8;

  std::string_view name(uint32_t tensor) const { return checkpoint_.tensors[tensor].name; }

  // Looks for fitting prefixes longer than `length` bytes. `tensors` are sorted by name, and their names have the first
  // `length` bytes in common.
  void look(std::span<const uint32_t> tensors, size_t length, int depth) {
    while (!tensors.empty() && depth < deepest) {
      const std::string_view first = name(tensors[0]);
      const size_t dot = first.find('.', length);
      if (dot == first.npos) {
        tensors = tensors.subspan(1);
        continue;
      }
      const std::string prefix(first.substr(0, dot + 1));
      const auto end = std::find_if(tensors.begin() + 1, tensors.end(),
                                    [&](uint32_t tensor) { return !name(tensor).starts_with(prefix); });
      const auto group = tensors.first(static_cast<size_t>(end - tensors.begin()));
      tensors = tensors.subspan(group.size());
      if (is_number(first.substr(length, dot - length))) continue;
      Fit fit = fit_of(group, prefix.size());
      if (fit.dialect != nullptr) {
        fits_.push_back({prefix, std::move(fit)});
      } else {
        look(group, prefix.size(), depth + 1);
      }
    }
  }

  Fit fit_of(std::span<const uint32_t> tensors, size_t wrapper) {
    checkpoint_.budget().charge_steps(tensors.size() * dialects().size());
    Checkpoint part;
    part.wrapper = wrapper;
    part.tensors.reserve(tensors.size());
    for (const uint32_t tensor : tensors) part.tensors.push_back(std::move(checkpoint_.tensors[tensor]));
    Fit fit = find_(part);
    for (size_t i = 0; i < tensors.size(); ++i) checkpoint_.tensors[tensors[i]] = std::move(part.tensors[i]);
    return fit;
  }

  Checkpoint& checkpoint_;
  const FindFit& find_;
  std::vector<uint32_t> sorted_;
  std::vector<PrefixFit> fits_;
};

}  // namespace

std::vector<PrefixFit> fitting_prefixes(Checkpoint& checkpoint, const FindFit& find) {
  return Search(checkpoint, find).run();
}

void remove_tensors_outside_prefix(Checkpoint& checkpoint, const std::string& prefix, Report& report) {
  const std::vector<Tensor> others =
      checkpoint.extract_tensors([&](const Tensor& tensor) { return !tensor.name.starts_with(prefix); });
  if (checkpoint.tensors.empty()) fail(checkpoint.name, ": no tensor's name begins with ", quote(prefix));
  constexpr size_t most_named = 4;
  const size_t left_out = others.size();
  std::string named;
  for (size_t i = 0; i < left_out; ++i) {
    report.left_out.push_back({others[i].name, "not below " + escaped(prefix)});
    if (i < most_named) named += (named.empty() ? "" : ", ") + escaped(others[i].name);
  }
  if (left_out == 0) return;
  report.notes.push_back("Only the tensors below " + escaped(prefix) + " are the model; " + std::to_string(left_out) +
                         (left_out == 1 ? " other was" : " others were") + " left out: " + named +
                         (left_out > most_named ? ", ..." : "") + ".");
}

}  // namespace linformer::convert
