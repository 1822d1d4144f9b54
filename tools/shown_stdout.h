// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ak::tools {

/// From now on all that is printed to stdout is shown_text(): whatever a model, a kernel, a file name or a row of a
/// database holds, the terminal behind it obeys nothing of it. Standard output that cannot be written to fails as it
/// does without. Once in a process, before anything is printed.
void show_stdout();

/// Sequences of our own for the terminal behind standard output, after all that was printed; nothing else may come in.
void control_stdout(const char* sequence);

}  // namespace ak::tools
