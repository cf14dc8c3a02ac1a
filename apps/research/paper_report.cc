#include "research/paper_report.h"

#include <algorithm>

#include "bench/report.h"
#include "command_line/display.h"

namespace linformer::research {
namespace {

using cli::fixed;
using cli::grouped;
using cli::significant;
using cli::Table;

using bench::paper_ks;
using bench::paper_lengths;
using bench::PaperCell;
using bench::PaperRun;

// A ratio that is compared with the paper's. `ours` takes n and k, and `paper` takes their indices in paper_lengths and
// paper_ks.
struct Comparison {
  const char* key;
  std::string title;
  std::optional<double> (PaperRun::*ours)(uint32_t n, uint32_t k) const;
  double (*paper)(size_t length, size_t k);
};

std::vector<Comparison> comparisons() {
  return {{"time_saved", "Time saved", &PaperRun::time_saved, bench::paper_time_saved},
          {"memory_saved", "Memory saved, beside our Transformer, which holds no attention matrix",
           &PaperRun::memory_saved, bench::paper_memory_saved},
          {"memory_saved_of_held_attention",
           "Memory saved, beside a Transformer that holds a layer's attention, 4 h n^2 bytes, as the paper's does "
           "(computed)",
           &PaperRun::memory_saved_if_scores_stored, bench::paper_memory_saved}};
}

struct Reached {
  int cells = 0, of = 0;
};

Reached reached(const PaperRun& run, const Comparison& comparison) {
  Reached count;
  for (size_t i = 0; i < paper_lengths.size(); ++i) {
    for (size_t j = 0; j < paper_ks.size(); ++j) {
      const double paper = comparison.paper(i, j);
      const std::optional<double> ours = (run.*comparison.ours)(paper_lengths[i], paper_ks[j]);
      if (paper == 0 || !ours) continue;
      ++count.of;
      count.cells += *ours >= paper ? 1 : 0;
    }
  }
  return count;
}

std::string times(double ratio) { return fixed(ratio, ratio < 10 ? 1 : 0) + "x"; }

std::string comparison_text(const PaperRun& run, const Comparison& comparison) {
  std::vector<std::string> columns = {"n"};
  for (const uint32_t k : paper_ks) columns.insert(columns.end(), {"k " + std::to_string(k), "paper"});
  Table table(columns, std::vector<bool>(columns.size(), true));
  for (size_t i = 0; i < paper_lengths.size(); ++i) {
    std::vector<std::string> cells = {std::to_string(paper_lengths[i])};
    for (size_t j = 0; j < paper_ks.size(); ++j) {
      const double paper = comparison.paper(i, j);
      const std::optional<double> ours = (run.*comparison.ours)(paper_lengths[i], paper_ks[j]);
      cells.push_back(ours ? times(*ours) : "");
      cells.push_back(paper > 0 ? times(paper) : "-");
    }
    table.add(cells);
  }
  const Reached count = reached(run, comparison);
  return comparison.title + ": " + std::to_string(count.cells) + " of " + std::to_string(count.of) +
         " measured cells reach the paper's.\n" + table.text(2) + "\n";
}

double ms_of_tokens(const PaperCell& cell, double tokens) { return cell.ms_of_text() * tokens / cell.n; }

// Returns the table of figure 2, which is the time for the same number of tokens in texts of each length n.
std::string figure_text(const PaperRun& run) {
  const double tokens = paper_lengths.back();
  std::vector<std::string> columns = {"n", "Transformer"};
  for (const uint32_t k : paper_ks) columns.push_back("k " + std::to_string(k));
  Table table(columns, std::vector<bool>(columns.size(), true));
  for (const uint32_t n : paper_lengths) {
    std::vector<std::string> cells = {std::to_string(n)};
    for (size_t j = 0; j <= paper_ks.size(); ++j) {
      const PaperCell* cell = run.find(n, j == 0 ? 0 : paper_ks[j - 1]);
      cells.push_back(cell == nullptr ? "" : fixed(ms_of_tokens(*cell, tokens) / 1e3, 2));
    }
    table.add(cells);
  }
  return "Figure 2: seconds for " + grouped(paper_lengths.back()) + " tokens in texts of n.\n" + table.text(2) + "\n";
}

std::string exponent(std::optional<double> growth) { return growth ? "n^" + fixed(*growth, 2) : "-"; }

std::string growth_text(const PaperRun& run) {
  Table table({"", "time", "memory", "paper"}, {false, true, true, false});
  table.add({"Transformer", exponent(run.time_growth_exponent(0)), exponent(run.memory_growth_exponent(0)), "O(n^2)"});
  for (const uint32_t k : paper_ks) {
    table.add({"Linformer, k " + std::to_string(k), exponent(run.time_growth_exponent(k)),
               exponent(run.memory_growth_exponent(k)), "O(n)"});
  }
  return "Table 1: growth of a layer's time and of a session's memory with n, fitted over the lengths above.\n" +
         table.text(2) + "\n";
}

std::string left_out_text(const PaperRun& run) {
  std::string text;
  for (const PaperCell& cell : run.cells) {
    if (cell.measurement) continue;
    text += "Left blank: n " + std::to_string(cell.n) + ", " +
            (cell.k == 0 ? "Transformer" : "k " + std::to_string(cell.k)) + ": " + cell.left_out + "\n";
  }
  return text.empty() ? text : text + "\n";
}

nlohmann::ordered_json optional_json(std::optional<double> value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

nlohmann::ordered_json cell_json(const PaperRun& run, const PaperCell& cell) {
  nlohmann::ordered_json json = {{"n", cell.n}, {"k", cell.k}, {"batch", cell.batch}};
  if (!cell.measurement) {
    json["left_out"] = cell.left_out;
    return json;
  }
  if (!cell.measurement->backend_version.empty()) json["backend_version"] = cell.measurement->backend_version;
  json.update({{"median_ms", cell.measurement->median_ms},
               {"calls", cell.measurement->calls},
               {"isa", cell.measurement->isa},
               {"compute", linformer::name_of(cell.measurement->compute)},
               {"arena_bytes", cell.measurement->arena_bytes},
               {"own_bytes", cell.measurement->own_bytes},
               {"peak_bytes", cell.measurement->peak_bytes}});
  if (cell.k == 0) return json;
  const auto index = [](const auto& all, uint32_t value) {
    return static_cast<size_t>(std::find(all.begin(), all.end(), value) - all.begin());
  };
  for (const Comparison& comparison : comparisons()) {
    json[comparison.key] = {{"ours", optional_json((run.*comparison.ours)(cell.n, cell.k))},
                            {"paper", comparison.paper(index(paper_lengths, cell.n), index(paper_ks, cell.k))}};
  }
  return json;
}

// Returns the options of the run that aren't the defaults.
std::string how_text(const bench::Case& running) {
  std::string text;
  if (running.backend != BackendKind::native) text += std::string(", ") + linformer::name_of(running.backend);
  if (running.isa != Isa::automatic) text += std::string(", ") + linformer::name_of(running.isa);
  if (running.compute == Compute::f32) text += ", computed in f32";
  return text;
}

}  // namespace

std::string paper_text(const PaperReport& report) {
  std::string text =
      bench::machine_text(report.machine, report.limits, report.options.running.threads) + "\n" +
      "The efficiency experiments of Wang et al. 2020: a Transformer divided by a Linformer, both of RoBERTa-base's "
      "width, " +
      std::to_string(report.options.layers) + " layers, random weights, one E = F; calls of at least " +
      grouped(static_cast<uint64_t>(report.options.least_tokens)) +
      " tokens.\nThe paper's numbers are for a V100. Its memory factors compare the largest batches that fit, ours "
      "compare the arena of a text.\n";
  for (const PaperRun& run : report.runs) {
    text += "\n== " + std::string(linformer::name_of(run.type)) + how_text(report.options.running) + " ==\n\n";
    for (const Comparison& comparison : comparisons()) text += comparison_text(run, comparison);
    text += figure_text(run) + growth_text(run) + left_out_text(run);
  }
  return text;
}

std::string paper_csv(const PaperReport& report) {
  std::string text =
      "precision,n,k,batch,median_ms,seconds_for_65536_tokens,arena_bytes,own_bytes,peak_bytes,time_saved,"
      "paper_time_saved,memory_saved,memory_saved_of_held_attention,paper_memory_saved,left_out\n";
  const auto cell_of = [](std::optional<double> value) { return value ? significant(*value, 6) : std::string(); };
  for (const PaperRun& run : report.runs) {
    for (const PaperCell& cell : run.cells) {
      text += std::string(linformer::name_of(run.type)) + "," + std::to_string(cell.n) + "," + std::to_string(cell.k) +
              "," + std::to_string(cell.batch) + ",";
      if (cell.measurement) {
        const bench::Measurement& m = *cell.measurement;
        text += significant(m.median_ms, 6) + "," + significant(ms_of_tokens(cell, paper_lengths.back()) / 1e3, 6) +
                "," + std::to_string(m.arena_bytes) + "," + std::to_string(m.own_bytes) + "," +
                std::to_string(m.peak_bytes) + ",";
      } else {
        text += ",,,,,";
      }
      const size_t i =
          static_cast<size_t>(std::find(paper_lengths.begin(), paper_lengths.end(), cell.n) - paper_lengths.begin());
      const size_t j = static_cast<size_t>(std::find(paper_ks.begin(), paper_ks.end(), cell.k) - paper_ks.begin());
      if (cell.k == 0) {
        text += ",,,,,";
      } else {
        text += cell_of(run.time_saved(cell.n, cell.k)) + "," + significant(bench::paper_time_saved(i, j), 4) + "," +
                cell_of(run.memory_saved(cell.n, cell.k)) + "," +
                cell_of(run.memory_saved_if_scores_stored(cell.n, cell.k)) + "," +
                significant(bench::paper_memory_saved(i, j), 4) + ",";
      }
      std::string why = cell.left_out;
      std::replace(why.begin(), why.end(), '"', '\'');
      text += why.empty() ? "\n" : "\"" + why + "\"\n";
    }
  }
  return text;
}

nlohmann::ordered_json paper_json(const PaperReport& report) {
  nlohmann::ordered_json json = bench::machine_json(report.machine, report.limits, report.options.running.threads);
  json["layers"] = report.options.layers;
  auto& runs = json["paper"] = nlohmann::ordered_json::array();
  for (const PaperRun& run : report.runs) {
    nlohmann::ordered_json one = {{"precision", linformer::name_of(run.type)}};
    for (const Comparison& comparison : comparisons()) {
      const Reached count = reached(run, comparison);
      one["reached"][comparison.key] = {{"cells", count.cells}, {"of", count.of}};
    }
    auto& growth = one["growth"] = nlohmann::ordered_json::array();
    for (size_t j = 0; j <= paper_ks.size(); ++j) {
      const uint32_t k = j == 0 ? 0 : paper_ks[j - 1];
      growth.push_back({{"k", k},
                        {"time_exponent", optional_json(run.time_growth_exponent(k))},
                        {"memory_exponent", optional_json(run.memory_growth_exponent(k))}});
    }
    auto& cells = one["cells"] = nlohmann::ordered_json::array();
    for (const PaperCell& cell : run.cells) cells.push_back(cell_json(run, cell));
    runs.push_back(std::move(one));
  }
  return json;
}

}  // namespace linformer::research
