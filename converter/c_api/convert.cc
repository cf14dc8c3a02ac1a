// The converter's C API. It reads structs of options with the functions of the runtime's C API, translates exceptions
// into codes, and offers a report as lists of texts.
#include "linformer/convert.h"

#include <linformer_convert.h>

#include <array>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "c_api/handles.h"

namespace linformer::convert {

static_assert(LNF_CONVERT_F32 == static_cast<int>(ElementType::f32) &&
              LNF_CONVERT_BF16 == static_cast<int>(ElementType::bf16) &&
              LNF_CONVERT_F16 == static_cast<int>(ElementType::f16) &&
              LNF_CONVERT_INT8 == static_cast<int>(ElementType::int8));

namespace {

struct Entry {
  std::string name, value, source, note;
  double error = 0;
};
constexpr size_t list_count = LNF_CONVERT_ROUNDED + 1;

using Lists = std::array<std::vector<Entry>, list_count>;

Lists lists_of(const Report& report) {
  Lists lists;
  for (const Report::Fact& fact : report.facts) {
    lists[LNF_CONVERT_FACTS].push_back({escaped(fact.name), fact.value, fact.source, ""});
  }
  for (const Report::Mapping& mapping : report.mapped) {
    lists[LNF_CONVERT_MAPPED].push_back({escaped(mapping.tensor), mapping.role, mapping.shape, mapping.note});
  }
  for (const Report::Omission& omission : report.left_out) {
    lists[LNF_CONVERT_LEFT_OUT].push_back({escaped(omission.tensor), "", "", omission.reason});
  }
  for (const std::string& note : report.notes) lists[LNF_CONVERT_NOTES].push_back({"", "", "", note});
  for (const std::string& caution : report.cautions) lists[LNF_CONVERT_CAUTIONS].push_back({"", "", "", caution});
  for (const UnusedSetting& setting : report.unused_settings) {
    lists[LNF_CONVERT_UNUSED_SETTINGS].push_back({escaped(setting.name), setting.did_you_mean, setting.source, ""});
  }
  for (const Report::Rounded& weight : report.rounded) {
    lists[LNF_CONVERT_ROUNDED].push_back({escaped(weight.tensor), weight.type, "", "", weight.error});
  }
  return lists;
}

std::string text_or_empty(const char* text) { return text != nullptr ? text : ""; }

bool is_type(int32_t type) { return c_api::within(type, LNF_CONVERT_F32, LNF_CONVERT_INT8); }

Status invalid(const char* what) { return Status::error(Code::invalid_argument, "%s", what); }

// Appends `count` texts to `to`. Returns an error that names the field `name` if a pointer is null.
Status read_texts(const char* const* texts, size_t count, const char* name, std::vector<std::string>* to) {
  if (texts == nullptr && count > 0) return c_api::missing(name);
  for (size_t i = 0; i < count; ++i) {
    if (texts[i] == nullptr) return c_api::missing(name);
    to->emplace_back(texts[i]);
  }
  return {};
}

Status read_options(const lnf_convert_options& given, ConvertOptions* to) {
  if (given.checkpoint == nullptr) return c_api::missing("lnf_convert_options.checkpoint");
  if (given.output == nullptr) return c_api::missing("lnf_convert_options.output");
  to->checkpoint = given.checkpoint;
  to->output = given.output;
  to->tokenizer = text_or_empty(given.tokenizer);
  to->config = text_or_empty(given.config);
  to->dialect = text_or_empty(given.dialect);
  LINFORMER_TRY(read_texts(given.labels, given.label_count, "lnf_convert_options.labels", &to->labels));
  LINFORMER_TRY(read_texts(given.head_kinds, given.head_kind_count, "lnf_convert_options.head_kinds", &to->head_kinds));
  if (given.keep == nullptr && given.keep_count > 0) return c_api::missing("lnf_convert_options.keep");
  for (size_t i = 0; i < given.keep_count; ++i) {
    const lnf_convert_keep& kept = given.keep[i];
    if (kept.pattern == nullptr) return c_api::missing("lnf_convert_keep.pattern");
    if (!is_type(kept.type)) return invalid("lnf_convert_keep.type is no type: use LNF_CONVERT_F32 and so on");
    to->keep.push_back({static_cast<ElementType>(kept.type), kept.pattern});
  }
  if (!is_type(given.weight_type)) {
    return invalid("lnf_convert_options.weight_type is no type: use LNF_CONVERT_F32 and so on");
  }
  to->weight_type = static_cast<ElementType>(given.weight_type);
  to->replace_any = given.replace_any != 0;
  to->control.access = given.read_all != 0 ? Access::read : Access::map;
  to->control.max_memory = given.max_memory;
  to->control.cancel = given.cancel != nullptr ? &given.cancel->flag : nullptr;
  if (given.progress != nullptr) {
    to->control.progress = [progress = given.progress, user = given.user](const char* phase, double done) {
      progress(user, phase, done);
    };
  }
  return {};
}

// Calls `work` and returns its status, or the status of the exception that it throws. Copies the whole message, which
// may be longer than a status can hold, to options.error; `work` may set that field first. Allocates no memory, because
// the exception may be std::bad_alloc.
template <class Work>
Status without_exceptions(const lnf_convert_options& options, const Work& work) {
  const auto told = [&](const Status& status, const char* sentence) {
    c_api::copy_text(sentence, options.error, options.error_capacity);
    return status;
  };
  try {
    const Status status = work();
    return told(status, status.message());
  } catch (const Error& error) {
    return told(Status::error(error.code(), "%s", error.what()), error.what());
  } catch (const std::bad_alloc&) {
    const char* sentence = "there is not enough memory for this conversion";
    return told(Status::error(Code::out_of_memory, "%s", sentence), sentence);
  } catch (const std::exception& error) {
    return told(Status::error(Code::internal, "the conversion failed: %s", error.what()), error.what());
  } catch (...) {
    const char* sentence = "the function that was called for progress threw an exception";
    return told(Status::error(Code::internal, "%s", sentence), sentence);
  }
}

}  // namespace
}  // namespace linformer::convert

