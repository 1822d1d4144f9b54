-- Variants that no other beats in time, energy, error and shared memory at once.
-- definition: of this definition alone (text)
SELECT definition, device, shapes, variant, template, tunables, round(score_us, 3) AS score_us,
       round(emulated_cost_us, 3) AS emulated_cost_us, energy_joule, max_error, shared_bytes
FROM pareto_front WHERE ifnull(:definition, definition) = definition
ORDER BY definition, device, shapes_number, coalesce(score_us, emulated_cost_us)
