-- Schema version 14. What was learned, by what it is about, to be found again by words.

ALTER TABLE llm_calls ADD COLUMN bottleneck TEXT;

ALTER TABLE insights ADD COLUMN algorithm TEXT;
ALTER TABLE insights ADD COLUMN arch TEXT;
ALTER TABLE insights ADD COLUMN device TEXT;
ALTER TABLE insights ADD COLUMN device_kind TEXT;
ALTER TABLE insights ADD COLUMN subject TEXT;
ALTER TABLE insights ADD COLUMN bottleneck TEXT;
ALTER TABLE insights ADD COLUMN ratio REAL;
ALTER TABLE insights ADD COLUMN tries INTEGER;
ALTER TABLE insights ADD COLUMN wins INTEGER;
CREATE UNIQUE INDEX insights_by_subject ON insights (algorithm, arch, device, device_kind, kind, subject);

CREATE VIRTUAL TABLE insights_text USING fts5(text, content = 'insights', content_rowid = 'id', tokenize = 'porter unicode61');
INSERT INTO insights_text (rowid, text) SELECT id, text FROM insights;
CREATE TRIGGER insights_added AFTER INSERT ON insights BEGIN
  INSERT INTO insights_text (rowid, text) VALUES (new.id, new.text);
END;
CREATE TRIGGER insights_removed AFTER DELETE ON insights BEGIN
  INSERT INTO insights_text (insights_text, rowid, text) VALUES ('delete', old.id, old.text);
END;
CREATE TRIGGER insights_changed AFTER UPDATE ON insights BEGIN
  INSERT INTO insights_text (insights_text, rowid, text) VALUES ('delete', old.id, old.text);
  INSERT INTO insights_text (rowid, text) VALUES (new.id, new.text);
END;
