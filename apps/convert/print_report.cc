#include "convert/print_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "convert/print_summary.h"
#include "linformer/model_families.h"
#include "terminal/shown_text.h"

namespace linformer::convert {

namespace {

using nlohmann::ordered_json;
using Row = std::vector<std::string>;

// Returns `text` in one line without control characters, which a terminal would act on.
std::string one_line(const std::string& text) { return terminal::excerpt(text, terminal::uncut); }

void print_rows(const char* title, std::vector<Row> rows, std::ostream& out) {
  if (rows.empty()) return;
  for (Row& row : rows) std::transform(row.begin(), row.end(), row.begin(), one_line);
  constexpr int widest = 72;  // The widest column. A wider cell shifts the rest of its line.
  std::vector<int> widths(rows[0].size());
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], std::min(widest, terminal::display_width(row[i])));
  }
  out << "\n" << title << "\n";
  for (const Row& row : rows) {
    std::string line = " ";
    for (size_t i = 0; i < row.size(); ++i) {
      const int missing = widths[i] - terminal::display_width(row[i]);
      line += ' ' + row[i] + std::string(static_cast<size_t>(std::max(0, missing)), ' ') + ' ';
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << "\n";
  }
}

void print_notes(const std::vector<std::string>& notes, std::ostream& out) {
  if (!notes.empty()) out << "\nNotes\n";
  for (const std::string& note : notes) out << "  " << one_line(note) << "\n";
}

// Prints a line for each source of settings, with the names of the first settings from that source that nothing used.
void print_unused(const std::vector<UnusedSetting>& settings, std::ostream& out) {
  constexpr size_t shown = 12;
  std::vector<std::string> sources;
  for (const UnusedSetting& setting : settings) {
    if (std::find(sources.begin(), sources.end(), setting.source) == sources.end()) sources.push_back(setting.source);
  }
  if (!sources.empty()) out << "\nSettings that nothing used\n";
  for (const std::string& source : sources) {
    size_t count = 0;
    out << "  " << one_line(source) << ":";
    for (const UnusedSetting& setting : settings) {
      if (setting.source != source || ++count > shown) continue;
      out << (count > 1 ? ", " : " ") << escaped(setting.name);
      if (!setting.did_you_mean.empty()) out << " (did you mean " << one_line(setting.did_you_mean) << "?)";
    }
    if (count > shown) out << " and " << count - shown << " more";
    out << "\n";
  }
}

void print(const ordered_json& json, std::ostream& out) { out << terminal::json_text(json, 2) << "\n"; }

}  // namespace

void print_table(const Report& report, const std::vector<files::ModelUse>& uses, std::ostream& out) {
  out << one_line(report.checkpoint) << ": " << report.format << ", dialect " << report.dialect << " (recognised by "
      << report.recognised_by << ")\n";
  std::vector<Row> facts, mapped, left_out;
  for (const Report::Fact& fact : report.facts) facts.push_back({escaped(fact.name), fact.value, fact.source});
  for (const Report::Mapping& mapping : report.mapped) {
    mapped.push_back({mapping.role, "<-", escaped(mapping.tensor), mapping.shape, mapping.note});
  }
  for (const Report::Omission& omission : report.left_out)
    left_out.push_back({escaped(omission.tensor), omission.reason});
  print_rows("Inferred", facts, out);
  print_rows("Mapped", mapped, out);
  print_rows("Left out", left_out, out);
  std::vector<Row> rounded;
  for (const Report::Rounded& weight : report.rounded) {
    rounded.push_back({escaped(weight.tensor), weight.type, two_significant_digits(weight.error)});
  }
  print_rows("Rounded, and the relative error of each", rounded, out);
  print_notes(report.notes, out);
  print_unused(report.unused_settings, out);
  out << "\n"
      << one_line(report.output) << ": " << report.output_bytes << " bytes (" << readable_bytes(report.output_bytes)
      << "), " << report.mapped.size() << " tensors mapped, " << report.left_out.size() << " left out\n";
  if (!uses.empty()) out << "\nTo try\n";
  for (const files::ModelUse& use : uses) out << "  " << one_line(files::command_line(use, report.output)) << "\n";
}

