-- Schema version 30. Where sets come with another file their searches are there before it is known what they are of.

-- Scores of one shape alone are no scores of the definition, whichever row comes first.
CREATE TRIGGER set_search_added AFTER INSERT ON set_searches WHEN new.role <> 'set' BEGIN
  DELETE FROM scores WHERE (definition_id, device_id, arch, score_ns, evaluation_id) IN (
    SELECT v.definition_id, e.device_id, s.arch, e.score_ns, e.id
    FROM evaluations e JOIN variants v ON v.id = e.variant_id JOIN searches s ON s.id = e.search_id
    WHERE e.search_id = new.search_id AND e.score_ns IS NOT NULL);
END;

DELETE FROM scores WHERE search_id IN (SELECT search_id FROM set_searches WHERE role <> 'set');
