// SPDX-License-Identifier: Apache-2.0
#include "tools/manual/completion.h"

#include <array>

#include "tools/manual/completion_words.h"

namespace ak::tools {

std::span<const Shell> shells() {
  static constexpr std::array kShells{Shell{"bash", bash_script}, Shell{"zsh", zsh_script},
                                      Shell{"fish", fish_script}};
  return kShells;
}

}  // namespace ak::tools
