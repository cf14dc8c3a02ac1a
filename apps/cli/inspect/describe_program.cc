#include <algorithm>
#include <map>

#include "command_line/display.h"
#include "command_line/errors.h"
#include "inspect/describe.h"
#include "inspect/op_text.h"

namespace linformer::cli {
namespace {

struct Sum {
  double flop = 0, bytes = 0;
};

// Returns the sum over the ops that compute all outputs. If `instead` is true, returns the sum over the ops of the part
// "first rows" alone. They replace other ops if all outputs read only the first row of each text.
Sum sum_of(std::span<const ProgramLine> lines, bool instead = false) {
  Sum sum;
  for (const ProgramLine& line : lines) {
    if (line.in_first_rows != instead) continue;
    sum.flop += line.flop;
    sum.bytes += line.bytes;
  }
  return sum;
}

std::string giga(double flop) { return flop == 0 ? "" : fixed(flop / 1e9, 4); }
std::string mega(double bytes) { return fixed(bytes / 1e6, 3); }

// The consecutive lines of one layer, or of a part that is not a layer.
struct Block {
  int layer;  // -1 if the part is not a layer.
  std::span<const ProgramLine> lines;
  // The layer whose lines are shown for this block: the first layer with the same ops, which may be this layer. -1 if
  // the part is not a layer.
  int shown_as = -1;
};

bool same_block(const ProgramLine& a, const ProgramLine& b) {
  const int layer = layer_of(a);
  return layer == layer_of(b) && (layer >= 0 || std::string_view(a.part) == b.part);
}

std::vector<Block> blocks_of(std::span<const ProgramLine> lines) {
  std::vector<Block> blocks;
  while (!lines.empty()) {
    size_t count = 1;
    while (count < lines.size() && same_block(lines[0], lines[count])) ++count;
    Block block{layer_of(lines[0]), lines.first(count)};
    block.shown_as = block.layer;
    for (const Block& other : blocks) {
      if (block.layer < 0 || other.layer < 0 || other.shown_as != other.layer) continue;
      if (std::equal(block.lines.begin(), block.lines.end(), other.lines.begin(), other.lines.end(), is_same_op)) {
        block.shown_as = other.layer;
        break;
      }
    }
    blocks.push_back(block);
    lines = lines.subspan(count);
  }
  return blocks;
}

std::string layers_text(const std::vector<int>& layers) {
  return (layers.size() == 1 ? "layer " : "layers ") + ranges_text(layers);
}

// Returns the table of the ops of all blocks that are not shown as another layer. The columns that describe a stage are
// filled only for the first op of the stage.
std::string ops_text(const std::vector<Block>& blocks) {
  Table table({"stage", "part", "loops over", "when", "op", "GFLOP", "MB", "operands"},
              {true, false, false, false, false, true, true, false});
  std::map<size_t, std::string> notes;  // Notes to print before the row of that number.
  std::map<int, std::vector<int>> left_out;
  size_t rows = 1;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const Block& block = blocks[i];
    if (block.shown_as != block.layer) {
      left_out[block.shown_as].push_back(block.layer);
      const bool last = i + 1 == blocks.size() || blocks[i + 1].shown_as == blocks[i + 1].layer;
      for (auto it = left_out.begin(); last && it != left_out.end(); it = left_out.erase(it)) {
        notes[rows] += "    " + layers_text(it->second) + ": as layer " + std::to_string(it->first) + "\n";
      }
      continue;
    }
    const ProgramLine* before = nullptr;
    for (const ProgramLine& line : block.lines) {
      const bool begins = before == nullptr || before->stage != line.stage;
      const bool other_part = before == nullptr || std::string_view(before->part) != line.part;
      const bool always = std::string_view(line.condition) == "always";
      std::string stage = begins && line.joins ? "+" : "";
      if (begins) stage += std::to_string(line.stage);
      table.add({stage, other_part ? line.part : "", begins ? line.domain : "", begins && !always ? line.condition : "",
                 line.op, giga(line.flop), mega(line.bytes), excerpt(line.operands, uncut)});
      before = &line;
      ++rows;
    }
  }
  const std::string all = table.text(2);
  std::string text;
  size_t row = 0;
  for (size_t at = 0; at < all.size(); ++row) {
    const size_t end = all.find('\n', at) + 1;
    text += notes[row] + all.substr(at, end - at);
    at = end;
  }
  return text + notes[row];
}

// Returns the sum for each part, in the order of the parts. Layers with the same ops count as one part. All copies of
// hidden states, which a caller may ask for, count as one more part.
std::vector<std::pair<std::string, Sum>> sums_of(const std::vector<Block>& blocks) {
  struct Part {
    std::string name;
    std::vector<int> layers;
    Sum sum;
  };
  std::map<std::string, size_t> index;
  std::vector<Part> parts;
  const auto part_of = [&](const std::string& name) -> Part& {
    const auto [it, added] = index.emplace(name, parts.size());
    if (added) parts.push_back({name, {}, {}});
    return parts[it->second];
  };
  for (const Block& block : blocks) {
    for (const ProgramLine& line : block.lines) {
      if (line.in_first_rows) continue;
      const std::string name = line.part;
      Part& part = name.ends_with("'s rows") ? part_of("hidden states")
                                             : part_of(block.layer < 0 ? name : std::to_string(block.shown_as));
      if (block.layer >= 0 && part.name != "hidden states" &&
          (part.layers.empty() || part.layers.back() != block.layer)) {
        part.layers.push_back(block.layer);
      }
      part.sum.flop += line.flop;
      part.sum.bytes += line.bytes;
    }
  }
  std::vector<std::pair<std::string, Sum>> sums;
  for (const Part& part : parts)
    sums.emplace_back(part.layers.empty() ? part.name : layers_text(part.layers), part.sum);
  return sums;
}

}  // namespace

