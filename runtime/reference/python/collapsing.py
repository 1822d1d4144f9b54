"""Products and convolutions whose results are only summed: a kernel may sum first, and needs hardly any of their work."""

SUMMING = frozenset("""sum mean avg_pool1d avg_pool2d avg_pool3d _adaptive_avg_pool2d _adaptive_avg_pool3d
adaptive_avg_pool1d""".split())
# Of one argument that follows from the product, with anything else.
LINEAR = frozenset("""add sub rsub mul div neg view _unsafe_view reshape _reshape_alias alias detach t transpose permute
expand squeeze unsqueeze contiguous clone flatten unflatten""".split())


def collapsed(step, steps):
    """The step and those between its results and sums, where linear operators lead to sums alone; else nothing."""
    if not step.returned.isdisjoint(step.results):
        return []
    later = steps[steps.index(step) + 1:]
    following = [other for other in later if set(other.sources) & set(step.results)]
    paths = [_to_sums(other, step, later) for other in following]
    return [step] + [one for path in paths for one in path] if paths and all(paths) else []


def _to_sums(step, before, steps):
    name = step.operator.rstrip("_")
    if step.operator in SUMMING:
        return [step]
    if name not in LINEAR and step.operator not in LINEAR:
        return []
    # The product of two things that follow from it, or its reciprocal, is not linear.
    taken = [place for place in step.sources if place in before.results]
    if len(taken) > 1 or (name == "div" and step.sources and step.sources[0] not in before.results):
        return []
    return collapsed(step, steps)
