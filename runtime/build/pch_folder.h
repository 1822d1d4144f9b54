// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace ak::runtime {

/// Folder of the precompiled headers of the compile worker with process id `pid`, below the temporary folder; empty where
/// there is none.
[[nodiscard]] std::filesystem::path pch_folder(int pid);

/// Makes the folder of this process, which nobody else may open; empty where it cannot be made. A process of its own removes it as soon as this one
/// has ended, even if this one and its parent were killed with -9: some 100 MB would stay.
[[nodiscard]] std::filesystem::path make_pch_folder();

/// Removes this user's folders of workers that no longer run, which nobody has locked: what is left where all processes were ended at once (power, control
/// group) or the system has no pidfd_open (before Linux 5.3).
void remove_stale_pch_folders();

}  // namespace ak::runtime
