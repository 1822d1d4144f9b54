"""What every mode of this package is: one that sees each operator of PyTorch."""

from torch.utils._python_dispatch import TorchDispatchMode


class Mode(TorchDispatchMode):
    @classmethod
    def _should_skip_dynamo(cls):
        """Nothing is compiled here; else PyTorch 2 imports torch._dynamo and 800 more modules at the first operator."""
        return False
