-- How much time and another objective (energy, error, shared memory) reach together, by definition, device and shapes.
SELECT definition, device, arch, shapes, objective, points, round(hypervolume, 4) AS hypervolume
FROM hypervolume ORDER BY definition, device, arch, shapes_number, objective
