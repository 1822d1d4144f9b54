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


def _called(driver, name, *arguments):
    result = getattr(driver, name)(*arguments)
    if result != 0:
        raise OSError("%s failed with error %d" % (name, result))


def mapped(descriptor, count, device):
    """`count` bytes behind `descriptor`, for as long as this process lives. Raises OSError."""
    torch.zeros(1, device=device)  # makes the driver's context current
    driver = ctypes.CDLL("libcuda.so.1")
    handle, address = ctypes.c_ulonglong(), ctypes.c_ulonglong()
    _called(driver, "cuMemImportFromShareableHandle", ctypes.byref(handle), ctypes.c_void_p(descriptor),
            POSIX_FILE_DESCRIPTOR)
    size = ctypes.c_size_t(count)
    _called(driver, "cuMemAddressReserve", ctypes.byref(address), size, ctypes.c_size_t(0), ctypes.c_ulonglong(0),
            ctypes.c_ulonglong(0))
    _called(driver, "cuMemMap", address, size, ctypes.c_size_t(0), handle, ctypes.c_ulonglong(0))
    access = _Access(DEVICE, device.index, READ_AND_WRITE)
    _called(driver, "cuMemSetAccess", address, size, ctypes.byref(access), ctypes.c_size_t(1))
    return torch.as_tensor(_Bytes(address.value, count), device=device)
