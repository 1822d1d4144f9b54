-- Audits of problems: whether deliberate mistakes were noticed.
SELECT d.name AS definition, dev.name AS device, a.arch, a.passed, count(f.id) AS findings,
       sum(f.as_expected = 0 AND f.kind <> 'formula') AS unexpected, a.audited_at
FROM audits a JOIN definitions d ON d.id = a.definition_id JOIN devices dev ON dev.id = a.device_id
LEFT JOIN audit_findings f ON f.audit_id = a.id
GROUP BY a.id ORDER BY a.audited_at DESC, a.id DESC