struct lnf_convert_report {
  linformer::convert::Report report;
  linformer::convert::Lists lists;
};

using namespace linformer;
using namespace linformer::convert;

void lnf_convert_options_init_sized(lnf_convert_options* to, size_t size) {
  lnf_convert_options defaults = {};
  defaults.size = sizeof defaults;
  c_api::init_struct(to, size, defaults);
}

lnf_code lnf_convert_checkpoint(const lnf_convert_options* options, lnf_convert_report** report, lnf_status* status) {
  if (report != nullptr) *report = nullptr;
  lnf_convert_options given;
  lnf_convert_options_init(&given);
  const Status done = without_exceptions(given, [&]() -> Status {
    if (options == nullptr) return c_api::missing("lnf_convert_options");
    LINFORMER_TRY(c_api::read_struct(options, "lnf_convert_options", &given));
    ConvertOptions read;
    LINFORMER_TRY(read_options(given, &read));
    auto made = std::make_unique<lnf_convert_report>();
    made->report = convert_checkpoint(read);
    made->lists = lists_of(made->report);
    if (report != nullptr) *report = made.release();
    return {};
  });
  return c_api::report(done, status);
}

lnf_code lnf_convert_read_tokenizer(const char* path, lnf_tokenizer** tokenizer, lnf_status* status) {
  if (tokenizer != nullptr) *tokenizer = nullptr;
  const lnf_convert_options none = {};
  const Status done = without_exceptions(none, [&]() -> Status {
    if (path == nullptr) return c_api::missing("the path");
    if (tokenizer == nullptr) return c_api::missing("the pointer that receives the tokenizer");
    return c_api::make_handle(read_tokenizer(path), tokenizer);
  });
  return c_api::report(done, status);
}

void lnf_convert_report_free(lnf_convert_report* report) { delete report; }

lnf_code lnf_convert_report_get_summary(const lnf_convert_report* report, lnf_convert_summary* summary,
                                        lnf_status* status) {
  if (report == nullptr) return c_api::report(c_api::missing("the report"), status);
  const Report& of = report->report;
  lnf_convert_summary made = {};
  made.checkpoint = of.checkpoint.c_str();
  made.output = of.output.c_str();
  made.format = of.format.c_str();
  made.dialect = of.dialect.c_str();
  made.recognised_by = of.recognised_by.c_str();
  made.weight_type = of.weight_type.c_str();
  made.output_bytes = of.output_bytes;
  made.bytes_in_f32 = of.bytes_in_f32;
  made.rounding_error = of.rounding_error;
  return c_api::report(c_api::write_struct(made, "lnf_convert_summary", summary), status);
}

size_t lnf_convert_report_count(const lnf_convert_report* report, int32_t list) {
  if (report == nullptr || list < 0 || static_cast<size_t>(list) >= list_count) return 0;
  return report->lists[static_cast<size_t>(list)].size();
}

lnf_code lnf_convert_report_get_entry(const lnf_convert_report* report, int32_t list, size_t index,
                                      lnf_convert_entry* entry, lnf_status* status) {
  if (report == nullptr) return c_api::report(c_api::missing("the report"), status);
  if (index >= lnf_convert_report_count(report, list)) {
    return c_api::report(Status::error(Code::invalid_argument,
                                       "the report has no entry %zu in list %d: "
                                       "lnf_convert_report_count() says how many there are",
                                       index, static_cast<int>(list)),
                         status);
  }
  const Entry& of = report->lists[static_cast<size_t>(list)][index];
  lnf_convert_entry made = {};
  made.name = of.name.c_str();
  made.value = of.value.c_str();
  made.source = of.source.c_str();
  made.note = of.note.c_str();
  made.error = of.error;
  return c_api::report(c_api::write_struct(made, "lnf_convert_entry", entry), status);
}
