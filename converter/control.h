// Progress, cancellation and errors of the public functions. The functions here translate the progress and the
// exceptions of the converter's inner parts into those that linformer/convert.h promises.
#pragma once

#include "converter/files/write_error.h"
#include "converter/option_names.h"
#include "converter/readers/error.h"
#include "converter/writer/write_error.h"
#include "linformer/convert.h"

namespace linformer::convert {

// Thrown if the caller cancelled the conversion. It does not derive from Error, so that functions which catch Error to
// add a file's name to the message let it pass.
struct Cancelled {};

inline void throw_if_cancelled(const Control& control) {
  if (control.cancel != nullptr && control.cancel->load(std::memory_order_relaxed)) throw Cancelled();
}

inline void report_progress(const Control& control, const char* phase, double done) {
  throw_if_cancelled(control);
  if (control.progress) control.progress(phase, done);
}

// Returns the options that give a weight another type, in parentheses, if the error says that the weight can't be
// stored in its present type. Returns "" for other errors.
inline std::string type_option_hint(const writer::WriteError& error) {
  if (error.weight().empty()) return "";
  std::string sentence = " (" + placeholder(Option::keep, "f32:" + error.weight());
  if (!error.alternative_type().empty()) sentence += ", " + placeholder(Option::weight_type, error.alternative_type());
  return sentence + ")";
}

// Calls `work` and returns its report. Exceptions of the converter's parts are rethrown as Error with the matching
// code. In the report and in errors, Control::option_name sets the words for options. The message of an Error is one
// line without control characters, even if the names of files or tensors in it contain some.
template <class Work>
auto run_with_public_errors(const Control& control, const Work& work) {
  try {
    auto report = work();
    insert_option_names(control, &report);
    return report;
  } catch (const Cancelled&) {
    throw Error("the conversion was cancelled, so nothing was written", Code::cancelled);
  } catch (const writer::WriteError& error) {
    throw Error(escape_control_chars(with_option_names(error.what() + type_option_hint(error), control)),
                Code::unsupported);
  } catch (const files::WriteError& error) {
    throw Error(escape_control_chars(error.what()), Code::io_error);
  } catch (const Error& error) {
    throw Error(escape_control_chars(with_option_names(error.what(), control)), error.code());
  }
}

}  // namespace linformer::convert
