// memcpy and memset are built in.
#pragma once
