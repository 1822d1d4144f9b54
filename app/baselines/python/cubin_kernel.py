# SPDX-License-Identifier: Apache-2.0
"""A compiled kernel on tensors of PyTorch: the same machine code and launches that were checked and timed.

Nothing of a candidate's text is compiled or run on the host; what is loaded here is code for the GPU.
"""
import ctypes
import struct

import torch

# Names of torch for dtypes that have others; two values of four bits share a byte.
TORCH_DTYPES = {"int4x2": "uint8", "uint4x2": "uint8"}
SCALAR_FORMATS = {"i32": "<i", "i64": "<q", "f32": "<f", "f64": "<d", "bool": "<?"}
ARGUMENT_BYTES = 128  # a CUtensorMap, the largest
TENSOR_MAP_ALIGNMENT = 64
# cuda.h: CUtensorMapDataType and the modes of cuTensorMapEncodeTiled.
MAP_TYPES = {"uint8": 0, "int8": 0, "bool": 0, "float8_e4m3fn": 0, "float8_e5m2": 0, "int4x2": 0, "uint4x2": 0, "int16": 1,
             "uint32": 2, "int32": 3, "int64": 5, "float16": 6, "float32": 7, "float64": 8, "bfloat16": 9}
INTERLEAVES = {"none": 0, "16B": 1, "32B": 2}
SWIZZLES = {"none": 0, "32B": 1, "64B": 2, "128B": 3}
PROMOTIONS = {"none": 0, "64B": 1, "128B": 2, "256B": 3}
FILLS = {"none": 0, "nan": 1}
# cuda.h: CUlaunchAttributeID, CUfunction_attribute.
COOPERATIVE, CLUSTER_DIMENSION, PROGRAMMATIC_STREAM_SERIALIZATION = 2, 4, 6
SHARED_SIZE_BYTES, MAX_DYNAMIC_SHARED_SIZE_BYTES, NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 1, 8, 14
SHARED_WITHOUT_OPT_IN, PORTABLE_CLUSTER = 48 << 10, 8


class LaunchAttribute(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_char * 4), ("value", ctypes.c_uint32 * 16)]


class LaunchConfig(ctypes.Structure):
    _fields_ = [("grid", ctypes.c_uint32 * 3), ("block", ctypes.c_uint32 * 3), ("shared_bytes", ctypes.c_uint32),
                ("stream", ctypes.c_void_p), ("attributes", ctypes.POINTER(LaunchAttribute)),
                ("attribute_count", ctypes.c_uint32)]


def torch_dtype(name):
    return getattr(torch, TORCH_DTYPES.get(name, name))


class Driver:
    """The functions of the CUDA driver that this file calls; a failure is an exception with the driver's words."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")

    def __getattr__(self, name):
        function = getattr(self.library, name)

        def checked(*arguments):
            result = function(*arguments)
            if result != 0:
                words = ctypes.c_char_p()
                self.library.cuGetErrorString(result, ctypes.byref(words))
                raise RuntimeError("%s: %s" % (name, (words.value or b"error %d" % result).decode()))
        setattr(self, name, checked)
        return checked


class Program:
    """A cubin in this process's context. symbols: name in plans -> symbol in the cubin."""

    def __init__(self, path, symbols):
        torch.cuda.current_stream()  # the context is there
        torch.zeros(1, device="cuda")
        self.driver = Driver()
        with open(path, "rb") as file:
            image = file.read()
        self.module = ctypes.c_void_p()
        self.driver.cuModuleLoadData(ctypes.byref(self.module), image)
        self.functions = {name: self.function(symbol) for name, symbol in symbols.items()}

    def function(self, symbol):
        found = ctypes.c_void_p()
        self.driver.cuModuleGetFunction(ctypes.byref(found), self.module, symbol.encode())
        return found

    def prepare(self, launch):
        """The function of a launch, allowed what it needs."""
        function = self.functions[launch["kernel"]]
        fixed = ctypes.c_int()
        self.driver.cuFuncGetAttribute(ctypes.byref(fixed), SHARED_SIZE_BYTES, function)
        if fixed.value + launch["shared_bytes"] > SHARED_WITHOUT_OPT_IN:
            self.driver.cuFuncSetAttribute(function, MAX_DYNAMIC_SHARED_SIZE_BYTES, launch["shared_bytes"])
        x, y, z = launch["cluster"]
        if x * y * z > PORTABLE_CLUSTER:
            self.driver.cuFuncSetAttribute(function, NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1)
        return function


