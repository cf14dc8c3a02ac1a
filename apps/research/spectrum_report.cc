#include "research/spectrum_report.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "command_line/display.h"

namespace linformer::research {
namespace {

using cli::excerpt;
using cli::fixed;
using cli::grouped;
using cli::Table;

// Returns a table by layer and head. The cells of `last_columns` are what `ends` returns for the heads of a row.
std::string by_head(const Spectrum& spectrum, const std::vector<std::string>& last_columns,
                    const std::function<std::string(const HeadSpectrum&)>& cell,
                    const std::function<std::vector<std::string>(const std::vector<HeadSpectrum>&)>& ends) {
  std::vector<size_t> heads;
  for (const auto& layer : spectrum.layers) heads.push_back(layer.size());
  return table_by_head(
      heads, last_columns, [&](size_t layer, size_t head) { return cell(spectrum.layers[layer][head]); },
      [&](size_t layer) { return ends(spectrum.layers[layer]); });
}

}  // namespace

std::string shortest_decimal(double value) {
  char text[40];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

std::string table_by_head(const std::vector<size_t>& heads, const std::vector<std::string>& last_columns,
                          const std::function<std::string(size_t, size_t)>& cell,
                          const std::function<std::vector<std::string>(size_t)>& ends) {
  const size_t most = *std::max_element(heads.begin(), heads.end());
  std::vector<std::string> columns = {"layer"};
  for (size_t h = 0; h < most; ++h) columns.push_back(std::to_string(h));
  columns.insert(columns.end(), last_columns.begin(), last_columns.end());
  const size_t width = columns.size();
  Table table(std::move(columns), std::vector<bool>(width, true));
  for (size_t l = 0; l < heads.size(); ++l) {
    std::vector<std::string> row = {std::to_string(l)};
    for (size_t h = 0; h < heads[l]; ++h) row.push_back(cell(l, h));
    row.resize(1 + most);
    for (std::string& text : ends(l)) row.push_back(std::move(text));
    table.add(std::move(row));
  }
  return table.text(2);
}

std::string describe_texts(const SpectrumReport& report) {
  const Spectrum& spectrum = report.spectrum;
  return grouped(static_cast<uint64_t>(spectrum.texts)) + (spectrum.texts == 1 ? " text of " : " texts of ") +
         std::to_string(spectrum.rows) + " tokens (" + report.text + ")";
}

std::string percent_of_sum(const SpectrumReport& report) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6g %% of the sum", 100 * report.keep);
  return text;
}

double mean_rank(const SpectrumReport& report) {
  double sum = 0;
  for (const auto& layer : report.spectrum.layers) {
    for (const HeadSpectrum& head : layer) sum += static_cast<double>(head.rank_for_share(report.keep));
  }
  return sum / static_cast<double>(report.spectrum.heads());
}

std::string spectrum_text(const SpectrumReport& report) {
  const Spectrum& spectrum = report.spectrum;
  const std::string n = std::to_string(spectrum.rows);
  std::string text = excerpt(report.model, 200) + ": attention of " + excerpt(describe_texts(report), 400) + "\n\n";
  text += "Share, in %, that the first " + std::to_string(report.rank) + " of " + n +
          " singular values have of their sum, by head:\n";
  text += by_head(
      spectrum, {"mean"}, [&](const HeadSpectrum& head) { return fixed(100 * head.share_at(report.rank), 1); },
      [&](const std::vector<HeadSpectrum>& heads) {
        double sum = 0;
        for (const HeadSpectrum& head : heads) sum += head.share_at(report.rank);
        return std::vector<std::string>{fixed(100 * sum / static_cast<double>(heads.size()), 1)};
      });
  text += "\nk that keeps " + percent_of_sum(report) + ", by head:\n";
  text += by_head(
      spectrum, {"mean", "max"},
      [&](const HeadSpectrum& head) { return std::to_string(head.rank_for_share(report.keep)); },
      [&](const std::vector<HeadSpectrum>& heads) {
        int64_t most = 0, sum = 0;
        for (const HeadSpectrum& head : heads) {
          most = std::max(most, head.rank_for_share(report.keep));
          sum += head.rank_for_share(report.keep);
        }
        return std::vector<std::string>{fixed(static_cast<double>(sum) / static_cast<double>(heads.size()), 0),
                                        std::to_string(most)};
      });
  return text + "\nOver all heads k is " + fixed(mean_rank(report), 0) + " of " + n + " on average.\n";
}

std::string spectrum_csv(const SpectrumReport& report) {
  std::string text = "layer,head,index,singular_value,share\n";
  for (size_t l = 0; l < report.spectrum.layers.size(); ++l) {
    for (size_t h = 0; h < report.spectrum.layers[l].size(); ++h) {
      const HeadSpectrum& head = report.spectrum.layers[l][h];
      for (size_t i = 0; i < head.share.size(); ++i) {
        text += std::to_string(l) + "," + std::to_string(h) + "," + std::to_string(i + 1) + "," +
                shortest_decimal(head.singular_values[i]) + "," + shortest_decimal(head.share[i]) + "\n";
      }
    }
  }
  return text;
}

nlohmann::ordered_json spectrum_json(const SpectrumReport& report) {
  nlohmann::ordered_json json = {
      {"model", report.model},          {"text", report.text}, {"tokens", report.spectrum.rows},
      {"texts", report.spectrum.texts}, {"rank", report.rank}, {"keep", report.keep},
      {"mean_k", mean_rank(report)}};
  auto& layers = json["layers"] = nlohmann::ordered_json::array();
  for (const auto& layer : report.spectrum.layers) {
    nlohmann::ordered_json heads = nlohmann::ordered_json::array();
    for (const HeadSpectrum& head : layer) {
      heads.push_back({{"share_at_rank", head.share_at(report.rank)},
                       {"k", head.rank_for_share(report.keep)},
                       {"singular_values", head.singular_values},
                       {"share", head.share}});
    }
    layers.push_back({{"heads", std::move(heads)}});
  }
  return json;
}

}  // namespace linformer::research
