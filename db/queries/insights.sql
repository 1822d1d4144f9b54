-- What was learned, with the number of comparisons it is based on.
-- algorithm: of this problem family alone (text)
-- kind: tunable, template, pattern, attempt, failure, expectation or bottleneck (text)
-- limit: most rows (integer, 50)
SELECT algorithm, arch, device_kind, kind, text, tries, wins, round(ratio, 3) AS ratio
FROM insights WHERE ifnull(:algorithm, algorithm) = algorithm AND ifnull(:kind, kind) = kind
ORDER BY tries DESC LIMIT :limit
