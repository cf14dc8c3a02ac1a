// Draws a spectrum as an SVG picture or an HTML page, like figure 1 of Wang et al. 2020.
#pragma once

#include <string>

#include "research/spectrum_report.h"

namespace linformer::research {

// Returns a picture with a curve for each layer, a heatmap of layers and heads, and the table of k. The picture refers
// to no other files. Its colours follow the reader's choice of light or dark mode.
std::string spectrum_svg(const SpectrumReport& report);
// Returns the picture in an HTML page.
std::string spectrum_html(const SpectrumReport& report);

}  // namespace linformer::research
