#include "bench/report.h"

#include <set>

#include "command_line/display.h"
#include "linformer/build_info.h"

namespace linformer::bench {
namespace {

using cli::excerpt;
using cli::fixed;
using cli::grouped;
using cli::Table;

double per_second(const ReportRow& row, double amount) { return amount / row.measurement->median_ms * 1e3; }
double texts_per_second(const ReportRow& row) { return per_second(row, static_cast<double>(row.what.batch)); }
double tokens_per_second(const ReportRow& row) {
  return texts_per_second(row) * static_cast<double>(row.measurement->tokens);
}
double gigaflops(const ReportRow& row) { return per_second(row, row.measurement->gigaflop); }
// Returns the rate at which weights are read. Weights that stay in the caches between calls are counted, too.
double weights_gbps(const ReportRow& row) {
  return per_second(row, static_cast<double>(row.measurement->weight_bytes) / 1e9);
}

std::optional<double> share(double value, double limit) {
  return limit > 0 ? std::optional(value / limit) : std::nullopt;
}
// Returns the time that the call would take at the limits, divided by the measured time. Products with weights in
// another type (linformer-convert --dtype-for) count at the limit of that type.
std::optional<double> share_of_limit(const ReportRow& row, const Limits& limits) {
  const Measurement& m = *row.measurement;
  double others = 0, seconds = 0;
  for (size_t type = 0; type < m.gigaflop_of_others.size(); ++type) {
    const double giga = m.gigaflop_of_others[type], limit = limits.of(static_cast<ElementType>(type)).giga;
    if (giga == 0) continue;
    if (limit == 0) return {};
    others += giga;
    seconds += giga / limit;
  }
  const double limit = limits.of(m.compute).giga;
  if (limit == 0) return {};
  return per_second(row, seconds + (m.gigaflop - others) / limit);
}
std::optional<double> share_of_memory(const ReportRow& row, const Limits& limits) {
  return share(weights_gbps(row), limits.memory.giga);
}

std::optional<double> share_of_roofline(const ReportRow& row, const Limits& limits) {
  const std::optional<double> least = roofline_ms(*row.measurement, limits);
  return least ? std::optional(*least / row.measurement->median_ms) : std::nullopt;
}

std::string percent(std::optional<double> part) { return part ? fixed(100 * *part, 1) + " %" : "-"; }
std::string megabytes(uint64_t bytes) { return fixed(static_cast<double>(bytes) / 1e6, 1); }

std::string computed_in(const Measurement& m) {
  const std::string weights = linformer::name_of(m.weights), compute = linformer::name_of(m.compute);
  std::string text = weights == compute ? weights : weights + " in " + compute;
  for (size_t type = 0; type < m.gigaflop_of_others.size(); ++type) {
    if (m.gigaflop_of_others[type] > 0)
      text += std::string(" and ") + linformer::name_of(static_cast<ElementType>(type));
  }
  return text;
}

nlohmann::ordered_json optional_json(std::optional<double> value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

std::string limit_text(const Rate& rate, const char* type) {
  return rate.giga > 0 ? std::string(type) + " " + fixed(rate.giga, 0) + " (" + rate.instruction + ")"
                       : std::string(type) + " - ";
}

nlohmann::ordered_json row_json(const ReportRow& row, const Limits& limits) {
  nlohmann::ordered_json json = {{"model", row.model},
                                 {"backend", linformer::name_of(row.what.backend)},
                                 {"n", row.measurement ? row.measurement->tokens : row.what.tokens},
                                 {"batch", row.what.batch}};
  if (!row.measurement) {
    json["error"] = row.error;
    return json;
  }
  const Measurement& m = *row.measurement;
  if (!m.backend_version.empty()) json["backend_version"] = m.backend_version;
  json.update({{"isa", m.isa},
               {"weights", linformer::name_of(m.weights)},
               {"compute", linformer::name_of(m.compute)},
               {"attention_compute", linformer::name_of(m.attention_compute)},
               {"precision", m.precision},
               {"calls", m.calls},
               {"min_ms", m.min_ms},
               {"median_ms", m.median_ms},
               {"p99_ms", m.p99_ms},
               {"texts_per_second", texts_per_second(row)},
               {"tokens_per_second", tokens_per_second(row)},
               {"gflop", m.gigaflop},
               {"gflops", gigaflops(row)},
               {"share_of_limit", optional_json(share_of_limit(row, limits))},
               {"weight_bytes", m.weight_bytes},
               {"weights_gbps", weights_gbps(row)},
               {"share_of_memory", optional_json(share_of_memory(row, limits))},
               {"model_bytes", m.model_bytes},
               {"arena_bytes", m.arena_bytes},
               {"used_bytes", m.used_bytes},
               {"own_bytes", m.own_bytes},
               {"peak_bytes", m.peak_bytes}});
  if (row.what.device >= 0) {
    json["roofline_ms"] = optional_json(roofline_ms(m, limits));
    json["share_of_roofline"] = optional_json(share_of_roofline(row, limits));
  }
  if (!m.profile.is_null()) json["profile"] = m.profile.at("json");
  return json;
}

// Returns the round trip between threads, for the line of the machine. Shows one number if the shortest and the longest
// time are similar.
std::string round_trip_text(const Limits& limits) {
  if (limits.most_round_trip <= 0) return "";
  const std::string least = fixed(limits.least_round_trip, 0), most = fixed(limits.most_round_trip, 0);
  const bool steady = limits.most_round_trip < 1.5 * limits.least_round_trip;
  return "; between threads and back " + (steady ? "" : least + " to ") + most + " ns";
}

}  // namespace

std::string machine_text(const Machine& machine, const Limits& limits, int threads) {
  return (machine.device.empty() ? std::string() : machine.device + "\n") + machine.processor +
         (machine.instructions.empty() ? "" : " (" + machine.instructions + ")") + ", " + std::to_string(threads) +
         (threads == 1 ? " thread" : " threads") + "\n" + "Limits, GFLOP/s " +
         (limits.memory.instruction == "read" ? "from registers: " : "of products: ") + limit_text(limits.f32, "f32") +
         ", " + (limits.f16.giga > 0 ? limit_text(limits.f16, "f16") + ", " : std::string()) +
         limit_text(limits.bf16, "bf16") + ", " + limit_text(limits.int8, "int8") + "; memory " +
         fixed(limits.memory.giga, 1) + " GB/s " + limits.memory.instruction + round_trip_text(limits) + "\n";
}

nlohmann::ordered_json machine_json(const Machine& machine, const Limits& limits, int threads) {
  const auto giga = [](const Rate& rate) {
    return optional_json(rate.giga > 0 ? std::optional(rate.giga) : std::nullopt);
  };
  return {
      {"linformer", LINFORMER_VERSION},
      {"build", build_info().text},
      {"machine", machine},
      {"threads", threads},
      {"limits",
       {{"f32_gflops", giga(limits.f32)},
        {"f16_gflops", giga(limits.f16)},
        {"bf16_gflops", giga(limits.bf16)},
        {"int8_gops", giga(limits.int8)},
        {"memory_gbps", giga(limits.memory)},
        {"least_round_trip_ns", limits.least_round_trip},
        {"most_round_trip_ns", limits.most_round_trip},
        {"instructions",
         {{"f32", limits.f32.instruction}, {"bf16", limits.bf16.instruction}, {"int8", limits.int8.instruction}}}}}};
}

std::string report_text(const Report& report) {
  const bool on_device = !report.machine.device.empty();
  std::vector<std::string> columns = {"model",    "computed",     "n",         "batch",    "min ms",
                                      "median",   "p99",          "texts/s",   "tokens/s", "GFLOP/s",
                                      "of limit", "weights GB/s", "of memory", "arena MB", "peak MB"};
  if (on_device) columns.insert(columns.end(), {"roofline ms", "of roofline"});
  std::vector<bool> right(columns.size(), true);
  right[0] = right[1] = false;
  Table table(columns, right);
  std::string failed, profiles, reasons;
  std::set<std::string> precisions;
  for (const ReportRow& row : report.rows) {
    const std::string model =
        excerpt(row.model, 40) +
        (row.what.backend == BackendKind::native ? "" : std::string(", ") + linformer::name_of(row.what.backend));
    if (!row.measurement) {
      failed += "Not measured: " + model +
                (row.what.tokens > 0 ? ", n " + std::to_string(row.what.tokens) : std::string()) + ", batch " +
                std::to_string(row.what.batch) + ": " + row.error + "\n";
      continue;
    }
    const Measurement& m = *row.measurement;
    std::vector<std::string> cells = {model,
                                      computed_in(m),
                                      std::to_string(m.tokens),
                                      std::to_string(row.what.batch),
                                      fixed(m.min_ms, 2),
                                      fixed(m.median_ms, 2),
                                      fixed(m.p99_ms, 2),
                                      fixed(texts_per_second(row), 1),
                                      grouped(static_cast<uint64_t>(tokens_per_second(row))),
                                      fixed(gigaflops(row), 1),
                                      percent(share_of_limit(row, report.limits)),
                                      fixed(weights_gbps(row), 1),
                                      percent(share_of_memory(row, report.limits)),
                                      megabytes(m.arena_bytes),
                                      megabytes(m.peak_bytes)};
    if (on_device) {
      const std::optional<double> least = roofline_ms(m, report.limits);
      cells.insert(cells.end(), {least ? fixed(*least, 2) : "-", percent(share_of_roofline(row, report.limits))});
    }
    table.add(cells);
    // Cases that differ only in size have the same sentence, so it is printed once.
    if (precisions.insert(m.precision).second) reasons += m.precision + "\n";
    if (!m.profile.is_null()) {
      profiles += "\n" + model + ", " + computed_in(m) + ", n " + std::to_string(m.tokens) + ":\n" +
                  m.profile.at("text").get<std::string>();
    }
  }
  return machine_text(report.machine, report.limits, report.threads) + "\n" + table.text() + "\n" +
         "Rates are computed from the median. Of limit: the share of the machine's GFLOP/s limit for the type of the "
         "products. Of memory: the share of its memory limit that reading the products' weights once per call takes.\n"
         "Peak: the process's largest resident set, with the model's mapped pages.\n" +
         (on_device ? "Roofline: the sum over a call's ops of the time of each at the limit of products or of memory, "
                      "whichever is longer.\n"
                    : "") +
         reasons + failed + profiles;
}

nlohmann::ordered_json report_json(const Report& report) {
  nlohmann::ordered_json json = machine_json(report.machine, report.limits, report.threads);
  auto& results = json["results"] = nlohmann::ordered_json::array();
  for (const ReportRow& row : report.rows) results.push_back(row_json(row, report.limits));
  return json;
}

}  // namespace linformer::bench
