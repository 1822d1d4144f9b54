"""Results that are indices of the largest or smallest elements: of equal ones, any is right."""

# Operators that give indices -> which of their results they are.
INDICES = {"topk": 1, "sort": 1, "max": 1, "min": 1, "kthvalue": 1, "mode": 1, "argsort": 0, "argmax": 0, "argmin": 0}
SAME = frozenset("_to_copy clone contiguous detach alias".split())
# Our distributions of few values.
WITH_TIES = frozenset(["small_integer"])


def of(steps, inputs, outputs):
    """For each output None, or the input along whose last axis its indices select, or "" where it is of another form.

    inputs: name -> tensor, outputs: tensors, as the steps took and gave them.
    """
    names = {id(value): name for name, value in inputs.items()}
    selected = {}  # place of indices -> name of the input
    following = set()  # places of what depends on indices
    for step in steps:
        if step.operator in SAME and step.sources[0] in selected and step.results:
            selected[step.results[0]] = selected[step.sources[0]]
        if not following.isdisjoint(step.sources):
            following.update(step.results)
        position = INDICES.get(step.operator)
        if position is not None and len(step.results) > position:
            place, source = step.results[position], step.sources[0]
            following.add(place)
            if source in names and _of_last_axis(step, step.outputs[position]):
                selected[place] = names[source]
    return [_of_output(output, selected, following) for output in outputs]


def _of_last_axis(step, shape):
    taken = step.inputs[0]
    return bool(taken) and step.axis in (-1, len(taken) - 1) and shape[:-1] == taken[:-1] and len(shape) == len(taken)


def _of_output(output, selected, following):
    if output is None or output.is_floating_point() or id(output) not in following:
        return None
    return selected.get(id(output), "")
