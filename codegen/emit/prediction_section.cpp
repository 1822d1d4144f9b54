// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "codegen/emit/emit.h"
#include "codegen/emit/markdown.h"

namespace ak::codegen {

std::string prediction_section(const RunSummary& run) {
  if (!run.predicted && run.ranking.empty()) return "";
  std::string text = "## Predicted time\n\n";
  if (!run.predicted) return text + fmt::format("Nothing was predicted: {}.\n\n", markdown_cell(run.ranking));
  const PredictedScore& score = *run.predicted;
  text += fmt::format(
      "Predicted, not measured, for {} by the model {}: {} ({} to {}, which holds nine of ten "
      "measurements by what the model was fitted to).\n\n"
      "| shape | predicted | interval | limited by |\n|---|---|---|---|\n",
      markdown_cell(run.arch), markdown_cell(score.model), time_text(score.score.value()),
      time_text(score.low.value()), time_text(score.high.value()));
  for (const PredictedTime& time : score.times)
    text += fmt::format("| {} | {} | {} to {} | {} |\n", markdown_cell(time.workload),
                        time_text(time.time.value()), time_text(time.low.value()),
                        time_text(time.high.value()), markdown_cell(time.limiter));
  return text + "\n";
}

}  // namespace ak::codegen
