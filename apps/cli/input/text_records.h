// Records without fields that have names: lines of text, lines in the format of fastText, and whole files.
#pragma once

#include <memory>
#include <string_view>

#include "input/records.h"

namespace linformer::cli {

// The prefix of each label in a line of fastText.
inline constexpr std::string_view label_prefix = "__label__";

// Each line is a text.
std::unique_ptr<RecordReader> open_text_lines(ByteSource* source, const RecordLimits& limits);

// Each line begins with any number of labels, which are dropped unless `fields` asks for a label.
std::unique_ptr<RecordReader> open_fasttext_lines(ByteSource* source, const RecordFields& fields,
                                                  const RecordLimits& limits);

// All of the input is one text, whose id is the input's name. A line end at its end is left out, as it is of a line. An
// input that can't be read as text makes a bad record, so that the files after it are still read.
std::unique_ptr<RecordReader> open_whole_file(ByteSource* source, const RecordLimits& limits);

}  // namespace linformer::cli
