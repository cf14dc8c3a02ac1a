// Draws the plot of figure 2 of Wang et al. 2020 and the time saved as an SVG picture with a row for each precision.
#pragma once

#include <string>

#include "research/paper_report.h"

namespace linformer::research {

std::string paper_svg(const PaperReport& report);

}  // namespace linformer::research
