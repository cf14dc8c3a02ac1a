// Progress, cancelling and errors of the public functions, from what the parts below them tell and throw.
#pragma once

#include "converter/files/write_error.h"
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

// What `work` returns. What it throws becomes an Error with its code.
template <class Work>
auto with_public_errors(const Work& work) {
  try {
    return work();
  } catch (const Cancelled&) {
    throw Error("the conversion was cancelled, so nothing was written", Code::cancelled);
  } catch (const writer::WriteError& error) {
    throw Error(error.what(), Code::unsupported);
  } catch (const files::WriteError& error) {
    throw Error(error.what(), Code::io_error);
  }
}

}  // namespace linformer::convert