std::vector<ProgramLine> program_lines(const Model& model, const SessionOptions& options, int64_t tokens) {
  std::vector<ProgramLine> lines;
  const auto visit = [](void* context, const ProgramLine& line) {
    static_cast<std::vector<ProgramLine>*>(context)->push_back(line);
  };
  check(list_program(model, options, tokens, visit, &lines));
  return lines;
}

std::string program_text(std::span<const ProgramLine> lines, int64_t tokens) {
  const std::vector<Block> blocks = blocks_of(lines);
  const Sum total = sum_of(lines);
  Table parts({"part", "GFLOP", "share", "MB"}, {false, true, true, true});
  for (const auto& [name, sum] : sums_of(blocks)) {
    const std::string share = sum.flop == 0 ? "" : fixed(100 * sum.flop / total.flop, 1) + " %";
    parts.add({name, giga(sum.flop), share, mega(sum.bytes)});
  }
  parts.add({"total", giga(total.flop), "", mega(total.bytes)});
  return "A text of n = " + std::to_string(tokens) +
         " tokens and every output that the model has. A stage with + runs together with the stage before it.\n" +
         ops_text(blocks) + "\n" + parts.text(2) + "  If all outputs read only a text's first row, 'first rows' (" +
         giga(sum_of(lines, true).flop) + " GFLOP) replaces the last layer's ops on row blocks.\n" +
         "  GFLOP counts products, a multiply-add as two. MB counts activations and weights that are read and "
         "written.\n";
}

nlohmann::ordered_json program_json(std::span<const ProgramLine> lines, int64_t tokens) {
  const Sum total = sum_of(lines);
  nlohmann::ordered_json json = {{"tokens", tokens}, {"flop", total.flop}, {"bytes", total.bytes}};
  const Sum first_rows = sum_of(lines, true);
  json["first_rows"] = {{"flop", first_rows.flop}, {"bytes", first_rows.bytes}};
  auto& parts = json["parts"] = nlohmann::ordered_json::array();
  for (const auto& [name, sum] : sums_of(blocks_of(lines))) {
    parts.push_back({{"part", name}, {"flop", sum.flop}, {"bytes", sum.bytes}});
  }
  auto& ops = json["ops"] = nlohmann::ordered_json::array();
  for (const ProgramLine& line : lines) {
    ops.push_back({{"stage", line.stage},
                   {"joins", line.joins},
                   {"part", line.part},
                   {"instead", line.in_first_rows},
                   {"loops_over", line.domain},
                   {"condition", line.condition},
                   {"op", line.op},
                   {"operands", line.operands},
                   {"flop", line.flop},
                   {"bytes", line.bytes}});
  }
  return json;
}

}  // namespace linformer::cli
