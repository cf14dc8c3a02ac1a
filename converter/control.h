// Progress, cancelling and errors of the public functions, from what the parts below them tell and throw.
#pragma once

#include "converter/files/write_error.h"
#include "converter/option_names.h"
#include "converter/readers/error.h"
#include "converter/writer/write_error.h"
#include "linformer/convert.h"

namespace linformer::convert {

// Thrown where a conversion was cancelled. It is no Error, so that no part on the way adds its own words to it.
struct Cancelled {};

inline void throw_if_cancelled(const Control& control) {
  if (control.cancel != nullptr && control.cancel->load(std::memory_order_relaxed)) throw Cancelled();
}

inline void advance(const Control& control, const char* phase, double done) {
  throw_if_cancelled(control);
  if (control.progress) control.progress(phase, done);
}

// Where a weight can't be stored in its type, the options that give it another one.
inline std::string advice(const writer::WriteError& error) {
  if (error.weight().empty()) return "";
  std::string sentence = " (" + mark(Option::keep, "f32:" + error.weight());
  if (!error.type_for_all().empty()) sentence += ", " + mark(Option::weight_type, error.type_for_all());
  return sentence + ")";
}

// Returns the report of `work`. What it throws becomes an Error with its code. In both the caller's words stand for
// options. An Error is one line without control characters, whatever the names of files and tensors in it have.
template <class Work>
auto with_public_words(const Control& control, const Work& work) {
  try {
    auto report = work();
    name_options(control, &report);
    return report;
  } catch (const Cancelled&) {
    throw Error("the conversion was cancelled, so nothing was written", Code::cancelled);
  } catch (const writer::WriteError& error) {
    throw Error(without_controls(with_names(error.what() + advice(error), control)), Code::unsupported);
  } catch (const files::WriteError& error) {
    throw Error(without_controls(error.what()), Code::io_error);
  } catch (const Error& error) {
    throw Error(without_controls(with_names(error.what(), control)), error.code());
  }
}

}  // namespace linformer::convert
