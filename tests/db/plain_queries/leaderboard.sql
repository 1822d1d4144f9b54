-- The fastest variants of each definition, device, target and shapes.
-- definition: of this definition alone (text)
-- arch: for this target alone (text)
-- places: so many of each (integer, 3)
SELECT definition, device, arch, iif(length(shapes) > 40, substr(shapes, 1, 37) || '...', shapes) AS shapes, place, variant,
       template, tunables, round(score_us, 3) AS score_us, round(emulated_cost_us, 3) AS emulated_cost_us, search
FROM leaderboard
WHERE place <= :places AND ifnull(:definition, definition) = definition AND ifnull(:arch, arch) = arch
ORDER BY definition, device, arch, shapes_number, place
