// The plot of figure 2 and the time saved, a row for each precision, as an SVG picture.
#pragma once

#include <string>

#include "research/paper_report.h"

namespace linformer::research {

std::string paper_svg(const PaperReport& report);

}  // namespace linformer::research
