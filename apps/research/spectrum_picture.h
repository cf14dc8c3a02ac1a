// A spectrum as one picture to look at, in the manner of figure 1 of Wang et al. 2020.
#pragma once

#include <string>

#include "research/spectrum_report.h"

namespace linformer::research {

// Curves of each layer, the heatmap of layers and heads, and the table of k. Nothing outside it is referred to; its
// colours follow the reader's choice of light or dark.
std::string spectrum_svg(const SpectrumReport& report);
// The same as a page.
std::string spectrum_html(const SpectrumReport& report);

}  // namespace linformer::research
