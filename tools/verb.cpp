// SPDX-License-Identifier: Apache-2.0
#include "tools/verb.h"

#include <array>

namespace ak::tools {

std::span<const Verb> verbs() {
  static constexpr std::array kVerbs{
      Verb{"generate", "find a fast, verified kernel for an algorithm (also: generate_kernel)", run_generate},
      Verb{"session", "run a queue of searches overnight: start, status, stop, resume, log", run_session},
      Verb{"tune", "find the fastest point of one kernel file's tunables", run_tune},
      Verb{"evaluate", "build, check and time one kernel file", run_evaluate},
      Verb{"profile", "say what limits a kernel, with hardware counters and hot lines", run_profile},
      Verb{"explain", "say what a kernel does, what each optimisation is worth, and what limits it",
           run_explain},
      Verb{"compare", "say what two kernels differ in and why one is faster", run_compare},
      Verb{"export", "write a kernel as a folder for C++, CMake and PyTorch", run_export},
      Verb{"problem", "make and check a problem folder for your own kernel", run_problem},
      Verb{"experiment", "run an experiment from its manifest, or list them", run_experiment},
      Verb{"selfcheck", "try known cheats and the shipped templates on this machine", run_selfcheck},
      Verb{"predict", "predict how long a kernel takes on a GPU that is not here", run_predict},
      Verb{"model", "fit the model that predicts times to measurements, or say how good it is", run_model},
      Verb{"simulate", "compare search strategies over spaces measured before", run_simulate},
      Verb{"space", "show a space of tunables and what was measured in it, or export that", run_space},
      Verb{"best", "write the best known points to a file, or look one up", run_best},
      Verb{"knowledge", "what earlier sessions learned, as a page or by words", run_knowledge},
      Verb{"query", "run a SELECT on the performance database", run_query},
      Verb{"report", "a report of a week or any period, as HTML, Markdown, JSON or CSV", run_report},
      Verb{"dashboard", "show the database in your browser, live", run_dashboard},
      Verb{"db", "merge, export and verify performance databases", run_db},
      Verb{"exchange", "write and read data sets in FlashInfer-Bench's layout", run_exchange},
      Verb{"mcp", "serve coding agents over the Model Context Protocol", run_mcp},
      Verb{"algorithms", "list the algorithms, or one's parameters and shapes", run_algorithms},
      Verb{"devices", "list the GPUs and the targets this NVRTC can build for", run_devices},
      Verb{"doctor", "say what is present, what is missing, what that costs and how to get it", run_doctor},
      Verb{"worker", "", run_worker},
  };
  return kVerbs;
}

}  // namespace ak::tools
