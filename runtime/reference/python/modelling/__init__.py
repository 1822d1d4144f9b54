"""Takes a model apart: the operators that it runs, and which of the library's operators several of them make up."""
