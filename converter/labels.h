// Names for the classes of a model's heads.
#pragma once

#include <string>
#include <vector>

#include "base/description.h"
#include "linformer/convert.h"

namespace linformer::convert {

// `given`: as on the command line, "a,b" for the only head whose number of classes fits, or "HEAD=a,b". A label that
// holds an = needs its head's name: what stands before the first = is otherwise taken for a name and refused. In place
// of "a,b" the path of a file may be given, without a comma in it, whose lines are the labels. Throws Error when no
// head has that name or number of classes.
void apply_labels(const std::vector<std::string>& given, ModelDescription* description, Report* report);

// Returns the paths of files that `given` has.
std::vector<std::string> label_files(const std::vector<std::string>& given);

// Throws Error naming `source` where a label is empty, there twice, too long or not printable text.
void check_labels(const std::vector<std::string>& labels, const std::string& source);

std::string labels_file(const std::string& folder);
// The lines of labels.txt in `folder`, index = class, for the head whose number of classes they fit. Nothing happens
// where there is no such file; a file that fits no head is noted.
void apply_labels_file(const std::string& folder, ModelDescription* description, Report* report);

}  // namespace linformer::convert
