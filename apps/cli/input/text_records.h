// Readers of the formats without named fields: lines of text, lines in the format of fastText, and whole files.
#pragma once

#include <memory>
#include <string_view>

#include "input/records.h"

namespace linformer::cli {

// The prefix of each label in a line of fastText.
inline constexpr std::string_view label_prefix = "__label__";

// Returns a reader for which each line is a text.
std::unique_ptr<RecordReader> open_text_lines(ByteSource* source, const RecordLimits& limits);

// Returns a reader of lines that begin with any number of labels. The labels are dropped unless fields.label is set.
std::unique_ptr<RecordReader> open_fasttext_lines(ByteSource* source, const RecordFields& fields,
                                                  const RecordLimits& limits);

// Returns a reader for which all of the input is one text. The id of the text is the name of the input. A line end at
// the end of the input is removed. An input that can't be read as text makes a bad record, so that the files after it
// are still read.
std::unique_ptr<RecordReader> open_whole_file(ByteSource* source, const RecordLimits& limits);

}  // namespace linformer::cli
