// Gives names to the classes of a model's heads.
#pragma once

#include <string>
#include <vector>

#include "base/description.h"
#include "linformer/convert.h"

namespace linformer::convert {

// Names the classes of the heads. Each element of `given` has the form of the command line: "a,b" for the only head
// with that number of classes, or "HEAD=a,b". The name of the head is needed if a label contains '=', because the part
// before the first '=' is taken for the name of a head. The path of a file, without a comma in it, may be given in
// place of "a,b"; the lines of the file are the labels. Throws Error unless exactly one head fits.
void apply_labels(const std::vector<std::string>& given, ModelDescription* description, Report* report);

// Returns the paths of label files that `given` contains.
std::vector<std::string> label_files(const std::vector<std::string>& given);

// Throws Error, which names `source`, if a label is empty, repeated, too long or not printable text.
void check_labels(const std::vector<std::string>& labels, const std::string& source);

// Returns the path of labels.txt in `folder`. The file may not exist.
std::string labels_file(const std::string& folder);
// Reads labels.txt in `folder`, whose line i names class i, and gives the labels to the only head with that number of
// classes. If no head or several heads fit, the labels are not used and the report gets a note. Does nothing if the
// file does not exist.
void apply_labels_file(const std::string& folder, ModelDescription* description, Report* report);

}  // namespace linformer::convert
