#include "inspect/profile.h"

#include <algorithm>
#include <cstdio>

#include "command_line/display.h"
#include "command_line/errors.h"
#include "inspect/describe.h"
#include "inspect/op_text.h"

namespace linformer::cli {
namespace {

bool same_op(const ProgramLine& a, const ProgramLine& b) {
  const auto same = [](std::string_view text, std::string_view other) { return text == other; };
  return same(a.domain, b.domain) && same(a.condition, b.condition) && same(a.op, b.op);
}

// Adds the line of a layer to the first of `ops` that is the same op and to which only earlier layers were added.
// Returns false if there is none.
bool add_to(std::vector<ProfiledOp>* ops, const ProgramLine& line, int layer) {
  for (ProfiledOp& op : *ops) {
    if (op.layers.empty() || op.layers.back() >= layer || !same_op(op.line, line)) continue;
    const std::optional<std::string> operands = common_operands(op.line.operands, line.operands);
    if (!operands) continue;
    std::snprintf(op.line.operands, sizeof op.line.operands, "%s", operands->c_str());
    op.line.flop += line.flop;
    op.line.bytes += line.bytes;
    op.line.seconds += line.seconds;
    op.layers.push_back(layer);
    return true;
  }
  return false;
}

std::string part_text(const ProfiledOp& op) {
  const std::string part = op.line.part;
  if (op.layers.size() < 2) return part;
  const size_t quote = part.find('\'');
  return "layers " + ranges_text(op.layers) + (quote == std::string::npos ? "" : part.substr(quote));
}

double seconds_of(const std::vector<ProfiledOp>& ops) {
  double sum = 0;
  for (const ProfiledOp& op : ops) sum += op.line.seconds;
  return sum;
}

double per_second(double amount, double seconds) { return seconds > 0 ? amount / seconds : 0; }

}  // namespace

std::vector<ProfiledOp> profile_of(std::span<const Session> sessions) {
  std::vector<ProfiledOp> ops;
  const auto visit = [](void* context, const ProgramLine& line) {
    auto* all = static_cast<std::vector<ProfiledOp>*>(context);
    const int layer = layer_of(line);
    if (layer >= 0 && add_to(all, line, layer)) return;
    all->push_back({layer < 0 ? std::vector<int>() : std::vector{layer}, line});
  };
  check(Session::profile(sessions, visit, &ops));
  std::stable_sort(ops.begin(), ops.end(),
                   [](const ProfiledOp& a, const ProfiledOp& b) { return a.line.seconds > b.line.seconds; });
  return ops;
}

std::string profile_text(const Plan& plan, const std::vector<ProfiledOp>& ops) {
  const double seconds = seconds_of(ops);
  double flop = 0, bytes = 0;
  Table table({"seconds", "share", "GFLOP/s", "GB/s", "part", "when", "op", "operands"},
              {true, true, true, true, false, false, false, false});
  for (const ProfiledOp& op : ops) {
    const ProgramLine& line = op.line;
    flop += line.flop;
    bytes += line.bytes;
    table.add({fixed(line.seconds, 4), fixed(100 * per_second(line.seconds, seconds), 1) + " %",
               line.flop == 0 ? "" : fixed(per_second(line.flop, line.seconds) / 1e9, 1),
               fixed(per_second(line.bytes, line.seconds) / 1e9, 1), part_text(op),
               std::string_view(line.condition) == "always" ? "" : line.condition, line.op,
               excerpt(line.operands, uncut)});
  }
  table.add({fixed(seconds, 4), "", fixed(per_second(flop, seconds) / 1e9, 1),
             fixed(per_second(bytes, seconds) / 1e9, 1), "total"});
  return std::string(plan.options.cuda.device >= 0
                         ? "Seconds that the ops took on the device, which runs them one after the other.\n"
                         : "Seconds that the ops took, summed over all threads, without waiting; rates are per "
                           "thread.\n") +
         plan.precision + "\nShapes are those of the longest text that the session has memory for.\n" + table.text(2);
}

nlohmann::ordered_json profile_json(const Plan& plan, const std::vector<ProfiledOp>& ops) {
  const double seconds = seconds_of(ops);
  nlohmann::ordered_json json = {{"seconds", seconds},
                                 {"compute", linformer::name_of(plan.compute)},
                                 {"attention_compute", linformer::name_of(plan.attention_compute)},
                                 {"precision", plan.precision}};
  auto& lines = json["ops"] = nlohmann::ordered_json::array();
  for (const ProfiledOp& op : ops) {
    const ProgramLine& line = op.line;
    lines.push_back({{"part", part_text(op)},
                     {"layers", op.layers},
                     {"condition", line.condition},
                     {"op", line.op},
                     {"operands", line.operands},
                     {"seconds", line.seconds},
                     {"share", per_second(line.seconds, seconds)},
                     {"flop", line.flop},
                     {"bytes", line.bytes}});
  }
  return json;
}

void report_profile(std::span<const Session> sessions, bool json) {
  const Plan& plan = sessions[0].plan();
  if (!plan.options.profile) return;
  const std::vector<ProfiledOp> ops = profile_of(sessions);
  const std::string text =
      json ? json_text(nlohmann::ordered_json{{"profile", profile_json(plan, ops)}}) + "\n" : profile_text(plan, ops);
  std::fputs(text.c_str(), stderr);
}

}  // namespace linformer::cli