class Bound:
    """A program's plan on one set of tensors, with outputs and workspaces of its own.

    tensors: inputs by name. outputs: [{"name", "shape", "dtype", "alias", "zeroed"}], where `alias` names the input whose
    memory an output shares.
    """

    def __init__(self, program, plan, tensors, outputs):
        self.program, self.driver, self.plan, self.tensors = program, program.driver, plan, dict(tensors)
        device = torch.device("cuda")
        self.outputs, self.fresh, self.zeroed, prepared = [], [], [], []
        for output in outputs:
            tensor = self.tensors[output["alias"]] if output["alias"] else torch.zeros(
                output["shape"], dtype=torch_dtype(output["dtype"]), device=device)
            self.outputs.append(tensor)
            self.tensors[output["name"]] = tensor
            if not output["alias"]:
                self.fresh.append((output["shape"], torch_dtype(output["dtype"])))
            if output["zeroed"]:
                self.zeroed.append(tensor)
        for workspace in plan["workspace"]:
            tensor = torch.empty(workspace["count"], dtype=torch_dtype(workspace["dtype"]), device=device)
            self.tensors[workspace["name"]] = tensor
            if workspace["zero"]:
                (prepared if workspace.get("prepared") else self.zeroed).append(tensor)
        self.launches = [self.launch(one) for one in plan["launches"]]
        for tensor in prepared:
            self.zero(tensor)
        self.enqueue([self.launch(one) for one in plan.get("prepare", [])])
        torch.cuda.synchronize()

    def launch(self, launch):
        config = LaunchConfig()
        config.grid[:], config.block[:], config.shared_bytes = launch["grid"], launch["block"], launch["shared_bytes"]
        attributes = []
        if launch["cluster"] != [1, 1, 1]:
            attributes.append((CLUSTER_DIMENSION, launch["cluster"]))
        if launch["cooperative"]:
            attributes.append((COOPERATIVE, [1]))
        if launch["pdl"]:
            attributes.append((PROGRAMMATIC_STREAM_SERIALIZATION, [1]))
        array = (LaunchAttribute * max(len(attributes), 1))()
        for place, (number, value) in zip(array, attributes):
            place.id = number
            place.value[:len(value)] = value
        config.attributes, config.attribute_count = array, len(attributes)
        values = [self.argument(argument) for argument in launch["args"]]
        pointers = (ctypes.c_void_p * max(len(values), 1))(*[ctypes.addressof(value) for value in values])
        # All that the driver reads lives as long as the tuple.
        return self.program.prepare(launch), ctypes.byref(config), pointers, (config, array, values)

    def argument(self, argument):
        if "pointer" in argument:
            name = argument["pointer"]
            return ctypes.c_uint64(self.tensors[name].data_ptr() if name else 0)
        if "tensor_map" in argument:
            return self.tensor_map(argument["tensor_map"])
        if "scalar" in argument:
            return self.packed(argument["type"], self.tensors[argument["scalar"]])
        (kind, value), = argument.items()
        return self.packed(kind, value)

    @staticmethod
    def packed(kind, value):
        code = SCALAR_FORMATS[kind]
        value = bool(value) if code == "<?" else float(value) if code in ("<f", "<d") else int(value)
        return ctypes.create_string_buffer(struct.pack(code, value), ARGUMENT_BYTES)

    def tensor_map(self, name):
        (found,) = [one for one in self.plan["tensor_maps"] if one["name"] == name]
        room = ctypes.create_string_buffer(ARGUMENT_BYTES + TENSOR_MAP_ALIGNMENT)
        offset = -ctypes.addressof(room) % TENSOR_MAP_ALIGNMENT
        encoded = (ctypes.c_char * ARGUMENT_BYTES).from_buffer(room, offset)
        rank = len(found["dims"])
        sizes, strides = (ctypes.c_uint64 * rank)(*found["dims"]), (ctypes.c_uint64 * rank)(*found["strides_bytes"])
        box, steps = ((ctypes.c_uint32 * rank)(*found[which]) for which in ("box", "element_strides"))
        self.driver.cuTensorMapEncodeTiled(
            encoded, MAP_TYPES[found["dtype"]], rank, ctypes.c_void_p(self.tensors[found["tensor"]].data_ptr()), sizes,
            strides, box, steps, INTERLEAVES[found["interleave"]], SWIZZLES[found["swizzle"]],
            PROMOTIONS[found["l2_promotion"]], FILLS[found["oob_fill"]])
        return encoded

    def zero(self, tensor):
        self.driver.cuMemsetD8Async(ctypes.c_uint64(tensor.data_ptr()), ctypes.c_ubyte(0),
                                    ctypes.c_size_t(tensor.numel() * tensor.element_size()), self.stream())

    @staticmethod
    def stream():
        return ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)

    def enqueue(self, launches):
        for function, config, pointers, _ in launches:
            self.driver.cuLaunchKernelEx(config, function, pointers, None)

    def bytes_held(self):
        """Inputs, outputs and workspaces, each memory once."""
        held = {tensor.data_ptr(): tensor.numel() * tensor.element_size() for tensor in self.tensors.values()
                if torch.is_tensor(tensor)}
        return sum(held.values())

    def call(self):
        """As an operator would: its outputs are allocated in the call, although these are not used."""
        for shape, dtype in self.fresh:
            torch.empty(shape, dtype=dtype, device="cuda")
        for tensor in self.zeroed:
            self.zero(tensor)
        self.enqueue(self.launches)
        return self.outputs
