-- The fastest variants of each definition, device and target.
-- definition: of this definition alone (text)
-- arch: for this target alone (text)
-- places: so many of each (integer, 3)
SELECT definition, device, arch, place, variant, template, tunables, round(score_us, 3) AS score_us,
       round(emulated_cost_us, 3) AS emulated_cost_us, search
FROM leaderboard
WHERE place <= :places AND ifnull(:definition, definition) = definition AND ifnull(:arch, arch) = arch
ORDER BY definition, device, arch, place
