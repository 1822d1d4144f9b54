-- Schema version 22. The column says what its values are, in the word of the glossary.

ALTER TABLE audit_findings RENAME COLUMN lesion TO mutation;
