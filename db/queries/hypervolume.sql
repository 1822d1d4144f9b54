-- How much time and another objective (energy, error, shared memory) reach together, by definition and device.
SELECT definition, device, arch, objective, points, round(hypervolume, 4) AS hypervolume
FROM hypervolume ORDER BY definition, device, arch, objective
