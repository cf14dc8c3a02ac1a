// The k of low-rank approximations as one picture to look at.
#pragma once

#include <string>

#include "research/approximation_report.h"

namespace linformer::research {

// k against n, and k of each layer at the largest n, on logarithmic axes. Nothing outside it is referred to; its
// colours follow the reader's choice of light or dark.
std::string approximation_svg(const ApproximationReport& report);
// The same as a page.
std::string approximation_html(const ApproximationReport& report);

}  // namespace linformer::research
