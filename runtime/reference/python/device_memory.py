"""Device memory of another process as a tensor, through the driver's virtual memory (CUDA driver API, 6.14)."""

import ctypes

import torch

POSIX_FILE_DESCRIPTOR, DEVICE, READ_AND_WRITE = 1, 1, 3  # of the driver's enumerations (cuda.h)


class _Access(ctypes.Structure):
    """CUmemAccessDesc."""

    _fields_ = [("kind", ctypes.c_int), ("ordinal", ctypes.c_int), ("flags", ctypes.c_int)]


class _Bytes:
    """What torch.as_tensor() reads of memory that is not its own."""

    def __init__(self, address, count):
        self.__cuda_array_interface__ = {
            "shape": (count,), "typestr": "|u1", "data": (address, False), "strides": None, "version": 2}


class Mapping:
    """`count` bytes behind `descriptor` as `tensor`, until close(). Raises OSError."""

    def __init__(self, descriptor, count, device):
        torch.zeros(1, device=device)  # makes the driver's context current
        self.driver, self.undo = ctypes.CDLL("libcuda.so.1"), []
        try:
            self.make(descriptor, count, device)
        except (OSError, RuntimeError):
            self.close()
            raise

    def make(self, descriptor, count, device):
        self.handle, self.address, self.size = ctypes.c_ulonglong(), ctypes.c_ulonglong(), ctypes.c_size_t(count)
        self.call("cuMemImportFromShareableHandle", ctypes.byref(self.handle), ctypes.c_void_p(descriptor),
                  POSIX_FILE_DESCRIPTOR)
        self.undo.append(("cuMemRelease", self.handle))
        self.call("cuMemAddressReserve", ctypes.byref(self.address), self.size, ctypes.c_size_t(0),
                  ctypes.c_ulonglong(0), ctypes.c_ulonglong(0))
        self.undo.append(("cuMemAddressFree", self.address, self.size))
        self.call("cuMemMap", self.address, self.size, ctypes.c_size_t(0), self.handle, ctypes.c_ulonglong(0))
        self.undo.append(("cuMemUnmap", self.address, self.size))
        access = _Access(DEVICE, device.index, READ_AND_WRITE)
        self.call("cuMemSetAccess", self.address, self.size, ctypes.byref(access), ctypes.c_size_t(1))
        self.tensor = torch.as_tensor(_Bytes(self.address.value, count), device=device)

    def call(self, name, *arguments):
        result = getattr(self.driver, name)(*arguments)
        if result != 0:
            raise OSError("%s failed with error %d" % (name, result))

    def close(self):
        """No one may use the tensor from here on."""
        self.tensor = None
        torch.cuda.synchronize()
        while self.undo:
            self.call(*self.undo.pop())
