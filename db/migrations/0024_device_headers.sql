-- Schema version 24. Texts of the device headers that a source includes, so that what was measured can be built again
-- when the program has others.

ALTER TABLE sources ADD COLUMN headers TEXT NOT NULL DEFAULT '';
