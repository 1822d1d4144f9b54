// SPDX-License-Identifier: Apache-2.0
#include "core/exit_codes.h"

#include <array>

namespace ak {
namespace {

constexpr std::array kExitCodes{
    ExitCodeInfo{ExitCode::ok, "ok", "The command did what was asked.", "Nothing."},
    ExitCodeInfo{ExitCode::internal_error, "internal_error", "A bug in AlphaKernel.",
                 "Report it with the command line and the whole text on standard error."},
    ExitCodeInfo{ExitCode::usage, "usage", "An unknown flag, algorithm, shape, dtype or architecture.",
                 "Follow the suggestion in the message, or see `--help`."},
    ExitCodeInfo{ExitCode::bad_input, "bad_input", "A file that you named is missing or malformed.",
                 "Correct the file at the place that the message names."},
    ExitCodeInfo{
        ExitCode::no_kernel, "no_kernel",
        "The run ended and no candidate was verified, or the evaluated file failed its checks, on a GPU or "
        "on the CPU emulator. Or no template of the problem is for this architecture and these parameters: "
        "the message names the constraint that excludes each, before anything is built.",
        "Read why the candidates failed (`alphakernel query \"SELECT * FROM failures\"`); raise the budget, "
        "or widen the tunables."},
    ExitCodeInfo{
        ExitCode::environment, "environment",
        "The CUDA toolkit is missing, or the driver or device that you named (`--device cuda`) is. With "
        "`auto` a missing GPU is not an error: the CPU emulator is used. Or the device was lost during the "
        "run, or no worker starts. Or only language models propose and none can be asked.",
        "Run `alphakernel doctor`, which names the missing part and how to get it."},
    ExitCodeInfo{ExitCode::database, "database",
                 "The file is missing or not a database of AlphaKernel, was written by a newer version, "
                 "stayed locked, "
                 "is on a read-only file system, or the disk is full.",
                 "Update AlphaKernel, end the other process, free space, or name another file with `--db`."},
    ExitCodeInfo{
        ExitCode::output, "output", "An output file, or standard output, cannot be written.",
        "Check that the folder exists, is writable and has space, or name another one with `--output`."},
    ExitCodeInfo{
        ExitCode::expectation, "expectation",
        "An experiment ran to its end, and an expectation of its manifest was not met. Or `alphakernel "
        "library check` named a kernel that has become slower, or fails "
        "([kernel_library.md](kernel_library.md#checking-a-library)).",
        "Read `report.md` in its result folder: it names the expectation, the value and the bound. Or "
        "run the check with `--repair`, which tunes what regressed."},
    ExitCodeInfo{
        ExitCode::audit, "audit",
        "The checks of a problem accept a deliberate mistake, or reject the reference's twin: found by "
        "`alphakernel algorithms audit`, or before the first use of a problem of your own. Or `alphakernel "
        "selfcheck` saw a known cheat get through, or an honest kernel rejected ([trust.md](trust.md)). Or "
        "no draft "
        "of a language model passed the checks, or no person has confirmed one "
        "([problem.md](problem.md#from-a-sentence-or-a-paper)).",
        "Correct tolerance, distributions or workloads of the problem ([checking.md](checking.md#audit)), or "
        "continue anyway with `--unaudited`. A draft: `alphakernel problem confirm`, which shows what it "
        "computes."},
    ExitCodeInfo{ExitCode::suspended, "suspended",
                 "An overnight session has nothing left to do until questions in a mailbox are answered "
                 "([mailbox.md](mailbox.md)).",
                 "Answer them (`alphakernel mailbox list FOLDER` names them) and continue with `alphakernel "
                 "session resume`."},
    ExitCodeInfo{ExitCode::interrupted, "interrupted", "Stopped by Ctrl-C or `session stop`.",
                 "Nothing is lost: the best verified kernel so far was written, no problem folder is left "
                 "half-made; an experiment leaves its "
                 "report of what there is, an overnight session continues with `session resume`."}};

}  // namespace

std::span<const ExitCodeInfo> exit_codes() { return kExitCodes; }

}  // namespace ak
