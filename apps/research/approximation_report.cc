#include "research/approximation_report.h"

#include <algorithm>

#include "command_line/display.h"
#include "research/spectrum_report.h"

namespace linformer::research {
namespace {

using cli::excerpt;
using cli::fixed;
using cli::grouped;
using cli::significant;
using cli::Table;
using nlohmann::ordered_json;

std::string text_of(std::optional<int64_t> k, int64_t n) {
  return k ? grouped(static_cast<uint64_t>(*k)) : ">" + grouped(static_cast<uint64_t>(n));
}

std::string percent_of(std::optional<double> share) { return share ? fixed(100 * *share, 1) : "-"; }

template <class Value>
ordered_json json_of(const std::optional<Value>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json json_of(const EnoughK& k) { return {{"half", json_of(k.half)}, {"all", json_of(k.all)}}; }

EnoughK enough_of(std::vector<std::optional<int64_t>> each) {
  // An empty k counts as larger than any number.
  std::sort(each.begin(), each.end(), [](const auto& a, const auto& b) { return a && (!b || *a < *b); });
  return {each[(each.size() - 1) / 2], each.back()};
}

std::vector<size_t> heads_of(const Approximation& approximation) {
  std::vector<size_t> heads;
  for (const auto& layer : approximation.layers) heads.push_back(layer.size());
  return heads;
}

std::string table_by_length(const ApproximationReport& report) {
  const double error = report.options.error;
  std::vector<std::string> columns = {"n",       "theorem 1",       "held, %", "theorem 2",
                                      "held, %", "projected, half", "all",     "expected, half",
                                      "all",     "singular, half",  "all"};
  const size_t width = columns.size();
  Table table(std::move(columns), std::vector<bool>(width, true));
  for (const Approximation& at : report.lengths) {
    const int64_t first = theorem_1_k(at.rows, error), second = theorem_2_k(at.rows, at.width, error);
    const EnoughK projected = enough_k(at, KindOfK::projected, error),
                  expected = enough_k(at, KindOfK::expected, error), singular = enough_k(at, KindOfK::singular, error);
    const auto expected_text = [](std::optional<int64_t> k) { return k ? grouped(static_cast<uint64_t>(*k)) : "-"; };
    table.add({grouped(static_cast<uint64_t>(at.rows)), grouped(static_cast<uint64_t>(first)),
               percent_of(mean_at_rank(at, &HeadApproximation::columns_within, first)),
               grouped(static_cast<uint64_t>(second)),
               percent_of(mean_at_rank(at, &HeadApproximation::rows_within, second)), text_of(projected.half, at.rows),
               text_of(projected.all, at.rows), expected_text(expected.half), expected_text(expected.all),
               text_of(singular.half, at.rows), text_of(singular.all, at.rows)});
  }
  return table.text(2);
}

std::string table_of_longest(const ApproximationReport& report, KindOfK kind) {
  const Approximation& at = report.longest();
  return table_by_head(
      heads_of(at), {"half", "all"},
      [&](size_t layer, size_t head) {
        return text_of(smallest_k(at.layers[layer][head], kind, report.options.error), at.rows);
      },
      [&](size_t layer) {
        const EnoughK enough = enough_k(at.layers[layer], kind, report.options.error);
        return std::vector<std::string>{text_of(enough.half, at.rows), text_of(enough.all, at.rows)};
      });
}

// Returns the share in `values` at a head's own projected k, or nothing if the head has no such k.
std::optional<double> share_at_projected(const HeadApproximation& head, const std::vector<double>& values,
                                         double error) {
  const std::optional<int64_t> k = head.projected_k(error);
  if (!k) return {};
  return values[static_cast<size_t>(*k - 1)];
}

ordered_json json_of(const Approximation& at, double error) {
  const int64_t first = theorem_1_k(at.rows, error), second = theorem_2_k(at.rows, at.width, error);
  ordered_json json = {
      {"n", at.rows},
      {"d", at.width},
      {"theorem_1",
       {{"k", first}, {"columns_within", json_of(mean_at_rank(at, &HeadApproximation::columns_within, first))}}},
      {"theorem_2",
       {{"k", second}, {"rows_within", json_of(mean_at_rank(at, &HeadApproximation::rows_within, second))}}},
      {"projected", json_of(enough_k(at, KindOfK::projected, error))},
      {"expected", json_of(enough_k(at, KindOfK::expected, error))},
      {"singular", json_of(enough_k(at, KindOfK::singular, error))}};
  auto& layers = json["layers"] = ordered_json::array();
  for (const auto& layer : at.layers) {
    ordered_json heads = ordered_json::array();
    for (const HeadApproximation& head : layer) {
      heads.push_back({{"projected", json_of(head.projected_k(error))},
                       {"columns_within", json_of(share_at_projected(head, head.columns_within, error))},
                       {"rows_within", json_of(share_at_projected(head, head.rows_within, error))},
                       {"expected", json_of(head.expected_k(error))},
                       {"singular", json_of(head.singular_k(error))}});
    }
    layers.push_back({{"projected", json_of(enough_k(layer, KindOfK::projected, error))},
                      {"singular", json_of(enough_k(layer, KindOfK::singular, error))},
                      {"heads", std::move(heads)}});
  }
  return json;
}

}  // namespace

std::optional<int64_t> smallest_k(const HeadApproximation& head, KindOfK kind, double error) {
  switch (kind) {
    case KindOfK::projected:
      return head.projected_k(error);
    case KindOfK::expected:
      return head.expected_k(error);
    case KindOfK::singular:
      break;
  }
  return head.singular_k(error);
}

EnoughK enough_k(const std::vector<HeadApproximation>& heads, KindOfK kind, double error) {
  std::vector<std::optional<int64_t>> each;
  for (const HeadApproximation& head : heads) each.push_back(smallest_k(head, kind, error));
  return enough_of(std::move(each));
}

EnoughK enough_k(const Approximation& approximation, KindOfK kind, double error) {
  std::vector<std::optional<int64_t>> each;
  for (const auto& layer : approximation.layers) {
    for (const HeadApproximation& head : layer) each.push_back(smallest_k(head, kind, error));
  }
  return enough_of(std::move(each));
}

std::optional<double> mean_at_rank(const Approximation& approximation, std::vector<double> HeadApproximation::*values,
                                   int64_t k) {
  if (k > approximation.rows) return {};
  double sum = 0, heads = 0;
  for (const auto& layer : approximation.layers) {
    for (const HeadApproximation& head : layer) {
      sum += (head.*values)[static_cast<size_t>(k - 1)];
      ++heads;
    }
  }
  return sum / heads;
}

std::string describe_texts(const ApproximationReport& report) {
  const int64_t texts = report.longest().texts;
  std::string text = grouped(static_cast<uint64_t>(texts)) + (texts == 1 ? " text of " : " texts of ");
  for (size_t i = 0; i < report.lengths.size(); ++i) {
    if (i > 0) text += i + 1 == report.lengths.size() ? " and " : ", ";
    text += std::to_string(report.lengths[i].rows);
  }
  return text + " tokens (" + report.text + ")";
}

std::string approximation_text(const ApproximationReport& report) {
  const std::string error = significant(report.options.error, 6), n = std::to_string(report.longest().rows);
  std::string text = excerpt(report.model, 200) + ": k that keeps the relative error of P V at " + error +
                     " or less, attention of " + excerpt(describe_texts(report), 400) + "\n\n";
  text += "k by the paper's theorems, and the measured k that is enough for half of the heads and for all of them:\n";
  text += table_by_length(report);
  text += "\nProjected k of n = " + n + ", by head: R is random, k x n, and the error is the mean over " +
          std::to_string(report.options.draws) + (report.options.draws == 1 ? " draw" : " draws") + " of it (seed " +
          std::to_string(report.options.seed) + "):\n";
  text += table_of_longest(report, KindOfK::projected);
  text += "\nSingular k of n = " + n + ", by head: P keeps its k largest singular values:\n";
  text += table_of_longest(report, KindOfK::singular);
  text += "\nHeld, at a theorem's k: the share of columns w of V with an error of at most " + error +
          " ||P w||\n(theorem 1), and of rows p of P with an error of at most " + error +
          " ||p|| ||V|| (theorem 2). Expected: the k for the root\nmean square of a projection's error over all R. >" +
          n + ": even k = n is not enough.\n";
  return text;
}

std::string approximation_csv(const ApproximationReport& report) {
  std::string text = "n,layer,head,k,projected_error,columns_within,rows_within,singular_error\n";
  for (const Approximation& at : report.lengths) {
    for (size_t l = 0; l < at.layers.size(); ++l) {
      for (size_t h = 0; h < at.layers[l].size(); ++h) {
        const HeadApproximation& head = at.layers[l][h];
        const std::string place = std::to_string(at.rows) + "," + std::to_string(l) + "," + std::to_string(h) + ",";
        for (size_t i = 0; i < head.projected.size(); ++i) {
          text += place + std::to_string(i + 1) + "," + shortest_decimal(head.projected[i]) + "," +
                  shortest_decimal(head.columns_within[i]) + "," + shortest_decimal(head.rows_within[i]) + "," +
                  shortest_decimal(head.singular[i]) + "\n";
        }
      }
    }
  }
  return text;
}

ordered_json approximation_json(const ApproximationReport& report) {
  ordered_json json = {
      {"model", report.model},
      {"text", report.text},
      {"texts", report.longest().texts},
      {"error", report.options.error},
      {"draws", report.options.draws},
      {"seed", report.options.seed},
      {"definitions",
       {{"theorem_1", "ceil(5 ln(n) / (error^2 - error^3))"},
        {"theorem_2", "ceil(min(9 d ln(d), 5 ln(n)) / error^2)"},
        {"projected",
         "smallest k with mean ||P R^T R V - P V|| / ||P V|| <= error, R[k, n] of entries N(0, 1/k), Frobenius norms"},
        {"expected", "ceil((1 + ||P||^2 ||V||^2 / ||P V||^2) / error^2)"},
        {"singular", "smallest k with mean ||P_k V - P V|| / ||P V|| <= error, P_k of P's k largest singular values"},
        {"columns_within", "share of columns w of V with ||P R^T R w - P w|| <= error ||P w||"},
        {"rows_within", "share of rows p of P with ||p R^T R V - p V|| <= error ||p|| ||V||"}}}};
  auto& lengths = json["lengths"] = ordered_json::array();
  for (const Approximation& at : report.lengths) lengths.push_back(json_of(at, report.options.error));
  return json;
}

}  // namespace linformer::research
