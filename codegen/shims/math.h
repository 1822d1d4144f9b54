// The math functions and constants are built in or in ak_prelude.h.
#pragma once