void print_json(const Report& report, const std::vector<files::ModelUse>& uses, std::ostream& out) {
  ordered_json json;
  json["checkpoint"] = report.checkpoint;
  json["format"] = report.format;
  json["dialect"] = report.dialect;
  json["recognised_by"] = report.recognised_by;
  for (const char* list : {"inferred", "mapped", "left_out", "unused_settings"}) json[list] = ordered_json::array();
  for (const Report::Fact& fact : report.facts) {
    json["inferred"].push_back({{"name", fact.name}, {"value", fact.value}, {"source", fact.source}});
  }
  for (const Report::Mapping& mapping : report.mapped) {
    json["mapped"].push_back(
        {{"role", mapping.role}, {"tensor", mapping.tensor}, {"shape", mapping.shape}, {"note", mapping.note}});
  }
  for (const Report::Omission& omission : report.left_out) {
    json["left_out"].push_back({{"tensor", omission.tensor}, {"reason", omission.reason}});
  }
  for (const UnusedSetting& setting : report.unused_settings) {
    json["unused_settings"].push_back(
        {{"name", setting.name}, {"source", setting.source}, {"did_you_mean", setting.did_you_mean}});
  }
  json["notes"] = report.notes;
  for (const std::string& caution : report.cautions) json["notes"].push_back(caution);
  json["rounded"] = ordered_json::array();
  for (const Report::Rounded& weight : report.rounded) {
    json["rounded"].push_back({{"tensor", weight.tensor}, {"type", weight.type}, {"relative_error", weight.error}});
  }
  json["rounding_error"] = report.rounding_error;
  json["output"] = report.output;
  json["output_bytes"] = report.output_bytes;
  json["bytes_in_f32"] = report.bytes_in_f32;
  json["commands"] = ordered_json::array();
  for (const files::ModelUse& use : uses) {
    json["commands"].push_back({{"command", use.command}, {"line", files::command_line(use, report.output)}});
  }
  print(json, out);
}

void print_table(const ExportReport& report, std::ostream& out) {
  out << one_line(report.model) << ": model file, dialect " << report.dialect << "\n";
  std::vector<Row> facts, rows;
  for (const Report::Fact& fact : report.facts) facts.push_back({escaped(fact.name), fact.value, fact.source});
  for (const ExportReport::Row& row : report.rows) {
    rows.push_back({escaped(row.tensor), row.shape, "<-", row.from, row.note});
  }
  print_rows("Kept", facts, out);
  print_rows("Tensors", rows, out);
  print_notes(report.notes, out);
  out << "\n"
      << one_line(report.output) << ": " << report.output_bytes << " bytes (" << readable_bytes(report.output_bytes)
      << "), " << report.rows.size() << " tensors\n";
}

void print_json(const ExportReport& report, std::ostream& out) {
  ordered_json json;
  json["model"] = report.model;
  json["dialect"] = report.dialect;
  for (const char* list : {"kept", "tensors"}) json[list] = ordered_json::array();
  for (const Report::Fact& fact : report.facts) {
    json["kept"].push_back({{"name", fact.name}, {"value", fact.value}, {"source", fact.source}});
  }
  for (const ExportReport::Row& row : report.rows) {
    json["tensors"].push_back({{"tensor", row.tensor}, {"shape", row.shape}, {"from", row.from}, {"note", row.note}});
  }
  json["notes"] = report.notes;
  json["output"] = report.output;
  json["output_bytes"] = report.output_bytes;
  print(json, out);
}

void print_dialects(std::ostream& out) {
  for (const DialectInfo& dialect : supported_dialects()) {
    out << dialect.name << "\n  " << dialect.summary << "\n  " << dialect.source << "\n  tensors: " << dialect.tensors
        << "\n";
    for (const NeededSetting& setting : dialect.needs) {
      out << "  --config '" << setting.example << "'\n           " << setting.when << "\n";
    }
  }
  out << "\nSettings that the checkpoint itself holds need not be given.\n";
}

void print_dialects_json(std::ostream& out) {
  ordered_json list = ordered_json::array();
  for (const DialectInfo& dialect : supported_dialects()) {
    ordered_json needs = ordered_json::array();
    for (const NeededSetting& setting : dialect.needs) {
      needs.push_back({{"config", ordered_json::parse(setting.example)}, {"when", setting.when}});
    }
    list.push_back(
        {{"name", dialect.name}, {"summary", dialect.summary}, {"source", dialect.source}, {"tensors", dialect.tensors},
         {"settings", needs}});
  }
  print(list, out);
}

void print_models(std::ostream& out) {
  for (const ModelFamily& family : supported_models()) {
    out << family.name << ": " << family.models << "\n  heads: " << family.heads << "\n  tested: " << family.tested
        << "\n";
  }
  out << "\nA folder from the hub or of save_pretrained converts without settings; --list-dialects lists the settings "
         "that other checkpoints need.\n";
}

void print_models_json(std::ostream& out) {
  ordered_json list = ordered_json::array();
  for (const ModelFamily& family : supported_models()) {
    list.push_back({{"name", family.name},
                    {"models", family.models},
                    {"dialect", family.dialect},
                    {"model_types", family.model_types},
                    {"heads", family.heads},
                    {"tested", family.tested}});
  }
  print(list, out);
}

void print_json_error(const char* sentence, std::ostream& out) { print({{"error", sentence}}, out); }

}  // namespace linformer::convert
