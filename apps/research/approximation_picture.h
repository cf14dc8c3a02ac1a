// Draws the k of low-rank approximations as an SVG picture or an HTML page.
#pragma once

#include <string>

#include "research/approximation_report.h"

namespace linformer::research {

// Returns two plots with k on a logarithmic axis: against n, and for each layer at the largest n. The picture refers to
// no other files. Its colours follow the reader's choice of light or dark mode.
std::string approximation_svg(const ApproximationReport& report);
// Returns the picture in an HTML page.
std::string approximation_html(const ApproximationReport& report);

}  // namespace linformer::research
