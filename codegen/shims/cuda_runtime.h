// The device side of the runtime is built in.
#pragma once
