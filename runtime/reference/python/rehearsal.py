"""Runs a finished problem folder once, as a check will: in a process that has seen nothing but the folder."""

import mmap

import torch

from . import channel
from .serve import EXCHANGE, Server


class Rehearsal(Server):
    def handlers(self):
        return {"hello": self.hello, "rehearse": self.rehearse}

    def rehearse(self, request):
        """Both results on one workload. request: what `open`, `workload` and `compute` of serve take."""
        self.open(request)
        self.workload(request)
        self.fill()
        for part in ("exact", "twin"):
            self.compute({"part": part, "mutation": "", "scalars": request["scalars"]})
        return {}

    def fill(self):
        """Its own inputs; where the problem draws them all, numbers that most operators take."""
        drawn = self.drawn_inputs(list(self.slots), 1) if self.instance.draws_inputs else {}
        for index, slot in self.slots.items():
            if index in drawn:
                slot.tensor.copy_(drawn[index])
            elif slot.tensor.is_floating_point():
                slot.tensor.copy_(torch.rand(slot.tensor.shape))
            else:
                slot.bytes.zero_()


def main(stream, launch):
    torch.set_num_threads(1)
    rehearsal = Rehearsal(launch)
    rehearsal.meet(mmap.mmap(EXCHANGE, 0))
    channel.serve(stream, rehearsal.handlers())
